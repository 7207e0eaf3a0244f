"""Bad input: whatever is wrong gets one clear error in the one shape, and changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from agi.models.scripted import Wait
from agi.testing.box import Daemon, Reply

GHOST = "sess_" + "0" * 32
NOBODY = "turn_" + "0" * 32
TEXT = [{"type": "text", "text": "hi"}]


@pytest.fixture
async def unchanged(daemon: Daemon) -> AsyncIterator[str]:
    """A session to be unkind to; nothing may have been logged anywhere by the end of the test."""
    session_id = await daemon.begin(title="quiet")
    before = _count(daemon)
    yield session_id
    assert _count(daemon) == before
    assert daemon.problems == []


def _count(daemon: Daemon) -> int:
    count: int = daemon.harness.log.db.execute("SELECT count(*) FROM events").fetchone()[0]
    return count


def explain(reply: Reply) -> tuple[int, str, str]:
    """The status, code and message; fails unless the body is the one error shape, with a hint."""
    body = msgspec.json.decode(reply.body)
    assert set(body) == {"error"}
    assert set(body["error"]) >= {"code", "message", "hint"}
    assert body["error"]["message"]
    assert reply.headers["content-type"] == "application/json"
    return reply.status, body["error"]["code"], body["error"]["message"]


MALFORMED = {
    "cut off": b'{"parts": [',
    "no JSON at all": b"hello",
    "two values": b"{} {}",
    "not UTF-8": b'{"content": "\xff\xfe"}',
    "UTF-16": '{"content": "hi"}'.encode("utf-16"),
    "half a character": b'{"content": "\\ud800"}',
    "the other half": b'{"content": "\\udc00 and more"}',
    "a byte order mark": b'\xef\xbb\xbf{"content": "hi"}',
    "not a number": b'{"options": {"t": NaN}, "content": "hi"}',
    "10,000 arrays deep": b'{"content": "hi", "options": {"a": ' + b"[" * 10_000 + b"]" * 10_000 + b"}}",
    "10,000 objects deep": b'{"content": "hi", "options": ' + b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b"}",
    "101 deep": b'{"content": "hi", "options": {"a": ' + b"[" * 99 + b"]" * 99 + b"}}",
    "10,000 deep and cut off": b"[" * 10_000,
}


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED.keys())
async def test_a_body_that_cannot_be_read_is_malformed(daemon: Daemon, unchanged: str, body: bytes) -> None:
    """400, whatever the nature of the garbage."""
    status, code, _ = explain(await daemon.post(f"/v1/sessions/{unchanged}/messages", body))
    assert (status, code) == (400, "bad_request")


async def test_brackets_within_text_do_not_count_as_nesting(daemon: Daemon, unchanged: str) -> None:
    """Only structure counts: code full of brackets is an ordinary message (refused here for its role alone)."""
    body = {"content": "[{" * 5000 + '\\"', "role": "tool"}
    status, code, _ = explain(await daemon.post(f"/v1/sessions/{unchanged}/messages", body))
    assert (status, code) == (422, "invalid")


WRONG = {
    "a number for a text": ({"content": 5}, "`content`"),
    "a text for a switch": ({"content": "x", "auto_run": "yes"}, "`auto_run`"),
    "an unknown part": ({"parts": [{"type": "video", "ref": "x"}]}, "`parts[0].type`"),
    "a part without its text": ({"parts": [{"type": "text"}]}, "`parts[0]`"),
    "no parts": ({"parts": []}, "`parts`"),
    "an unknown field": ({"content": "x", "contents": "y"}, "`contents`"),
    "another's role": ({"content": "x", "role": "assistant"}, "`role`"),
    "an empty text": ({"content": ""}, "`content`"),
    "a list": ([1, 2], "array"),
    "null": (None, ""),
}


@pytest.mark.parametrize(("body", "named"), WRONG.values(), ids=WRONG.keys())
async def test_a_wrong_field_is_named(daemon: Daemon, unchanged: str, body: object, named: str) -> None:
    """422, and the message says which field and what was expected of it."""
    raw = msgspec.json.encode(body)
    status, code, message = explain(await daemon.post(f"/v1/sessions/{unchanged}/messages", raw))
    assert (status, code) == (422, "invalid")
    assert named in message


@pytest.mark.parametrize("body", [{}, {"parts": TEXT, "content": "both"}, {"parts": None, "content": None}])
async def test_a_message_is_parts_or_content(daemon: Daemon, unchanged: str, body: object) -> None:
    """Exactly one of the two."""
    status, code, _ = explain(await daemon.post(f"/v1/sessions/{unchanged}/messages", body))
    assert (status, code) == (422, "message_empty")


UNKNOWN = {
    "agent": ({"content": "x", "agent": "nobody"}, "unknown_agent"),
    "provider": ({"content": "x", "provider": "nowhere"}, "unknown_provider"),
    "model": ({"content": "x", "provider": "scripted", "model": "nothing"}, "unknown_model"),
    "attachment": ({"parts": [{"type": "image", "ref": "attachments/x.png", "mime_type": "image/png"}]}, None),
    "escape": ({"parts": [{"type": "file", "ref": "attachments/../session.json", "mime_type": "a/b"}]}, None),
}


@pytest.mark.parametrize(("body", "code"), UNKNOWN.values(), ids=UNKNOWN.keys())
async def test_an_unknown_name_is_refused(daemon: Daemon, unchanged: str, body: object, code: str | None) -> None:
    """422 with what there is instead; a file that is not the session's is not found."""
    found = explain(await daemon.post(f"/v1/sessions/{unchanged}/messages", body))
    assert found[:2] == ((422, code) if code else (404, "file_not_found"))


