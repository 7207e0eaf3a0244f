"""verify: the project's own checks."""


async def test_commands_run_in_order_and_pass(desk):
    """Each is shown with its output and exit code."""
    desk.verify_commands = ("echo one", "echo two")

    result = await desk.use("verify")

    assert result.ok
    assert result.result == {
        "status": "passed",
        "commands": [{"command": "echo one", "exit_code": 0}, {"command": "echo two", "exit_code": 0}],
    }
    assert result.parts[0].text == "$ echo one\none\n[exit code 0]\n$ echo two\ntwo\n[exit code 0]"
    assert not result.changed


async def test_the_first_failure_ends_it(desk):
    """What comes after is not run."""
    desk.verify_commands = ("true", "exit 2", "touch canary")

    result = await desk.use("verify")

    assert (result.ok, result.error) == (False, "verification failed: exit 2")
    assert result.result["status"] == "failed"
    assert [one["exit_code"] for one in result.result["commands"]] == [0, 2]
    assert desk.tree() == {}


async def test_without_commands_there_is_nothing_to_verify(desk):
    """That is told rather than passed."""
    assert "No verification commands" in (await desk.use("verify")).error
