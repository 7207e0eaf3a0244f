"""Ask a tool what it takes: tool.py is run for that, so in a sandbox that changes nothing, for a few seconds, once.

Only for what is trusted; that is asked before. The answer is kept by the hash of the tool's files. May import: errors,
protocol, sandbox, workspace, usertools.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import msgspec
from msgspec import Struct

from agi.errors import AgiError
from agi.protocol.parts import Json
from agi.usertools.base import CODE_NAME, FOLDER, PROMPT_NAME, DeclaredKind, Found, ToolProblem
from agi.usertools.cells import cell_to_look
from agi.usertools.talking import Limits, Spoken, talk

if TYPE_CHECKING:
    from agi.sandbox.cell import Cell

LIMITS = Limits(seconds=5.0, output=1 << 20, answer=256 * 1024)
AT_ONCE = 3
KEPT = 500
"""Of how many tools it is remembered what they take."""
RETRY_S, RETRY_SLOW_S = 60.0, 600.0
"""After how long a tool that could not be described is asked again, unless it is changed before: what it imports may be
there by then. One that took all its time costs that again."""
DEEPEST = 40
_HINT = "Mend it; `agi tools` looks at it again."


class Described(Struct, frozen=True, kw_only=True):
    """What a tool says of itself."""

    kind: DeclaredKind
    timeout_seconds: float
    schema: Json
    doc: str


class _Answer(Struct, frozen=True, kw_only=True):
    """What comes from inside, in either case."""

    ok: bool
    message: str = ""
    hint: str = ""
    kind: DeclaredKind = "exec"
    timeout_seconds: float = 60.0
    schema: Json = {}
    doc: str = ""


class Descriptions:
    """What is known of tools, by the hash of their files."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[str, tuple[Described | ToolProblem, float]] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def of(self, found: Found, *, root: Path, cell: Cell | None) -> Described | ToolProblem:
        """What a tool takes, or why it cannot be used; asked once, whoever wants to know."""
        lock = self._locks.setdefault(found.digest, asyncio.Lock())
        async with lock:
            known = self._known.get(found.digest)
            if known is not None and self._clock() < known[1]:
                return known[0]
            async with self._turns:
                described, seconds = await _described(found, root, cell)
            self._keep(found.digest, described, seconds)
        return described

    def _keep(self, digest: str, described: Described | ToolProblem, seconds: float) -> None:
        lasting = float("inf") if isinstance(described, Described) else RETRY_S if seconds < 1 else RETRY_SLOW_S
        self._known.pop(digest, None)
        self._known[digest] = (described, self._clock() + lasting)
        while len(self._known) > KEPT:
            del self._known[next(iter(self._known))]


async def _described(found: Found, root: Path, cell: Cell | None) -> tuple[Described | ToolProblem, float]:
    request = {
        "do": "describe",
        "name": found.name,
        "folder": f"{root}/{FOLDER}/{found.name}",
        "sources": found.sources,
    }
    try:
        spoken = await talk(
            msgspec.json.encode(request),
            cwd=root,
            cell=cell_to_look(cell),
            limits=LIMITS,
            on_bytes=lambda channel, data: None,
        )
    except (AgiError, OSError) as error:
        hint = error.hint if isinstance(error, AgiError) else "`agi doctor` says more."
        return ToolProblem(name=found.name, message=f"It could not be looked at: {error}", hint=hint), 0.0
    return _understood(found, spoken), spoken.seconds


def _understood(found: Found, spoken: Spoken) -> Described | ToolProblem:
    def problem(message: str, hint: str = _HINT) -> ToolProblem:
        return ToolProblem(name=found.name, message=message[:4_000], hint=hint[:2_000] or _HINT)

    if not spoken.answer:
        return problem(f"{CODE_NAME} could not be loaded: {spoken.ending(LIMITS)}.")
    try:
        answer = msgspec.json.decode(spoken.answer, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return problem(f"{CODE_NAME} gave no answer that can be read.")
    if not answer.ok:
        return problem(answer.message, answer.hint)
    if spoken.leftovers:
        return problem(f"{CODE_NAME} left processes running when it was loaded.", "Start them in the function instead.")
    if not _is_usable(answer.schema):
        return problem(f"The arguments of {CODE_NAME} cannot be described to a model.")
    if not (found.prompt or answer.doc):
        hint = f"Say in {PROMPT_NAME} what the tool does; models choose by it."
        return problem(f"It has neither a {PROMPT_NAME} nor a docstring.", hint)
    return Described(
        kind=answer.kind, timeout_seconds=answer.timeout_seconds, schema=answer.schema, doc=answer.doc[:16_384]
    )


def _is_usable(schema: Json) -> bool:
    """Whether every provider would take it; one that does not would refuse whole requests."""
    properties = schema.get("properties")
    return schema.get("type") == "object" and isinstance(properties, dict) and _depth(schema) <= DEEPEST


def _depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)