PATHS = [
    ("GET", ""),
    ("PATCH", ""),
    ("DELETE", ""),
    ("GET", "/messages"),
    ("GET", "/events"),
    ("GET", "/stream"),
    ("POST", "/cancel"),
    ("POST", f"/turns/{NOBODY}/retry"),
    ("GET", "/attachments"),
    ("GET", "/attachments/x.txt"),
    ("GET", f"/artifacts/{NOBODY}/x.txt"),
]


@pytest.mark.parametrize(("method", "rest"), PATHS)
@pytest.mark.parametrize("session_id", [GHOST, "sess_", "x", "..", "sess_" + "Z" * 32, "%00", "%ff", "msg_" + "0" * 32])
async def test_an_unknown_session_is_not_found(
    daemon: Daemon, unchanged: str, method: str, rest: str, session_id: str
) -> None:
    """404 for an id nobody has, and for one nobody can have."""
    status, code, _ = explain(await daemon.call(method, f"/v1/sessions/{session_id}{rest}"))
    assert (status, code) == (404, "session_not_found")


async def test_an_unknown_path_is_not_found_in_the_same_shape(daemon: Daemon, unchanged: str) -> None:
    """Also below a known one, and with a slash too many."""
    for path in (
        "/nothing",
        "/v2",
        "/v1/sessions/",
        f"/v1/sessions/{unchanged}/nothing",
        "/v1/../etc/passwd",
        "//v1/sessions",
    ):
        assert explain(await daemon.get(path))[:2] == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/v1/sessions", "GET, HEAD, OPTIONS, POST"),
        ("POST", "/v1/sessions/x", "DELETE, GET, HEAD, OPTIONS, PATCH"),
        ("GET", "/v1/one-shot", "OPTIONS, POST"),
        ("DELETE", "/healthz", "GET, HEAD, OPTIONS"),
    ],
)
async def test_a_wrong_method_says_which_are_right(
    daemon: Daemon, unchanged: str, method: str, path: str, allowed: str
) -> None:
    """405 with `Allow`; OPTIONS says the same."""
    reply = await daemon.call(method, path)
    options = await daemon.call("OPTIONS", path)

    assert explain(reply)[:2] == (405, "method_not_allowed")
    assert reply.headers["allow"] == options.headers["allow"] == allowed
    assert options.status == 204


QUERIES = [
    "/v1/sessions?limit=0",
    "/v1/sessions?limit=many",
    "/v1/sessions?limit=1001",
    "/v1/sessions?limit=null",
    "/v1/sessions?limit=5&limit=6",
    "/v1/sessions?limt=5",
    "/v1/sessions?before=yesterday",
    "/v1/sessions?before=1700000000000",
    "/v1/sessions?" + "&".join(f"a{n}=1" for n in range(60)),
    "/v1/health?verbose=1",
    "/v1/trust?path=relative",
    "/v1/trust?path=",
    "/v1/trust?path=%2Fa%00b",
]


