"""The one error of this room: the network, a proxy or the peer failed.

It tells apart where an exchange broke, because only that decides whether asking again is safe. Whether to ask
again is the caller's business. May import: errors.
"""

from __future__ import annotations

from agi.errors import AgiError


class NetError(AgiError):
    """An exchange failed; `sent` says whether the request may have reached the server.

    `code` is one of connect_failed, connect_timeout, tls_failed, proxy_failed, first_byte_timeout, idle_timeout,
    connection_lost (reset, or an end before the declared one) and bad_response.
    """

    code = "net_failed"

    def __init__(self, message: str, *, code: str, hint: str = "", sent: bool = True) -> None:
        super().__init__(message, hint=hint, code=code)
        self.sent = sent
