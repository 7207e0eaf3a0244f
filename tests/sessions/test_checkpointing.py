"""Every call with an effect is watched; none runs that could not be taken back."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agi.checkpoints.opened import store_at
from agi.models.scripted import Call, Say, ScriptedModel
from agi.protocol.checkpoints import CheckpointPolicy, Omission
from agi.protocol.parts import plain_text
from agi.protocol.tools import ToolCall
from agi.sessions import checkpointing
from agi.sessions.checkpointing import named_paths, not_covered, uncovered
from agi.workspace.handle import Workspace


@pytest.fixture(autouse=True)
def quiet(place) -> None:
    """Nothing is asked, nothing verified."""
    place.configure('{"approval": {"requireForKinds": []}, "verify": {"autoVerify": false}}')


def data(event) -> dict:
    return json.loads(event.raw)


async def test_a_call_that_changes_files_is_followed_by_a_checkpoint(place):
    """In the log before the call's result: how many files came, changed and went."""
    (place.project / "a").write_text("1")
    (place.project / "b").write_text("1")
    place.model.calls("shell", command="echo 2 > a; rm b; mkdir d; echo 1 > d/c").then_says("ok")
    await place.ask("go")

    [event] = place.events("checkpoint_created")
    assert data(event)["changes"] == {"added": 1, "modified": 1, "deleted": 1}
    assert data(event)["cause"] == "call"
    assert data(event)["tool_call_id"] == data(place.events("tool_call_started")[0])["tool_call"]["id"]
    assert place.types().index("checkpoint_created") < place.types().index("tool_call_completed")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_file", {"path": "a", "content": "2"}),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Add File: new\n+1\n*** End Patch"}),
        ("shell", {"command": "echo 2 > a"}),
    ],
)
async def test_every_way_to_change_a_file_is_watched(place, tool, arguments):
    """Tools that write, and commands."""
    (place.project / "a").write_text("1")
    place.model.calls("read_file", path="a").then_calls(tool, **arguments).then_says("ok")
    await place.ask("go")

    assert len(place.events("checkpoint_created")) == 1


async def test_calls_that_change_nothing_leave_the_log_small(place):
    """Reading, listing, a command that only looks."""
    (place.project / "a").write_text("1")
    place.model.calls("read_file", path="a").then_calls("shell", command="cat a").then_says("ok")
    await place.ask("go")

    assert place.events("checkpoint_created", "notice") == []


async def test_reading_alone_makes_no_store(place):
    """A question about a project costs no copy of it."""
    (place.project / "a").write_text("1")
    place.model.calls("read_file", path="a").then_says("ok")
    await place.ask("go")

    assert not (place.project / ".agi" / "checkpoints").exists()


async def test_a_canceled_command_is_watched_to_its_end(place):
    """What it had done until then is known."""
    place.model.calls("shell", command="echo 1 > a; while true; do sleep 0.01; done").then_says("ok")
    posted = await place.say("go")
    await place.until(lambda: (place.project / "a").exists())
    await place.cancel()
    await place.ended(posted)

    assert [data(event)["changes"]["added"] for event in place.events("checkpoint_created")] == [1]


async def test_a_full_disk_keeps_the_call_from_running_and_the_turn_goes_on(place):
    """The model is told why, the file stays, and reading is still possible."""
    (place.project / "a").write_text("1")
    place.model.calls("shell", command="echo 2 > a").then_calls("read_file", path="a").then_says("I could not.")
    store = store_at(place.project / ".agi")
    with store.reading() as db:
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count={pages}")
    (place.project / "large").write_bytes(os.urandom(200_000))
    turn = await place.ask("go")

    assert turn.status == "completed"
    first, second = (data(event)["tool_result"] for event in place.events("tool_call_completed"))
    assert not first["ok"]
    assert "It was not run" in first["error"]
    assert "checkpoints.enabled" in first["error"]
    assert second["ok"]
    assert (place.project / "a").read_text() == "1"
    assert place.answer() == "I could not."


