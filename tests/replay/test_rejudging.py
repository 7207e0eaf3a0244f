"""Judging a session again: what another policy would have made of each of its calls."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.sessions.conftest import delegates, report

from agi.errors import AgiError
from agi.protocol import commands
from agi.protocol.policies import ApprovalPolicy, Rule
from agi.protocol.tools import ToolDefinition, ToolKind
from agi.replay.exporting import make_cassette
from agi.replay.rejudging import read_policy, rejudge
from agi.testing.box import daemon_in_a_box

RAW = Path(__file__).parent.parent / "mcp" / "servers" / "raw.py"

QUIET = '{"verify": {"autoVerify": false}}'


@pytest.fixture
async def worked(place):
    """A session with a read, a granted write, a refused command, and a tool that there is not."""
    place.configure(QUIET)
    place.model.calls("repo_tree").calls("write_file", path="a.txt", content="x").calls("shell", command="rm a.txt")
    place.model.calls("nothing_such").says("Done.")
    posted = await place.say("go")
    for n, action in ((1, "approve"), (2, "deny")):
        request = await place.heard("approval_requested", n)
        await place.approve(request.data.tool_call_id, action)
    await place.ended(posted)
    return place


def judged(place, policy=None):
    site = place.harness.site(str(place.project))
    return rejudge(place.events(), site, policy=policy)


async def test_the_same_policy_decides_the_same(worked):
    """Each call with what became of it."""
    found = judged(worked)

    assert [(one.name, one.then, one.answer, one.now) for one in found.calls] == [
        ("repo_tree", "allowed", "", "allow"),
        ("write_file", "asked", "granted", "ask"),
        ("shell", "asked", "user", "ask"),
        ("nothing_such", "denied", "", "deny"),
    ]
    assert found.differs == 0


async def test_a_stricter_and_a_looser_policy_are_told_apart(worked):
    """By which rule, and in which direction."""
    policy = ApprovalPolicy(
        require_for_kinds=(),
        rules=(Rule(tool="shell", verdict="deny", command="rm"), Rule(tool="repo_tree", verdict="ask")),
    )
    found = judged(worked, policy)
    by_name = {one.name: one for one in found.calls}

    assert (found.differs, found.stricter, found.looser) == (3, 2, 1)
    assert (by_name["shell"].now, by_name["shell"].rule) == ("deny", "rule:deny")
    assert by_name["shell"].by[0].command == "rm"
    assert (by_name["repo_tree"].now, by_name["write_file"].now) == ("ask", "allow")


async def test_what_was_granted_for_the_session_counts_from_there_on(place):
    """Not before."""
    place.configure(QUIET)
    place.model.calls("write_file", path="a.txt", content="x").calls("write_file", path="a.txt", content="y").says(
        "Ok."
    )
    posted = await place.say("go")
    request = await place.heard("approval_requested")
    await place.approve(request.data.tool_call_id, remember="tool")
    await place.ended(posted)
    found = judged(place)

    assert [(one.then, one.now) for one in found.calls] == [("asked", "ask"), ("allowed", "allow")]


async def test_a_call_that_was_never_reached_is_not_counted(place):
    """Nobody decided it."""
    place.configure(QUIET)
    place.model.calls("shell", command="make").and_calls("shell", command="make install")
    posted = await place.say("go")
    await place.heard("approval_requested")
    await place.cancel()
    await place.ended(posted)
    found = judged(place, ApprovalPolicy(require_for_kinds=()))

    assert all(one.then in ("asked", "not_reached") for one in found.calls)
    assert all(not one.differs for one in found.calls if one.then == "not_reached")


async def test_of_calls_that_a_fork_carries_over_it_is_not_known_how_they_were_decided(worked):
    """Questions and answers stay where they were: no such call is stricter or looser, and those of the fork are."""
    fork = await worked.harness.fork_session(worked.session_id, commands.ForkSession())
    worked.session_id = fork.id
    worked.model.calls("repo_tree").says("Done.")
    await worked.ask("more")
    names = ("repo_tree", "write_file", "shell")
    found = judged(worked, ApprovalPolicy(rules=tuple(Rule(tool=name, verdict="deny") for name in names)))

    assert [(one.name, one.then, one.answer, one.now) for one in found.calls] == [
        ("repo_tree", "not_known", "", "deny"),
        ("write_file", "not_known", "", "deny"),
        ("shell", "not_known", "", "deny"),
        ("nothing_such", "not_known", "", "deny"),
        ("repo_tree", "allowed", "", "deny"),
    ]
    assert [one.seq for one in found.calls if one.differs] == [found.calls[-1].seq]
    assert (found.differs, found.stricter, found.looser) == (1, 1, 0)


def test_a_policy_is_a_settings_file_or_its_approval_alone(tmp_path):
    """Both say the same."""
    said = {"requireForKinds": [], "rules": [{"tool": "shell", "verdict": "deny", "command": "rm"}]}
    (tmp_path / "a.json").write_text(json.dumps({"approval": said, "verify": {"autoVerify": False}}))
    (tmp_path / "b.json").write_text(json.dumps(said))

    assert read_policy(tmp_path / "a.json") == read_policy(tmp_path / "b.json")
    assert read_policy(tmp_path / "a.json").require_for_kinds == ()


@pytest.mark.parametrize(
    "settings", [{}, {"defaultProvider": "scripted"}, {"sandbox": {"mode": "off"}}, {"trustedWorkspaces": {}}]
)
def test_a_settings_file_that_says_nothing_of_approval_has_the_defaults(tmp_path, settings):
    """As it has where it is a user's own."""
    (tmp_path / "a.json").write_text(json.dumps(settings))

    assert read_policy(tmp_path / "a.json") == ApprovalPolicy()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"approvals": {}}', "`approvals` is not a known setting. Did you mean `approval`?"),
        ('{"approval": {"rule": []}}', "`approval.rule` is not a known setting. Did you mean `approval.rules`?"),
        ('{"rules": [], "moon": 1}', "`moon` is not a known setting of `approval`."),
        ('{"rules": [], "sandbox": {}}', "`rules` is not a known setting."),
        ('{"rules": [{"tool": ""}]}', "`rules[0].tool`"),
    ],
)
def test_what_is_wrong_with_a_policy_is_said_as_it_stands_in_the_file(tmp_path, text, said):
    """By the keys that were written, with the file's name once; nothing of it is ignored."""
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(AgiError) as refused:
        read_policy(tmp_path / "p.json")

    assert refused.value.message.startswith(f"{tmp_path / 'p.json'}: {said}")
    assert refused.value.message.count("p.json") == 1
    assert "is ignored" not in refused.value.message


