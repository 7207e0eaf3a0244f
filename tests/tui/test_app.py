"""The interface as a person uses it: keys are pressed, and what is on the screen is compared."""

from __future__ import annotations

import asyncio
import string

import pytest

from agi.models.scripted import Call, Say, Wait
from agi.testing.box import daemon_in_a_box
from agi.testing.person import sitting_at
from agi.tui.tokens import PALETTES


def asks_for_a_command(daemon, command="rm notes.txt"):
    daemon.model.calls("shell", command=command).then_says("I left it alone.")


async def at_the_question(person):
    """Go there, when its keys count."""
    await person.sees("◆", "panel")
    await person.waits_out_the_patience()
    await person.press("ctrl+y")


async def test_a_question_is_answered_while_it_is_being_spoken(daemon, person):
    """The answer comes into the transcript as it is, markup and all, who said it above it."""
    daemon.model.says("**Bread** and [red]butter[/red].", size=3)

    await person.says("what is there?")
    await person.sees("Bread and [red]butter[/red].")

    assert "you ·" in person.transcript
    assert "what is there?" in person.transcript
    assert person.box == ""


async def test_the_title_is_drawn_as_people_know_it(person):
    """Nothing is drafted yet."""
    assert person.title.startswith("agi ● Connected | No draft | Agents: 0")


async def test_from_a_question_to_a_change_that_is_taken_back(daemon, person):
    """Ask, look at the change, approve it with keys, see the diff, undo it."""
    daemon.workspace.write("cart.py", "total = 1\n")
    daemon.model.calls("read_file", path="cart.py")
    daemon.model.calls("write_file", path="cart.py", content="total = 2\n").then_says("Done.")

    await person.says("change it")
    await person.sees("+total = 2", "panel")
    assert "-total = 1" in person.panel
    assert daemon.workspace.read("cart.py") == "total = 1\n"
    await at_the_question(person)
    await person.press("1", "enter")
    await person.sees("Done.")
    assert daemon.workspace.read("cart.py") == "total = 2\n"

    await person.says("/diff")
    await person.sees("+total = 2", "page")
    await person.press("escape")
    await person.says("/undo")
    await person.sees("changed back", "page")
    await person.press("y")
    await person.sees("Taken back: 1 file, +1 −1.")
    assert daemon.workspace.read("cart.py") == "total = 1\n"


async def test_no_key_typed_into_the_box_answers_a_question(daemon, person):
    """Whatever is typed while a question appears is text; nothing runs, and no letter is lost."""
    daemon.workspace.write("notes.txt", "mine")
    asks_for_a_command(daemon)
    await person.says("tidy up")
    await person.sees("rm notes.txt", "panel")
    await person.waits_out_the_patience()
    typed = string.ascii_letters + "123451"

    await person.types(typed)
    await person.press("tab", "shift+tab", "backspace", "delete", "escape")

    assert person.box == typed[:-1]
    assert list(person.app.desk.standing.pending)
    assert daemon.workspace.read("notes.txt") == "mine"


async def test_a_question_takes_no_focus_and_no_key_in_its_first_half_second(daemon, person):
    """Going there at once and pressing what would approve it does nothing."""
    asks_for_a_command(daemon)
    await person.says("tidy up")
    await person.sees("wants to run", "panel")
    assert person.app.focused is person.app.box
    person.app.panel.question.since += 1000

    await person.press("ctrl+y", "1", "enter", "2", "enter")

    assert person.app.focused is person.app.panel
    assert list(person.app.desk.standing.pending)


async def test_enter_alone_and_ctrl_y_again_answer_nothing(daemon, person):
    """Nothing is chosen at first."""
    asks_for_a_command(daemon)
    await person.says("tidy up")
    await at_the_question(person)

    await person.press("enter", "ctrl+y", "enter", "space", "enter")

    assert list(person.app.desk.standing.pending)


async def test_a_letter_at_the_question_goes_to_the_box_and_so_does_everything_after_it(daemon, person):
    """Whoever goes on writing is writing: the digits of `a1` choose nothing."""
    asks_for_a_command(daemon)
    await person.says("tidy up")
    await at_the_question(person)

    await person.types("a1")

    assert person.app.focused is person.app.box
    assert person.box == "a1"
    assert person.app.panel.question.chosen is None


