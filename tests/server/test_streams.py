"""Many streams over one socket: told as each would be by itself, to a page that is signed in, and to nobody else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from agi.server.request import AppSettings
from agi.server.streams import MOST
from agi.testing.box import Daemon, daemon_in_a_box, eventually

SESSION = "sess_" + "0" * 32


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    async with daemon_in_a_box(tmp_path, auth="token", settings=AppSettings(heartbeat_s=0.2)) as box:
        yield box


def signed_in(daemon: Daemon) -> dict[str, str]:
    """What a signed-in page has."""
    given = daemon.app.passes.redeem(daemon.app.passes.new_code())
    assert given is not None
    return {"cookie": f"agi_{daemon.url.rpartition(':')[2]}={given.cookie}", "x-agi-key": given.key}


@asynccontextmanager
async def dialled(
    daemon: Daemon, given: dict[str, str], *, first: object = None, origin: str = ""
) -> AsyncIterator[ClientConnection]:
    """A page's socket, which has sent its key."""
    url = daemon.url.replace("http", "ws") + "/v1/streams"
    headers = {"cookie": given["cookie"]} if "cookie" in given else {}
    if origin != "none":
        headers["origin"] = origin or daemon.url
    async with connect(url, additional_headers=headers, max_queue=None) as socket:
        await say(socket, {"type": "auth", "key": given["x-agi-key"]} if first is None else first)
        yield socket


@pytest.fixture
async def page(daemon: Daemon) -> AsyncIterator[ClientConnection]:
    async with dialled(daemon, signed_in(daemon)) as socket:
        yield socket


async def say(socket: ClientConnection, message: object) -> None:
    """Send one message."""
    await socket.send(json.dumps(message))


async def hear(socket: ClientConnection, number: int, *, until: str) -> str:
    """The frames of one stream, up to and with the first event of this type."""
    told = ""
    async with asyncio.timeout(10):
        while f"event: {until}\n" not in told:
            mark, _, frames = str(await socket.recv()).partition("\n")
            told += frames if int(mark) == number else ""
    return told


def events(told: str) -> list[tuple[str, str, str]]:
    """Type, data and id of each frame."""
    frames = [dict(line.split(": ", 1) for line in one.split("\n")) for one in told.split("\n\n") if one]
    return [(one["event"], one["data"], one.get("id", "")) for one in frames]


async def test_a_session_is_told_exactly_as_its_own_stream_tells_it(daemon: Daemon, page: ClientConnection) -> None:
    """The same frames with the same ids: history, then what happens."""
    daemon.model.says("Hello.").says("Again.")
    turn = await daemon.ask("hello")
    await turn.answer()
    await say(page, {"type": "follow", "id": 7, "session_id": turn.session_id})
    told = await hear(page, 7, until="turn_completed")
    await (await daemon.ask("more", session_id=turn.session_id)).answer()
    told += await hear(page, 7, until="turn_completed")

    alone = daemon.stream(f"/v1/sessions/{turn.session_id}/events?follow=false")
    written = [(one.event, one.data.decode(), one.id) async for one in alone]
    spoken = [one for one in events(told) if one[0] != "model_output_delta"]
    assert spoken == [one for one in written if one[0] != "model_output_delta"]
    assert "Again." in "".join(json.loads(one[1])["data"].get("delta", "") for one in events(told))


async def test_several_are_told_apart_and_the_list_is_one_of_them(daemon: Daemon, page: ClientConnection) -> None:
    """Each under the number that its page gave it."""
    one, two = await daemon.begin(title="one"), await daemon.begin(title="two")
    await say(page, {"type": "follow", "id": 1})
    await say(page, {"type": "follow", "id": 2, "session_id": one})
    await say(page, {"type": "follow", "id": 3, "session_id": two})
    heard: dict[int, str] = {1: "", 2: "", 3: ""}
    while not all(heard.values()):
        mark, _, frames = str(await page.recv()).partition("\n")
        heard[int(mark)] = heard.get(int(mark), "") + frames

    assert {row["id"] for row in json.loads(events(heard[1])[0][1])["sessions"]} == {one, two}
    assert [json.loads(events(heard[number])[0][1])["session_id"] for number in (2, 3)] == [one, two]


async def test_it_goes_on_behind_the_last_event_one_has(daemon: Daemon, page: ClientConnection) -> None:
    """From an id nothing is told twice; from one of another log, how everything stands is told first."""
    daemon.model.says("Hello.")
    turn = await daemon.ask("hello")
    await turn.answer()
    await say(page, {"type": "follow", "id": 1, "session_id": turn.session_id})
    all_of_it = events(await hear(page, 1, until="turn_completed"))
    await say(page, {"type": "follow", "id": 2, "session_id": turn.session_id, "after": all_of_it[2][2]})
    rest = events(await hear(page, 2, until="turn_completed"))
    await say(page, {"type": "follow", "id": 3, "session_id": turn.session_id, "after": "1@0"})
    anew = events(await hear(page, 3, until="resync"))

    assert [one for one in rest if one[0] != "model_output_delta"] == [
        one for one in all_of_it[3:] if one[0] != "model_output_delta"
    ]
    assert [one[0] for one in anew] == ["resync"]


