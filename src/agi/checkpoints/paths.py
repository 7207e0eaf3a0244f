"""Paths as clients are told them, and back. May import: nothing of ours."""

from __future__ import annotations

from collections.abc import Iterable


def shown(path: str) -> str:
    """A path as text: bytes that are not UTF-8 are written as `\\xNN`."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def meant(texts: Iterable[str], paths: Iterable[str]) -> tuple[set[str], list[str]]:
    """Which of the paths are meant: those named, and those in folders that are; and the texts that mean none."""
    by_text = {shown(path): path for path in paths}
    found: set[str] = set()
    unknown: list[str] = []
    for text in texts:
        plain = text.removeprefix("./").rstrip("/")
        hits = {path for told, path in by_text.items() if told == plain or told.startswith(plain + "/") or plain == "."}
        found |= hits
        if not hits:
            unknown.append(text)
    return found, unknown
