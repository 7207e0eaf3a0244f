"""What a session was shown of files counts from turn to turn: what somebody changed since is not overwritten."""

from __future__ import annotations

import json

import pytest


def results(place) -> list[dict]:
    return [json.loads(event.raw)["tool_result"] for event in place.events("tool_call_completed")]


@pytest.fixture
def free(place):
    """A session that is asked nothing."""
    place.configure('{"approval": {"requireForKinds": []}, "verify": {"autoVerify": false}}')
    (place.project / "a.txt").write_text("one\n")
    return place


async def test_a_file_read_in_one_turn_can_be_replaced_in_the_next(free):
    """The session knows it."""
    free.model.calls("read_file", path="a.txt").then_says("ok")
    await free.ask("look")
    free.model.calls("write_file", path="a.txt", content="two\n").then_says("ok")
    await free.ask("write")

    assert (free.project / "a.txt").read_text() == "two\n"


async def test_what_the_user_changed_in_between_is_shown_and_not_overwritten(free):
    """The refusal carries what is there now."""
    free.model.calls("read_file", path="a.txt").then_says("ok")
    await free.ask("look")
    (free.project / "a.txt").write_text("mine\n")
    free.model.calls("write_file", path="a.txt", content="two\n").then_says("ok")
    await free.ask("write")

    assert (free.project / "a.txt").read_text() == "mine\n"
    assert results(free)[-1]["ok"] is False
    assert "mine" in results(free)[-1]["error"]


async def test_what_another_session_read_does_not_count(free):
    """Each knows what it was shown itself."""
    free.model.calls("read_file", path="a.txt").then_says("ok")
    await free.ask("look")
    await free.start()
    free.model.calls("write_file", path="a.txt", content="two\n").then_says("ok")
    await free.ask("write")

    assert (free.project / "a.txt").read_text() == "one\n"
    assert "have not read it" in results(free)[-1]["error"]