async def test_denying_with_a_reason_tells_the_model_why(daemon, person):
    """The reason is written at the panel; the draft in the box stays."""
    asks_for_a_command(daemon)
    await person.says("tidy up")
    await person.types("half a th")
    await at_the_question(person)

    await person.press("5", "enter")
    await person.types("keep it")
    await person.sees("Why not? keep it", "panel")
    await person.press("enter")
    await person.sees("I left it alone.")

    assert person.box == "half a th"
    await person.sees(lambda: person.panel == "")
    assert "keep it" in str(daemon.model.requests[-1].messages)


async def test_an_answer_for_the_session_is_remembered_as_the_panel_said(daemon, person):
    """The rule stands on the panel, and the next such call is not asked about."""
    daemon.model.calls("shell", command="echo one").then_calls("shell", command="echo one").then_says("Twice.")
    await person.says("say it twice")
    await person.sees("would not ask again about: commands", "panel")
    await at_the_question(person)

    await person.press("2", "enter")
    await person.sees("Twice.")

    assert len(daemon.model.requests) == 3


async def test_several_questions_are_counted_and_gone_through(daemon, person):
    """Left and right look at another; each has its own patience."""
    daemon.model.plays(Call("shell", {"command": "echo one"}), Call("shell", {"command": "echo two"}))
    daemon.model.says("Both refused.")
    await person.says("say it")
    await person.sees("wants to run", "panel")
    first = person.app.panel.question.asked.tool_call_id
    if len(person.app.desk.standing.pending) == 1:  # they are asked one after the other
        await at_the_question(person)
        await person.press("4", "enter")
        await person.sees(lambda: person.app.panel.question and person.app.panel.question.asked.tool_call_id != first)
    assert person.app.panel.question.chosen is None


async def test_a_question_that_was_answered_elsewhere_goes_away(daemon, person):
    """Two clients, one answer; the focus is in the box again."""
    asks_for_a_command(daemon)
    await person.says("tidy up")
    await at_the_question(person)
    pending = next(iter(person.app.desk.standing.pending.values()))

    body = {"tool_call_id": pending.tool_call_id, "action": "deny"}
    await daemon.post(f"/v1/sessions/{person.app.desk.session_id}/approve", body)
    await person.sees("I left it alone.")

    await person.sees(lambda: person.panel == "" and person.app.focused is person.app.box)


async def test_a_long_change_must_be_seen_to_its_end_before_it_can_be_allowed_for_longer(daemon, person):
    """`v` shows all of it; until then 2 is withheld, and 1 is not."""
    daemon.model.calls("write_file", path="long.txt", content="".join(f"line {n}\n" for n in range(60)))
    daemon.model.says("Done.")
    await person.says("write it")
    await person.sees("there is more", "panel")
    await at_the_question(person)

    await person.press("2")
    assert person.app.panel.question.chosen is None
    await person.press("v")
    await person.sees("line 1", "page")
    await person.press("end", "escape")
    await person.sees(lambda: person.app.panel.question.was_viewed)
    await person.press("2")

    assert person.app.panel.question.chosen == "session"


async def test_what_is_said_while_the_agent_works_is_queued_and_can_be_taken_back(daemon, person):
    """It is seen above the box; up in an empty box brings it back for editing."""
    gate = asyncio.Event()
    daemon.model.plays(Say("Working."), Wait(gate), Say(" Done.")).then_says("Second.")
    await person.says("first")
    await person.sees("Working.")
    await person.says("and then this")
    await person.sees(lambda: person.app.query_one("#queue").text)
    assert "queued 1  and then this" in person.app.query_one("#queue").text[0]
    assert "and then this" not in person.transcript

    await person.press("up")
    await person.sees("and then this", "box")
    gate.set()
    await person.sees("Working. Done.")

    await person.sees(lambda: person.app.query_one("#queue").text == [])
    assert len(daemon.model.requests) == 1


async def test_esc_twice_stops_the_turn_and_brings_the_queue_back_to_the_box(daemon, person):
    """Once only asks; nothing that was written is lost, and nothing queued runs behind one's back."""
    daemon.model.plays(Say("Working."), Wait(asyncio.Event()))
    await person.says("first")
    await person.sees("Working.")
    await person.says("second")
    await person.sees(lambda: person.app.query_one("#queue").text)

    await person.press("escape")
    assert "esc again to stop" in person.status
    assert person.app.desk.standing.is_busy
    await person.press("escape")
    await person.sees("■ canceled")

    await person.sees(lambda: person.box == "second")
    assert len(daemon.model.requests) == 1


def queue_rows(person):
    return person.app.query_one("#queue").text


