"""Messages and events become a transcript: once each, in order, whatever was heard before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

from agi.protocol import events as ev
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Image, Text, ToolCallContent, ToolCallPart, ToolResultContent, ToolResultPart
from agi.protocol.tools import ToolCall, ToolResult
from agi.testing.samples import TIME, event, message
from agi.tui.conversation import Conversation
from agi.tui.drawing import Look, draw
from agi.tui.entries import LIVE_OUTPUT, Call
from agi.tui.tokens import DARK


def delta(seq, text, offset, part="part_a", kind="text"):
    return event(seq, ev.ModelOutputDelta(message_id="msg_a", part_id=part, kind=kind, delta=text, offset=offset))


def texts(conversation):
    return [entry.source for entry in conversation.entries]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.integers(0, 20))
def test_pieces_of_text_make_the_text_however_often_they_are_told(sizes, again):
    """A piece that was heard before, alone or joined with others, changes nothing."""
    whole = "abcdefghijklmnopqrstuvwxyz" * 3
    conversation, at = Conversation(), 0
    for seq, size in enumerate(sizes):
        conversation.hear(delta(seq, whole[at : at + size], at))
        at += size
        start = min(again, at)
        conversation.hear(delta(seq, whole[start:at], start))

    assert texts(conversation) == [whole[:at]]


def test_the_finished_message_stands_where_its_pieces_stood():
    """With its own text, once, also when it is heard again."""
    conversation = Conversation()
    conversation.hear(delta(1, "hel", 0))
    done = Message(
        id="msg_a", role="assistant", parts=(Text(text="hello", id="part_a"),), created_at=TIME, status="complete"
    )

    conversation.hear(event(2, ev.ModelOutputCompleted(message=done)))
    conversation.hear(event(2, ev.ModelOutputCompleted(message=done)))
    conversation.hear(delta(1, "hel", 0))

    assert texts(conversation) == ["hello"]
    assert not conversation.entries[0].live


def test_what_agi_itself_says_is_headed_by_its_name():
    """Not by the word the log has for it, as if that were somebody."""
    said = replace(message("msg_1", "taken back"), origin="files_reverted")
    conversation = Conversation()
    conversation.hear(event(1, ev.MessageAdded(message=said)))

    assert conversation.entries[0].head.startswith("agi (files reverted) · ")


def test_what_the_model_is_told_of_the_workspace_is_one_line_until_it_is_unfolded():
    """A map of a repository is for the model; people are told that it was there, and see it if they like."""
    told = replace(message("msg_1", "A map.\n\na.py\nb.py"), origin="context")
    conversation = Conversation()
    conversation.load([message("msg_0", "hi"), told])
    aside = conversation.entries[-1]

    folded, unfolded = (draw(aside, Look(width=60, palette=DARK, unfolded=one)) for one in (False, True))

    assert [strip.text.strip() for strip in folded] == ["▸ told the model about the workspace · 4 lines"]
    assert "a.py" in [strip.text.strip() for strip in unfolded]
    assert conversation.prompts == ["hi"]


def test_who_answers_is_named_from_the_first_word():
    """As it is when the session is opened again."""
    conversation = Conversation()
    began = ev.TurnStarted(message_id="msg_0", agent="product-analyst", provider="p", model="m")
    conversation.hear(event(1, began))
    conversation.hear(delta(2, "Hello", 0))

    assert conversation.entries[-1].head.startswith("product-analyst · ")


def test_text_whose_beginning_was_not_heard_is_marked():
    """Until the message is whole."""
    conversation = Conversation()
    conversation.hear(delta(1, "the end", 5000))

    assert texts(conversation) == ["…\n\nthe end"]


def test_a_queued_message_joins_the_transcript_when_its_turn_begins():
    """Not in the middle of the answer before it."""
    conversation = Conversation()
    conversation.hear(event(1, ev.MessageAdded(message=message("msg_1", "first"))))
    conversation.hear(event(2, ev.MessageAdded(message=message("msg_2", "second"), queued=True), "turn_2"))
    conversation.hear(delta(3, "answer", 0))
    assert texts(conversation) == ["first", "answer"]
    assert conversation.waiting == {"msg_2": "second"}

    started = ev.TurnStarted(message_id="msg_2", agent="build", provider="p", model="m")
    conversation.hear(event(4, started, "turn_2"))

    assert texts(conversation) == ["first", "answer", "second"]
    assert conversation.waiting == {}


def test_a_call_is_one_line_from_asking_to_its_result():
    """Asked, running, done; its output is there, and its outcome in a word."""
    conversation = Conversation()
    call = ToolCall(id="call_1", name="shell", input=Raw(b'{"command": "make"}'))
    conversation.hear(event(1, ev.ToolCallStarted(tool_call=call, kind="exec")))
    conversation.hear(event(2, ev.ToolOutputDelta(tool_call_id="call_1", channel="stdout", chunk="building", offset=0)))
    entry = conversation.entries[0]
    assert isinstance(entry, Call)
    assert (entry.state, entry.about, entry.output) == ("running", "make", "building")

    result = ToolResult(id="call_1", ok=False, parts=(Text(text="broken"),), error="exit", result={"exit_code": 2})
    completed = ev.ToolCallCompleted(tool_call_id="call_1", name="shell", tool_result=result, message_id="msg_t")
    conversation.hear(event(3, completed))

    assert (entry.state, entry.telling, entry.output) == ("failed", "exit 2", "broken")
    assert len(conversation.entries) == 1


def test_an_endless_output_is_kept_within_bounds():
    """Beginning and end stay, and it says how much is left out."""
    entry = Call("call_1", "shell", "yes", state="running")
    for _ in range(100):
        entry.hear("y" * 1000 + "\n")

    assert len(entry.output) <= LIVE_OUTPUT + 100
    assert entry.output.count("characters left out]") == 1


def test_a_result_on_a_later_page_finds_its_call_when_that_is_loaded():
    """Pages are cut anywhere."""
    args = ToolCallContent(id="call_1", name="read_file", args=Raw(b'{"path": "a.py"}'))
    asking = Message(
        id="msg_1", role="assistant", parts=(ToolCallPart(content=args, id="p1"),), created_at=TIME, status="complete"
    )
    told = ToolResultContent(id="call_1", name="read_file", ok=True, parts=(Text(text="x\ny"),))
    result = Message(
        id="msg_2", role="tool", parts=(ToolResultPart(content=told, id="p2"),), created_at=TIME, status="complete"
    )
    conversation = Conversation()

    conversation.load([result])
    conversation.prepend([asking])

    assert [(entry.name, entry.about, entry.state, entry.telling) for entry in conversation.entries] == [
        ("read_file", "a.py", "ok", "2 lines")
    ]


def test_who_speaks_is_said_where_another_one_begins():
    """Not above each thing the same one says."""
    conversation = Conversation()
    conversation.load(
        [
            message("msg_1", "question"),
            message("msg_2", "thinking aloud", role="assistant", agent="build"),
            message("msg_3", "answer", role="assistant", agent="build"),
        ]
    )

    assert [entry.head.split(" · ")[0] for entry in conversation.entries] == ["you", "build", ""]


def test_how_a_turn_ended_is_said_once():
    """With its verification; hearing of it again adds nothing."""
    conversation = Conversation()
    done = ev.TurnCompleted(
        message_id=None, stop_reason="end_turn", steps=1, usage=Usage(cost_usd=0.5), verification="verified", seconds=12
    )
    for _ in range(2):
        conversation.hear(event(5, done))

    assert texts(conversation) == ["✓ verified · 12 s · $0.50"]


def test_a_part_that_is_a_file_is_named():
    """A picture in a message is seen to be there."""
    parts = (
        Text(text="look", id="p1"),
        Image(ref="attachments/a.png", mime_type="image/png", id="p2", name="shot.png"),
    )
    conversation = Conversation()
    conversation.load([Message(id="msg_1", role="user", parts=parts, created_at=TIME, status="complete")])

    assert texts(conversation) == ["look", "[image/png: shot.png]"]
