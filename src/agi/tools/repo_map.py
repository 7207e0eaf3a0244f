"""repo_map: the files of a project that matter most for what the session is about, with what they define.

Ranked from the files the session has been shown and from what is asked for; what it was shown whole is not repeated.
May import: extras, index, protocol, tools.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from agi.protocol.parts import Json, Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult
from agi.tools.base import ToolContext
from agi.tools.output import printable
from agi.tools.schema import input_schema, read_input
from agi.tools.threads import in_thread

if TYPE_CHECKING:
    from agi.index.drawing import Drawn
    from agi.index.repo import Refreshed
    from agi.index.shared import Indexes

TOKENS = 1_500
MOST_TOKENS = 10_000
_RECENT = 50
"""How many of the files that were shown last count."""


class RepoMapInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What it is about, and how long it may be."""

    query: Annotated[
        str, Meta(max_length=2_000, description="What you work on: words, names, paths. Ranks what has to do with it.")
    ] = ""
    max_tokens: Annotated[int, Meta(ge=100, le=MOST_TOKENS, description="How long the map may be.")] = TOKENS


class RepoMapTool:
    """Shows which files matter and what is in them."""

    def __init__(self, indexes: Indexes | None = None) -> None:
        self._indexes = indexes

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="repo_map",
            description="Show the most important source files with the classes and functions they define and the line "
            "of each; those that have to do with `query`, and with files you have read, come first.",
            input_schema=input_schema(RepoMapInput),
            kind=ToolKind.READ,
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Bring the index up to date, as far as time allows, and draw it."""
        # Late: a session that never asks for a map does not pay for the index.
        from agi.index.focus import words_in
        from agi.index.shared import shared

        asked = read_input(call, RepoMapInput)
        index = (self._indexes or shared()).of(context.workspace)
        seen = context.seen
        shown = () if seen is None else seen.places()[-_RECENT:]
        known = () if seen is None else tuple(place for place in shown if seen.unshown(place) is None)

        def work(stop: threading.Event) -> tuple[Refreshed, Drawn, Sequence[str]]:
            state = index.refresh(context.workspace, stop=stop)
            return state, index.map(asked.max_tokens, shown, words_in(asked.query), known), index.lacking()

        state, drawn, lacking = await in_thread(work)
        facts: Json = {
            "files": drawn.files_shown,
            "files_left_out": drawn.files_left_out,
            "symbols": drawn.symbols_shown,
            "symbols_left_out": drawn.symbols_left_out,
            "tokens": drawn.tokens,
            "truncated": bool(state.waiting) or state.truncated,
        }
        text = printable("\n".join([*([drawn.text] if drawn.text else []), *_remarks(state, drawn, lacking)]))
        return ToolResult(id=call.id, ok=True, parts=(Text(text=text),), result=facts)


def _remarks(state: Refreshed, drawn: Drawn, lacking: Sequence[str]) -> list[str]:
    """What the map does not say itself: why it is empty, or not complete."""
    told = []
    if not state.files:
        told.append("[no source files of a language whose symbols are known; repo_tree lists all files]")
    elif not drawn.text:
        told.append("[nothing but what you have read already]")
    if state.waiting:
        told.append(f"[{state.waiting:,} of {state.files:,} files are not read yet; ask again for a complete map]")
    if state.truncated:
        told.append(f"[the workspace is very large: only the nearest {state.files:,} source files are known]")
    if lacking:
        from agi.extras import how_to_install  # late, as the table is: grammars are hardly ever missing
        from agi.index.languages import GRAMMARS

        command = how_to_install(*(GRAMMARS[name].package.replace("_", "-") for name in lacking))
        told.append(f"[no symbols of {', '.join(lacking)}: the grammar is not installed; `{command}` adds it]")
    return told