@pytest.mark.parametrize("target", QUERIES)
async def test_a_bad_or_unknown_parameter_is_refused(daemon: Daemon, unchanged: str, target: str) -> None:
    """422: nothing is silently ignored."""
    assert explain(await daemon.get(target))[0] == 422


WORKSPACES = {
    "missing": ("workspace_path", "{tmp}/nowhere", "workspace_missing"),
    "a file": ("workspace_path", "{tmp}/file", "workspace_not_a_directory"),
    "relative": ("workspace_path", "here", "workspace_not_absolute"),
    "with a zero": ("workspace_path", "/tmp/a\0b", "workspace_invalid"),
    "too long": ("project_path", "/" + "x" * 4000, "workspace_missing"),
}


@pytest.mark.parametrize(("field", "path", "code"), WORKSPACES.values(), ids=WORKSPACES.keys())
async def test_a_workspace_must_be_a_folder(
    daemon: Daemon, unchanged: str, tmp_path: Path, field: str, path: str, code: str
) -> None:
    """422 with the reason."""
    (tmp_path / "file").write_text("")
    reply = await daemon.post("/v1/sessions", {field: path.format(tmp=tmp_path)})
    assert explain(reply)[:2] == (422, code)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"agent": "nobody"}, "unknown_agent"),
        ({"provider": "scripted", "model": "nothing"}, "unknown_model"),
        ({"provider": "nowhere"}, "unknown_provider"),
        ({"workspace_path": "/a", "project_path": "/b"}, "workspace_ambiguous"),
        ({"title": "x" * 501}, "invalid"),
        ({"api_key": "sk-1"}, "invalid"),
    ],
)
async def test_a_session_is_not_begun_with_wrong_wishes(
    daemon: Daemon, unchanged: str, body: object, code: str
) -> None:
    """422; keys never come from a client."""
    assert explain(await daemon.post("/v1/sessions", body))[:2] == (422, code)


async def test_a_huge_body_is_refused(daemon: Daemon, unchanged: str) -> None:
    """413 above what any request may have; a text too long for a message is named."""
    text = "x" * 1_000_001
    too_long = await daemon.post(f"/v1/sessions/{unchanged}/messages", {"content": text})
    too_large = await daemon.post(f"/v1/sessions/{unchanged}/messages", {"content": text * 34})
    assert explain(too_long)[:2] == (422, "invalid")
    assert explain(too_large)[:2] == (413, "too_large")


async def test_another_type_of_body_is_refused(daemon: Daemon, unchanged: str) -> None:
    """415: a form that any web page could send is no request."""
    form = {"content-type": "application/x-www-form-urlencoded"}
    reply = await daemon.post(f"/v1/sessions/{unchanged}/messages", b"content=hi", form)
    assert explain(reply)[:2] == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    ("upload", "expected"),
    [
        ({"filename": "a", "mime_type": "text/plain", "data": "not base64!"}, (422, "invalid")),
        ({"filename": "a", "mime_type": "text/plain", "data": "YQ"}, (422, "invalid")),
        ({"filename": "a", "mime_type": "text/plain", "data": ""}, (422, "attachment_empty")),
        ({"filename": "a", "mime_type": "no type", "data": "YQ=="}, (422, "mime_invalid")),
        ({"filename": "", "mime_type": "text/plain", "data": "YQ=="}, (422, "invalid")),
        ({"filename": "a", "data": "YQ=="}, (422, "invalid")),
        ({"filename": "a", "mime_type": "text/plain", "data": "AAAA" * 7_000_000}, (413, "too_large")),
    ],
    ids=["no base64", "short base64", "empty", "no type", "no name", "type missing", "too large"],
)
async def test_an_attachment_must_be_one(
    daemon: Daemon, unchanged: str, upload: object, expected: tuple[int, str]
) -> None:
    """Nothing is stored that is not a file of an acceptable size."""
    reply = await daemon.post(f"/v1/sessions/{unchanged}/attachments", upload)
    assert explain(reply)[:2] == expected
    assert not (daemon.harness.session_folder(unchanged) / "attachments").exists()


