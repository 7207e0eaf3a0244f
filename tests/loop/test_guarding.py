"""The loop guard: circles are noticed, told once and ended; honest work is left alone."""

from __future__ import annotations

import json
import time
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.loop import guarding
from agi.loop.guarding import LONGEST_CYCLE, LOOKED_AT, Guard, Repetition, _cycle, repeats_itself
from agi.models.scripted import Call, Say, Think
from agi.protocol.messages import Message
from agi.protocol.parts import Text, ToolCallContent, ToolCallPart, ToolResultContent, ToolResultPart, plain_text

FREE = '{"approval": {"requireForKinds": []}, "verify": {"autoVerify": false}}'


@pytest.fixture
async def free(place):
    """A place where every tool runs unasked, with one file to read."""
    place.configure(FREE)
    (place.project / "a.txt").write_text("one and the same\n")
    return place


def outcome(turn) -> dict:
    return json.loads(turn.outcome)


def notes(place, origin: str = guarding.ORIGIN) -> list[str]:
    return [plain_text(message.parts) for message in place.messages() if message.origin == origin]


def change(file: Path) -> None:
    """Write to a file so that its time is later than now, however coarse the clock of the file system is."""
    before = time.time_ns()
    while not file.exists() or file.stat().st_ctime_ns <= before:
        file.write_text("changed")


# The same call again and again.


async def test_three_identical_calls_are_told_once_and_five_end_the_turn(free):
    """The model is told what it does and gets two more tries; then not one more request leaves."""
    for _ in range(9):
        free.model.calls("read_file", path="a.txt")

    turn = await free.ask("look")

    assert (turn.status, outcome(turn)["stop_reason"]) == ("completed", "loop_detected")
    assert "circles" in outcome(turn)["note"]
    assert [note for note in notes(free) if "3 times" in note] == notes(free)
    assert len(notes(free)) == 1
    assert len(free.model.requests) == 5
    assert plain_text(free.model.requests[3].messages[-1].parts) == notes(free)[0]


async def test_what_was_done_is_kept_when_a_circle_ends_the_turn(free):
    """Every call has its result, the session goes on, and the next message sees it all."""
    for _ in range(5):
        free.model.calls("read_file", path="a.txt")
    free.model.says("I had read it five times.")
    await free.ask("look")

    turn = await free.ask("and?")

    assert outcome(turn)["stop_reason"] == "end_turn"
    assert [message.role for message in free.model.requests[-1].messages].count("tool") == 5
    assert free.types()[-1] == "session_completed"


async def test_a_model_that_changes_course_after_the_note_goes_on(free):
    """A nudge is enough for most; a later circle is told anew."""
    (free.project / "b.txt").write_text("something else\n")
    for name in "aaa" + "b" + "aaa":
        free.model.calls("read_file", path=f"{name}.txt")
    free.model.says("done")

    turn = await free.ask("look")

    assert outcome(turn)["stop_reason"] == "end_turn"
    assert len(notes(free)) == 2


@pytest.mark.parametrize("cycle", ["ab", "abc"])
async def test_a_short_cycle_is_a_circle_too(free, cycle):
    """A-B-A-B and A-B-C-A-B-C are noticed when they come round the third time, and end the turn the fifth time."""
    for name in cycle:
        (free.project / f"{name}.txt").write_text(name)
    for name in cycle * 7:
        free.model.calls("read_file", path=f"{name}.txt")

    turn = await free.ask("look")

    assert outcome(turn)["stop_reason"] == "loop_detected"
    assert len(notes(free)) == 1
    assert len(free.model.requests) == 5 * len(cycle)


async def test_identical_calls_side_by_side_count_as_well(free):
    """Three reads of one file in one answer are told to the model; the turn goes on."""
    free.model.plays(*[Call("read_file", {"path": "a.txt"})] * 3).then_says("done")

    turn = await free.ask("look")

    assert outcome(turn)["stop_reason"] == "end_turn"
    assert len(notes(free)) == 1


async def test_spaces_and_the_order_of_keys_do_not_hide_a_repeat(free):
    """What counts is what was asked for, not how it was written."""
    free.model.plays(Call("read_file", '{"path": "a.txt", "limit": 5}'))
    free.model.plays(Call("read_file", '{"limit":5,"path":"a.txt"}'))
    free.model.plays(Call("read_file", '{ "limit" : 5 , "path" : "a.txt" }')).then_says("done")

    await free.ask("look")

    assert len(notes(free)) == 1


