"""The fold of what models were told beside the conversation: digests by section, told again where they were lost."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from agi.protocol import events as ev
from agi.protocol.context import ContextSection
from agi.protocol.tools import ToolCall
from agi.views.context import MOST_PATHS, ContextState
from agi.views.folding import fold
from agi.views.state import SessionState


def section(source: str, digest: str, **fields) -> ContextSection:
    return ContextSection(name="rules", source=source, digest=digest, **fields)


def events(*data: ev.EventData) -> SessionState:
    created = ev.SessionCreated(id="sess_1", agent="build", workspace_path="/w", project_path="/w", created_at="now")
    state = None
    for seq, one in enumerate((created, *data), 1):
        state = fold(state, ev.Event.of(seq, "2026-01-01T00:00:00.000Z", "sess_1", "turn_1", one))
    assert state is not None
    return state


def head(*sections: ContextSection) -> ev.ContextAssembled:
    return ev.ContextAssembled(cause="first_turn", agent="build", provider="p", model="m", sections=sections)


def added(*sections: ContextSection) -> ev.ContextAdded:
    return ev.ContextAdded(message_id="msg_1", sections=sections)


def compacted(*carried: str) -> ev.ContextCompacted:
    return ev.ContextCompacted(
        compaction_id="cmp_1", trigger="threshold", pre_tokens=9, post_tokens=1, first_kept="msg_9", carried=carried
    )


def test_the_last_word_about_a_section_counts():
    """What was said in the conversation beats the head; a new head says everything anew."""
    told = events(head(section("a", "1"), section("b", "1")), added(section("a", "2"))).context

    assert (told.seq, told.digest("rules a"), told.digest("rules b"), told.digest("rules c")) == (2, "2", "1", None)
    anew = events(head(section("a", "1")), added(section("a", "2")), head(section("a", "3"))).context
    assert (anew.seq, anew.digest("rules a"), anew.added) == (4, "3", {})


def test_what_was_left_out_was_not_told():
    """But that a section is gone is remembered."""
    told = events(added(section("a", "2", status="left_out"), section("b", "", status="left_out"))).context

    assert (told.digest("rules a"), told.digest("rules b")) == (None, "")


def test_what_was_taken_back_was_not_told():
    """The conversation goes on from before it."""
    reverted = ev.ConversationReverted(to="start", to_seq=3, messages=1)
    told = events(head(section("a", "1")), added(section("b", "1")), added(section("a", "2")), reverted).context

    assert (told.digest("rules a"), told.digest("rules b")) == ("1", "1")


def test_after_a_compaction_all_is_told_again_and_the_head_made_anew():
    """What was told in the conversation may be gone from it."""
    state = ContextState(seq=3, head={"rules a": "1"})
    state.told(ev.Event.of(4, "", "sess_1", None, added()), (section("a", "2"),), "msg_1")
    state.compacted()

    assert (state.digest("rules a"), state.due) == ("1", "compacted")


def test_what_a_compaction_carries_along_need_not_be_told_again():
    """It is still there, word by word."""
    state = events(head(section("a", "1")), added(section("a", "2"), section("b", "1")), compacted("msg_1", "msg_2"))
    again = events(head(section("a", "1")), added(section("a", "2")), compacted("msg_2"))

    assert [state.context.digest(key) for key in ("rules a", "rules b")] == ["2", "1"]
    assert state.context.due == "compacted"
    assert again.context.digest("rules a") == "1"


def test_paths_that_calls_named_are_remembered_up_to_a_limit():
    """The latest last, each once; what is no path is none."""
    calls = [ToolCall(f"call_{n}", "read_file", Raw(msgspec.json.encode({"path": f"{n}"}))) for n in range(100)]
    odd = [Raw(b"[]"), Raw(b'{"path": 3}'), Raw(b'"x"'), Raw(b'{"path": ""}'), Raw(b'{"path":"%s"}' % (b"x" * 600))]
    again = [*calls, calls[90], *(ToolCall("call_x", "search", one) for one in odd)]
    state = events(*(ev.ToolCallStarted(tool_call=one, kind="read") for one in again))

    assert len(state.context.paths) == MOST_PATHS
    assert state.context.paths[-2:] == ["99", "90"]


def test_the_state_of_an_older_version_has_none():
    """Such a session is told everything at its next turn."""
    raw = msgspec.json.decode(msgspec.json.encode(events()))
    del raw["context"]

    assert msgspec.convert(raw, SessionState).context == ContextState()