async def test_ctrl_s_tells_the_running_turn_at_its_next_step(daemon, person):
    """The row says so until it is taken up; then it stands in the conversation, and nothing was stopped."""
    gate = asyncio.Event()
    daemon.workspace.write("notes.txt", "note")
    daemon.model.plays(Say("Looking."), Wait(gate), Call("read_file", {"path": "notes.txt"})).then_says("Tabs, then.")
    await person.says("first")
    await person.sees("Looking.")
    assert "⏎ queue  ctrl+s steer" in person.status

    await person.types("use tabs")
    await person.press("ctrl+s")
    await person.sees(lambda: queue_rows(person))
    assert queue_rows(person)[0].startswith(" ◌ steers at the next step  use tabs")
    assert person.box == ""
    gate.set()
    await person.sees("Tabs, then.")

    assert queue_rows(person) == []
    lines = [line.strip() for line in person.transcript.splitlines()]
    assert lines.index("use tabs") < lines.index("Tabs, then.")
    assert "canceled" not in person.transcript
    assert "use tabs" in str(daemon.model.requests[1].messages[-1])


async def test_ctrl_s_in_an_empty_box_promotes_what_waits_longest(daemon, person):
    """It comes before what waits; the other is answered in a turn of its own."""
    gate = asyncio.Event()
    daemon.workspace.write("notes.txt", "note")
    daemon.model.plays(Say("Looking."), Wait(gate), Call("read_file", {"path": "notes.txt"}))
    daemon.model.says("One, then.").then_says("And two.")
    await person.says("first")
    await person.sees("Looking.")
    await person.says("one")
    await person.says("two")
    await person.sees(lambda: len(queue_rows(person)) == 2)
    assert queue_rows(person)[0].split("  ")[0] == " ◌ queued 1"
    assert queue_rows(person)[0].endswith("ctrl+s steer now")
    assert queue_rows(person)[1].endswith("↑ edit · del drop")

    await person.press("ctrl+s")
    await person.sees(lambda: "steers" in queue_rows(person)[0])
    gate.set()
    await person.sees("And two.")

    assert "one" in str(daemon.model.requests[1].messages[-1])
    assert "two" in str(daemon.model.requests[2].messages[-1])


async def test_del_in_an_empty_box_drops_the_last_row_and_nothing_else(daemon, person):
    """With something in the box it is a key for the text; what was dropped comes back with up."""
    gate = asyncio.Event()
    daemon.model.plays(Say("Working."), Wait(gate), Say(" Done."))
    await person.says("first")
    await person.sees("Working.")
    await person.says("and this")
    await person.sees(lambda: queue_rows(person))
    await person.types("x")
    await person.press("delete", "backspace")
    assert queue_rows(person)

    await person.press("delete")
    await person.sees(lambda: queue_rows(person) == [])
    await person.press("up")
    await person.sees("and this", "box")
    gate.set()
    await person.sees("Working. Done.")

    assert len(daemon.model.requests) == 1
    assert "canceled" not in person.transcript


async def test_what_another_client_does_with_the_queue_is_seen_here(daemon, person):
    """Edited and promoted elsewhere; nothing of it is asked for again."""
    gate = asyncio.Event()
    daemon.model.plays(Say("Working."), Wait(gate), Say(" Done.")).then_says("Second.")
    await person.says("first")
    await person.sees("Working.")
    await person.says("secnd")
    await person.sees(lambda: queue_rows(person))
    at = f"/v1/sessions/{person.app.desk.session_id}/queue"
    row = (await daemon.get(at)).json()["queue"][0]

    await daemon.call("PATCH", f"{at}/{row['message_id']}", {"content": "second"})
    await daemon.post(f"{at}/{row['message_id']}/steer")

    await person.sees(lambda: "steers at the next step  second" in queue_rows(person)[0])
    gate.set()
    await person.sees("Second.")
    assert "second" in person.transcript


async def test_ctrl_s_while_nothing_runs_says_so_and_keeps_what_was_written(person):
    """It neither sends nor loses it."""
    await person.types("hello")
    await person.press("ctrl+s")
    assert "nothing is running; enter sends" in person.status
    assert person.box == "hello"


TWO_HUNKS = "".join(f"line {n}\n" for n in range(40))


def changes_two_places(daemon):
    daemon.workspace.write("long.txt", TWO_HUNKS)
    daemon.model.calls("read_file", path="long.txt")
    changed = TWO_HUNKS.replace("line 2\n", "LINE 2\n").replace("line 35\n", "LINE 35\n")
    daemon.model.calls("write_file", path="long.txt", content=changed).then_says("As you like.")


