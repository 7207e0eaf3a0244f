"""Compaction on demand: now or with the running turn, undone like anything else, and nothing in the log is lost."""

from __future__ import annotations

import asyncio
import json

import pytest

from agi.context.compact_view import ORIGIN
from agi.errors import Conflict, Invalid
from agi.models.scripted import Call, Say, Wait
from agi.protocol.commands import Compact, ForkSession, Revert
from agi.protocol.events import CompactionFailed, CompactionRequested
from agi.protocol.parts import plain_text
from agi.sessions.origin import disown

SUMMARY = "Goal: talk.\nDone: something was said."


async def talked(place, turns: int = 4) -> None:
    for number in range(turns):
        place.model.says(f"Answer {number}. " * 100)
        await place.ask(f"question {number} " + "words " * 100)


async def compacted(place, **fields: object):
    place.model.says(SUMMARY)
    return await place.harness.compact(place.session_id, Compact(**fields))


async def told(place, text: str = "and now?") -> list[str]:
    """What the model is told next."""
    place.model.says("Yes.")
    await place.ask(text)
    return [plain_text(one.parts) for one in place.model.requests[-1].messages]


async def test_an_idle_session_is_compacted_at_once(place):
    """The answer says how much shorter it is; the log says the same, and its messages are all there."""
    await talked(place)
    before = place.messages()

    done = await compacted(place, focus="the second question")

    assert done.status == "compacted"
    assert done.post_tokens < done.pre_tokens
    assert done.summarised_by == "scripted/script"
    assert "the second question" in plain_text(place.model.requests[-1].messages[-1].parts)
    made = json.loads(place.events("context_compacted")[0].raw)
    assert (made["pre_tokens"], made["post_tokens"]) == (done.pre_tokens, done.post_tokens)
    assert place.messages() == before
    said = await told(place)
    assert SUMMARY in said[0]
    assert said[-1] == "and now?"
    assert not any("Answer 0." in one and "record of earlier events" not in one for one in said)


async def test_it_is_told_as_compacting_and_can_be_canceled(place):
    """Nothing has changed then, and the session is free again."""
    await talked(place)
    place.model.plays(Wait(asyncio.Event()))
    asked = asyncio.ensure_future(place.harness.compact(place.session_id, Compact()))
    await place.heard("compaction_started")
    assert place.harness.session(place.session_id).activity == "compacting"

    await place.cancel()

    with pytest.raises(Conflict) as refused:
        await asyncio.wait_for(asked, 1)
    assert refused.value.code == "canceled"
    assert place.harness.session(place.session_id).activity == "idle"
    assert "Answer 0." in "".join(await told(place))


async def test_a_message_sent_meanwhile_waits_for_it(place):
    """And is answered by a model that is told the compacted conversation."""
    await talked(place)
    gate = asyncio.Event()
    place.model.plays(Wait(gate), Say(SUMMARY))
    asked = asyncio.ensure_future(place.harness.compact(place.session_id, Compact()))
    await place.heard("compaction_started")
    posted = await place.say("hurry up")
    place.model.says("At your service.")

    gate.set()

    assert (await asked).status == "compacted"
    assert posted.queued
    assert (await place.ended(posted)).status == "completed"
    assert place.model.requests[-1].messages[0].origin == ORIGIN


async def test_a_crash_in_the_middle_makes_it_again_at_the_next_start(place):
    """What was asked for is in the log."""
    await talked(place)
    place.model.plays(Wait(asyncio.Event()))
    asked = asyncio.ensure_future(place.harness.compact(place.session_id, Compact()))
    await place.heard("compaction_started")
    asked.cancel()
    place.model.says(SUMMARY)

    await place.reopen()
    await place.harness.recover()

    await place.heard("context_compacted")
    await place.until(lambda: place.harness.session(place.session_id).activity == "idle")


async def test_a_conversation_that_has_hardly_begun_is_left_alone(place):
    """The refusal says so, no model is asked, and the log is as it was."""
    before = len(place.events())
    with pytest.raises(Conflict) as refused:
        await place.harness.compact(place.session_id, Compact())

    assert refused.value.code == "nothing_to_compact"
    assert "go on" in refused.value.hint.lower()
    assert len(place.events()) == before
    assert not place.model.requests


async def test_a_few_short_messages_are_not_worth_a_summary(place):
    """It would be longer than they are; again no model is asked."""
    for number in range(3):
        place.model.says("ok")
        await place.ask(str(number))
    asked = len(place.model.requests)

    with pytest.raises(Conflict) as refused:
        await place.harness.compact(place.session_id, Compact())

    assert refused.value.code == "nothing_to_compact"
    assert len(place.model.requests) == asked


