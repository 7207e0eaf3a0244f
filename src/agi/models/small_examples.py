"""What a small model is told first: what a step is, its tools, and a handful of questions that were answered well.

Examples teach it more than rules do. They are about a project that does not exist, and the same on every machine; each
word here is read before the first question, so few are spent. Only texts. May import: nothing of ours.
"""

from __future__ import annotations

from typing import NamedTuple

SYSTEM = """\
You answer questions about the files of a project. Each reply is one JSON object: a tool call or the answer.
Tools:
{tools}
Answer shortly, with the exact name, number or path that was asked for. Say only what the result shows.
Sums and general knowledge need no tool: answer at once."""
TOOLS = {
    "read_file": '- read_file "path": the text of one file. For what a file says, sets or has.',
    "repo_tree": '- repo_tree "path": which files are in a folder ("." is all), and how many.',
    "search": '- search "query": find the lines with a name or word, in all files. For where something is.',
    "shell": '- shell "command": run a command, such as git log -3.',
}


class Example(NamedTuple):
    """A question and how it was answered; without a tool, at once."""

    question: str
    answer: str
    tool: str = ""
    argument: str = ""
    result: str = ""


EXAMPLES = (
    Example(
        "Where is parse_date defined?",
        "parse_date is defined in app/dates.py, line 12.",
        "search",
        "parse_date",
        'app/dates.py:12: def parse_date(text):\n  13-     """Read a day."""\n'
        "app/cli.py:40:     day = parse_date(args.day)\n[2 matching lines in 2 files: app/dates.py, app/cli.py]",
    ),
    Example(
        "Which port does the server use?",
        "The server uses port 7070.",
        "search",
        "port",
        "app/config.ini:3: port = 7070\n[1 matching line in 1 file]",
    ),
    Example(
        "Who wrote this program?",
        "It was written by Ada Moss.",
        "read_file",
        "README.md",
        "README.md (3 lines):\n# Chimes\nRings the bells of the town hall.\nWritten by Ada Moss.",
    ),
    Example(
        "How many test files are there?",
        "There are 2 test files: test_cli.py and test_dates.py.",
        "repo_tree",
        "tests",
        "tests/\n  test_cli.py\n  test_dates.py\nTotal: 2 files (2 .py), 0 folders",
    ),
    Example(
        "How long is notes.txt?",
        "notes.txt has 2 lines.",
        "read_file",
        "notes.txt",
        "notes.txt (2 lines):\nbuy milk\ncall Ann",
    ),
    Example(
        "How many commits are there?",
        "There are 17 commits.",
        "shell",
        "git rev-list --count HEAD",
        "17\n[exit code 0]",
    ),
    Example(
        "What did the last commit change, and who made it?",
        "Ann Lee made the last commit: Fix the clock.",
        "shell",
        "git log -1",
        "commit 3f2a91c\nAuthor: Ann Lee <ann@lee.example>\nDate: Mon May 6 10:00:00 2024\n\n    Fix the clock\n"
        "[exit code 0]",
    ),
    Example("What is 6 times 7?", "6 times 7 is 42."),
    Example("Thanks! Who wrote Hamlet?", "William Shakespeare wrote Hamlet."),
)