async def test_a_command_that_says_the_same_is_a_repeat_however_long_it_took(free):
    """How many milliseconds it ran, and which file keeps its long output, are not part of the result."""
    for _ in range(3):
        free.model.calls("shell", command="seq 20000")
    free.model.says("done")

    await free.ask("count")

    shown = [json.loads(event.raw)["tool_result"] for event in free.events("tool_call_completed")]
    assert len({one["artifact"]["path"] for one in shown}) == 3
    assert len(notes(free)) == 1


async def test_calls_that_fail_alike_are_a_circle_too(free):
    """A call nobody can run is not run a hundred times."""
    for _ in range(9):
        free.model.plays(Call("no_such_tool", "{broken"))

    turn = await free.ask("go")

    assert outcome(turn)["stop_reason"] == "loop_detected"
    assert len(free.model.requests) == 5


# Honest work.


async def test_another_result_begins_a_new_count(free):
    """The same command with other words in its output is progress."""
    for _ in range(8):
        free.model.calls("shell", command="date +%N")
    free.model.says("done")

    turn = await free.ask("watch")

    assert outcome(turn)["stop_reason"] == "end_turn"
    assert not notes(free)


async def test_three_honest_different_reads_are_fine(free):
    """So is reading one file twice."""
    for name in "bcd":
        (free.project / f"{name}.txt").write_text(name)
    for name in "abcdab":
        free.model.calls("read_file", path=f"{name}.txt")
    free.model.says("done")

    await free.ask("look")

    assert not notes(free)


async def test_a_command_that_changes_files_is_no_circle(free):
    """It says nothing each time, and does something each time."""
    for _ in range(8):
        free.model.calls("shell", command="echo more >> log.txt")
    free.model.says("done")

    turn = await free.ask("write")

    assert outcome(turn)["stop_reason"] == "end_turn"
    assert not notes(free)


async def test_a_file_that_somebody_else_changes_begins_a_new_count(free):
    """Whoever waits for another's work may look as often as needed."""

    def decide(request):
        change(free.project / "built.txt")
        asked = len(free.model.requests)
        return (Call("read_file", {"path": "a.txt"}),) if asked < 9 else (Say("done"),)

    free.model._decide = decide
    turn = await free.ask("wait for it")

    assert outcome(turn)["stop_reason"] == "end_turn"
    assert not notes(free)


@pytest.mark.parametrize("after", [1, 2])
async def test_what_came_before_a_change_does_not_count(free, after):
    """Three calls count only if nothing changed between the first and the last of them."""

    def decide(request):
        asked = len(free.model.requests)
        if asked == after + 1:
            change(free.project / "b.txt")
        return (Call("read_file", {"path": "a.txt"}),) if asked <= after + 2 else (Say("done"),)

    free.model._decide = decide
    await free.ask("look")

    assert not notes(free)


async def test_a_change_after_the_note_gives_the_whole_count_again(free):
    """A turn is not ended for calls between which something changed."""

    def decide(request):
        asked = len(free.model.requests)
        if asked == 5:
            change(free.project / "b.txt")
        return (Call("read_file", {"path": "a.txt"}),) if asked <= 7 else (Say("done"),)

    free.model._decide = decide
    turn = await free.ask("look")

    assert outcome(turn)["stop_reason"] == "end_turn"
    assert len(notes(free)) == 1


# The guard by itself.


def step(number: int, tool: str, said: str = "the same") -> list[Message]:
    """One call and its result."""
    call = ToolCallContent(id=f"call_{number}", name=tool, args=b"{}")
    result = ToolResultContent(id=f"call_{number}", name=tool, ok=True, parts=(Text(text=said),))
    made = Message(
        id=f"m{number}", role="assistant", parts=(ToolCallPart(content=call),), created_at="", status="complete"
    )
    told = Message(
        id=f"r{number}", role="tool", parts=(ToolResultPart(content=result),), created_at="", status="complete"
    )
    return [made, told]


async def verdicts(tools: str, changes: dict[int, int] | None = None, known: int = 0) -> list[str]:
    """What a guard says after each of these calls; `changes` says at which time a file changed before it looks."""
    clock, changed = count(100, 100), 0
    own: list[Message] = []

    async def changed_at() -> int:
        return changed

    guard = Guard(changed_at, lambda: next(clock))
    if not known:
        await guard.look(own)
    found = []
    for number, tool in enumerate(tools):
        own += step(number, tool)
        changed = (changes or {}).get(number, changed)
        if number < known - 1:
            continue
        verdict, _ = await guard.look(own)
        found.append(verdict)
        if verdict == "note":
            own.append(
                Message(
                    id=f"n{number}", role="user", parts=(), created_at="", status="complete", origin=guarding.ORIGIN
                )
            )
    return found


