"""Searching sessions over HTTP."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from agi.testing.box import Daemon


async def test_what_was_said_and_done_is_found(daemon: Daemon) -> None:
    """With everything that is needed to open it."""
    daemon.workspace.write("notes.txt", "the needle\n")
    daemon.model.calls("read_file", path="notes.txt").then_says("There it is.")
    turn = await daemon.ask("Where is the needle?")
    await turn.ended()
    found = (await daemon.get("/v1/search?q=needle")).json()

    assert (found["next"], found["behind"]) == (None, 0)
    assert {hit["kind"] for hit in found["hits"]} == {"title", "message", "tool"}
    assert {hit["session_id"] for hit in found["hits"]} == {turn.session_id}
    by_path = (await daemon.get("/v1/search?path=notes.txt&kind=file")).json()["hits"]
    assert [(hit["tool"], hit["paths"], hit["turn_id"]) for hit in by_path] == [("read_file", ["notes.txt"], turn.id)]


async def test_filters_and_pages_are_parameters(daemon: Daemon) -> None:
    """Each hit once."""
    session = await daemon.begin()
    for number in range(3):
        await daemon.post(f"/v1/sessions/{session}/messages", {"content": f"needle {number}", "auto_run": False})
    first = (await daemon.get(f"/v1/search?q=needle&limit=2&role=user&session_id={session}")).json()
    rest = (await daemon.get(f"/v1/search?q=needle&limit=2&role=user&cursor={first['next']}")).json()

    snippets = [hit["snippet"] for hit in (*first["hits"], *rest["hits"])]
    assert snippets == ["needle 2", "needle 1", "needle 0"]
    assert rest["next"] is None


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("", 422, "query_empty"),
        ("?q=", 422, "query_empty"),
        ("?q=%21", 422, "query_without_words"),
        ("?q=x&limit=0", 422, "invalid"),
        ("?q=x&limit=many", 422, "invalid"),
        ("?q=x&kind=everything", 422, "invalid"),
        ("?q=x&session_id=1", 422, "invalid"),
        ("?q=x&since=soon", 422, "time_invalid"),
        ("?q=x&cursor=-", 400, "bad_cursor"),
        ("?q=x&nonsense=1", 422, "invalid"),
        (f"?q={'x' * 501}", 422, "invalid"),
    ],
)
async def test_a_bad_search_is_refused_in_the_one_shape(daemon: Daemon, query: str, status: int, code: str) -> None:
    """With a code that tells which."""
    refused = await daemon.get(f"/v1/search{query}")

    assert (refused.status, refused.code) == (status, code)


@pytest.mark.parametrize(
    "typed", ['"', "(a OR", "a AND NOT", "NEAR(a b)", "col:a", "a^2", "{x}", "-", "数据", "\0 x", "';--"]
)
async def test_no_words_are_a_syntax_error(daemon: Daemon, typed: str) -> None:
    """Whatever is typed is found or not, or has no words."""
    assert (await daemon.get(f"/v1/search?q={quote(typed)}")).status in (200, 422)
