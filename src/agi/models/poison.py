"""Which attachments a refusal is about: one picture that a provider will not take must not spoil the whole session.

Most providers name a place in the request, and what stands there is looked up in the request as it was sent. Some only
name a kind ("Could not process image"): then the newest ones of this kind are to blame, or all of them where the model
takes none. Where neither is said, nobody is. Pure, and its work is bounded: the words are a server's.
May import: nothing of ours.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

import msgspec

_CONVERSATION = ("messages", "input", "contents")
_PATH = re.compile(r"\b(messages|input|contents)((?:\.\w{1,64}|\[\d{1,6}\]|/\w{1,64}){1,24})", re.ASCII)
_STEP = re.compile(r"\w+", re.ASCII)
_MOST_PATHS = 8
_MOST_VALUES = 200_000
_MARK = ";base64,"
_TYPES = ("media_type", "mimeType")
_KINDS = {
    "image": re.compile(
        r"image|picture|photo|pixel|\bvision\b|multimodal|\bpng\b|\bjpe?g\b|\bwebp\b|\bgif\b", re.IGNORECASE
    ),
    "document": re.compile(
        r"\bpdfs?\b|application/pdf|\bdocuments?\b|input_file|file_data|\bfiles? (input|type|data)\b", re.IGNORECASE
    ),
    "audio": re.compile(r"audio|\bsounds?\b|\bwav\b|\bmp3\b", re.IGNORECASE),
    "video": re.compile(r"\bvideos?\b", re.IGNORECASE),
}
_ANY_MEDIA = re.compile(r"inline_?data|base64|mime.?type|media.?type|\bsource\b|\bfile\b", re.IGNORECASE)
_COMPLAINT = re.compile(
    r"could ?n.t|could not|cannot|can't|unable|fail|valid|unsupported|support|exceed|corrupt|malform|damag"
    r"|too (many|large|big|long|small)|not permitted|not allowed|must be|maximum|at most|limit|no pages|empty|password"
    r"|encrypted|unknown variant|not enabled|missing data|parse|not accept|mmproj",
    re.IGNORECASE,
)
_NONE_AT_ALL = re.compile(
    r"(not|n't) (support|accept) .{0,40}(image|vision|audio|video|file|pdf|document|multimodal|media)"
    r"|(image|vision|audio|video|file|pdf|document|media)\w{0,8} (inputs?|content) (is|are) not (supported|enabled)"
    r"|(image|audio|video|file|pdf|document|media)[^.]{0,40} not supported (by|with|for) (this|the|that) model"
    r"|only supported by (certain|some) models|no endpoints found that support|missing data required for image|mmproj"
    r"|unknown variant .?(image_url|input_audio|file)|not a multimodal model",
    re.IGNORECASE,
)


def blame(
    words: str, body: bytes, files: Mapping[str, bytes], *, only_exactly: bool = False, passing: bool = False
) -> tuple[str, ...]:
    """The refs of the files that the words of a refusal are about, in the order they were sent.

    `only_exactly` takes a place in the request for proof, but not the name of a kind; `passing` is for failures that
    may be the server's own: there only the word that the model takes no such thing counts.
    """
    kinds = {kind for kind, names in _KINDS.items() if names.search(words)}
    if not kinds and not _ANY_MEDIA.search(words):
        return ()
    try:
        sent = _Sent(msgspec.json.decode(body), files)
    except (ValueError, RecursionError):
        return ()
    takes_none = _NONE_AT_ALL.search(words) is not None
    if takes_none and kinds:
        return _once(ref for message in sent.messages for ref in sent.shown_in(message, kinds))
    if passing:
        return ()
    found = ([match[1], *_STEP.findall(match[2])] for match in islice(_PATH.finditer(words), _MOST_PATHS))
    if paths := [path for path in found if any(map(str.isdigit, path))]:
        return _once(ref for path in paths for ref in sent.shown_at(path, kinds))
    if only_exactly or not kinds or not _COMPLAINT.search(words):
        return ()
    newest = (_once(sent.shown_in(message, kinds)) for message in reversed(sent.messages))
    return next(filter(None, newest), ())


class _Sent:
    """A request's body, and what of the files stands where in it."""

    def __init__(self, body: object, files: Mapping[str, bytes]) -> None:
        self._body = body if isinstance(body, dict) else {}
        self._files = files
        self._by_length: dict[int, list[str]] = {}
        for ref, data in files.items():
            self._by_length.setdefault(-(-len(data) // 3) * 4, []).append(ref)
        self._written: dict[str, str] = {}

    @property
    def messages(self) -> list[object]:
        """The conversation, whatever the format calls it."""
        found = (self._body.get(name) for name in _CONVERSATION)
        return next((value for value in found if isinstance(value, list)), [])

    def shown_at(self, path: list[str], kinds: set[str]) -> Iterator[str]:
        """What stands at a place; a whole message is only asked for what is of a kind that was named."""
        value, indexes = self._walk(path)
        if named := list(self.shown_in(value, kinds)):
            yield from named
        elif indexes > 1:
            yield from self.shown_in(value, set(_KINDS))

    def shown_in(self, value: object, kinds: set[str]) -> Iterator[str]:
        """The refs of all files of these kinds in a part of the body."""
        for text, kind in _texts(value):
            if kind in kinds:
                yield from self._refs(text)

    def _walk(self, path: Iterable[str]) -> tuple[object, int]:
        """Go as far as the steps lead; some servers also name types on the way, and these lead nowhere."""
        value: object = self._body
        indexes = 0
        for step in path:
            if isinstance(value, list) and step.isdigit() and int(step) < len(value):
                value, indexes = value[int(step)], indexes + 1
            elif isinstance(value, dict):
                found = value.get(step, value.get(_camel(step)))
                # A complaint of a file's type or name is one of the file: what stands beside it belongs to it.
                value = found if isinstance(found, dict | list) else value
        return value, indexes

    def _refs(self, text: str) -> Iterator[str]:
        data = text[text.find(_MARK, 0, 200) + len(_MARK) :] if text.startswith("data:") else text
        for ref in self._by_length.get(len(data), ()):
            if ref not in self._written:
                self._written[ref] = b2a_base64(self._files[ref], newline=False).decode()
            if self._written[ref] == data:
                yield ref


def _texts(value: object, mime_type: str = "") -> Iterator[tuple[str, str]]:
    """Every string in a value that may be a file, with the kind that is said beside it."""
    stack: list[tuple[object, str]] = [(value, mime_type)]
    for _ in range(_MOST_VALUES):
        if not stack:
            return
        value, mime_type = stack.pop()
        if isinstance(value, str):
            told = value[5:200].partition(";")[0] if value.startswith("data:") else mime_type
            yield value, _kind(told)
        elif isinstance(value, list):
            stack += [(one, mime_type) for one in reversed(value)]
        elif isinstance(value, dict):
            known = next((value[name] for name in _TYPES if isinstance(value.get(name), str)), "")
            known = "audio/" if "format" in value and "data" in value else known
            stack += [(one, known) for one in reversed(value.values())]


def _kind(mime_type: str) -> str:
    family = mime_type.partition("/")[0]
    return family if family in ("image", "audio", "video") else "document"


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _once(refs: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(refs))
