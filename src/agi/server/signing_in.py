"""`/v1/sign-in`: how a browser is let in, and out again.

`agi open` asks for a code with its own credential; the page sends the code and gets a pass: a cookie, and a key to be
sent with each request. A signed-in page gets no codes. May import: errors, server.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from agi.errors import BadRequest
from agi.server.answers import Json, NoContent
from agi.server.asgi import ASGIApp
from agi.server.guard import FACTS, cookie_name
from agi.server.passes import CODE_S, PASS_S
from agi.server.refusals import Refusal
from agi.server.request import Request
from agi.server.routes import Route

Code = Annotated[str, Meta(min_length=1, max_length=200)]
Everybody = Annotated[bool, Meta(description="Sign out every browser.")]


class NewCode(Struct, frozen=True, kw_only=True):
    """A code that a browser signs in with, once; `path` goes behind `public_url`, or else the daemon's address."""

    code: str
    path: str
    public_url: str | None
    expires_in_s: float


class SignIn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The code a page was opened with."""

    code: Code


class SignedIn(Struct, frozen=True, kw_only=True):
    """The half of the pass that the page keeps; the other is a cookie."""

    key: str


class SignOutQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who is signed out."""

    everybody: Everybody = False


async def new_code(request: Request[None, None]) -> ASGIApp:
    """Make a code, for whoever has a credential of their own."""
    code = request.shared.passes.new_code()
    public = request.shared.settings.public_url
    return Json(NewCode(code=code, path=f"/#code={code}", public_url=public, expires_in_s=CODE_S), 201)


async def sign_in(request: Request[SignIn, None]) -> ASGIApp:
    """Turn a code into a pass."""
    facts = request.scope["extensions"][FACTS]
    if "redeem" not in facts:
        raise BadRequest("Whoever sends the token needs no cookie.", hint="Send the code without it.")
    given = facts["redeem"](request.body.code)
    if isinstance(given, Refusal):
        return Json(given.body(), given.status, given.headers)
    cookie = _cookie(request, given.cookie, int(PASS_S))
    return Json(SignedIn(key=given.key), headers=(cookie,))


async def sign_out(request: Request[None, SignOutQuery]) -> ASGIApp:
    """End the pass of this browser, or all of them."""
    passes = request.shared.passes
    if request.query.everybody:
        passes.revoke_all()
    elif (held := request.scope["extensions"][FACTS].get("pass")) is not None:
        passes.revoke(*held)
    return NoContent((_cookie(request, "", 0),))


def _cookie(request: Request[object, object], value: str, seconds: int) -> tuple[bytes, bytes]:
    """HttpOnly: no script reads it. Strict: no other site has it sent. Named by port, for cookies know no ports.

    Secure, behind a proxy that speaks https: nobody on the way reads it.
    """
    name = cookie_name(request.headers["host"])
    secure = "; Secure" if request.scope["extensions"][FACTS].get("secure") else ""
    return b"set-cookie", f"{name}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}".encode()


ROUTES = (
    Route(
        method="POST",
        path="/v1/sign-in/codes",
        handler=new_code,
        name="newSignInCode",
        summary="A code that one browser can sign in with, within a minute; not for a page that is signed in.",
        answers={201: NewCode},
    ),
    Route(
        method="POST",
        path="/v1/sign-in",
        handler=sign_in,
        name="signIn",
        summary="Turn a code into a cookie and a key; the code is the credential.",
        body=SignIn,
        answers={200: SignedIn},
        example={"code": "a-code-from-agi-open"},
        is_open=True,
    ),
    Route(
        method="DELETE",
        path="/v1/sign-in",
        handler=sign_out,
        name="signOut",
        summary="Sign this browser out, or all of them.",
        query=SignOutQuery,
        answers={204: None},
    ),
)
