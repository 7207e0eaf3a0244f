"""The scripted model that answers only when asked for by name: it says what it is, and then shows real work.

It looks at the project with the agent's own tools and tells what they found, or carries out one order to the letter;
it understands nothing. Running the tools is the loop's business. May import: counts, protocol, models.base,
models.catalog, models.orders, models.scripted.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from agi.counts import counted
from agi.models.base import ModelRequest, StreamItem
from agi.models.catalog import SCRIPTED
from agi.models.orders import order_in
from agi.models.scripted import Call, Say, Step, play
from agi.protocol.messages import Message
from agi.protocol.parts import ToolResultContent, ToolResultPart, plain_text

NAME = "demo"
SIZE = 12
"""Characters a delta: small, so that one sees it stream."""

OPENING = "I am a script, not an AI model. "
OBEYING = "I do what you spelled out, and nothing else.\n\n"
HELPLESS = "Verification failed, and a script cannot mend that. `agi undo` takes back what I was told to do.\n"
CLOSING = (
    "For a real model run `agi setup`, or start Ollama or another model server on this machine, or get the small "
    "embedded one with `agi models fetch`."
)

_READMES = ("readme.md", "readme.rst", "readme.txt", "readme")
_NOT_FILES = ("/", "@", "|")
_NOT_PROSE = ("#", "<", "[", "!", "|", "```", "---", "===", ">", "- ", "* ")


class DemoModel:
    """Provider `scripted`, model `demo`."""

    @property
    def provider(self) -> str:
        """Always `scripted`."""
        return SCRIPTED

    @property
    def name(self) -> str:
        """Always `demo`."""
        return NAME

    def takes_schema(self, *, with_tools: bool) -> bool:
        """It answers in its own words only."""
        return False

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Play what fits the conversation so far."""
        return play(decide(request))


def decide(request: ModelRequest) -> Sequence[Step]:
    """Choose the next steps by the tool results since a person spoke: carry out an order, or look around and answer."""
    results = _results(request)
    offered = {tool.name for tool in request.tools}
    order = order_in(_asked(request))
    if order is not None and order.name in offered:
        return _carry_out(order, results.get(order.name), request)
    tree, page = results.get("repo_tree"), results.get("read_file")
    if tree is None and page is None:
        if "repo_tree" in offered:
            return (
                Say(OPENING + "I can still show the tools at work: first a look around.\n\n", SIZE),
                Call("repo_tree"),
            )
        return (Say(f"{OPENING}No tools were offered either, so this is all I have to say. {CLOSING}", SIZE),)
    path = _choose(tree)
    if page is None and path and "read_file" in offered:
        return (Say(f"Now {path}.\n\n", SIZE), Call("read_file", {"path": path}))
    return (Say(_answer(tree, page, path), SIZE),)


def _carry_out(order: Call, result: ToolResultContent | None, request: ModelRequest) -> Sequence[Step]:
    if result is None:
        return (Say(OPENING + OBEYING, SIZE), order)
    if request.messages[-1].origin == "verification":
        return (Say(HELPLESS, SIZE),)
    return (Say(f"The tool {order.name} {'succeeded' if result.ok else 'did not succeed'}.\n", SIZE),)


def _asked(request: ModelRequest) -> str:
    """What a person said last; what the harness says in between does not count."""
    said = (plain_text(message.parts) for message in reversed(request.messages) if _is_persons(message))
    return next(said, "")


def _is_persons(message: Message) -> bool:
    return message.role == "user" and not message.origin


def _results(request: ModelRequest) -> dict[str, ToolResultContent]:
    found: dict[str, ToolResultContent] = {}
    for message in reversed(request.messages):
        if _is_persons(message):
            break
        for part in message.parts:
            if isinstance(part, ToolResultPart):
                found[part.content.name] = part.content
    return found


def _entries(tree: ToolResultContent | None) -> list[str]:
    """The lines of the tree below its root: set in by two blanks a level, folders end in `/`, links in `@`."""
    lines = plain_text(tree.parts).splitlines() if tree is not None and tree.ok else []
    return [line for line in lines[1:] if line.startswith(" ")]


def _choose(tree: ToolResultContent | None) -> str:
    """The README of the project if the tree shows one, else the first file at its top, else nothing."""
    top = [line[2:] for line in _entries(tree) if line[2:3] != " "]
    files = [name for name in top if not name.endswith(_NOT_FILES)]
    readmes = [name for wanted in _READMES for name in files if name.lower() == wanted]
    return next(iter(readmes + files), "")


def _answer(tree: ToolResultContent | None, page: ToolResultContent | None, path: str) -> str:
    told = [_about_tree(tree), _about_page(page, path) if page is not None else "", CLOSING]
    return "\n\n".join(part for part in told if part) + "\n"


def _about_tree(tree: ToolResultContent | None) -> str:
    if tree is None or not tree.ok:
        return "I could not look around: the tool repo_tree did not succeed."
    entries = _entries(tree)
    folders = sum(line.endswith("/") for line in entries)
    return f"repo_tree shows {counted(len(entries), 'entry', 'entries')} here, {folders} of them folders."


def _about_page(page: ToolResultContent, path: str) -> str:
    if not page.ok:
        return f"I could not read {path}: the tool read_file did not succeed."
    lines = plain_text(page.parts).splitlines()
    title = next((line.lstrip("# ").strip() for line in lines if line.startswith("#")), "")
    prose = _first_paragraph(lines)
    told = f"{path} has {counted(len(lines), 'line')}" + (f", and is headed “{title[:120]}”." if title else ".")
    return f"{told} It begins:\n\n> {prose}" if prose else told


def _first_paragraph(lines: list[str]) -> str:
    prose: list[str] = []
    for line in lines:
        if line.strip() and not line.lstrip().startswith(_NOT_PROSE):
            prose.append(line.strip())
        elif prose:
            break
    text = " ".join(prose)
    return text if len(text) <= 300 else text[:299] + "…"
