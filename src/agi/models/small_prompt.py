"""A request is rewritten for a small model: a short fixed beginning with examples, then the conversation as steps.

The beginning is the same in every session and on every machine, so it is read once; what the caller says of the
workspace comes after it, with the first question. Tool results are told as a user would. Pure. May import: protocol,
models.base, models.small_examples, models.small_results, models.small_steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agi.models.base import ModelRequest
from agi.models.small_examples import EXAMPLES, SYSTEM, TOOLS, Example
from agi.models.small_results import has_worked, shown_result
from agi.models.small_steps import ANSWER, ARGUMENTS, step_schema, step_text, usable
from agi.protocol.messages import Message, Role
from agi.protocol.parts import Text, ToolCallContent, ToolCallPart, ToolResultContent, ToolResultPart, plain_text

MOST_HISTORY = 5_000
"""Characters of conversation that are told; when there are more, the older half is left out."""
LONGEST_QUESTION = 2_000
MOST_TOKENS = 400
"""What one step may be long, unless the caller says otherwise."""


class SmallRequest(Struct, frozen=True, kw_only=True):
    """What goes to the model, and which tools its next step may call."""

    request: ModelRequest
    tools: tuple[str, ...]
    about: str
    """The question, where a search takes one along."""


def small_request(request: ModelRequest, *, most_calls: int, as_written: bool = False) -> SmallRequest:
    """The request for the next step; after `most_calls` that worked, or one more try, only an answer may come."""
    known = usable(tool.name for tool in request.tools)
    results = _results(request.messages)
    open_tools = _open_tools(known, results, most_calls)
    begun = beginning(known)
    told = _conversation(request.system, request.messages)
    may_answer = not results or has_worked(results[-1])
    options = {**request.options, "schema": step_schema(open_tools, may_answer=may_answer, as_written=as_written)}
    options.setdefault("temperature", 0)
    options["max_tokens"] = _least(options.get("max_tokens"), MOST_TOKENS)
    whole = replace(begun, messages=(*begun.messages, *told), options=options)
    return SmallRequest(request=whole, tools=open_tools, about=_about(request))


def beginning(tools: Sequence[str]) -> ModelRequest:
    """What every request with these tools begins with."""
    system = SYSTEM.format(tools="\n".join(TOOLS[name] for name in tools))
    examples = [message for one in EXAMPLES if not one.tool or one.tool in tools for message in _example(one)]
    return ModelRequest(system=system, messages=tuple(examples), options={"temperature": 0, "max_tokens": 1})


def before_the_question(system: str, tools: Sequence[str]) -> ModelRequest:
    """The beginning and what is said of the workspace: all that is known before anybody asks."""
    begun = beginning(tools)
    return replace(begun, messages=(*begun.messages, _said("user", _opened(system, ""))))


def plain_request(request: ModelRequest) -> ModelRequest:
    """The request without tools: for an answer in a schema of the caller's, or where no tool is of use."""
    told = _conversation(request.system, request.messages, steps=False)
    return replace(request, system="You are a helpful assistant.", messages=tuple(told), tools=())


def _about(request: ModelRequest) -> str:
    searches = next((tool for tool in request.tools if tool.name == "search"), None)
    fields = searches.input_schema.get("properties") if searches else None
    asked = [message for message in request.messages if message.role == "user" and not message.origin]
    return plain_text(asked[-1].parts)[:500] if asked and isinstance(fields, dict) and "about" in fields else ""


def _results(messages: Sequence[Message]) -> list[ToolResultContent]:
    """What came of the calls since the last question."""
    found: list[ToolResultContent] = []
    for message in messages:
        if message.role == "user" and not message.origin:
            found = []
        found += [part.content for part in message.parts if isinstance(part, ToolResultPart)]
    return found