@pytest.mark.parametrize(("code", "hint"), [("not_shrunk", "agi undo"), ("canceled", "as it was")])
async def test_one_that_failed_says_what_to_do(place, code, hint):
    """Whatever came in the way."""
    await talked(place)
    place.model.plays(Wait(asyncio.Event()))
    asked = asyncio.ensure_future(place.harness.compact(place.session_id, Compact()))
    await place.heard("compaction_started")
    failed = CompactionFailed(trigger="manual", code=code, reason="It did not work.")
    await place.harness.log.append(place.session_id, [(None, failed)])

    with pytest.raises(Conflict) as refused:
        await asyncio.wait_for(asked, 5)
    assert (refused.value.code, hint in refused.value.hint) == (code, True)


async def test_what_was_asked_for_twice_is_made_once(place):
    """The second request is refused while the first is under way."""
    await talked(place)
    gate = asyncio.Event()
    place.model.plays(Wait(gate), Say(SUMMARY))
    asked = asyncio.ensure_future(place.harness.compact(place.session_id, Compact()))
    await place.heard("compaction_started")

    with pytest.raises(Conflict) as refused:
        await place.harness.compact(place.session_id, Compact())
    gate.set()

    assert refused.value.code == "compaction_pending"
    assert (await asked).status == "compacted"


async def test_one_asked_for_while_an_approval_is_open_waits_and_leaves_the_question_alone(place):
    """The question is the same before and after; once it is answered, the compaction is made before the next call."""
    await talked(place)
    place.model.plays(Call("shell", {"command": "true"}))
    posted = await place.say("run it")
    await place.heard("approval_requested")
    before = place.harness.session(place.session_id).pending_approvals

    queued = await place.harness.compact(place.session_id, Compact())

    assert queued.status == "queued"
    assert place.harness.session(place.session_id).pending_approvals == before
    assert not place.events("compaction_started")
    place.model.says(SUMMARY).says("Done.")
    await place.approve(before[0].tool_call_id, "deny")
    assert (await place.ended(posted)).status == "completed"
    assert len(place.events("context_compacted")) == 1


async def compacted_within_a_turn(place) -> list[str]:
    """What the model is told right after a compaction in the middle of a turn."""
    place.model.plays(Call("shell", {"command": "true"}))
    posted = await place.say("run it")
    await place.until(lambda: bool(place.harness.session(place.session_id).pending_approvals))
    (pending,) = place.harness.session(place.session_id).pending_approvals
    await place.harness.compact(place.session_id, Compact())
    place.model.says(SUMMARY).says("Done.")
    await place.approve(pending.tool_call_id, "deny")
    assert (await place.ended(posted)).status == "completed"
    return [plain_text(one.parts) for one in place.model.requests[-1].messages]


async def test_rules_told_in_the_conversation_outlive_a_compaction_in_the_middle_of_a_turn(place):
    """The head is made anew only with the next turn; until then what it does not say yet stays word by word."""
    (place.project / "AGENTS.md").write_text("Be kind.\n" * 40)
    await talked(place)
    (place.project / "AGENTS.md").write_text("Be kind.\n" * 40 + "And brief.\n")
    await talked(place)

    said = await compacted_within_a_turn(place)

    assert [one.count("+And brief.") for one in said if "harness, not by the user" in one] == [1]
    assert not any("question 0" in one and "record of earlier" not in one for one in said)

    await talked(place)
    assert [event.data.cause for event in place.events("context_assembled")] == ["first_turn", "compacted"]
    assert "And brief." in place.model.requests[-1].system
    later = await compacted_within_a_turn(place)
    assert not any("+And brief." in one for one in later)  # the head has said it since


async def test_a_cancel_of_the_turn_drops_what_was_asked_for(place):
    """Nothing begins by itself after somebody said stop."""
    await talked(place)
    place.model.plays(Wait(asyncio.Event()))
    posted = await place.say("work")
    await place.until(lambda: len(place.model.requests) == 5)
    await place.harness.compact(place.session_id, Compact())

    await place.cancel()

    assert (await place.ended(posted)).status == "canceled"
    await place.until(lambda: place.harness.session(place.session_id).activity == "idle")
    assert not place.events("compaction_started")


async def test_asked_for_during_a_last_answer_it_is_made_right_after(place):
    """No further call comes, so the idle session is compacted, and nothing else begins."""
    await talked(place)
    gate = asyncio.Event()
    place.model.plays(Wait(gate), Say("That was all. " * 100))
    posted = await place.say("finish")
    await place.until(lambda: len(place.model.requests) == 5)
    await place.harness.compact(place.session_id, Compact())
    place.model.says(SUMMARY)
    gate.set()

    await place.ended(posted)

    await place.heard("context_compacted")
    await place.until(lambda: place.harness.session(place.session_id).activity == "idle")
    assert len(place.events("turn_started")) == 5
    assert len(place.model.requests) == 6


# Undoing it.