@pytest.mark.parametrize("text", ["", "[]", "{", '{"approval": 7}', '{"approvals": {}}', '{"rules": [{"tool": ""}]}'])
def test_a_policy_that_is_not_understood_is_refused(tmp_path, text):
    """Trying out half of it would say something that is not so."""
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(AgiError) as refused:
        read_policy(tmp_path / "p.json")
    assert refused.value.hint
    assert "remove" not in refused.value.hint  # it is nobody's setting, but a file that was named for this once


@pytest.fixture
async def varied(tmp_path):
    """A daemon whose session used a shell, an edit, a tool of a server and one that reaches out; some were refused."""
    server = {"command": sys.executable, "args": ["-S", str(RAW), "plain"]}
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "mcp.json").write_text(json.dumps({"mcpServers": {"mine": server}}))
    async with daemon_in_a_box(tmp_path) as daemon:
        daemon.model.calls("shell", command="ls").calls("write_file", path="a.txt", content="x")
        daemon.model.calls("mcp__mine__echo", text="one").calls("web_fetch", url="https://example.com/")
        daemon.model.calls("repo_tree").then_says("Done.")
        turn = await daemon.ask("go")
        await turn.approve()
        await turn.approve()
        await turn.deny(reason="no servers")
        await turn.deny(reason="no pages")
        assert await turn.answer() == "Done."
        yield daemon.harness, turn.session_id


async def test_every_kind_of_tool_is_judged_as_what_it_is(varied):
    """A tool of a server that was refused and never ran is known by its kind; also from the log alone."""
    harness, session_id = varied
    made = await make_cassette(harness, session_id)
    site = harness.site()
    names = ["shell", "write_file", "mcp__mine__echo", "web_fetch", "repo_tree"]
    asked = ["ask", "ask", "ask", "ask", "allow"]
    stricter = ApprovalPolicy(
        rules=(Rule(tool="mcp__mine__echo", verdict="deny"), Rule(tool="repo_tree", verdict="ask"))
    )
    looser = ApprovalPolicy(require_for_kinds=())
    for tools in ((), made.head.conditions.known_tools):
        same = rejudge(made.events, site, tools=tools)
        strict = rejudge(made.events, site, policy=stricter, tools=tools)
        loose = rejudge(made.events, site, policy=looser, tools=tools)

        assert [(one.name, one.now) for one in same.calls] == list(zip(names, asked, strict=True))
        assert same.differs == 0
        assert [one.now for one in strict.calls] == ["ask", "ask", "deny", "ask", "ask"]
        assert (strict.stricter, strict.looser) == (2, 0)
        assert [one.now for one in loose.calls] == ["allow"] * 5
        assert (loose.stricter, loose.looser) == (0, 4)
        assert [one.answer for one in loose.calls] == ["granted", "granted", "user", "user", ""]


async def test_calls_that_deal_with_workers_are_judged_as_the_leads_own(crewed):
    """The tools of a team are no part of a role's list, and are its own all the same."""
    crewed.parts["lead"] = delegates({"role": "reader", "prompt": "read"})
    crewed.parts["reader"] = lambda request: report("read")
    session = await crewed.ask()
    events = crewed.events(session.id)
    site = crewed.harness.site()
    same = rejudge(events, site)
    strict = rejudge(events, site, policy=ApprovalPolicy(rules=(Rule(tool="draft_agent", verdict="deny"),)))

    assert [(one.name, one.then, one.now) for one in same.calls] == [
        ("draft_agent", "allowed", "allow"),
        ("await_agent", "allowed", "allow"),
    ]
    assert [(one.name, one.now) for one in strict.calls if one.differs] == [("draft_agent", "deny")]


async def test_a_cassette_cannot_say_that_a_tool_of_ours_is_harmless(worked):
    """What it knows of tools counts only for those that are not built in."""
    lies = [ToolDefinition(name="shell", description="", input_schema={}, kind=ToolKind.READ)]
    site = worked.harness.site(str(worked.project))
    found = rejudge(worked.events(), site, tools=lies)

    assert found.differs == 0
