"""The conversation in OpenAI's Responses format: our messages and their attachments become its input items.

Nothing is kept at the provider: what the model thought goes back as the sealed item it came in, before what it led to,
to the provider and model that wrote it and to no other. Pure. May import: protocol, models.base, models.retelling.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from agi.models.base import ModelRequest
from agi.models.retelling import Retelling
from agi.protocol.messages import Message
from agi.protocol.parts import Audio, File, Image, Part, Reasoning, Text, ToolCallPart, ToolResultPart

MAX_ATTACHED = 48 * 1024 * 1024
"""Bytes of attachments in one request; OpenAI takes 50 MB."""

_UNFIT = re.compile(r"[^A-Za-z0-9_-]+", re.ASCII)
_PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)
_DOCUMENTS = (
    "text/",
    "application/json",
    "application/xml",
    "application/rtf",
    "application/msword",
    "application/vnd.ms-",
    "application/vnd.openxmlformats-officedocument.",
    "application/vnd.oasis.opendocument.",
)


class Sealed(Struct, frozen=True, omit_defaults=True):
    """What a reasoning part's signature holds: an item to hand back, or the phase of the text that follows it."""

    type: str
    phase: str = ""


class InputText(Struct, frozen=True):
    """Words shown to the model."""

    text: str
    type: str = "input_text"


class InputImage(Struct, frozen=True):
    """A picture shown to the model."""

    image_url: str
    detail: str = "auto"
    type: str = "input_image"


class InputFile(Struct, frozen=True):
    """A document shown to the model."""

    filename: str
    file_data: str
    type: str = "input_file"


Shown = InputText | InputImage | InputFile


class Said(Struct, frozen=True):
    """Something said to the model, by whoever has the role."""

    role: str
    content: list[Shown]
    type: str = "message"


class OutputText(Struct, frozen=True):
    """Words of the model."""

    text: str
    annotations: tuple[()] = ()
    type: str = "output_text"


class Answered(Struct, frozen=True, kw_only=True):
    """Something the model said; servers that check what they get want an id and a status, and any will do."""

    id: str = ""
    role: str = "assistant"
    status: str = "completed"
    phase: str | UnsetType = UNSET
    content: tuple[OutputText]
    type: str = "message"


class Call(Struct, frozen=True):
    """A tool the model asked for."""

    call_id: str
    name: str
    arguments: str
    type: str = "function_call"


class CallOutput(Struct, frozen=True):
    """What came of a call."""

    call_id: str
    output: str | list[Shown]
    type: str = "function_call_output"


InputItem = Said | Answered | Call | CallOutput | Raw

_encode = msgspec.json.Encoder(order="deterministic").encode
_unseal = msgspec.json.Decoder(Sealed).decode


def input_items(request: ModelRequest, maker: tuple[str, str], retelling: Retelling) -> Iterator[InputItem]:
    """Our messages as the provider's items; one with nothing to send becomes none."""
    sent = _affordable(request.messages, request.files) if request.files else {}
    numbers = count()
    for items in retelling.pieces(request, maker, partial(_items, maker), _kept, sent):
        for item in items:
            yield replace(item, id=f"msg_{next(numbers)}") if isinstance(item, Answered) else item


def _items(maker: tuple[str, str], message: Message, files: Mapping[str, bytes]) -> Iterator[InputItem]:
    if message.role == "tool":
        yield from (_result(part, files) for part in message.parts if isinstance(part, ToolResultPart))
    elif message.role == "assistant":
        yield from _answered(message.parts, maker)
    elif content := _shown(message.parts, files):
        yield Said(message.role, content)


def _kept(item: InputItem) -> InputItem:
    """An item as it is sent, but for one that gets its number by what stands before it."""
    return item if isinstance(item, Answered) else Raw(_encode(item))


def _fit(name: str) -> str:
    """A name as the provider takes it: models also call tools that nobody offered them."""
    return _UNFIT.sub("_", name)[:64] or "_"