async def test_what_is_dropped_is_told_no_more(daemon: Daemon, page: ClientConnection) -> None:
    """The others go on."""
    session_id = await daemon.begin(title="dropped")
    for number in (1, 2):
        await say(page, {"type": "follow", "id": number, "session_id": session_id})
        await hear(page, number, until="session_created")
    await say(page, {"type": "drop", "id": 1})
    await say(page, {"type": "follow", "id": 3, "session_id": SESSION})
    await hear(page, 3, until="refused")  # so the drop was heard
    daemon.model.says("Hello.")
    await (await daemon.ask("hello", session_id=session_id)).answer()
    seen = ""
    while "turn_completed" not in seen:
        seen += str(await page.recv()) + "|"

    assert {one.partition("\n")[0] for one in seen.split("|") if one} <= {"2", "0"}


@pytest.mark.parametrize(
    ("message", "number", "status"),
    [
        ({"type": "follow", "id": 4, "session_id": SESSION}, 4, 404),
        ({"type": "follow", "id": 4, "session_id": "../../x"}, 4, 404),
        ({"type": "follow", "id": 4, "after": "yesterday"}, 4, 400),
        ({"type": "follow", "id": -1}, 0, 422),
        ({"type": "follow", "id": 4, "path": "/v1/health"}, 0, 422),
        ({"type": "chat.send"}, 0, 422),
        ([], 0, 422),
    ],
)
async def test_what_cannot_be_told_is_refused_and_the_rest_goes_on(
    daemon: Daemon, page: ClientConnection, message: object, number: int, status: int
) -> None:
    """Under its number, with a reason; the connection lives on."""
    await say(page, message)
    ((_, data, _),) = events(await hear(page, number, until="refused"))

    assert json.loads(data)["status"] == status
    assert json.loads(data)["message"]
    await say(page, {"type": "follow", "id": 5})
    assert await hear(page, 5, until="snapshot")


async def test_a_session_that_is_deleted_meanwhile_ends_its_stream(daemon: Daemon, page: ClientConnection) -> None:
    """The page is told that there is no such session any more."""
    session_id = await daemon.begin(title="gone soon")
    await say(page, {"type": "follow", "id": 1, "session_id": session_id})
    await hear(page, 1, until="session_created")
    assert (await daemon.call("DELETE", f"/v1/sessions/{session_id}")).status < 300

    assert json.loads(events(await hear(page, 1, until="refused"))[-1][1])["code"] == "session_not_found"


async def test_streams_are_bounded_in_number(daemon: Daemon, page: ClientConnection) -> None:
    """One page cannot make the daemon follow without end; ended ones do not count."""
    session_id = await daemon.begin(title="many")
    await say(page, {"type": "follow", "id": 1, "session_id": SESSION})
    for number in range(1, MOST + 2):
        await say(page, {"type": "follow", "id": number, "session_id": session_id})

    told = await hear(page, MOST + 1, until="refused")
    assert json.loads(events(told)[0][1])["status"] == 429


@pytest.mark.threat("T3")
@pytest.mark.parametrize("what", ["no cookie", "another key", "no key", "no origin", "the token"])
async def test_with_half_a_pass_nothing_is_told(daemon: Daemon, what: str) -> None:
    """The cookie counts only beside its key, in a handshake that a page of ours made."""
    given, other = signed_in(daemon), signed_in(daemon)
    first: object = None
    if what == "no cookie":
        del given["cookie"]
    elif what == "another key":
        given["x-agi-key"] = other["x-agi-key"]
    elif what == "no key":
        first = {"type": "follow", "id": 1}
    elif what == "the token":
        first = {"type": "auth", "token": "a-token-for-tests-and-nothing-else"}
    async with dialled(daemon, given, first=first, origin="none" if what == "no origin" else "") as socket:
        with pytest.raises(ConnectionClosed) as ended:
            await socket.recv()

    assert ended.value.rcvd is not None
    assert ended.value.rcvd.code == 4401


@pytest.mark.threat("T3")
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://{host}"])
async def test_another_origin_is_refused_before_it_opens(daemon: Daemon, origin: str) -> None:
    """With everything else in order."""
    given = signed_in(daemon)
    with pytest.raises(InvalidStatus) as refused:
        async with dialled(daemon, given, origin=origin.format(host=daemon.url.removeprefix("http://"))):
            pass

    assert refused.value.response.status_code == 403


async def test_signing_out_ends_what_is_open(daemon: Daemon) -> None:
    """In every tab of that browser, with the next heartbeat; another browser hears on."""
    one, other = signed_in(daemon), signed_in(daemon)
    async with dialled(daemon, one) as mine, dialled(daemon, other) as theirs:
        await say(mine, {"type": "follow", "id": 1})
        await hear(mine, 1, until="snapshot")
        daemon.app.passes.revoke(one["cookie"].partition("=")[2], one["x-agi-key"])
        with pytest.raises(ConnectionClosed) as ended:
            await hear(mine, 1, until="never")
        await hear(theirs, 0, until="heartbeat")

    assert ended.value.rcvd is not None
    assert ended.value.rcvd.code == 4401


async def test_the_access_log_says_by_which_right(daemon: Daemon) -> None:
    """One line, when it ends."""
    async with dialled(daemon, signed_in(daemon)) as socket:
        await hear(socket, 0, until="heartbeat")
    await eventually(lambda: [one for one in daemon.lines if one.path == "/v1/streams"])

    assert [(one.status, one.how) for one in daemon.lines] == [(101, "page")]