async def test_a_change_is_answered_hunk_by_hunk(daemon, person):
    """Each is shown alone; nothing is sent before all are decided and Enter is pressed; just those taken are made."""
    changes_two_places(daemon)
    await person.says("shout")
    await person.sees("6 hunk by hunk", "panel")
    await at_the_question(person)
    await person.press("6", "enter")
    await person.sees("hunk 1 of 2", "panel")
    assert "LINE 2" in person.panel
    assert "LINE 35" not in person.panel

    await person.press("enter", "2")
    await person.sees("hunk 2 of 2", "panel")
    await person.press("enter")
    assert list(person.app.desk.standing.pending)
    await person.press("1", "enter")
    await person.sees("As you like.")

    assert daemon.workspace.read("long.txt") == TWO_HUNKS.replace("line 35\n", "LINE 35\n")
    assert person.app.focused is person.app.box


async def test_leaving_out_every_hunk_is_a_refusal_and_esc_goes_back(daemon, person):
    """Esc forgets what was decided; the rest of a file goes at once; a letter is written in the box."""
    changes_two_places(daemon)
    await person.says("shout")
    await person.sees("6 hunk by hunk", "panel")
    await at_the_question(person)
    await person.press("6", "enter", "3", "escape")
    await person.sees("1 once", "panel")
    assert person.app.panel.question.chosen is None

    await person.press("6", "enter", "4")
    await person.types("x")
    assert person.box == "x"
    await person.press("ctrl+y", "enter")
    await person.sees("As you like.")

    assert daemon.workspace.read("long.txt") == TWO_HUNKS


PLAN = (
    '{"steps": [{"description": "Write a file", "toolName": "write_file", "target": "a.txt"},'
    ' {"description": "Say hello", "toolName": "shell", "target": "echo hello"}]}'
)


@pytest.fixture
async def planned(tmp_path):
    """Someone at a daemon whose turns begin with their steps."""
    config = {"preflight": "always", "verify": {"autoVerify": False}}
    async with daemon_in_a_box(tmp_path, config=config) as daemon, sitting_at(daemon, size=(100, 30)) as person:
        yield daemon, person


async def test_a_plan_is_answered_at_the_panel_with_steps_left_out_and_changed(planned):
    """It takes no focus; what was approved is what was ticked, as it was changed."""
    daemon, person = planned
    daemon.model.says(PLAN).then_says("Begun.")
    await person.says("do it")
    await person.sees("The agent proposes 2 steps", "panel")
    await person.sees("◆ waiting for you", "status")
    assert person.app.focused is person.app.box
    assert "write_file a.txt" in person.panel

    await at_the_question(person)
    await person.press("enter", "down", "space", "down", "e", *["backspace"] * 5)
    await person.types("bye")
    await person.press("enter")
    await person.sees("shell echo bye", "panel")
    assert "[ ] 1. Write a file" in person.panel
    assert "1 begin with 1 of the steps" in person.panel
    assert person.app.desk.standing.preflight is not None
    await person.press("1", "enter")
    await person.sees("Begun.")

    history = await daemon.history(person.app.desk.session_id)
    resolved = next(one["data"] for one in history if one["type"] == "preflight_resolved")
    assert [(step["description"], step["target"]) for step in resolved["steps"]] == [("Say hello", "echo bye")]
    assert [step["description"] for step in resolved["skipped"]] == ["Write a file"]
    await person.sees(lambda: person.panel == "")
    assert person.app.focused is person.app.box


async def test_no_key_answers_a_plan_in_its_first_half_second_or_without_choosing(planned):
    """Nor does anything that is typed into the box."""
    daemon, person = planned
    daemon.model.says(PLAN).then_says("Begun.")
    await person.says("do it")
    await person.sees("The agent proposes", "panel")
    person.app.panel.question.since += 1000
    await person.types("1x")
    await person.press("ctrl+y", "1", "enter", "4", "enter")
    assert person.app.desk.standing.preflight is not None
    person.app.panel.question.since -= 2000
    await person.press("enter", "ctrl+y", "enter")

    assert person.app.desk.standing.preflight is not None
    assert person.box == "1x"
    assert len(daemon.model.requests) == 1