async def test_the_files_are_looked_at_only_where_a_circle_is_suspected():
    """Looking at a large workspace takes a while, so it is not done at every step."""
    looked = 0

    async def changed_at() -> int:
        nonlocal looked
        looked += 1
        return 0

    guard, own = Guard(changed_at), []
    for number, tool in enumerate("abcaabbcde"):
        own += step(number, tool)
        await guard.look(own)

    assert looked == 0


async def test_a_change_during_a_call_counts_for_all_calls_before_it():
    """The clock of the guard stands at 100 before the first call, 200 before the second, and so on."""
    assert await verdicts("aaaaa") == ["fine", "fine", "note", "fine", "end"]
    assert await verdicts("aaaaaa", {2: 250}) == ["fine", "fine", "fine", "fine", "note", "fine"]
    assert await verdicts("aaaaaaa", {3: 350}) == ["fine", "fine", "note", "fine", "fine", "note", "fine"]


async def test_after_a_restart_the_count_begins_anew():
    """Nobody knows what changed while nobody looked."""
    assert await verdicts("aaaaaaaa", {0: 1}, known=4) == ["fine", "fine", "fine", "note", "fine"]


@given(st.lists(st.sampled_from("abc"), max_size=40))
def test_a_cycle_is_one_that_is_really_there(steps):
    """Its length times its count fits, the end of the steps is made of it, and no other came round more often."""
    length, times = _cycle(steps)

    assert 1 <= length <= LONGEST_CYCLE
    assert length * times <= len(steps)
    if times:
        end = steps[-length * times :]
        assert end == steps[-length:] * times
    for other in range(1, LONGEST_CYCLE + 1):
        more = steps[-other:] * (times + 1)
        assert steps[-len(more) :] != more or len(more) > len(steps) or not steps


@given(st.text("abcd", min_size=1, max_size=3), st.integers(3, 6), st.text("xyz", max_size=5))
def test_every_cycle_is_found_whatever_came_before(cycle, times, before):
    """Three rounds are three rounds, after anything else."""
    found_length, found_times = _cycle([*before, *cycle * times])

    assert found_times >= times
    assert found_length <= len(cycle)


# An answer that does not end.

PHRASE = "And so it goes on and on. "


async def test_an_endless_answer_is_cut_and_told_once_and_ends_the_turn_the_second_time(place):
    """What was said is kept as an error and not told again; the provider is hung up on."""
    for _ in range(3):
        place.model.says(PHRASE * 2000, size=100)

    turn = await place.ask("talk")

    assert outcome(turn)["stop_reason"] == "loop_detected"
    assert len(place.model.requests) == 2
    assert notes(place, guarding.TEXT_ORIGIN) == [guarding.TEXT_NOTE]
    said = [message for message in place.messages() if message.role == "assistant"]
    assert [(one.status, one.stop_reason) for one in said] == [("error", "loop_detected")] * 2
    assert all(len(plain_text(one.parts)) < 20_000 for one in said)
    assert [message.role for message in place.model.requests[1].messages] == ["user", "user"]


async def test_an_endless_answer_that_is_followed_by_a_good_one_is_forgiven(place):
    """One slip is not the end."""
    place.model.says(PHRASE * 2000, size=100).then_says("Briefly: yes.")

    turn = await place.ask("talk")

    assert outcome(turn)["stop_reason"] == "end_turn"
    assert place.answer() == "Briefly: yes."


async def test_what_an_endless_answer_cost_is_not_nothing(place):
    """Whoever hangs up is not told the cost, but a limit of tokens has to hold all the same."""
    place.configure('{"budget": {"perTurn": {"tokens": 2000}}}')
    place.model.says(PHRASE * 2000, size=100).then_says("never asked")

    turn = await place.ask("talk")

    assert outcome(turn)["stop_reason"] == "budget_exhausted"
    assert outcome(turn)["usage"]["output_tokens"] >= 2000
    assert len(place.model.requests) == 1


async def test_endless_thoughts_are_cut_too(place):
    """A model may lose itself before its first word."""
    place.model.plays(Think(PHRASE * 2000, size=100)).then_says("Yes.")

    turn = await place.ask("think")

    assert outcome(turn)["stop_reason"] == "end_turn"
    assert len(place.model.requests) == 2


