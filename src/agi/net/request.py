"""One request becomes bytes, after every part of it was checked.

What could end a line or change the framing is refused here, so nothing above needs to think of it. Secrets are
never repeated in a message. May import: errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agi.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agi.net.route import Route
    from agi.net.url import Url

_TOKEN_CHARS = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_OURS = frozenset(("connection", "content-length", "expect", "host", "te", "trailer", "transfer-encoding", "upgrade"))
_DEFAULTS = {"accept": "*/*", "accept-encoding": "identity", "user-agent": "agi"}
_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))


def encode_request(method: str, url: Url, headers: Mapping[str, str], body: bytes, route: Route) -> bytes:
    """The whole request in one piece; raises `Invalid`. A proxy that forwards plain http is told the whole URL."""
    if not method or not _TOKEN_CHARS.issuperset(method):
        raise Invalid("The request method is not a word.", hint="Use GET, POST and the like.")
    fields = _DEFAULTS | _checked(headers)
    if body or method in _WITH_BODY:
        fields["content-length"] = str(len(body))
    target = url.target
    if route.proxy is not None and route.scheme == "http":
        target = f"http://{url.authority}{target}"
        fields |= route.proxy.fields
    return encode_head(method, target, {"host": url.authority} | fields) + body


def encode_head(method: str, target: str, fields: Mapping[str, str]) -> bytes:
    """The request line and the fields, which must have been checked."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("ascii")


def _checked(headers: Mapping[str, str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name, value in headers.items():
        if not name or not _TOKEN_CHARS.issuperset(name):
            raise Invalid("A header name has a character that is not allowed.", hint="Use letters, digits and dashes.")
        name = name.lower()
        if name in _OURS or name in fields:
            raise Invalid(f"The header {name!r} is set twice, or is the client's own to set.", hint="Leave it out.")
        if not (value.isascii() and value.isprintable()):
            raise Invalid(
                f"The value of the header {name!r} has a line break, a control character or a letter outside ASCII.",
                hint="If it is a key, look for a line end at the end of the variable or file it came from.",
            )
        fields[name] = value
    return fields