async def test_a_plan_is_refused_with_a_reason(planned):
    """Nothing runs; the log has the reason."""
    daemon, person = planned
    daemon.model.says(PLAN)
    await person.says("do it")
    await at_the_question(person)
    await person.press("5", "enter")
    await person.types("not today")
    await person.press("enter")
    await person.sees("The steps were not approved.")

    history = await daemon.history(person.app.desk.session_id)
    resolved = next(one["data"] for one in history if one["type"] == "preflight_resolved")
    assert (resolved["approved"], resolved["reason"]) == (False, "not today")


async def test_reading_further_up_is_not_disturbed_by_what_comes(daemon, person):
    """The first visible line stays; a pill says that there is more; End follows again."""
    gate = asyncio.Event()
    long = "\n\n".join(f"paragraph {number}" for number in range(60))
    daemon.model.plays(Say(long), Wait(gate), Say("\n\n" + long.replace("paragraph", "more"), 20), Say("\n\nthe end"))
    await person.says("tell me")
    await person.sees("paragraph 59")
    await person.press("pageup", "pageup")
    before = person.transcript

    gate.set()
    await person.sees(lambda: not person.app.desk.standing.is_busy)
    await person.sees("↓ end", "news")
    assert person.transcript == before
    await person.press("end")
    await person.sees("the end")


async def test_a_command_that_does_not_exist_is_told_with_the_nearest_and_never_run(person):
    """The line stays in the box to be mended."""
    await person.says("/udno")

    assert "There is no command /udno. Did you mean /undo" in person.status
    assert person.box == "/udno"


async def test_tab_takes_the_completion_and_enter_right_behind_it_finds_it_done(person):
    """However fast they are pressed."""
    await person.press(*"/hel", "tab", "enter")

    await person.sees("/undo [turn]", "page")


async def test_a_file_of_the_folder_is_completed_and_goes_along(daemon, person):
    """`@` offers files, and what is mentioned is attached."""
    daemon.workspace.write("src/app.py", "x = 1\n")
    daemon.model.says("I see it.")
    await person.types("look at @app")
    await person.sees(lambda: person.app.suggestions.text)

    await person.press("tab", "enter")
    await person.sees("I see it.")

    assert "look at @src/app.py" in person.transcript
    assert "x = 1" in str(daemon.model.requests[0].messages)


async def test_ctrl_c_clears_and_only_twice_leaves(person):
    """What was cleared can be brought back; the first one in an empty box only asks."""
    await person.types("something")
    await person.press("ctrl+c")
    assert person.box == ""
    await person.press("ctrl+z")
    assert person.box == "something"
    await person.press("ctrl+c", "ctrl+c")
    assert "ctrl+c again to leave" in person.status
    assert person.app.is_running


async def test_earlier_prompts_come_back_with_up(daemon, person):
    """And down goes the way back to what was begun."""
    daemon.model.says("One.").then_says("Two.")
    await person.says("first")
    await person.sees("One.")
    await person.says("second")
    await person.sees("Two.")

    await person.press("up", "up")
    await person.sees("first", "box")
    await person.press("down")
    assert person.box == "second"
    await person.press("down")
    assert person.box == ""


async def test_a_turn_that_fails_says_why_and_what_was_written_is_not_lost(daemon, person):
    """The script is over, so the model fails; the next thing can be said at once."""
    await person.says("anybody?")

    await person.sees("✗ failed")
    await person.sees("idle", "status")


async def test_output_is_folded_to_a_line_and_unfolds_with_ctrl_o(daemon, person):
    """A call that went well is one line; all of its output is there when asked for."""
    daemon.workspace.write("long.txt", "".join(f"row {n}\n" for n in range(5)))
    daemon.model.calls("read_file", path="long.txt").then_says("Read.")
    await person.says("read it")
    await person.sees("Read.")
    assert "✓ read_file long.txt" in person.transcript
    assert "row 3" not in person.transcript

    await person.press("ctrl+o")
    assert "row 3" in person.transcript


@pytest.mark.threat("T39")
async def test_a_hostile_answer_can_neither_move_the_cursor_nor_hide(daemon, person):
    """Escape sequences are gone, what would turn the writing around is visible, HTML and markup are text."""
    daemon.model.says(
        "a\x1b[2Jb\x1b]0;title\x07c \u202egnp.exe <script>x</script> [bold]y[/bold] \x00 [t](http://e.vil)"
    )
    await person.says("hello")

    await person.sees("abc \\u202egnp.exe <script>x</script> [bold]y[/bold]")
    assert "\x1b" not in person.transcript
    assert "(http://e.vil)" in person.transcript


