"""What the guard says when it does not let a request through, in the one error shape, and with which headers.

May import: nothing of ours.
"""

from __future__ import annotations

import msgspec

Header = tuple[bytes, bytes]

SECURITY_HEADERS: tuple[Header, ...] = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
        b"font-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        b"require-trusted-types-for 'script'; trusted-types agi",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
"""Sent with every answer, whatever the application says."""

NO_STORE: Header = (b"cache-control", b"no-store")


class Refusal(msgspec.Struct, frozen=True):
    """An answer of the guard's own, in the one error shape."""

    status: int
    code: str
    message: str
    hint: str = ""
    headers: tuple[Header, ...] = ()

    def body(self) -> bytes:
        """The error shape as JSON."""
        return msgspec.json.encode({"error": {"code": self.code, "message": self.message, "hint": self.hint}})

    def all_headers(self, body: bytes) -> list[Header]:
        """Everything an answer with this body is sent with."""
        size = str(len(body)).encode()
        own = (*self.headers, (b"content-type", b"application/json"), (b"content-length", size))
        return [*own, *SECURITY_HEADERS, NO_STORE]


OUR_NAMES = "Use http://localhost:<port>; another name needs --expose, or `publicUrl` behind a proxy."
HOST_MALFORMED = Refusal(400, "host_refused", "The Host header must be there once, a name and a port.", OUR_NAMES)
HOST_FOREIGN = Refusal(403, "host_refused", "The Host header names another server.", OUR_NAMES)
TARGET_ABSOLUTE = Refusal(400, "host_refused", "The request target must be a path.", "Send `GET /path HTTP/1.1`.")
_FROM_PAGES = "Call it from a program, or from a page that the daemon itself serves."
ORIGIN_FOREIGN = Refusal(403, "origin_refused", "Pages of another origin may not call this server.", _FROM_PAGES)
SITE_FOREIGN = Refusal(403, "origin_refused", "A browser says that another site caused this request.", _FROM_PAGES)
TOKEN_IN_URL = Refusal(
    400, "bad_request", "A token in the URL ends up in histories and logs.", "Send `Authorization: Bearer <token>`."
)
CHALLENGE = ((b"www-authenticate", b"Bearer"),)
NO_CREDENTIAL = Refusal(
    401, "unauthorized", "This needs the token.", "Send `Authorization: Bearer <token>`; see daemon.json.", CHALLENGE
)
WRONG_TOKEN = Refusal(
    401,
    "unauthorized",
    "This is not the token.",
    "Read it again from daemon.json; a restart makes a new one.",
    CHALLENGE,
)
SIGNED_OUT = Refusal(401, "signed_out", "This browser is not signed in.", "Run `agi open` in the project's folder.")
WRONG_CODE = Refusal(
    401, "signed_out", "This code was used, or is too old.", "Run `agi open` again; a code is good once, for a minute."
)
NOT_OUTSIDE = Refusal(
    401,
    "signed_out",
    "Only a browser of the daemon's own user signs in, and none that the daemon's commands started.",
    'Open it on this machine as that user, or run the daemon with `"auth": "token"`.',
)
TOO_MANY = Refusal(429, "too_many_requests", "Too many wrong tokens.", "Wait a second.", ((b"retry-after", b"1"),))
TYPE_UNSUPPORTED = Refusal(
    415, "unsupported_media_type", "This body has a type that is not read.", "Send `Content-Type: application/json`."
)
BODY_ENCODED = Refusal(
    415, "unsupported_media_type", "Compressed bodies are not read.", "Send the body as it is, without encoding."
)
LENGTH_MALFORMED = Refusal(400, "bad_request", "The Content-Length header is not a number.")
BODY_TOO_LARGE = Refusal(413, "too_large", "The body is too large.", "Send less, or send it in parts.")
FAILED = Refusal(500, "internal_error", "Something went wrong here.", "The daemon's log says more.")
