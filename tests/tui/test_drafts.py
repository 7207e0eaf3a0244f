"""Drafting from the interface: the title tells of it, what is said goes there, and undrafting sums it up."""

from __future__ import annotations

from agi.testing.person import sitting_at


async def test_an_agent_is_drafted_talked_to_and_undrafted(daemon, person):
    """The title is drawn as people know it, with the draft's own figures; nobody knows what a script costs."""
    daemon.model.says("Shipping is missing.")

    await person.says("/draft general checkout total")
    await person.sees("general is drafted into checkout-total")
    await person.sees("agi ● Connected | Draft: general | Context: ", "title")
    await person.says("what is missing?")
    await person.sees("Shipping is missing.")
    await person.sees("| Turns: 1 | $?", "title")
    await person.says("/undraft")
    await person.sees("Undrafted after 1 turn, $?,")

    await person.sees("agi ● Connected | No draft | Agents: 0", "title")


async def test_whoever_comes_later_finds_the_draft(daemon, person):
    """Another interface of the same project is in it from the start, and sees it end."""
    await person.says("/draft general one task")
    await person.sees("is drafted into one-task")
    async with sitting_at(daemon) as other:
        await other.sees("Draft: general", "title")
        await other.sees(lambda: other.app.desk.session_id == person.app.desk.session_id)
        await person.says("/undraft")
        await other.sees("No draft", "title")


async def test_what_stands_against_a_draft_is_told(daemon, person):
    """An unknown role, no task, a second draft, nothing to undraft: each with what to do."""
    await person.says("/undraft")
    await person.sees("✗")
    await person.says("/draft general")
    await person.sees("A draft needs a task, and this project has none.")
    await person.says("/draft nobody a task")
    await person.sees("There is no role 'nobody'.")
    await person.says("/draft general a task")
    await person.sees("general is drafted into a-task.")
    await person.says("/draft general a-task")
    await person.sees("general is drafted already.")