@pytest.mark.parametrize("size", [(20, 10), (30, 16), (80, 24), (200, 60)], ids=str)
async def test_everything_that_matters_fits_any_window(tmp_path, size):
    """At 20 columns the state, the question and the box are still there; wide letters break no line."""
    async with daemon_in_a_box(tmp_path) as daemon, sitting_at(daemon, size=size) as person:
        daemon.model.plays(Say("商品が二つ 👩‍👩‍👧 é́ " * 10), Call("shell", {"command": "rm -r 商品"}))
        await person.says("go")
        await person.sees("ctrl+y", "panel")

        assert person.title.startswith("agi ● Connected")
        await person.sees("waiting for", "status")
        for y in range(person.app.transcript.size.height):
            assert person.app.transcript.render_line(y).cell_length == size[0]
        await at_the_question(person)
        await person.sees("rm -r", "panel")


async def test_a_storm_of_sizes_loses_no_line_and_doubles_none(daemon, person):
    """Afterwards it looks as before."""
    daemon.model.says("\n\n".join(f"- point {number}" for number in range(8)))
    await person.says("list")
    await person.sees("point 7")
    await person.sees("done ·")  # the turn's own end comes after its last word
    before = person.transcript

    for columns in (200, 20, 120, 40, 81, 10, 300):
        await person.resizes(columns, 24)
    await person.resizes(80, 24)

    assert person.transcript == before


async def test_a_paste_of_a_megabyte_is_a_word_in_the_box_and_whole_when_sent(daemon, person):
    """It neither freezes the box nor is it cut."""
    from textual.events import Paste

    daemon.model.says("Long.")
    text = "x" * 1023 + "\n"
    person.app.box.post_message(Paste(text * 1024))
    await person.sees("[paste 1: 1,025 lines, 1,048,576 characters]", "box")
    await person.press("enter")
    await person.sees("Long.")

    said = daemon.model.requests[0].messages[-1]
    assert text * 1024 in "".join(part.text for part in said.parts if hasattr(part, "text"))


async def test_a_paste_that_is_too_long_is_refused_with_what_to_do(person):
    """The box stays as it was."""
    from textual.events import Paste

    await person.types("before")
    person.app.box.post_message(Paste("x" * 3_000_000))
    await person.sees("are too many for a message", "status")
    assert person.box == "before"


async def test_a_paste_at_a_question_is_no_answer(daemon, person):
    """Even one that would choose and confirm goes to the box."""
    from textual.events import Paste

    asks_for_a_command(daemon)
    await person.says("tidy up")
    await at_the_question(person)
    person.app.panel.post_message(Paste("1\r"))
    await person.sees("1", "box")

    assert list(person.app.desk.standing.pending)
    assert person.app.focused is person.app.box


async def test_while_nothing_happens_nothing_is_drawn(daemon, person):
    """No timer runs, so no frame is made."""
    daemon.model.says("Done.")
    await person.says("go")
    await person.sees("Done.")
    await person.sees(lambda: not person.app.desk.standing.is_busy)
    await person.sees(lambda: not person.app._due)
    drawn = []
    person.app.draw = lambda: drawn.append(1)
    person.app.draw_bars = lambda: drawn.append(1)

    await asyncio.sleep(0.3)

    assert drawn == []
    assert person.app._clock is None


async def test_the_theme_changes_at_once(person):
    """And a name that is none is told."""
    await person.says("/theme light")
    await person.sees(lambda: person.app.transcript.palette.name == "light")
    await person.says("/theme pink")
    await person.sees("There is no theme 'pink'.")


@pytest.mark.parametrize("palette", PALETTES.values(), ids=PALETTES)
async def test_every_palette_shows_the_same_words(daemon, palette):
    """Also the terminal's own colours, and none."""
    daemon.model.calls("shell", command="echo hi").then_says("No, then.")
    async with sitting_at(daemon, palette=palette) as person:
        await person.says("say hi")
        await at_the_question(person)
        await person.press("4", "enter")
        await person.sees("No, then.")


async def test_the_last_answer_is_copied_as_it_was_written(daemon, person):
    """Markdown and all, not what the screen made of it."""
    daemon.model.says("**bold** `code`")
    await person.says("go")
    await person.sees("bold code")

    await person.says("/copy")
    await person.sees("copied 15 characters", "status")
    assert person.app.clipboard == "**bold** `code`"
