"""Questions about the two projects beside this file, and what counts as finding the answer.

Twenty were used to tune prompts, tools and limits (`tuned`). Twenty were kept aside and only then asked (`held out`):
they alone say how well it does on a question nobody thought of. These forty are what the bars are about. Twenty more
were held out in an earlier round; their failures were looked at since, so they prove nothing any more (`seen`).
"""

from __future__ import annotations

import re

from msgspec import Struct

TUNED, HELD_OUT, SEEN = "tuned", "held out", "seen"


class Question(Struct, frozen=True, kw_only=True):
    """One question. `tools` holds each tool that may be used and the argument it must be given; all `facts` count."""

    id: str
    project: str
    text: str
    tools: dict[str, str]
    facts: tuple[str, ...]
    wrong: str = ""
    """What a right answer does not say."""
    kind: str = TUNED

    def fits(self, tool: str, argument: str) -> bool:
        """Whether a call is a sensible way to find the answer."""
        return tool in self.tools and re.search(self.tools[tool], argument, re.IGNORECASE) is not None

    def is_answered(self, text: str) -> bool:
        """Whether an answer holds all the facts, and nothing that is known to be wrong."""
        if self.wrong and re.search(self.wrong, text, re.IGNORECASE):
            return False
        return all(re.search(fact, text, re.IGNORECASE) for fact in self.facts)


def _q(id: str, text: str, tools: dict[str, str], *facts: str, wrong: str = "", kind: str = TUNED) -> Question:
    project = {"l": "lantern", "p": "postbox"}[id[0]]
    return Question(id=id, project=project, text=text, tools=tools, facts=facts, wrong=wrong, kind=kind)


