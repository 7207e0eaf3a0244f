"""JSON-RPC 2.0 as it is written: requests, notifications and batches in, responses out; not what they mean.

An id is repeated byte by byte, whatever kind it has; who sends none is not answered, not even with an error.
May import: errors, protocol, server.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

from agi.errors import AgiError, BadRequest, ConfigError, Invalid, NotFound, StorageError, WorkspaceError
from agi.protocol import rpc
from agi.server.request import decode_body, invalid

MOST_IN_A_BATCH = 100
LONGEST_METHOD = 200
NULL = b"null"
_HINT = "docs/rpc.md lists every method."
_NUMBERS = {"draft_active": rpc.DRAFT_ACTIVE, "no_active_draft": rpc.NO_DRAFT}

P = TypeVar("P", bound=rpc.Params)
_batch = msgspec.json.Decoder(list[Raw])
_whole = msgspec.json.Decoder(Raw)
_members = msgspec.json.Decoder(dict[str, Raw])
_text = msgspec.json.Decoder(str)
_encode = msgspec.json.Encoder().encode


class Asked(Struct, frozen=True, kw_only=True):
    """One request or notification; without an id it is a notification."""

    method: str
    params: bytes
    """An object or a list, as it was written; empty if there is none."""
    id: bytes | None


class Wrong(Struct, frozen=True, kw_only=True):
    """Something that is no request, and the error to answer it with."""

    number: int
    error: AgiError
    id: bytes = NULL


Message = Asked | Wrong


def read(text: str) -> tuple[list[Message], bool]:
    """What a client sent, and whether it is a batch, whose answers go back together."""
    body = text.encode(errors="replace").strip()
    if not body:
        return [Wrong(number=rpc.PARSE_ERROR, error=BadRequest("The message is empty.", hint=_HINT))], False
    try:
        if not body.startswith(b"["):
            decode_body(_whole, body, "The message")
            return [_one(body)], False
        items = decode_body(_batch, body, "The message")
    except AgiError as error:
        return [Wrong(number=rpc.PARSE_ERROR, error=error)], False
    if not items:
        return [_wrong("A batch must not be empty.")], False
    if len(items) > MOST_IN_A_BATCH:
        return [_wrong(f"A batch has at most {MOST_IN_A_BATCH} requests.")], False
    return [_one(bytes(item)) for item in items], True


def params_of(kind: type[P], params: bytes) -> P:
    """What a method was given, by name or in order; raises Invalid naming the field that is wrong."""
    what = f"What {kind.METHOD} was given"
    try:
        if not params.startswith(b"["):
            return msgspec.json.decode(params or b"{}", type=kind)
        given = _batch.decode(params)
        names = kind.__struct_encode_fields__
        if len(given) > len(names):
            raise Invalid(f"{what} is not acceptable: it takes at most {len(names)} values.", hint=_HINT)
        return msgspec.json.decode(_encode(dict(zip(names, given, strict=False))), type=kind)
    except msgspec.ValidationError as error:
        raise invalid(error, kind, what, _HINT) from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise Invalid(f"{what} is nested too deeply.", hint="Send something flatter.") from error


def answer(id: bytes, result: object) -> bytes:
    """A response that gives a result."""
    return b'{"jsonrpc":"2.0","result":%b,"id":%b}' % (_encode(result), id)


def refusal(id: bytes, number: int, error: AgiError) -> bytes:
    """A response that tells of an error."""
    told = rpc.RpcError(
        code=number, message=error.message, data=rpc.ErrorData(code=error.code, hint=error.hint or _HINT)
    )
    return b'{"jsonrpc":"2.0","error":%b,"id":%b}' % (_encode(told), id)


def number_of(error: AgiError) -> int:
    """The number of an error: seed 001's two, else JSON-RPC's own."""
    if error.code in _NUMBERS:
        return _NUMBERS[error.code]
    if isinstance(error, Invalid | NotFound | BadRequest | WorkspaceError | ConfigError):
        return rpc.INVALID_PARAMS
    if isinstance(error, StorageError):
        return rpc.INTERNAL_ERROR
    return rpc.SERVER_ERROR


def no_method(name: str) -> AgiError:
    """What to say of a method nobody knows."""
    from difflib import get_close_matches  # late: needed only for a mistake

    near = get_close_matches(name, rpc.METHODS, n=2)
    hint = f"Did you mean {' or '.join(near)}? {_HINT}" if near else _HINT
    return NotFound(f"There is no method {name[:80]!r}.", code="method_not_found", hint=hint)


def _one(body: bytes) -> Message:
    try:
        members = _members.decode(body)
    except (msgspec.MsgspecError, RecursionError):
        return _wrong("A request is a JSON object.")
    id = bytes(members["id"]).strip() if "id" in members else None
    if id is not None and not (id == NULL or id[:1] in b'"-0123456789'):
        return _wrong("An `id` is a text, a number or null.")
    told = id if id is not None else NULL
    if bytes(members.get("jsonrpc", b"")).strip() != b'"2.0"':
        return _wrong('`jsonrpc` must be "2.0".', told)
    method = bytes(members.get("method", b"")).strip()
    if not method.startswith(b'"'):
        return _wrong("`method` must be the name of a method.", told)
    params = bytes(members.get("params", b"")).strip()
    if params and params[:1] not in b"{[":
        return _wrong("`params` must be an object or a list.", told)
    return Asked(method=_text.decode(method)[:LONGEST_METHOD], params=params, id=id)


def _wrong(message: str, id: bytes = NULL) -> Wrong:
    error = BadRequest(message, code="invalid_request", hint=_HINT)
    return Wrong(number=rpc.INVALID_REQUEST, error=error, id=id)
