"""verify: the project's own checks."""


async def test_commands_run_in_order_and_pass(desk):
    """Each is shown with its output and exit code."""
    desk.verify_commands = ("echo one", "echo two")

    result = await desk.use("verify")

    assert result.ok
    assert result.result == {
        "status": "passed",
        "commands": [
            {"command": "echo one", "exit_code": 0, "timed_out": False},
            {"command": "echo two", "exit_code": 0, "timed_out": False},
        ],
    }
    assert result.parts[0].text == "$ echo one\none\n[exit code 0]\n$ echo two\ntwo\n[exit code 0]"
    assert not result.changed


async def test_a_failure_does_not_keep_the_next_command_from_running(desk):
    """An old failure in the first would hide the others for ever."""
    desk.verify_commands = ("true", "echo FAILED t::a; echo 1 failed in 0.1s; exit 2", "touch canary; exit 3")

    result = await desk.use("verify")

    assert not result.ok
    assert result.error.startswith("verification failed: echo FAILED")
    found = [(one["exit_code"], one.get("failing")) for one in result.result["commands"]]
    assert found == [(0, None), (2, ("t::a",)), (3, None)]
    assert "canary" in desk.tree()


async def test_without_commands_there_is_nothing_to_verify(desk):
    """That is told rather than passed."""
    assert "No verification commands" in (await desk.use("verify")).error
