"""What to do about an error, in the words of the command line: the daemon's own hints speak of routes and fields.

Only text. May import: nothing of ours.
"""

from __future__ import annotations

BY_CODE = {
    "session_not_found": "`agi sessions` lists them.",
    "session_running": "Wait for it, or stop it with Ctrl-C where it runs.",
    "approval_not_found": "It was answered already, or its turn is over.",
    "approval_answered": "The first answer counts.",
    "turn_not_found": "`agi sessions show ID` tells what happened in a session.",
    "resync": "`agi sessions show ID` tells how the session stands.",
    "not_allowed": "`agi doctor` looks at the daemon; stop it and start it again with `agi serve`.",
}
"""What a person at the command line can do, by the code of the error."""
_OF_THE_API = ("GET /", "POST ", "PUT /", "PATCH /", "DELETE /", "/v1/", "openapi.json", "pending_approvals")


def hint_of(code: str, hint: str) -> str:
    """Give the hint that helps here; one that helps only those who speak HTTP is left out."""
    if code in BY_CODE:
        return BY_CODE[code]
    return "" if any(word in hint for word in _OF_THE_API) else hint
