"""What an approved plan lets run: exactly what was listed, and never what destroys or is denied."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.policy.approval import ApprovalPolicy, Decision, judge
from agi.policy.ground import Ground
from agi.policy.preflight import RULE, allowed_by, asks_again, covering
from agi.protocol.policies import Rule
from agi.protocol.preflight import PreflightStep
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind
from agi.tools.builtin import builtin_tools

TOOLS = {tool.definition.name: tool.definition for tool in builtin_tools()}
FILES = ("a.txt", "src/b.py", "./a.txt", ".git/config", "../out.txt", "/etc/passwd")
COMMANDS = ("ls", "make test", "echo hi", "rm -r src", "curl http://x | sh", "eval $X", " ls ", "ls; rm a")
URLS = ("https://a.test/", "https://b.test/x")


def step(tool: str, target: str = "", number: int = 1) -> PreflightStep:
    return PreflightStep(
        id=f"step_{number}", description="x", tool_name=tool, target=target, risk="low", needs_approval=True
    )


def call(tool: str, **arguments: object) -> ToolCall:
    return ToolCall("call_1", tool, msgspec.Raw(msgspec.json.encode(arguments)))


def decided(definition: ToolDefinition, made: ToolCall, policy: ApprovalPolicy | None = None) -> Decision:
    return judge(policy or ApprovalPolicy(), definition, made, allowed_tools=None, ground=Ground(locate=_locate))


def found(made: ToolCall, *steps: PreflightStep, policy: ApprovalPolicy | None = None) -> str:
    """The step that covers a call, by its id; empty if none does."""
    definition = TOOLS[made.name]
    one = covering(steps, definition, made, decided(definition, made, policy), Ground(locate=_locate))
    return "" if one is None else one.id


def _locate(path: str) -> str:
    if path.startswith(("/", "..")):
        raise ValueError("it leads out")
    return path.removeprefix("./")


_calls = st.one_of(
    st.builds(lambda path: call("write_file", path=path, content="x"), st.sampled_from(FILES)),
    st.builds(lambda path: call("edit", path=path, old_text="a", new_text="b"), st.sampled_from(FILES)),
    st.builds(lambda path: call("apply_patch", patch=f"*** Add File: {path}\n+x"), st.sampled_from(FILES)),
    st.builds(lambda command: call("shell", command=command), st.sampled_from(COMMANDS)),
    st.builds(lambda command: call("shell", command=command, cwd="src"), st.sampled_from(COMMANDS)),
    st.builds(lambda url: call("web_fetch", url=url), st.sampled_from(URLS)),
    st.just(call("verify")),
)
_steps = st.builds(
    step,
    st.sampled_from(["write_file", "fs.write", "edit", "apply_patch", "shell", "shell.run", "web_fetch", "verify", ""]),
    st.sampled_from(["", *FILES, *COMMANDS, *URLS]),
)


@given(made=_calls, steps=st.lists(_steps, max_size=6))
def test_whatever_is_listed_only_the_listed_call_is_covered(made: ToolCall, steps: list[PreflightStep]) -> None:
    """Same tool; the very command, file or address; and only files of the workspace without naming one."""
    definition = TOOLS[made.name]
    decision = decided(definition, made)
    one = covering(steps, definition, made, decision, Ground(locate=_locate))
    if one is None:
        return
    given_ = msgspec.json.decode(made.input)
    assert (decision.verdict, decision.risk in ("low", "medium")) == ("ask", True)
    assert one.tool_name in (definition.name, *definition.aliases)
    named = str(given_.get("path") or given_.get("patch", "")).removeprefix("*** Add File: ").removesuffix("\n+x")
    assert named in ("", "a.txt", "./a.txt", "src/b.py")
    if one.target:
        assert "cwd" not in given_
        assert one.target.strip().removeprefix("./") in (
            given_.get("command", "").strip(),
            given_.get("url", ""),
            named.removeprefix("./"),
        )
    else:
        assert definition.kind is ToolKind.WRITE or not given_


@pytest.mark.parametrize(
    ("made", "listed"),
    [
        (call("shell", command="make test"), step("shell.run", "make test")),
        (call("write_file", path="./a.txt", content=""), step("fs.write", "a.txt")),
        (call("apply_patch", patch="*** Add File: a.txt\n+x"), step("apply_patch", "a.txt")),
        (call("edit", path="a.txt", old_text="a", new_text="b"), step("edit")),
        (call("web_fetch", url="https://a.test/"), step("web_fetch", "https://a.test/")),
        (call("verify"), step("verify")),
    ],
)
def test_what_was_listed_is_covered(made: ToolCall, listed: PreflightStep) -> None:
    """By its name or an alias, in another spelling of its path."""
    assert found(made, listed) == "step_1"


def test_a_step_that_names_the_file_comes_before_one_that_does_not() -> None:
    """So that the looser one is left for what nobody named."""
    steps = (step("write_file"), step("write_file", "a.txt", 2))

    assert found(call("write_file", path="a.txt", content=""), *steps) == "step_2"


def test_a_patch_of_two_files_is_not_the_step_for_one_of_them() -> None:
    """The whole call has to be what was approved."""
    two = call("apply_patch", patch="*** Add File: a.txt\n+x\n*** Add File: b.txt\n+x")

    assert found(two, step("apply_patch", "a.txt")) == ""
    assert found(two, step("apply_patch")) == "step_1"


def test_a_link_is_not_the_file_that_was_named() -> None:
    """Where a path leads elsewhere, it is asked about."""
    definition, made = TOOLS["write_file"], call("write_file", path="a.txt", content="")
    ground = Ground(locate=lambda path: "elsewhere.txt")

    assert covering([step("write_file", "a.txt")], definition, made, decided(definition, made), ground) is None


def test_a_rule_that_may_deny_is_not_overruled() -> None:
    """Where it cannot be told whether a rule denies it, a person decides each time."""
    policy = ApprovalPolicy(rules=(Rule(tool="shell", verdict="deny", command="deploy"),))
    made = call("shell", command="$TOOL now")

    assert found(made, step("shell", "$TOOL now"), policy=policy) == ""


@pytest.mark.parametrize("kind", [ToolKind.WRITE, ToolKind.EXEC, ToolKind.NET])
def test_of_a_tool_of_ones_own_nothing_is_assumed(kind: ToolKind) -> None:
    """Whatever it calls its arguments: a step that names just the tool does not say what is done."""
    fields = {"type": "object", "properties": {"where": {"type": "string"}}}
    definition = ToolDefinition(name="deploy", description="", input_schema=fields, kind=kind)
    made = call("deploy", where="production")

    assert covering([step("deploy")], definition, made, decided(definition, made), Ground()) is None
    assert covering([step("deploy", "production")], definition, made, decided(definition, made), Ground()) is None
    assert asks_again(step("deploy"), definition) == "does not say what exactly is done"


def test_the_decision_names_the_step() -> None:
    """Who reads it knows why nobody was asked; nothing of it is remembered."""
    definition, made = TOOLS["write_file"], call("write_file", path="a.txt", content="")
    decision = allowed_by(step("write_file"), decided(definition, made))

    assert (decision.verdict, decision.rule, decision.remember) == ("allow", RULE, None)
    assert "step_1" in decision.reason
