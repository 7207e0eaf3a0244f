"""The routes a browser signs in by, as requests: what counts as a credential, and what does not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agi.testing.box import Daemon, daemon_in_a_box

OURS = {"authorization": "", "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}


@pytest.fixture
async def closed(tmp_path: Path) -> AsyncIterator[Daemon]:
    async with daemon_in_a_box(tmp_path, auth="token") as box:
        box._headers = {}
        yield box


async def signed_in(daemon: Daemon) -> dict[str, str]:
    """What a signed-in page sends."""
    code = daemon.app.passes.new_code()
    reply = await daemon.post("/v1/sign-in", {"code": code}, {"sec-fetch-site": "same-origin", "origin": daemon.url})
    assert reply.status == 200
    cookie = reply.headers["set-cookie"].partition(";")[0]
    return {"cookie": cookie, "x-agi-key": reply.json()["key"], "sec-fetch-site": "same-origin"}


async def test_both_halves_from_a_page_of_ours_open_the_door(closed: Daemon) -> None:
    """And the access log says by which right."""
    given = await signed_in(closed)

    assert (await closed.get("/v1/sessions", given)).status == 200
    assert closed.lines[-1].how == "page"


@pytest.mark.advisory("Jupyter model")
@pytest.mark.parametrize("left_out", ["cookie", "x-agi-key", "sec-fetch-site"])
async def test_with_any_of_it_missing_it_stays_shut(closed: Daemon, left_out: str) -> None:
    """A cookie that went to another port, a key that a script read, a request that no page of ours made."""
    given = await signed_in(closed)
    del given[left_out]

    assert (await closed.get("/v1/sessions", given)).status == 401


async def test_another_site_is_refused_with_everything(closed: Daemon) -> None:
    """Also one on another port of the same host, which browsers call the same site."""
    given = await signed_in(closed)
    for site in ("same-site", "cross-site", "none"):
        assert (await closed.get("/v1/sessions", {**given, "sec-fetch-site": site})).status == 403


async def test_a_signed_in_page_gets_no_codes(closed: Daemon) -> None:
    """What runs in a page cannot make itself a second pass."""
    given = await signed_in(closed)

    assert (await closed.post("/v1/sign-in/codes", None, given)).status == 401


async def test_signing_out_ends_the_pass(closed: Daemon) -> None:
    """The cookie is taken back, and would open nothing any more."""
    given = await signed_in(closed)
    reply = await closed.call("DELETE", "/v1/sign-in", None, given)

    assert reply.status == 204
    assert "Max-Age=0" in reply.headers["set-cookie"]
    assert (await closed.get("/v1/sessions", given)).status == 401


async def test_everybody_can_be_signed_out_at_once(closed: Daemon) -> None:
    """For whoever lost a machine."""
    one, two = await signed_in(closed), await signed_in(closed)
    await closed.call("DELETE", "/v1/sign-in?everybody=true", None, one)

    assert (await closed.get("/v1/sessions", two)).status == 401


async def test_wrong_codes_are_counted_as_wrong_tokens(closed: Daemon) -> None:
    """Guessing is cut short."""
    said = [await closed.post("/v1/sign-in", {"code": "guess"}) for _ in range(11)]

    assert [reply.status for reply in said] == [401] * 10 + [429]


async def test_a_script_of_a_page_that_is_not_signed_in_gets_nothing(tmp_path: Path) -> None:
    """Also where this user's programs need no token: a page is its user's only after signing in."""
    async with daemon_in_a_box(tmp_path, auth="auto") as box:
        assert (await box.get("/v1/sessions")).status == 200
        page = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}
        assert (await box.get("/v1/sessions", page)).status == 401


async def test_a_cookie_of_the_same_name_from_elsewhere_keeps_nobody_out(closed: Daemon) -> None:
    """Any program on this machine can set one for its own port or path; the right one is found among them."""
    given = await signed_in(closed)
    name = given["cookie"].partition("=")[0]

    assert (await closed.get("/v1/sessions", {**given, "cookie": f"{name}=planted; {given['cookie']}"})).status == 200
    assert (await closed.get("/v1/sessions", {**given, "cookie": f"{name}=planted"})).status == 401