async def test_a_disk_that_fills_up_while_a_command_runs_is_said_and_made_up_for(place):
    """The command has run; what it did is found as soon as there is room, and nobody claims to know whose it is."""
    store = store_at(place.project / ".agi")
    (place.project / "a").write_text("1")
    place.model.calls("shell", command="head -c 300000 /dev/urandom > large").then_says("ok")
    with store.writing() as db:
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count={pages + 12}")
    await place.ask("go")
    assert [data(event)["code"] for event in place.events("notice")] == ["checkpoint_failed"]
    with store.reading() as db:
        db.execute("PRAGMA max_page_count=1000000")

    place.model.calls("shell", command="echo 2 > a").then_says("ok")
    await place.ask("go on")
    causes = [(data(event)["cause"], data(event)["changes"]) for event in place.events("checkpoint_created")]
    assert causes == [
        ("interrupted", {"added": 1, "modified": 0, "deleted": 0}),
        ("call", {"added": 0, "modified": 1, "deleted": 0}),
    ]


async def test_a_kill_in_a_call_leaves_an_interrupted_checkpoint(place, monkeypatch):
    """The process that takes the turn up finds what the command had done."""
    place.model.calls("shell", command="echo 1 > a; while true; do sleep 0.01; done").then_says("ok")
    await place.say("go")
    await place.until(lambda: (place.project / "a").exists())

    async def killed(self, *args) -> None:
        """What a process does not get to do any more."""

    with monkeypatch.context() as patched:
        patched.setattr(checkpointing.Checkpoints, "_end", killed)
        await place.harness.close()
    place.model = ScriptedModel().calls("shell", command="echo 1 > b").then_says("went on")
    await place.open()
    await place.harness.recover()
    await place.heard("turn_completed")

    assert [data(event)["cause"] for event in place.events("checkpoint_created")] == ["interrupted", "call"]


async def test_what_is_not_covered_is_said_once(place):
    """How many files, and why; in the notice for people, and with each checkpoint for programs."""
    (place.project / "big").write_bytes(b"x" * 11 * 1024 * 1024)
    place.model.calls("shell", command="echo 1 > a").then_calls("shell", command="echo 2 > a").then_says("ok")
    await place.ask("go")

    [notice] = place.events("notice")
    assert data(notice) == {"code": "not_covered", "message": "Not covered by undo: 1 file over 10 MB."}
    told = [data(event)["omitted"] for event in place.events("checkpoint_created")]
    assert told == [[{"code": "large", "files": 1, "paths": ["big"]}]] * 2


async def test_an_ignored_file_that_changed_is_said(place):
    """With its checkpoint, and once a session to the user; what nobody touched is not worth a word."""
    (place.project / ".gitignore").write_text("*.env\n")
    for name in ("a.env", "b.env", "c.env"):
        (place.project / name).write_text("1")
    place.model.calls("shell", command="rm a.env").then_calls("shell", command="echo 22 > b.env").then_says("ok")
    await place.ask("go")

    [notice] = place.events("notice")
    assert data(notice) == {
        "code": "ignored_changed",
        "message": "Not covered by undo, since ignore rules leave it out, and changed or gone now: a.env.",
    }
    told = [(data(event)["omitted"], data(event)["changes"]) for event in place.events("checkpoint_created")]
    none = {"added": 0, "modified": 0, "deleted": 0}
    assert told == [
        ([{"code": "ignored", "files": 1, "paths": ["a.env"]}], none),
        ([{"code": "ignored", "files": 1, "paths": ["b.env"]}], none),
    ]


async def test_that_a_job_is_not_watched_is_said_once(place):
    """When the first begins; not of one that is over with its call."""
    command = "exec sleep 100"
    place.model.calls("shell", command="true", background=True).then_says("ok")
    await place.ask("go")
    assert place.events("notice") == []
    for _ in range(2):
        place.model.calls("shell", command=command, background=True).then_says("ok")
        await place.ask("go")

    [notice] = place.events("notice")
    assert data(notice) == {
        "code": "job_not_covered",
        "message": "Not covered by undo: what a job in the background changes after its call is answered.",
    }


async def test_that_a_command_that_was_moved_is_not_watched_any_more_is_said_too(place):
    """It is a job from then on."""
    place.model.calls("shell", command="echo up; exec sleep 100").then_says("ok")
    posted = await place.say("go")
    await place.heard("tool_output_delta")
    await place.harness.jobs.move(place.session_id, None)
    await place.ended(posted)

    assert [data(event)["code"] for event in place.events("notice")] == ["job_not_covered"]