QUESTIONS = (
    _q(
        "l01",
        "Which Python version does this project need?",
        {"read_file": "pyproject", "search": "python"},
        r"3\.10",
    ),
    _q(
        "l02",
        "Where is the function normalise defined?",
        {"search": "normalise", "read_file": r"urls\.py"},
        r"urls\.py",
    ),
    _q(
        "l03",
        "How many test files are there?",
        {"repo_tree": r"^(\./)?tests/?$|^\.?/?$", "shell": "test"},
        r"\b(2|two)\b",
    ),
    _q(
        "l04",
        "What is the default number of jobs?",
        {"read_file": r"settings\.py|cli\.py", "search": "jobs"},
        r"\b(6|six)\b",
    ),
    _q("l05", "How many lines does CHANGELOG.md have?", {"read_file": "CHANGELOG", "shell": "CHANGELOG"}, r"\b14\b"),
    _q(
        "l06",
        "What does exit code 7 mean?",
        {"read_file": r"exit-codes|cli\.py", "search": r"exit|7"},
        r"network|offline",
    ),
    _q("l07", "Who maintains Lantern?", {"read_file": "README", "search": "maint"}, r"Ines Albrecht", r"Tomas Ruiz"),
    _q("l08", "Which file has a TODO, and on which line?", {"search": "TODO", "shell": "TODO"}, r"cli\.py", r"\b29\b"),
    _q("l09", "Which git branch is checked out?", {"shell": r"git (branch|status|rev-parse|symbolic)"}, r"steady-lamp"),
    _q("l10", "What is 12 plus 30?", {}, r"\b42\b"),
    _q(
        "l11",
        "Which licence is Lantern under?",
        {"read_file": "pyproject", "search": "licen[cs]e"},
        r"MPL",
        kind=SEEN,
    ),
    _q(
        "l12",
        "Which class asks each host for one link at a time?",
        {"read_file": r"fetch\.py", "search": r"host|link|class|check"},
        r"\bChecker\b",
        kind=SEEN,
    ),
    _q(
        "l13",
        "How many seconds is the pause between two requests to one host?",
        {"read_file": r"settings\.py", "search": "pause"},
        r"0?\.75",
        kind=SEEN,
    ),
    _q(
        "l14",
        "What is the value of MAX_REDIRECTS?",
        {"search": "MAX_REDIRECTS", "read_file": r"fetch\.py"},
        r"\b(5|five)\b",
        kind=SEEN,
    ),
    _q(
        "l15",
        "How many Python files are in the folder lantern?",
        {"repo_tree": r"lantern", "shell": r"lantern"},
        r"\b(6|six)\b",
        kind=SEEN,
    ),
    _q(
        "l16",
        "Which program does `make test` run?",
        {"read_file": "Makefile", "search": "test"},
        r"pytest",
        kind=SEEN,
    ),
    _q(
        "l17",
        "What was new in version 0.9.3?",
        {"read_file": "CHANGELOG", "search": r"0\.9\.3"},
        r"json",
        kind=SEEN,
    ),
    _q(
        "l18",
        "What is the message of the latest commit?",
        {"shell": r"git (log|show)"},
        r"reference.style",
        kind=SEEN,
    ),
    _q(
        "l19",
        "In which file is the class JsonReport?",
        {"search": "JsonReport", "read_file": r"report\.py"},
        r"lantern/report\.py|\breport\.py",
        kind=SEEN,
    ),
    _q(
        "l20",
        "How many lines does lantern/urls.py have?",
        {"read_file": r"urls\.py", "shell": r"urls\.py"},
        r"\b25\b",
        kind=SEEN,
    ),
    _q(
        "p01",
        "Which version of Node does this need?",
        {"read_file": r"package\.json", "search": "node|engines"},
        r"20\.6",
    ),
    _q("p02", "Where is the class Queue defined?", {"search": "Queue", "read_file": r"queue\.js"}, r"src/queue\.js"),
    _q(
        "p03",
        "How many attempts are made at most to send a mail?",
        {"read_file": r"src/queue\.js", "search": "attempt"},
        r"\b(8|eight)\b",
    ),
    _q(
        "p04",
        "Which port does it listen on by default?",
        {"read_file": r"config\.js|\.env|README|Dockerfile|server\.js", "search": "port"},
        r"\b8125\b",
    ),
    _q(
        "p05", "How many files are in the docs folder?", {"repo_tree": r"docs|^\.?/?$", "shell": "docs"}, r"\b(1|one)\b"
    ),
    _q(
        "p06",
        "Who is the author of this package?",
        {"read_file": r"package\.json", "search": "author"},
        r"Mirela Novak",
    ),
    _q(
        "p07",
        "How many lines does src/queue.js have?",
        {"read_file": r"src/queue\.js", "shell": r"queue\.js"},
        r"\b51\b",
    ),
    _q(
        "p08",
        "In which files is MAX_BODY_BYTES used?",
        {"search": "MAX_BODY_BYTES"},
        r"server\.js",
        wrong=r"template|queue|routes",
    ),
    _q("p09", "What does the npm script lint run?", {"read_file": r"package\.json", "search": "lint"}, r"eslint"),
    _q("p10", "How many commits are there?", {"shell": r"git (rev-list|log|shortlog)"}, r"\b(3|three)\b"),
    _q(
        "p11",
        "Which license does Postbox have?",
        {"read_file": r"package\.json", "search": "licen[cs]e"},
        r"\bISC\b",
        kind=SEEN,
    ),
    _q(
        "p12",
        "Which HTTP framework does it depend on?",
        {"read_file": r"package\.json|server\.js", "search": "http|framework|fastify|depend"},
        r"fastify",
        kind=SEEN,
    ),
    _q(
        "p13",
        "Which environment variable holds the address of the SMTP server?",
        {"read_file": r"\.env|config\.js", "search": "smtp"},
        r"POSTBOX_SMTP_URL",
        kind=SEEN,
    ),
    _q(
        "p14",
        "Where is the FIXME, and what is it about?",
        {"search": "FIXME", "shell": "FIXME"},
        r"template\.js",
        r"HTML|escap",
        kind=SEEN,
    ),
    _q(
        "p15",
        "How many JavaScript files are in src/routes?",
        {"repo_tree": r"src/routes", "shell": r"src/routes"},
        r"\b(2|two)\b",
        kind=SEEN,
    ),
    _q(
        "p16",
        "Which status code is sent when the token is wrong?",
        {"read_file": r"messages\.js", "search": r"token|401|code"},
        r"\b401\b",
        kind=SEEN,
    ),
    _q(
        "p17",
        "Which base image does the Dockerfile use?",
        {"read_file": "Dockerfile", "search": "FROM"},
        r"node:22-alpine",
        kind=SEEN,
    ),
    _q(
        "p18",
        "What should the memory limit be when deploying?",
        {"read_file": r"deploy\.md", "search": "memory|limit"},
        r"\b256\b",
        kind=SEEN,
    ),
    _q("p19", "Who made the latest commit?", {"shell": r"git (log|show)"}, r"Jonas Weide", kind=SEEN),
    _q("p20", "What is the capital of France?", {}, r"\bParis\b", kind=SEEN),
    _q(
        "l21",
        "Which user agent does Lantern send?",
        {"search": "agent", "read_file": r"settings\.py|fetch\.py"},
        r"lantern-links/0\.9",
        kind=HELD_OUT,
    ),
    _q(
        "l22",
        "How long may a URL be at most?",
        {"search": "url|length|2048", "read_file": r"urls\.py"},
        r"\b2048\b",
        kind=HELD_OUT,
    ),
    _q(
        "l23",
        "Which two packages does this project depend on?",
        {"read_file": "pyproject", "search": "depend"},
        r"httpx",
        r"markdown-it",
        kind=HELD_OUT,
    ),
    _q(
        "l24",
        "Where is DeadLink defined?",
        {"search": "DeadLink", "read_file": r"report\.py"},
        r"lantern/report\.py",
        kind=HELD_OUT,
    ),
    _q(
        "l25",
        "How many files are in the docs folder?",
        {"repo_tree": r"docs|^\.?/?$", "shell": "docs"},
        r"\b(1|one)\b",
        kind=HELD_OUT,
    ),
    _q(
        "l26",
        "How many lines does the Makefile have?",
        {"read_file": "Makefile", "shell": "Makefile"},
        r"\b11\b",
        kind=HELD_OUT,
    ),
    _q(
        "l27",
        "For how long is a host left alone that answers 429?",
        {"search": r"429|alone|host|retry|block", "read_file": r"CHANGELOG|fetch\.py"},
        r"\b(5|five) minutes\b|\b300\b",
        kind=HELD_OUT,
    ),
    _q(
        "l28",
        "Which function finds the links in a text?",
        {"search": "link", "read_file": r"urls\.py"},
        r"find_links",
        kind=HELD_OUT,
    ),
    _q(
        "l29",
        "On which date was the latest commit made?",
        {"shell": r"git (log|show)"},
        r"2024-05-03|May 0?3|3 May|05/03/2024|3rd (of )?May",
        kind=HELD_OUT,
    ),
    _q("l30", "What is the opposite of hot?", {}, r"\bcold\b", kind=HELD_OUT),
    _q(
        "p21",
        "What is the longest pause between two attempts, in milliseconds?",
        {"search": "pause|longest", "read_file": r"src/queue\.js"},
        r"3600000|3,600,000",
        kind=HELD_OUT,
    ),
    _q(
        "p22",
        "Which mail templates are there?",
        {"read_file": r"src/template\.js", "search": "template"},
        r"welcome",
        r"overdue",
        r"closing",
        kind=HELD_OUT,
    ),
    _q(
        "p23",
        "In which file is the function readConfig?",
        {"search": "readConfig", "read_file": r"config\.js"},
        r"src/config\.js",
        kind=HELD_OUT,
    ),
    _q(
        "p24",
        "How many test files does it have?",
        {"repo_tree": r"test|^\.?/?$", "shell": "test"},
        r"\b(2|two)\b",
        kind=HELD_OUT,
    ),
    _q(
        "p25",
        "Which port is exposed in the Dockerfile?",
        {"read_file": "Dockerfile", "search": "expose|port"},
        r"\b8125\b",
        kind=HELD_OUT,
    ),
    _q(
        "p26",
        "What should be copied every night as a backup?",
        {"read_file": r"deploy\.md", "search": "backup|night|copy|copied"},
        r"queue\.ndjson",
        kind=HELD_OUT,
    ),
    _q(
        "p27",
        "Which request header carries the token?",
        {"read_file": r"messages\.js", "search": "header|token"},
        r"x-postbox-token",
        kind=HELD_OUT,
    ),
    _q(
        "p28",
        "How many lines does docs/deploy.md have?",
        {"read_file": r"deploy\.md", "shell": r"deploy\.md"},
        r"\b10\b",
        kind=HELD_OUT,
    ),
    _q(
        "p29",
        "Are there uncommitted changes in git?",
        {"shell": r"git (status|diff)"},
        r"\bno\b|clean|nothing|none|\bnot\b",
        wrong=r"^yes",
        kind=HELD_OUT,
    ),
    _q(
        "p30",
        "Which version of Node is in the Docker image?",
        {"read_file": "Dockerfile", "search": r"node|docker|image|from"},
        r"\b22\b",
        kind=HELD_OUT,
    ),
)