async def test_ten_thousand_characters_of_repetition_that_were_asked_for_pass(place):
    """A person may want a line a hundred times."""
    wanted = "All work and no play.\n" * 450
    place.model.says(wanted, size=50)

    await place.ask("write it 450 times")

    assert place.answer() == wanted


def heard(text: str, size: int = 100) -> int | None:
    """After how many characters a listener calls it endless; None if never."""
    listener = Repetition()
    for at in range(0, len(text), size):
        if listener.hear(text[at : at + size]):
            return at + size
    return None


@pytest.mark.parametrize(
    "row",
    ["+----+----+----+\n", "|    |    |    |\n|----|----|----|\n", "[0, 0, 0, 0],\n", "░░▒▒▓▓██\n", "= " * 40],
)
def test_a_drawing_or_a_table_is_not_cut(row):
    """Few characters in regular rows are no sign of a model that is lost."""
    assert heard(row * (60_000 // len(row))) is None


@pytest.mark.parametrize("word", ["!", "the ", "0"])
def test_but_a_flood_of_one_word_ends_as_well(word):
    """A megabyte of it is no drawing."""
    assert 100_000 <= (heard(word * (1_000_000 // len(word))) or 0) < 150_000


def test_long_text_that_varies_is_never_cut():
    """A numbered list looks alike line by line, and is not."""
    assert heard("".join(f"{number}. Run the test suite once more.\n" for number in range(5000))) is None


def test_a_repetition_that_ends_is_not_held_against_what_follows():
    """Only what repeats to the very end is endless."""
    assert heard(PHRASE * 500 + "Now for something completely different. " + PHRASE * 500) is None


@given(st.text(min_size=1, max_size=guarding.LONGEST_PERIOD), st.integers(0, 50))
def test_every_passage_that_fills_the_end_is_noticed(passage, before):
    """Whatever its period, and wherever it begins."""
    text = "x" * before + passage * (LOOKED_AT // len(passage) + 2)

    assert repeats_itself(text)


@given(st.integers(0, LOOKED_AT - 1), st.text("ab", min_size=1, max_size=30))
def test_one_other_character_within_the_end_breaks_it(place_of_it, passage):
    """It must be nothing but repetition."""
    text = (passage * LOOKED_AT)[: 2 * LOOKED_AT]
    at = len(text) - LOOKED_AT + place_of_it

    assert not repeats_itself(text[:at] + "!" + text[at + 1 :])


# Tools that are made for asking again and again.


async def judged(*messages: list[Message]) -> list[str]:
    """What a guard says after each step."""

    async def never_changed() -> int:
        return 0

    guard, own, seen = Guard(never_changed, is_polling=lambda name: name == "job_read"), [], []
    for made in messages:
        own += made
        seen.append((await guard.look(own))[0])
    return seen


@given(st.lists(st.tuples(st.sampled_from(["shell", "job_read"]), st.sampled_from("ab")), max_size=14))
async def test_a_guard_that_looked_at_each_step_says_what_one_says_that_sees_all_at_once(done):
    """What was looked at before is not looked at again, and is not forgotten either."""
    steps = [step(number, tool, said) for number, (tool, said) in enumerate(done)]
    at_once = [(await judged([one for made in steps[:end] for one in made]))[0] for end in range(1, len(steps) + 1)]

    assert await judged(*steps) == at_once


async def test_a_polling_tool_may_be_asked_for_ever():
    """Waiting for something is honest work."""
    assert await judged(*(step(number, "job_read") for number in range(50))) == ["fine"] * 50


async def test_polling_in_between_hides_no_circle():
    """The same call with the same result is one, whatever is asked in between in vain."""
    steps = [one for n in range(5) for one in (step(2 * n, "shell"), step(2 * n + 1, "job_read"))]

    assert "note" in await judged(*steps)


async def test_a_poll_that_found_something_new_ends_a_circle():
    """Something goes on, so trying again makes sense."""
    steps = [one for n in range(9) for one in (step(2 * n, "shell"), step(2 * n + 1, "job_read", f"{n}"))]

    assert set(await judged(*steps)) == {"fine"}


async def test_the_loop_goes_by_what_the_tool_says_of_itself(free):
    """job_list is one of them."""
    for _ in range(9):
        free.model.calls("job_list")
    free.model.says("Nothing runs.")

    turn = await free.ask("is it done?")

    assert outcome(turn)["stop_reason"] == "end_turn"
    assert notes(free) == []
