"""The types as JSON Schema: every struct a client meets, and the two vocabularies of events as unions by their name.

May import: protocol, server.words, server.snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from agi.protocol import events as ev
from agi.protocol.overview import Removed, SessionRow, Snapshot
from agi.protocol.parts import Part
from agi.protocol.sessions import Session
from agi.server.snapshot import Resync
from agi.server.words import STREAM_WORDS, StreamError, dotted

Schema = dict[str, Any]

REF = "#/components/schemas/{name}"
UNSENT = frozenset({"turn_started"})
"""Events for which seed 004 has no word."""

_BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
_TEXT: Schema = {"type": "string"}
_ENVELOPE: Schema = {
    "seq": {"type": "integer", "minimum": 0},
    "ts": _TEXT,
    "session_id": _TEXT,
    "turn_id": {"type": ["string", "null"]},
}

_WATCHED: dict[str, type] = {"snapshot": Snapshot, "session": SessionRow, "removed": Removed}
"""The words of the stream about all sessions."""


class Heartbeat(msgspec.Struct, frozen=True):
    """`heartbeat`: nothing happened, but the stream lives."""

    ts: str


def ref(name: str) -> Schema:
    """A reference to a component."""
    return {"$ref": REF.format(name=name)}


def components(types: Iterable[Any]) -> tuple[dict[Any, Schema], dict[str, Schema]]:
    """The schema of each type, and the components they refer to, the unions of events among them."""
    wanted = [*dict.fromkeys(types), Part, Session, Resync, Heartbeat, StreamError, *_WATCHED.values()]
    wanted += [kind for _, kind in STREAM_WORDS.values()]
    wanted += list(ev.DATA_TYPES.values())
    schemas, found = msgspec.json.schema_components(wanted, schema_hook=_anything, ref_template=REF)
    made = dict(zip(wanted, map(_one_of, schemas), strict=True))
    parts = {name: _one_of(schema) for name, schema in found.items()}
    parts["Part"] = made[Part]
    parts |= _log_events() | _event_items() | _stream_items() | _watch_items()
    _say_what_types_cannot(parts)
    return made, dict(sorted(parts.items()))


def _anything(kind: type) -> Schema:
    return {"description": "Any JSON value."}


def _one_of(schema: Any) -> Any:
    """The same schema with unions that a discriminator tells apart as `oneOf`."""
    if isinstance(schema, list):
        return [_one_of(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    told = {key: _one_of(value) for key, value in schema.items()}
    if "discriminator" in told and "anyOf" in told:
        told["oneOf"] = told.pop("anyOf")
    return told


def _log_events() -> dict[str, Schema]:
    """The envelope of each event type, and their union by `type`."""
    made: dict[str, Schema] = {}
    mapping: dict[str, str] = {}
    for kind, data in ev.DATA_TYPES.items():
        name = f"{data.__name__}Event"
        fields = {**_ENVELOPE, "type": {"const": kind}, "data": ref(data.__name__)}
        about = (data.__doc__ or "").partition("\n")[0]
        made[name] = {"type": "object", "description": about, "properties": fields, "required": list(fields)}
        mapping[kind] = REF.format(name=name)
    made["SessionEvent"] = _union(mapping, "type")
    return made


def _event_items() -> dict[str, Schema]:
    """One message of `/events`, by its `event:`."""
    fields = {"event": {"enum": [*ev.DATA_TYPES]}, "id": _TEXT, "data": _json_text(ref("SessionEvent"))}
    made: dict[str, Schema] = {"LogItem": {"type": "object", "properties": fields, "required": list(fields)}}
    mapping = {kind: REF.format(name="LogItem") for kind in ev.DATA_TYPES}
    for word, kind in (("resync", Resync), ("heartbeat", Heartbeat)):
        name = _item_name(word)
        made[name] = _item(word, ref(kind.__name__))
        mapping[word] = REF.format(name=name)
    return {**made, "EventItem": _union(mapping, "event")}


def _stream_items() -> dict[str, Schema]:
    """One message of `/stream` and of a streamed reply, by its `event:`."""
    payloads = _payloads()
    made = {_item_name(word): _item(word, payload) for word, payload in payloads.items()}
    mapping = {word: REF.format(name=_item_name(word)) for word in payloads}
    return {**made, "StreamItem": _union(mapping, "event")}


def _watch_items() -> dict[str, Schema]:
    """One message of `/v1/watch`, by its `event:`."""
    payloads = {**{word: kind.__name__ for word, kind in _WATCHED.items()}, "heartbeat": "Heartbeat"}
    made = {_item_name(word): _item(word, ref(name)) for word, name in payloads.items()}
    return {**made, "WatchItem": _union({word: REF.format(name=_item_name(word)) for word in payloads}, "event")}


def _payloads() -> dict[str, Schema]:
    """What `data:` holds, by `event:`, in seed 004's words."""
    told: dict[str, Schema] = {"session.created": ref("Session")}
    told |= {word: ref(kind.__name__) for word, kind in STREAM_WORDS.values()}
    translated = {*STREAM_WORDS, *UNSENT, "session_created", "verification_started", "verification_completed"}
    turn: Schema = {"type": "object", "properties": {"turn_id": _TEXT}}
    told |= {
        dotted(kind): {"allOf": [ref(data.__name__), turn]}
        for kind, data in ev.DATA_TYPES.items()
        if kind not in translated
    }
    return {**told, "error": ref("StreamError"), "resync": ref("Resync"), "heartbeat": ref("Heartbeat")}


def _item(word: str, payload: Schema) -> Schema:
    fields = {"event": {"const": word}, "id": _TEXT, "data": _json_text(payload)}
    return {"type": "object", "properties": fields, "required": ["event", "data"]}


def _item_name(word: str) -> str:
    return "".join(piece.capitalize() for piece in word.replace("_", ".").split(".")) + "Item"


def _json_text(schema: Schema) -> Schema:
    return {"type": "string", "contentMediaType": "application/json", "contentSchema": schema}


def _union(mapping: dict[str, str], by: str) -> Schema:
    return {
        "oneOf": [{"$ref": target} for target in dict.fromkeys(mapping.values())],
        "discriminator": {"propertyName": by, "mapping": mapping},
    }


def _say_what_types_cannot(parts: dict[str, Schema]) -> None:
    """Rules between fields, and the form of a text that is bytes."""
    parts["PostMessage"]["oneOf"] = [_given("parts", "array"), _given("content", "string")]
    parts["OneShot"]["oneOf"] = [_given("prompt", "string"), _given("messages", "array")]
    parts["UploadAttachment"]["properties"]["data"] = {
        "type": "string",
        "contentEncoding": "base64",
        "pattern": _BASE64,
        "minLength": 4,
    }


def _given(field: str, kind: str) -> Schema:
    return {"required": [field], "properties": {field: {"type": kind}}}