async def test_approving_nothing_is_not_found(daemon: Daemon, unchanged: str) -> None:
    """There must be a question."""
    body = {"tool_call_id": "call_x", "action": "approve"}
    reply = await daemon.post(f"/v1/sessions/{unchanged}/approve", body)
    assert explain(reply)[:2] == (404, "approval_not_found")
    unknown = await daemon.post(f"/v1/sessions/{unchanged}/approve", {**body, "action": "allow"})
    assert explain(unknown)[:2] == (422, "invalid")


async def test_canceling_when_nothing_runs_is_a_conflict(daemon: Daemon, unchanged: str) -> None:
    """409 `nothing_to_cancel`."""
    assert explain(await daemon.post(f"/v1/sessions/{unchanged}/cancel"))[:2] == (409, "nothing_to_cancel")


async def test_approving_twice_is_a_conflict(daemon: Daemon) -> None:
    """The first answer counts; the second changes nothing and is told so."""
    daemon.model.calls("shell", command="echo hi").then_says("Done.")
    turn = await daemon.ask("run it")
    pending = await turn.question()
    await turn.approve()
    await turn.answer()
    before = _count(daemon)

    body = {"tool_call_id": pending["tool_call_id"], "action": "deny"}
    reply = await daemon.post(f"/v1/sessions/{turn.session_id}/approve", body)

    assert explain(reply)[:2] == (409, "approval_answered")
    assert _count(daemon) == before


async def test_only_a_failed_or_canceled_turn_is_retried(daemon: Daemon) -> None:
    """A turn that was answered, and one that is unknown, are not."""
    daemon.model.says("Done.")
    turn = await daemon.ask("do it")
    await turn.answer()
    before = _count(daemon)

    again = await daemon.post(f"/v1/sessions/{turn.session_id}/turns/{turn.id}/retry")
    unknown = await daemon.post(f"/v1/sessions/{turn.session_id}/turns/{NOBODY}/retry", {})
    extra = await daemon.post(f"/v1/sessions/{turn.session_id}/turns/{turn.id}/retry", {"why": "x"})

    assert explain(again)[:2] == (409, "turn_not_retryable")
    assert explain(unknown)[:2] == (404, "turn_not_found")
    assert explain(extra)[:2] == (422, "invalid")
    assert _count(daemon) == before


async def test_a_running_session_is_not_deleted(daemon: Daemon) -> None:
    """409 until it is canceled."""
    gate = asyncio.Event()
    daemon.model.plays(Wait(gate)).then_says("Done.")
    turn = await daemon.ask("wait")

    reply = await daemon.call("DELETE", f"/v1/sessions/{turn.session_id}")

    assert explain(reply)[:2] == (409, "session_running")
    gate.set()


ONE_SHOTS = [
    ({}, "prompt_missing"),
    ({"prompt": "a", "messages": [{"role": "user", "content": "b"}]}, "prompt_missing"),
    ({"messages": [{"role": "assistant", "content": "b"}]}, "prompt_missing"),
    ({"messages": [{"role": "user", "content": ""}]}, "prompt_missing"),
    ({"messages": []}, "invalid"),
    ({"messages": [{"role": "tool", "content": "b"}]}, "invalid"),
    ({"prompt": ""}, "invalid"),
    ({"prompt": "a", "agent": "nobody"}, "unknown_agent"),
    ({"prompt": "a", "provider": "nowhere"}, "unknown_provider"),
]


@pytest.mark.parametrize(("body", "code"), ONE_SHOTS)
async def test_a_one_shot_must_ask_something(daemon: Daemon, unchanged: str, body: object, code: str) -> None:
    """422, and no session stays behind."""
    assert explain(await daemon.post("/v1/one-shot", body))[:2] == (422, code)


@pytest.mark.parametrize("body", [{}, {"path": "/tmp"}, {"path": "", "trusted": True}, {"path": "x", "trusted": True}])
async def test_trust_needs_a_path_and_an_answer(daemon: Daemon, unchanged: str, body: object) -> None:
    """422, and nothing is trusted."""
    assert explain(await daemon.call("PUT", "/v1/trust", body))[0] == 422


async def test_a_missing_body_is_malformed_where_one_is_needed(daemon: Daemon, unchanged: str) -> None:
    """400 where fields are required; where none is, nothing means an empty object."""
    assert explain(await daemon.post(f"/v1/sessions/{unchanged}/approve"))[:2] == (400, "bad_request")
    assert explain(await daemon.call("PUT", "/v1/trust"))[:2] == (400, "bad_request")
