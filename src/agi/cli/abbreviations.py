"""Sessions by a part of their id: its beginning or its end, as long as only one session fits.

May import: errors, protocol, client.
"""

from __future__ import annotations

from agi.client.base import Client
from agi.errors import Invalid, NotFound
from agi.protocol.sessions import Session

SHORTEST = 4
LOOKED_AT = 1000
"""How many sessions are compared, the latest first; an older one is found by its whole id."""
NAMED = 5
_PREFIX = "sess_"
_WHOLE = len(_PREFIX) + 32


async def find_session(client: Client, text: str) -> Session:
    """Give the session of this id, or the only one whose id begins or ends so; raises NotFound, or Invalid."""
    if len(text) >= _WHOLE:
        return await client.session(text)
    if len(text.removeprefix(_PREFIX)) < SHORTEST:
        said = f"There is no session {text[:80]!r}."
        hint = f"Say all of its id, or {SHORTEST} characters of it at least: its beginning or its end."
        raise NotFound(said, hint=hint, code="session_not_found")
    found = [one for one in await client.sessions(limit=LOOKED_AT) if _fits(one.id, text)]
    if len(found) > 1:
        names = ", ".join(one.id for one in found[:NAMED]) + (" …" if len(found) > NAMED else "")
        raise Invalid(f"{len(found)} sessions fit {text!r}.", hint=f"Say more of it: {names}", code="session_ambiguous")
    if not found:
        raise NotFound(f"There is no session {text[:80]!r}.", code="session_not_found")
    return found[0]


def _fits(session_id: str, text: str) -> bool:
    return session_id.startswith((text, _PREFIX + text)) or session_id.endswith(text)