async def test_undone_the_model_is_told_everything_again(place):
    """Byte for byte what it was told before."""
    await talked(place)
    before = [one.parts for one in place.model.requests[-1].messages]
    await compacted(place)

    undone = await place.harness.compact(place.session_id, Compact(undo=True))

    assert undone.status == "undone"
    await told(place)
    assert [one.parts for one in place.model.requests[-1].messages][: len(before)] == before


async def test_undoing_goes_back_one_compaction_at_a_time(place):
    """The one before it is in force again, until that is undone too."""
    await talked(place)
    first = await compacted(place)
    await talked(place)
    await compacted(place)

    await place.harness.compact(place.session_id, Compact(undo=True))
    assert first.compaction_id in (await told(place))[0]
    await place.harness.compact(place.session_id, Compact(undo=True))
    assert "question 0" in (await told(place))[0]

    with pytest.raises(Conflict) as refused:
        await place.harness.compact(place.session_id, Compact(undo=True))
    assert refused.value.code == "nothing_to_undo"


async def test_undoing_waits_for_nobody_and_has_no_focus(place):
    """While a turn runs it is refused, and so is a focus."""
    await talked(place)
    await compacted(place)
    with pytest.raises(Invalid) as refused:
        await place.harness.compact(place.session_id, Compact(undo=True, focus="this"))
    assert refused.value.code == "compact_ambiguous"
    gate = asyncio.Event()
    place.model.plays(Wait(gate), Say("Done."))
    posted = await place.say("work")
    await place.until(lambda: place.harness.state(place.session_id).turn is not None)

    with pytest.raises(Conflict) as busy:
        await place.harness.compact(place.session_id, Compact(undo=True))
    gate.set()
    await place.ended(posted)

    assert busy.value.code == "session_running"


async def test_a_conversation_taken_back_to_before_a_compaction_is_told_as_it_was(place):
    """And brought back, the compaction is in force again."""
    await talked(place)
    await compacted(place)
    place.model.says("Later.")
    turn = await place.ask("later")
    third = [event.turn_id for event in place.events("turn_started")][2]

    back = await place.harness.revert(place.session_id, Revert(to=third, what="conversation"))
    reverted = await told(place)
    assert ORIGIN not in [one.origin for one in place.model.requests[-1].messages]
    assert "question 0" in reverted[0]
    assert not any("question 2" in one for one in reverted)

    await place.harness.revert(place.session_id, Revert(to=back.redo, what="conversation"))
    again = await told(place)
    assert SUMMARY in again[0]
    assert turn.status == "completed"


async def test_it_holds_after_a_restart_and_after_the_database_is_rebuilt(place):
    """The log alone is enough."""
    await talked(place)
    await compacted(place)
    first = await told(place)
    await place.harness.log.mirrored()
    await place.harness.close()
    for file in (place.project / ".agi").glob("agi.sqlite*"):
        file.unlink()

    await place.open()
    again = await told(place)

    assert again[: len(first)] == first


async def test_what_a_foreign_log_asked_for_is_not_made(place):
    """A folder that came from elsewhere makes nobody pay for a summary."""
    await talked(place)
    await place.reopen()  # nothing of it runs here any more
    await place.harness.log.append(place.session_id, [(None, CompactionRequested(focus="theirs"))])

    await disown(place.harness.log)
    await place.harness.recover()

    assert json.loads(place.events("compaction_failed")[0].raw)["code"] == "canceled"
    assert place.harness.session(place.session_id).activity == "idle"
    assert not place.events("compaction_started")


async def test_what_was_granted_waited_and_left_to_do_is_the_same_before_and_after(place):
    """A compaction changes what models are told, and nothing else of a session."""
    await talked(place)
    before = place.harness.session(place.session_id)

    await compacted(place)

    after = place.harness.session(place.session_id)
    same = ("status", "queue", "pending_approvals", "jobs", "budget", "agent", "model", "last_turn_id", "activity")
    assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]


async def test_a_secret_in_a_summary_does_not_reach_the_log(place):
    """Summaries pass the redactor like everything else."""
    await talked(place)
    place.harness.redactor.learn("sk-very-secret-value-123456")
    place.model.says("Goal: use sk-very-secret-value-123456 for everything.")

    await place.harness.compact(place.session_id, Compact())

    assert b"sk-very-secret" not in place.events("context_compacted")[0].raw
    assert not any("sk-very-secret" in one for one in await told(place))


async def test_a_fork_is_told_what_its_source_was_told(place):
    """The compaction goes along, and speaks of the fork's own messages."""
    await talked(place)
    await compacted(place)
    before = await told(place)

    fork = await place.harness.fork_session(place.session_id, ForkSession())
    place.session_id = fork.id
    after = await told(place, "another way")

    assert after[1 : len(before)] == before[1:]
    assert SUMMARY in after[0]
    assert len(place.messages()) > len(after)
    assert "question 0" not in "".join(after[1:])
