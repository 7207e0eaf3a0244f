"""A tool of the project is called like any other: in its sandbox, within its time, and what it says is a result."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from agi.policy.approval import ApprovalPolicy, Ground, judge
from agi.protocol.policies import Rule
from agi.protocol.tools import ToolCall, ToolKind
from agi.sandbox.base import Confinement
from agi.sandbox.cell import Cell
from agi.usertools import tool as tool_module
from agi.usertools.cells import cell_to_look, cell_to_run

LONG = f"98760.{os.getpid()}"
"""How long a process sleeps that is to be found again; another one for each process of tests."""
RUNGS = ["namespaces", "bubblewrap", "landlock", "none"]
HEAD = "import asyncio, os, subprocess, sys, time\nfrom typing import Any\nfrom agi_tool import ToolError, tool\n"


def code(body, *, head="", kind="exec", seconds=30.0, arguments="", kindly="def"):
    """A tool of one function."""
    return (
        f"{HEAD}{head}\n@tool(kind={kind!r}, timeout_seconds={seconds})\n{kindly} do({arguments}) -> Any:\n    {body}\n"
    )


@pytest.fixture(params=RUNGS)
def on_every_rung(request, project):
    """The project, on each rung in turn."""
    project.rung = request.param
    return project


def processes_with(word):
    """The processes in whose command line a word stands."""
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and word.encode() in _command_line(pid)]


def _command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


async def test_a_tool_reads_a_file_of_the_workspace(on_every_rung):
    """It starts at the root; what it returns is shown as JSON and kept for programs."""
    on_every_rung.tool("size")
    (on_every_rung.root / "a.txt").write_text("hello")
    result = await on_every_rung.use("size", path="a.txt")

    assert result.ok
    assert result.parts[0].text == '{\n  "size": 5\n}'
    assert result.result == {"value": {"size": 5}}


@pytest.mark.parametrize(
    ("body", "shown", "value"),
    [
        ("return 'text\\nof two lines'", "text\nof two lines", "text\nof two lines"),
        ("return [1, 2.5, None, True]", "[\n  1,\n  2.5,\n  null,\n  true\n]", [1, 2.5, None, True]),
        ("return 3", "3", 3),
        ("return None", "Done; it returned nothing.", None),
        ("print('said'); return None", "said", None),
        ("print('said'); return 'returned'", "returned", "returned"),
        ("return 'ä\\ud800'", "ä?", "ä?"),
        ("return os.path.basename(os.getcwd())", "proj", "proj"),
        ("return sys.stdin.read()", "Done; it returned nothing.", ""),
        ("sys.stdout.close(); sys.stderr.close(); return 'closed'", "closed", "closed"),
    ],
)
async def test_what_it_returns_is_the_result(project, body, shown, value):
    """What it prints is shown only if it returns nothing."""
    project.tool("do", code(body))
    result = await project.use("do")

    assert result.ok, result.error
    assert result.parts[0].text == shown
    assert result.result == {"value": value}


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("raise ToolError('No such page.', hint='Try page 1.')", "No such page. Try page 1."),
        ("raise ToolError('')", "It failed."),
        ("return {}['gone']", "KeyError: 'gone' (tool.py:7, do)."),
        ("return object()", "is no JSON value"),
        ("return {1: {2}}", "is no JSON value"),
        ("return float('nan')", "is no JSON value"),
        ("return 'x' * (17 << 20)", "larger than 16 MiB"),
        ("a = []; a.append(a); return a", "is no JSON value"),
        ("sys.exit(4)", "ended the program (exit code 4)"),
        ("os._exit(5)", "it ended with exit code 5, without an answer"),
        ("os.kill(os.getpid(), 11)", "it was ended by SIGSEGV, without an answer"),
    ],
)
async def test_a_failure_is_told_to_the_model(project, body, error):
    """An error it raises by its message, any other by its name and place; what was printed before is shown."""
    project.tool("do", code(f"print('before', flush=True); {body}"))
    result = await project.use("do")

    assert not result.ok
    assert error in result.error
    assert "before" in result.parts[0].text


async def test_wrong_arguments_do_not_reach_the_function(project):
    """They are told so that the call can be written again."""
    project.tool("do", code("return n", arguments="n: int, word: str = 'a'"))

    assert "`n` must be a whole number" in (await project.use("do", n="three")).error
    assert "`n` is missing" in (await project.use("do")).error
    assert "no argument `m`; there are: n, word" in (await project.use("do", n=1, m=2)).error


async def test_a_function_may_be_async_and_import_what_lies_beside_it(project):
    """Packages and modules of its folder, which are not read from disk again."""
    folder = project.tool(
        "do",
        code(
            "await asyncio.sleep(0); return lib.inner.double(base.N)",
            kindly="async def",
            head="import base, lib.inner\n",
        ),
    )
    (folder / "lib").mkdir()
    (folder / "lib/inner.py").write_text("def double(n): return 2 * n\n")
    (folder / "base.py").write_text("N = 21\n")

    assert (await project.use("do")).result == {"value": 42}
    assert not list(folder.rglob("__pycache__"))


async def test_prints_are_told_as_they_come(project):
    """Each channel by its name, before the tool has ended."""
    seen_early = []
    project.tool(
        "do", code("print('one'); print('two', file=sys.stderr)\n    while not os.path.exists('go'): time.sleep(0.01)")
    )

    async def let_it_go():
        await project.until(lambda: len(project.heard) == 2)
        seen_early.extend(project.heard)
        (project.root / "go").touch()

    _, result = await asyncio.gather(let_it_go(), project.use("do"))

    assert sorted(seen_early) == [("stderr", "two\n"), ("stdout", "one\n")]
    assert result.parts[0].text == "one\n[stderr]\ntwo"


async def test_a_long_output_is_limited_and_kept(project):
    """As it is for commands."""
    project.tool("do", code("for n in range(100_000): print('line', n)"))
    result = await project.use("do")

    assert "line 99999" in result.parts[0].text
    assert "left out; read them with read_file on artifacts/turn/stdout" in result.parts[0].text
    assert len(result.parts[0].text) < 100_000
    assert sum(len(text) for _, text in project.heard) <= tool_module.STREAMED + 100


async def test_one_that_prints_without_end_is_stopped(project, monkeypatch):
    """Before it fills anything."""
    monkeypatch.setattr(tool_module, "MOST_OUTPUT", 1 << 20)
    project.tool("do", code("while True: print('x' * 65536)"))
    result = await project.use("do")

    assert "it was stopped: it printed more than 1,048,576 bytes" in result.error


@pytest.mark.parametrize(
    "body",
    ["time.sleep(1000)", f"subprocess.run(['sleep', '{LONG}'])", "\n    while True: pass"],
    ids=["sleeps", "waits", "works"],
)
async def test_time_is_up_for_it_and_its_children(on_every_rung, body):
    """Its time is its own to say."""
    on_every_rung.tool("do", code(body, seconds=0.5))
    result = await on_every_rung.use("do")

    assert not result.ok
    assert "it was stopped after 0.5 s" in result.error
    assert not processes_with(LONG)


async def test_canceling_ends_it_and_its_children(on_every_rung):
    """Also those in a session of their own."""
    on_every_rung.tool(
        "do", code(f"subprocess.Popen(['setsid', 'sleep', '{LONG}']); subprocess.run(['sleep', '{LONG}'])")
    )
    task = asyncio.create_task(on_every_rung.use("do"))
    await on_every_rung.until(lambda: len(processes_with(LONG)) >= 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    await on_every_rung.until(lambda: not processes_with(LONG))


async def test_what_it_leaves_running_is_ended(on_every_rung):
    """Its answer counts all the same, at once."""
    on_every_rung.tool("do", code(f"subprocess.Popen(['sleep', '{LONG}']); return 'done'"))

    assert (await on_every_rung.use("do")).parts[0].text == "done"
    assert not processes_with(LONG)


async def test_a_child_that_is_a_copy_of_it_cannot_answer(project):
    """The first word of the tool itself is the answer."""
    project.tool("do", code("pid = os.fork()\n    if pid == 0: return 'forged'\n    os.waitpid(pid, 0); return 'mine'"))

    assert (await project.use("do")).parts[0].text == "mine"


@pytest.mark.parametrize(
    ("kind", "may_write", "may_reach"),
    [("read", False, False), ("write", True, False), ("exec", True, True), ("network", True, True)],
)
async def test_what_it_declares_only_narrows(project, kind, may_write, may_reach):
    """One that reads cannot write, and only those that may reach out see the network the settings allow."""
    project.reach = {"network": "on"}
    body = (
        "wrote = reached = True\n"
        "    try: open('made', 'w')\n    except OSError: wrote = False\n"
        "    with open('/proc/net/dev') as file: reached = len(file.readlines()) > 3\n"
        "    return [wrote, reached]"
    )
    project.tool("do", code(body, kind=kind))
    result = await project.use("do")
    more_than_loopback = Path("/proc/net/dev").read_text().count("\n") > 3  # noqa: ASYNC240

    assert result.result == {"value": [may_write, may_reach and more_than_loopback]}
    assert result.changed is (kind != "read")


async def test_without_a_network_one_that_needs_it_says_so(project):
    """So that the model does not go looking for another reason."""
    project.tool("do", code("raise ToolError('Not reached.')", kind="network"))

    assert (
        await project.use("do")
    ).error == "Not reached. There is no network in the sandbox (sandbox.network, sandbox.hosts)."


async def test_it_cannot_change_itself_or_its_siblings(project):
    """What runs later cannot be changed by what runs now."""
    folder = project.tool("do", code("open(__file__, 'a')"))
    before = (folder / "tool.py").read_bytes()

    assert "OSError" in (await project.use("do")).error or "PermissionError" in (await project.use("do")).error
    assert (folder / "tool.py").read_bytes() == before


async def test_what_was_trusted_is_what_runs(project):
    """After a change it does not run at all; a change that nobody could see yet is not run either."""
    folder = project.tool("do", code("return 'old'"))
    loaded = await project.load()
    (folder / "tool.py").write_text(code("return 'new'"))

    project.load = lambda: _given(loaded)
    assert (await project.use("do")).parts[0].text == "old"
    project.trusted = False
    assert "no longer trusted as it is" in (await project.use("do")).error


async def _given(value):
    return value


FREE = ApprovalPolicy(require_for_kinds=())
GROUND = Ground(boundary="bubblewrap", network=False)


@pytest.mark.parametrize("kind", ["read", "write", "exec", "network"])
async def test_whatever_it_declares_it_is_asked_about_like_a_command(project, kind):
    """It is code of the project: a promise to only read frees nothing, and neither does the sandbox."""
    project.tool("do", code("return 1", kind=kind))
    definition = (await project.only()).definition

    for policy in (ApprovalPolicy(), ApprovalPolicy(require_for_kinds=(ToolKind.EXEC,), allow_in_sandbox=True)):
        decision = judge(policy, definition, ToolCall("c", "do", b"{}"), allowed_tools=None, ground=GROUND)
        assert (decision.verdict, decision.risk) == ("ask", "medium")
        assert decision.remember is not None
        assert decision.remember.rules == (Rule(tool="do", verdict="allow"),)
    assert definition.kind is ToolKind.EXEC


async def test_one_that_reaches_out_asks_even_where_commands_do_not(project):
    """Else it would get around a rule about the network."""
    project.tool("do", code("return 1", kind="network"))
    definition = (await project.only()).definition
    call = ToolCall("c", "do", b"{}")

    assert judge(FREE, definition, call, allowed_tools=None, ground=GROUND).verdict == "ask"
    denied = ApprovalPolicy(rules=(Rule(tool="do", verdict="deny"),))
    assert judge(denied, definition, call, allowed_tools=None, ground=GROUND).verdict == "deny"
    assert judge(FREE, definition, call, allowed_tools=("search",), ground=GROUND).verdict == "deny"


def test_a_cell_is_never_widened():
    """Whatever is declared."""
    narrow = Confinement(workspace="/w", read_only=True, network="off")
    cell = Cell(None, narrow)
    for kind in ("read", "write", "exec", "network"):
        assert cell_to_run(cell, kind).confinement == narrow
    assert cell_to_look(cell).confinement.read_only
    assert cell_to_look(None) is None
