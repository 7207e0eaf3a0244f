"""A conversation as one text that a model can sum up: who said what, calls and outputs shortened as far as needed.

It is told as material between fences, not as a conversation, so that whoever sums up does not answer it, and no
provider misses tools that its calls are about. Pure. May import: protocol.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agi.protocol.messages import Message
from agi.protocol.parts import Audio, ErrorPart, File, Image, Part, Text, ToolCallPart, ToolResultPart, plain_text

_LENGTHS = ((12_000, 3_000, 1_500), (4_000, 800, 500), (1_500, 200, 200), (400, 80, 80))
"""Characters of what is said, of outputs and of arguments: from plenty to hardly any."""


def transcript(messages: Sequence[Message], most: int) -> str:
    """The conversation in at most so many characters; of one that is too long, both ends."""
    text = ""
    for said, output, arguments in _LENGTHS:
        text = "\n\n".join(line for one in messages for line in _lines(one, said, output, arguments))
        if len(text) <= most:
            return text
    half = max(0, most // 2 - 40)
    return f"{text[:half]}\n\n[… {len(text) - 2 * half} characters are left out here …]\n\n{text[len(text) - half :]}"


def _lines(message: Message, said: int, output: int, arguments: int) -> Iterator[str]:
    if message.role == "assistant" and message.status != "complete":
        return
    who = {"user": "USER", "assistant": "AGENT", "tool": "TOOL", "system": "SYSTEM"}[message.role]
    if message.origin:
        who = f"HARNESS ({message.origin})"
    for part in message.parts:
        line = _line(part, said, output, arguments)
        if line:
            yield f"{who}: {line}"


def _line(part: Part, said: int, output: int, arguments: int) -> str:
    if isinstance(part, Text):
        return _short(part.text, said)
    if isinstance(part, ToolCallPart):
        written = bytes(part.content.args).decode(errors="replace")
        return f"calls {part.content.name} ({part.content.id}) with {_short(written, arguments)}"
    if isinstance(part, ToolResultPart):
        told = "answers" if part.content.ok else "fails"
        return f"{part.content.name} ({part.content.id}) {told}: {_short(plain_text(part.content.parts), output)}"
    if isinstance(part, Image | Audio | File):
        return f"attaches {part.ref}"
    return _short(part.content.message, said) if isinstance(part, ErrorPart) else ""


def _short(text: str, most: int) -> str:
    """A text, or its two ends."""
    text = text.strip()
    if len(text) <= most:
        return text
    return f"{text[: most * 2 // 3]} [… {len(text) - most} characters …] {text[len(text) - most // 3 :]}"