def _open_tools(known: Sequence[str], results: Sequence[ToolResultContent], most_calls: int) -> tuple[str, ...]:
    """The tools that may be called now: none after enough calls; one that brought nothing may be made up for once."""
    worked = sum(map(has_worked, results))
    if worked >= most_calls or len(results) > most_calls:
        return ()
    # What found nothing finds nothing again; and a command that was not run was refused by somebody.
    empty = {one.name for one in results if one.name == "search" and one.ok and not has_worked(one)}
    refused = {one.name for one in results if one.name == "shell" and not one.ok and not isinstance(one.result, dict)}
    return tuple(name for name in known if name not in empty | refused)


def _conversation(system: str, messages: Iterable[Message], *, steps: bool = True) -> list[Message]:
    """The turns that fit, newest last; what is said of the workspace stands before the first of them."""
    kept: list[list[Message]] = []
    for turn in _turns(messages, steps):
        kept.append(turn)
        if sum(map(_length, kept)) > MOST_HISTORY:
            # By half, not by one: whatever is left out in front makes the model read all that follows once more.
            while len(kept) > 1 and sum(map(_length, kept)) > MOST_HISTORY // 2:
                kept.pop(0)
    told = [message for turn in kept for message in turn]
    return _merged([_said("user", _opened(system, "")), *told] if system else told)


def _turns(messages: Iterable[Message], steps: bool) -> list[list[Message]]:
    """The conversation as this model takes part in it, from question to question."""
    turns: list[list[Message]] = [[]]
    question = ""
    for message in messages:
        if message.role in ("user", "system"):
            text = plain_text(message.parts)[:LONGEST_QUESTION]
            if message.role == "user" and not message.origin:
                question = text
                turns.append([])
            turns[-1].append(_said("user", f"{'Note' if message.origin else 'Question'}: {text}" if steps else text))
        elif message.role == "assistant":
            turns[-1] += _answered(message, steps)
        else:
            turns[-1] += [
                _said("user", f"Result: {shown_result(part.content, question)}")
                for part in message.parts
                if isinstance(part, ToolResultPart)
            ]
    return [turn for turn in turns if turn]


def _answered(message: Message, steps: bool) -> list[Message]:
    calls = [part.content for part in message.parts if isinstance(part, ToolCallPart)]
    text = plain_text(message.parts)
    if calls:
        return [_said("assistant", step_text(call.name, _argument(call))) for call in calls]
    return [_said("assistant", step_text(ANSWER, text) if steps else text)] if text else []


def _argument(call: ToolCallContent) -> str:
    """The one argument of a call that a small model is shown."""
    try:
        given = msgspec.json.decode(call.args)
    except (msgspec.DecodeError, RecursionError):
        return ""
    value = given.get(ARGUMENTS.get(call.name, "")) if isinstance(given, dict) else None
    return value[:LONGEST_QUESTION] if isinstance(value, str) else "."


def _example(one: Example) -> list[Message]:
    looked = [_said("assistant", step_text(one.tool, one.argument)), _said("user", f"Result: {one.result}")]
    answer = _said("assistant", step_text(ANSWER, one.answer))
    return [_said("user", f"Question: {one.question}"), *(looked if one.tool else ()), answer]


def _opened(system: str, question: str) -> str:
    return f"{system.strip()}\n\n{question}".strip()


def _merged(messages: Iterable[Message]) -> list[Message]:
    """Neighbours of one role as one message: some servers insist on taking turns."""
    told: list[Message] = []
    for message in messages:
        if told and told[-1].role == message.role == "user":
            message = _said("user", f"{plain_text(told.pop().parts)}\n\n{plain_text(message.parts)}")
        told.append(message)
    return told


def _length(turn: Sequence[Message]) -> int:
    return sum(len(plain_text(message.parts)) for message in turn)


def _said(role: Role, text: str) -> Message:
    return Message(id="", role=role, parts=(Text(text=text),), created_at="", status="complete")


def _least(wanted: object, most: int) -> int:
    return min(wanted, most) if isinstance(wanted, int) and wanted > 0 else most
