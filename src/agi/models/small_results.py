"""What a small model is shown of a tool's result: little, and what the question is about first.

Each token costs it as much time as a large model needs for a page. A long file is cut down to its beginning and the
lines that share words with the question; counts that were worked out already are said. Pure. May import: protocol.
"""

from __future__ import annotations

import re

from agi.protocol.parts import ToolResultContent, plain_text

MOST_CHARS = 500
"""About 150 tokens, or five seconds of one processor: what may be shown of one result."""
LONGEST_LINE = 110
_FIRST_LINES = 4
_MOST_HITS = 8
_MOST_FOUND = 3
_MOST_NEAR = 2
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SHORTEST_WORD = 3
_SAME_LETTERS = 4


def shown_result(content: ToolResultContent, question: str) -> str:
    """The text of a result for one question."""
    text = plain_text(tuple(part for part in content.parts)) or content.error or "(no output)"
    if not content.ok and content.name != "shell":
        return f"Error: {_clipped(text)}"
    if content.name == "read_file":
        return _page(content, text, question)
    if content.name == "search":
        return _found(text)
    return text if len(text) <= MOST_CHARS else _ends(text)


def has_worked(content: ToolResultContent) -> bool:
    """Whether a call brought anything to answer with: a search that found nothing did not."""
    facts = content.result if isinstance(content.result, dict) else {}
    return content.ok and not (content.name == "search" and facts.get("matches") == 0 and "near" not in facts)


def _found(text: str) -> str:
    """The first matches, how many there are, and fewer of the lines that only come near."""
    shown: list[str] = []
    left = _MOST_FOUND
    for line in text.splitlines():
        if line.startswith("["):
            left = _MOST_NEAR if shown else _MOST_FOUND + 1
        elif not line.startswith("  "):  # what is set in stands around the first line, and is shown with it
            if left == 0:
                continue
            left -= 1
        shown.append(line[:LONGEST_LINE])
    return "\n".join(shown)


def _page(content: ToolResultContent, text: str, question: str) -> str:
    """A file: how many lines it has, then all of it, or the lines that matter with their numbers."""
    facts = content.result if isinstance(content.result, dict) else {}
    total, first = facts.get("total_lines"), facts.get("start_line")
    heading = f"{facts.get('path', 'file')} ({total} lines):" if total is not None else f"{facts.get('path', 'file')}:"
    if len(text) <= MOST_CHARS:
        return f"{heading}\n{text}"
    lines = text.splitlines()
    start = first if isinstance(first, int) else 1
    chosen = sorted({*range(min(_FIRST_LINES, len(lines))), *_hits(lines, question)})
    shown = "\n".join(f"{number + start}: {lines[number][:LONGEST_LINE]}" for number in chosen)
    return f"{heading} (only its beginning and the lines that fit the question)\n{shown[:MOST_CHARS]}"


def _hits(lines: list[str], question: str) -> list[int]:
    """The lines that share most words with the question."""
    wanted = _words(question)
    scored = [(len(wanted & _words(line[: LONGEST_LINE * 2])), -number) for number, line in enumerate(lines)]
    best = sorted((one for one in scored if one[0]), reverse=True)[:_MOST_HITS]
    return [-number for _, number in best]


def _words(text: str) -> set[str]:
    """Words by their first letters, so that `retries` meets `retry`."""
    found = (word.lower() for word in _WORD.findall(text))
    return {word[: max(_SAME_LETTERS, len(word) - 3)] for word in found if len(word) >= _SHORTEST_WORD}


def _ends(text: str) -> str:
    """The beginning and the end, where commands and searches say what matters."""
    lines = [line[:LONGEST_LINE] for line in text.splitlines()]
    tail = "\n".join(lines[-3:])[-400:]
    head = "\n".join(lines[:-3])[: MOST_CHARS - len(tail)]
    head = head[: head.rfind("\n")] if "\n" in head else head
    return f"{head}\n[some lines are left out here]\n{tail}"


def _clipped(text: str) -> str:
    return text if len(text) <= 400 else text[:399] + "…"
