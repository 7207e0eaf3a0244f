"""The steps a small model may take: one JSON object each, forced by a schema. A tool by its name, or the answer.

    {"action": "read_file", "path": "setup.cfg"}
    {"action": "answer", "text": "It needs Python 3.11."}

Few tools with few arguments, because each choice is a chance to go wrong. `action` comes first also where keys are
sorted, so the choice is made before its details. Pure. May import: protocol.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from agi.protocol.parts import Json

ACTION = "action"
ANSWER = "answer"
TEXT = "text"
ARGUMENTS = {"read_file": "path", "repo_tree": "path", "search": "query", "shell": "command"}
"""The tools a small model is offered, where the request offers them, and the one argument each is given."""
_ESCAPE = r'\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}'
_WRITTEN = rf'^([^"\\\x00-\x1F]|{_ESCAPE})*([^"\\\x00-\x1F ({{=,]|{_ESCAPE})$'
"""An answer between its quotes in JSON. It cannot end behind a space, where no answer ends but a quotation begins: a
small model forgets to escape that quote, and it would be the end."""
_LONGEST = {"path": 200, "query": 100, "command": 300}


def usable(offered: Iterable[str]) -> tuple[str, ...]:
    """Those of the offered tools that a small model can use, in a fixed order."""
    known = set(offered)
    return tuple(name for name in ARGUMENTS if name in known)


def step_schema(tools: Collection[str], *, may_answer: bool = True, as_written: bool = False) -> Json:
    """What the next step may be: one of these tools, or the answer; only the answer if there are none.

    `as_written` is for who takes a pattern as how the JSON is written, escapes and all, and not for what it says.
    """
    text: Json = {"type": "string", "pattern": _WRITTEN} if as_written else {"type": "string", "minLength": 1}
    answer = _object(ANSWER, TEXT, text)
    calls = [_object(name, ARGUMENTS[name], _argument(ARGUMENTS[name])) for name in tools]
    return {"anyOf": [*calls, answer] if may_answer else calls} if calls else answer


def step_text(action: str, value: str) -> str:
    """A step as the model would have written it."""
    argument = TEXT if action == ANSWER else ARGUMENTS.get(action, "input")
    return msgspec.json.encode({ACTION: action, argument: value}).decode()


def _argument(name: str) -> Json:
    return {"type": "string", "minLength": 1, "maxLength": _LONGEST[name]}


def _object(action: str, argument: str, schema: Json) -> Json:
    return {
        "type": "object",
        "properties": {ACTION: {"const": action}, argument: schema},
        "required": [ACTION, argument],
        "additionalProperties": False,
    }