async def test_the_users_edit_during_a_quick_call_stays_the_users(place, monkeypatch):
    """A tool that names its file changes that and nothing else."""
    (place.project / "mine").write_text("1")
    real = place.harness.registry.invoke

    async def invoke(context, call):
        (place.project / "mine").write_text("2")
        return await real(context, call)

    monkeypatch.setattr(place.harness.registry, "invoke", invoke)
    place.model.calls("write_file", path="theirs", content="1").then_says("ok")
    await place.ask("go")

    assert data(place.events("checkpoint_created")[0])["changes"] == {"added": 1, "modified": 0, "deleted": 0}


async def test_two_sessions_work_side_by_side(place):
    """Each has its own checkpoints; none waits for the other's command."""

    def decide(request):
        if request.messages[-1].role == "tool":
            return [Say("done")]
        if plain_text(request.messages[-1].parts) == "slow":
            return [Call("shell", {"command": "echo 1 > one; while [ ! -f go ]; do sleep 0.01; done"})]
        return [Call("write_file", {"path": "two", "content": "2"})]

    place.model = ScriptedModel.from_function(decide)
    await place.reopen()
    first = await place.start()
    slow = await place.say("slow")
    await place.until(lambda: (place.project / "one").exists())
    second = await place.start()
    await place.ask("quick")
    (place.project / "go").touch()
    await place.harness.wait_turn(first, slow.turn_id)

    def counts(session: str) -> list[int]:
        events = place.harness.log.read(session, 0, 1000)
        return [data(event)["changes"]["added"] for event in events if event.type == "checkpoint_created"]

    assert counts(second) == [1]
    assert counts(first) == [3]


def test_a_home_or_a_whole_disk_is_not_covered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """They hold more than a project."""
    monkeypatch.setenv("HOME", str(tmp_path / "home" / "me"))
    (tmp_path / "home" / "me").mkdir(parents=True)

    assert "cannot be taken back" in uncovered(tmp_path / "home" / "me")
    assert "cannot be taken back" in uncovered(tmp_path / "home")
    assert "cannot be taken back" in uncovered(Path("/"))
    assert uncovered(tmp_path / "home" / "me" / "project") == ""


async def test_in_a_home_calls_run_and_the_user_is_told(place, monkeypatch):
    """Work goes on there, without undo."""
    monkeypatch.setenv("HOME", str(place.project))
    place.model.calls("shell", command="echo 1 > a").then_calls("shell", command="echo 2 > a").then_says("ok")
    await place.ask("go")

    assert [data(event)["code"] for event in place.events("notice")] == ["checkpoints_off"]
    assert place.events("checkpoint_created") == []
    assert (place.project / "a").read_text() == "2\n"


def test_what_is_not_covered_is_told_in_plain_words():
    """With the limit that counts."""
    omitted = (
        Omission(code="large", files=12, paths=()),
        Omission(code="special", files=1, paths=()),
    )
    assert not_covered(omitted, CheckpointPolicy(max_file_bytes=1 << 20)) == (
        "Not covered by undo: 12 files over 1 MB, 1 file of another kind (pipes, sockets, devices)."
    )


def test_the_paths_of_a_call_are_those_it_changes(tmp_path: Path):
    """By where they really are; a call that cannot be understood names none."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_text("1")
    (tmp_path / "link").symlink_to("real/file")
    patch = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-1\n+2\n*** Delete File: c\n*** End Patch"
    with Workspace.open(tmp_path) as workspace:

        def named(**arguments: object) -> tuple[str, ...]:
            return named_paths(workspace, ToolCall("call_1", "x", json.dumps(arguments).encode()))  # type: ignore[arg-type]

        assert named(path="new") == ("new",)
        assert named(path="link") == ("link", "real/file")
        assert named(patch=patch) == ("a", "b", "c")
        assert named(path="../out") == ()
        assert named(patch="nonsense") == ()
        assert named(path=".git/config") == ()
        assert named_paths(workspace, ToolCall("call_1", "x", b"{")) == ()  # type: ignore[arg-type]
