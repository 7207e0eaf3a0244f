"""What the model runs by itself is evidence too, if it is the very command; and nothing else is."""

from __future__ import annotations

import json

import pytest


def data(event) -> dict:
    return json.loads(event.raw)


@pytest.fixture
def free(place):
    """Nothing is asked, and `make test` passes."""
    place.configure('{"approval": {"requireForKinds": []}}')
    (place.project / "Makefile").write_text("test:\n\t@echo tested\n")
    return place


@pytest.mark.parametrize(
    "call",
    [
        ("shell", {"command": "make test"}),
        ("shell", {"command": " make test 2>&1 \n", "cwd": "."}),
        ("verify", {}),
    ],
)
async def test_the_very_command_counts_by_whatever_tool(free, call):
    """It is not run once more at the end."""
    name, arguments = call
    free.model.calls("write_file", path="a.txt", content="a").calls(name, **arguments).then_says("Done.")

    turn = await free.ask("go")

    proof = data(free.events("verification_completed")[-1])
    assert (proof["command"], proof["status"], proof["exit_code"]) == ("make test", "passed", 0)
    assert proof["tool_call_id"] == data(free.events("tool_call_started")[-1])["tool_call"]["id"]
    assert [data(event)["baseline"] for event in free.events("verification_started")] == [True]
    assert json.loads(turn.outcome)["verification"] == "verified"


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "make test || true"},
        {"command": "echo make test"},
        {"command": "make test", "cwd": "sub"},
        {"command": "make -n test"},
        {"command": "make test | tail -1"},
        {"command": "make test", "timeout_s": 0.05},
    ],
)
async def test_what_only_looks_like_it_proves_nothing(free, arguments):
    """Verification runs at the end as if nothing had been run."""
    (free.project / "Makefile").write_text("test:\n\t@sleep 0.2\n")
    (free.project / "sub").mkdir()
    (free.project / "sub" / "Makefile").write_text("test:\n\t@true\n")
    free.model.calls("write_file", path="a.txt", content="a").calls("shell", **arguments).then_says("Done.")

    turn = await free.ask("go")

    assert [data(event)["tool_call_id"] for event in free.events("verification_completed")] == ["", ""]
    assert json.loads(turn.outcome)["verification"] == "verified"


async def test_a_failure_that_only_the_model_saw_is_told_it_in_our_name(free):
    """It cannot pass over it in silence."""
    (free.project / "Makefile").write_text("test:\n\t@test ! -f bad.txt\n")
    free.model.calls("write_file", path="bad.txt", content="x").calls("verify").then_says("All good!")
    free.model.calls("shell", command="rm bad.txt").then_says("Now it is.")

    turn = await free.ask("go")

    assert free.model.requests[3].messages[-1].origin == "verification"
    assert json.loads(turn.outcome)["verification"] == "verified"


async def test_the_verify_tool_tells_of_each_command(free):
    """All of them run, and each is evidence of its own."""
    free.configure('{"approval": {"requireForKinds": []}, "verify": {"commands": ["false", "echo two"]}}')
    free.model.calls("verify").then_says("One fails.")

    turn = await free.ask("check")

    proofs = [data(event) for event in free.events("verification_completed")]
    assert [(one["command"], one["status"]) for one in proofs] == [("false", "failed"), ("echo two", "passed")]
    assert json.loads(turn.outcome)["verification"] == "pre_existing"


async def test_the_verify_tool_runs_what_was_found(free):
    """Where nothing is configured the project's own tests are run."""
    free.model.calls("verify").then_says("Tested.")

    turn = await free.ask("check")

    result = data(free.events("tool_call_completed")[0])["tool_result"]
    assert "tested" in result["parts"][0]["text"]
    assert json.loads(turn.outcome)["verification"] == "verified"


async def test_the_verify_tool_names_the_tests_of_each_command(free):
    """What one command printed is not taken for the other's."""
    told = "echo FAILED t::%s; echo '1 failed in 0.1s'; exit 1"
    settings = {"approval": {"requireForKinds": []}, "verify": {"commands": [told % "a", told % "b"]}}
    free.configure(json.dumps(settings))
    free.model.calls("verify").then_says("Two fail.")

    await free.ask("check")

    assert [data(event)["failing"] for event in free.events("verification_completed")] == [["t::a"], ["t::b"]]


async def test_a_failure_found_before_anything_was_changed_was_there_before(free):
    """Who only ran the tests has broken nothing."""
    (free.project / "Makefile").write_text("test:\n\t@false\n")
    free.model.calls("shell", command="make test").then_says("They fail.")

    turn = await free.ask("run the tests")

    assert json.loads(turn.outcome)["verification"] == "pre_existing"


async def test_a_failure_of_an_earlier_turns_making_is_still_ours(free):
    """The files are as that turn left them."""
    free.configure('{"approval": {"requireForKinds": []}, "verify": {"maxAttempts": 1}}')
    (free.project / "Makefile").write_text("test:\n\t@test ! -f bad.txt\n")
    free.model.calls("write_file", path="bad.txt", content="x").then_says("Done.")
    await free.ask("break it")
    free.model.calls("verify").then_says("It fails.")

    turn = await free.ask("run the tests")

    assert json.loads(turn.outcome)["verification"] == "failing"


async def test_a_failure_on_files_an_earlier_turn_left_is_not_said_to_be_older(free):
    """Nothing was found out before that turn, so nobody knows."""
    settings = {"approval": {"requireForKinds": []}, "verify": {"maxAttempts": 1, "baseline": False}}
    free.configure(json.dumps(settings))
    (free.project / "Makefile").write_text("test:\n\t@test ! -f bad.txt\n")
    free.model.calls("write_file", path="bad.txt", content="x").then_says("Done.")
    await free.ask("break it")
    free.model.calls("verify").then_says("It fails.")

    turn = await free.ask("run the tests")

    assert json.loads(turn.outcome)["verification"] == "failing"


async def test_each_command_of_the_verify_tool_has_its_own_output(free):
    """What failed is compared with what the same command printed before."""
    settings = {"approval": {"requireForKinds": []}, "verify": {"commands": ["echo one; false", "echo two; false"]}}
    free.configure(json.dumps(settings))
    free.model.calls("verify").then_says("Both fail.")

    await free.ask("check")

    outputs = [data(event)["output"] for event in free.events("verification_completed")]
    assert outputs == ["one\n[exit code 1]", "two\n[exit code 1]"]


async def test_a_job_in_the_background_proves_nothing(free):
    """Nobody waited for its end."""
    free.model.calls("write_file", path="a.txt", content="a")
    free.model.calls("shell", command="make test", background=True).then_says("Done.")

    turn = await free.ask("go")

    assert [data(event)["tool_call_id"] for event in free.events("verification_completed")] == ["", ""]
    assert json.loads(turn.outcome)["verification"] == "verified"


async def test_a_drawing_needs_no_baseline(free):
    """It runs a program, and changes no file."""
    free.model.calls("diagram", source="graph TD; a-->b", format="mermaid").then_says("Drawn.")

    await free.ask("draw")

    assert not free.events("verification_started", "verification_completed")
