"""`agi sessions export`, `agi replay` and `agi policy replay`: what the screen says, and how they end."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from agi.cli.replay import told
from agi.replay.playing import ANOTHER, Differing, Played
from agi.testing.provider import calls, says


@pytest.fixture
async def taped(cli) -> Path:
    """A cassette of a session that read, and was refused a write."""
    asked = calls(("repo_tree", {})), calls(("write_file", {"path": "a.txt", "content": "x"})), says("Done.")
    async with cli.answered_by(*asked):
        result = await cli("look around", "--json")
    path = cli.project / "talk.agi-cassette"
    session = str(result.events[0]["session_id"])
    exported = await cli("sessions", "export", session, "--cassette", "--output", str(path))
    assert exported.code == 0, exported.err
    return path


async def test_a_cassette_plays_identically_also_elsewhere(cli, taped, tmp_path):
    """It needs neither its project nor its settings."""
    (cli.project / ".agi").rename(tmp_path / "gone")
    result = await cli("replay", str(taped))
    as_json = json.loads((await cli("replay", str(taped), "--json", "--from", "8")).out)

    assert result.code == 0, result.out
    assert result.out.startswith("identical: ")
    assert "3 of 3 requests" in result.out
    assert (as_json["identical"], as_json["difference"]) == (True, None)
    assert 0 < as_json["started_at"] <= 7


async def test_the_fields_for_programs_are_those_of_the_page(cli, taped):
    """Each has a row, and what they count fits what is told to people."""
    found = json.loads((await cli("replay", str(taped), "--json", "--from", "8", "--until", "12")).out)
    said = (await cli("replay", str(taped), "--from", "8", "--until", "12")).out
    page = (Path(__file__).parents[2] / "docs" / "replay.md").read_text()
    rows = [row.split("|")[1] for row in page.split("`--json` prints one object")[1].split("\n\n")[1].split("\n")[2:]]

    assert {*found} == {word.strip(" `") for row in rows for word in row.split(",")}
    assert (found["events"], found["made"], found["pieces"]) == (12, [], [])
    assert f"identical: {found['events'] - found['started_at']} events" in said
    assert f"played from event {found['started_at'] + 1};" in said


async def test_a_session_is_played_without_a_file(cli, taped):
    """By its id, or a part of it that fits only one; nothing is left behind."""
    session = json.loads(taped.read_text().split("\n")[0])["session_id"]
    taped.unlink()
    before = sorted(cli.project.rglob("*"))
    result = await cli("replay", session[-6:])

    assert (result.code, result.out.split(":")[0]) == (0, "identical")
    assert sorted(cli.project.rglob("*")) == before


async def test_neither_a_file_nor_a_session_is_said(cli, tmp_path):
    """With what would help."""
    result = await cli("replay", "talk.agi-cassette", "--project", str(tmp_path))
    assert "There is no file talk.agi-cassette, and there are no sessions" in result.err
    assert result.code != 0


async def test_a_changed_cassette_is_refused_with_the_event(cli, taped):
    """Before anything is played."""
    taped.write_bytes(taped.read_bytes().replace(b"Done.", b"Gone."))
    result = await cli("replay", str(taped))

    assert (result.code, result.out) == (2, "")
    assert "is not as it was written" in result.err
    assert str(taped) in result.err


async def test_a_changed_log_is_no_cassette_and_is_said_with_what_helps(cli, taped):
    """Else a file would be made that is refused, with the advice to make it again; the line is not wrong."""
    session = json.loads(taped.read_text().split("\n")[0])["session_id"]
    db = sqlite3.connect(cli.project / ".agi" / "agi.sqlite")
    db.execute("UPDATE events SET data=replace(data, 'look around', 'look aroond') WHERE type='message_added'")
    db.commit()
    db.close()
    path = cli.project / "new"
    for words in (["sessions", "export", session, "--cassette", "--output", str(path)], ["replay", session]):
        result = await cli(*words)
        assert (result.code, result.out) == (1, ""), words
        assert "is not as it was written" in result.err
        assert "agi log verify" in result.err
        assert "agi repair --from-mirrors" in result.err
    async with cli.daemon():
        assert (await cli("replay", session)).code == 1
    assert not path.exists()
    assert (await cli("repair", "--from-mirrors")).code == 0
    assert (await cli("replay", session)).code == 0


@pytest.mark.parametrize("command", [["replay"], ["policy", "replay"]])
def test_what_is_no_file_of_ours_is_refused_by_its_name(here, command):
    """Folders, pipes that nobody writes to, devices, empty and endless names: at once, and with what to do."""
    (here.project / "folder").mkdir()
    os.mkfifo(here.project / "pipe")
    (here.project / "plain").write_text("no\nthing\nof\nours\n")
    for name in ("folder", "./folder", "pipe", "./pipe", "/dev/zero", "plain"):
        result = here(*command, name)
        assert (result.code, result.out) == (2, ""), name
        assert result.err.startswith(f"agi: {name.removeprefix('./')}"), result.err
    for name in ("", "x" * 5000):
        result = here(*command, name)
        assert (result.code, result.out, "report it" in result.err) == (2, "", False), name[:10]


def test_a_list_of_events_is_told_from_a_cassette(here):
    """With how a cassette is made of it."""
    here("hello")
    session = json.loads(here("sessions", "--json").out)[0]["id"]
    (here.project / "plain.ndjson").write_text(here("sessions", "export", session).out)
    mirror = here.project / ".agi" / "sessions" / session / "events.ndjson"
    for name in ("plain.ndjson", str(mirror)):
        result = here("replay", name)
        assert (result.code, result.out) == (2, "")
        assert f"{name}: It is a list of events" in result.err
        assert "agi sessions export ID --cassette" in result.err


async def test_a_policy_that_is_no_file_is_refused_at_once(cli, taped):
    """Nothing is waited for."""
    os.mkfifo(cli.project / "pipe")
    for name in ("pipe", "/dev/zero", ".", "missing", ""):
        result = await cli("policy", "replay", str(taped), "--policy", name)
        assert (result.code, result.out) == (2, ""), name
        assert name in result.err


async def test_bad_command_lines_say_so(cli, taped):
    """And nothing is played."""
    for words in (
        ["replay"],
        ["replay", "missing"],
        ["replay", str(taped), "--from", "0"],
        ["replay", str(taped), "--from", "1.5"],
        ["replay", str(taped), "--until", "9999"],
        ["replay", str(taped), "--from", "5", "--until", "2"],
        ["sessions", "export", "x", "--format", "pdf"],
        ["policy", "replay"],
    ):
        result = await cli(*words)
        assert (result.code, result.out) == (2, ""), words


async def test_a_file_is_not_overwritten_by_an_export(cli, taped):
    """As with every export."""
    result = await cli("sessions", "export", "sess", "--format", "markdown", "--output", str(taped))
    assert (result.code, "exists already" in result.err) == (2, True)


def test_two_formats_at_once_are_a_conflict(here):
    """It is said which; both are formats."""
    here("hello")
    result = here("sessions", "export", "sess", "--cassette", "--format", "markdown")
    assert (result.code, result.out) == (2, "")
    assert "--format markdown another: leave one out" in result.err


async def test_one_call_that_is_judged_again_is_one_call(cli):
    """Sessions with a single call are what people begin with."""
    async with cli.answered_by(calls(("git_status", {})), says("Clean.")):
        await cli("hi")
    result = await cli("policy", "replay", "sess")

    assert "1 call: none would be decided otherwise." in result.out


async def test_a_session_and_its_cassette_are_judged_again(cli, taped):
    """By the settings of today, and by a file; the exit code tells whether anything would be decided otherwise."""
    policy = cli.project / "free.json"
    policy.write_text('{"requireForKinds": []}')
    same = await cli("policy", "replay", str(taped), "--all")
    other = await cli("policy", "replay", str(taped), "--policy", str(policy))
    by_session = json.loads((await cli("policy", "replay", "sess", "--json")).out)

    assert (same.code, other.code) == (0, 1)
    assert "= event" in same.out
    assert "2 calls: none would be decided otherwise." in same.out
    assert "then asked (nobody was there to answer) by kind:write; now allowed by not_required" in other.out
    assert [one["then"] for one in by_session["calls"]] == ["allowed", "asked"]


async def test_where_nothing_is_compared_that_is_what_is_said(cli, taped):
    """A fork nobody spoke in holds no turn of its own: nothing is different, and nothing was found to be the same."""
    source = json.loads(taped.read_text().split("\n")[0])["session_id"]
    fork = json.loads((await cli("fork", source, "--json")).out)["id"]
    result = await cli("replay", fork)

    assert (result.code, "identical" in result.out) == (0, False)
    assert result.out.startswith("nothing was compared: ")
    assert "  0 turns played; 0 events were made again, the others were given" in result.out.splitlines()


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ((3, 3, ""), "3 of 3 requests to models are those that were recorded"),
        ((1, 1, ""), "1 of 1 request to models is the one that was recorded"),
        ((1, 0, f"{ANOTHER} p/m"), "0 of 1 request to models is the one that was recorded"),
        ((1, 0, "notice"), "1 request to models: 0 as recorded, 1 with nothing recorded to compare"),
        (
            (5, 2, f"{ANOTHER} p/m"),
            "5 requests to models: 2 as recorded, 1 another, 2 with nothing recorded to compare",
        ),
    ],
)
def test_a_request_that_was_compared_with_nothing_is_not_said_to_be_another(figures, said):
    """A cassette may hold no requests: what is different is said above, and only that."""
    requests, checked, made = figures
    found = Differing(seq=3, recorded_type="notice", recorded="a", made_type=made, made="b") if made else None
    played = Played(
        session_id="s",
        identical=not made,
        events=3,
        compared=1,
        started_at=2,
        turns=1,
        requests=requests,
        requests_checked=checked,
        difference=found,
    )
    lines = list(told(played))

    assert lines[-1].strip() == said
    assert "  1 turn played from event 3; 1 event was made again, the others were given" in lines
    assert lines[0] == ("different at event 3" if made else "identical: 1 event")


async def test_a_fork_is_judged_without_making_up_what_was_decided_elsewhere(cli):
    """Somebody was asked, and said yes: the fork does not know that, and does not say that nobody was."""
    async with cli.answered_by(calls(("write_file", {"path": "a.txt", "content": "x"})), says("Done.")):
        asked = await cli("do it", "--yes", "--trust", "--json")
    assert asked.code == 0, asked.err
    source = str(asked.events[0]["session_id"])
    fork = json.loads((await cli("fork", source, "--json")).out)["id"]
    told = await cli("policy", "replay", fork, "--all")

    assert (told.code, "then allowed" in told.out) == (0, False)
    assert "then not known; now asked by kind:write" in told.out
    assert told.out.endswith(
        "1 call: none would be decided otherwise.\n"
        "What became of 1 is not known here: it was carried over from another session.\n"
    )


def test_what_a_hostile_cassette_says_is_shown_and_does_not_act():
    """Escapes for a terminal are text here, on whichever side they stand."""
    found = Differing(seq=3, recorded_type="\x1b[2J", recorded="a\x1b]0;x\x07", made_type="notice", made="a\u202eb")
    played = Played(
        session_id="s", identical=False, events=3, compared=0, started_at=0, skipped=("\x1b[1m",), difference=found
    )
    text = "\n".join(told(played))

    assert "different at event 3" in text
    assert text.isprintable() or not set(text) & {"\x1b", "\x07", "\u202e"}