def _answered(parts: Iterable[Part], maker: tuple[str, str]) -> Iterator[InputItem]:
    """An answer in the order it came. Thoughts wait for what they led to: alone, as after a cut, they are refused."""
    thoughts: list[Raw] = []
    phase, words = "", ""
    for part in (*parts, None):
        if isinstance(part, Text):
            words += part.text
            continue
        if words:
            yield from thoughts
            yield Answered(phase=phase or UNSET, content=(OutputText(words),))
            thoughts, phase, words = [], "", ""
        if isinstance(part, ToolCallPart):
            yield from thoughts
            yield _call(part)
            thoughts = []
        elif isinstance(part, Reasoning) and (part.provider, part.model) == maker:
            sealed = _opened(part.signature)
            phase = sealed.phase
            if sealed.type == "reasoning":
                thoughts.append(Raw(part.signature.encode()))


def _opened(signature: str) -> Sealed:
    """Look into a signature; one that another format made, under the same name, is nothing to this one."""
    try:
        return _unseal(signature)
    except (ValueError, RecursionError):
        return Sealed("")


def _call(part: ToolCallPart) -> Call:
    """Arguments must be an object for many servers; what else a model wrote is put into one."""
    call, written = part.content, bytes(part.content.args)
    if not written.lstrip().startswith(b"{"):
        written = b'{"malformed":%b}' % written
    return Call(call.id, _fit(call.name), written.decode(errors="replace"))


def _result(part: ToolResultPart, files: Mapping[str, bytes]) -> CallOutput:
    """A result is plain text unless there is something to look at: not every server takes a list here."""
    result = part.content
    content = _shown(result.parts, files)
    words = [shown.text for shown in content if isinstance(shown, InputText)]
    if len(words) < len(content):
        return CallOutput(result.id, content)
    return CallOutput(result.id, "\n".join(words) or result.error or "(no output)")


def _shown(parts: Iterable[Part], files: Mapping[str, bytes]) -> list[Shown]:
    shown: list[Shown] = []
    for part in parts:
        if isinstance(part, Image | Audio | File):
            shown.append(_attached(part, files.get(part.ref, b"")))
        elif isinstance(part, Text) and part.text:
            shown.append(InputText(part.text))
    return shown


def _attached(part: Image | Audio | File, data: bytes) -> Shown:
    """A picture or a document as it is; what this format has no place for, or what is missing, by name."""
    kind = _kind(part, data) if data else ""
    if kind.startswith("image/"):
        return InputImage(_data_url(kind, data))
    if kind:
        return InputFile(part.ref.rpartition("/")[2], _data_url(kind, data))
    return InputText(f"[attachment: {part.ref}, {part.mime_type}]")


def _kind(part: Image | Audio | File, data: bytes) -> str:
    """What an attachment is by its first bytes: one that is not what it is said to be would be refused for ever."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data.startswith(b"%PDF-"):
        return "application/pdf"
    told = part.mime_type.partition(";")[0].strip().lower()
    seen = next((known for start, known in _PICTURES if data.startswith(start)), "")
    return seen or (told if isinstance(part, File) and told.startswith(_DOCUMENTS) else "")


def _affordable(messages: Sequence[Message], files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The attachments that fit into one request, the latest first."""
    kept: dict[str, bytes] = {}
    room = MAX_ATTACHED
    for ref in reversed([*_refs(messages)]):
        data = files.get(ref, b"")
        if len(data) <= room:
            kept[ref] = data
            room -= len(data)
    return kept


def _refs(messages: Sequence[Message]) -> Iterator[str]:
    """What is referred to, once for every time it would be sent."""
    for part in (part for message in messages for part in message.parts):
        for shown in part.content.parts if isinstance(part, ToolResultPart) else (part,):
            if isinstance(shown, Image | File):
                yield shown.ref


def _data_url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{b2a_base64(data, newline=False).decode()}"
