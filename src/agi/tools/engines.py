"""Which engine searches: ripgrep where it is installed, else our own; the same answers from both.

May import: errors, tools, workspace.
"""

from __future__ import annotations

from msgspec.structs import replace

from agi.errors import Invalid, Unavailable
from agi.tools import plain_search, regex_worker, ripgrep
from agi.tools.matches import Found, Query
from agi.tools.patterns import has_engine
from agi.tools.threads import in_thread
from agi.tools.word_search import telling_words
from agi.workspace.handle import Workspace


async def find(workspace: Workspace, query: Query) -> Found:
    """Search with the better engine that is there."""
    program = ripgrep.find_ripgrep(workspace)
    if program is not None:
        try:
            return await ripgrep.search(workspace, program, query)
        except Unavailable:
            pass  # too old a version: ours does it as well
    if not query.regex:
        return await in_thread(lambda stop: plain_search.search(workspace, query, stop))
    if not has_engine():
        hint = "Search for a plain text, or install ripgrep."
        raise Invalid("Regular expressions need ripgrep or google-re2, and neither is installed.", hint=hint)
    return await regex_worker.search(workspace, query)


async def narrowed(workspace: Workspace, query: Query, about: str) -> Query:
    """The same query about those files only that have one of its words, where ripgrep can tell which these are."""
    program = ripgrep.find_ripgrep(workspace)
    words = {_root(word) for word in telling_words(query.text) | telling_words(about)}
    if program is None or not query.is_folder or not words:
        return query
    return replace(query, among=await ripgrep.files_about(workspace, program, query, sorted(words)))


def _root(word: str) -> str:
    """What a word and its plural have in common: `retry` and `retries`."""
    return word.removesuffix("y") if len(word) > 3 else word
