"""Questions on the page: exactly what is asked, answered on purpose and never by accident."""

from __future__ import annotations

import json

import pytest
from playwright.async_api import Browser, Page, Route, expect
from tests.web.conftest import Opening, keep_screenshot

from agi.testing.box import AskedTurn, Daemon

pytestmark = pytest.mark.asyncio(loop_scope="session")
LINES = "".join(f"line {number}\n" for number in range(40))


async def asked(daemon: Daemon, command: str = "touch made.txt") -> AskedTurn:
    """Have an agent ask to run a command."""
    daemon.model.calls("shell", command=command).then_says("So be it.")
    turn = await daemon.ask("do it")
    await turn.question()
    return turn


async def test_a_command_is_shown_exactly_and_runs_when_it_is_allowed(daemon: Daemon, opened: Opening) -> None:
    """Who asks, what, how risky, and what would be remembered; one answer, and the turn goes on."""
    turn = await asked(daemon)
    page = await opened(f"/s/{turn.session_id}")
    card = page.locator(".approval")

    await expect(card.locator(".exact pre")).to_have_text("touch made.txt")
    await expect(card).to_contain_text("risk")
    await expect(card).to_contain_text("Would be remembered as")
    await expect(card).to_have_attribute("data-ready", "yes")
    await keep_screenshot(page, "approval")
    await card.get_by_role("button", name="Allow once").click()
    await expect(page.locator("article.assistant").last).to_contain_text("So be it.")
    await expect(card).to_have_count(0)
    assert (daemon.workspace.path / "made.txt").exists()


async def test_a_click_too_early_answers_nothing(daemon: Daemon, opened: Opening) -> None:
    """A button that appears under the pointer is not an answer."""
    turn = await asked(daemon)
    page = await opened("/")
    await page.evaluate(
        """id => {
            new MutationObserver(() => document.querySelector(".approval .answers button")?.click())
                .observe(document.body, {childList: true, subtree: true});
            location.hash = `/s/${id}`;
        }""",
        turn.session_id,
    )
    await expect(page.locator(".approval")).to_have_attribute("data-ready", "yes")

    assert (await daemon.get(f"/v1/sessions/{turn.session_id}")).json()["pending_approvals"]


async def test_a_question_takes_neither_the_focus_nor_what_is_typed(daemon: Daemon, opened: Opening) -> None:
    """Whoever is writing goes on writing; no key that was meant for the text answers."""
    session_id = await daemon.begin(title="busy")
    page = await opened(f"/s/{session_id}")
    box = page.get_by_label("Message", exact=True)
    await box.press_sequentially("I am typ")
    daemon.model.calls("shell", command="touch made.txt").then_says("So be it.")
    await daemon.ask("do it", session_id=session_id)
    await expect(page.locator(".approval")).to_have_attribute("data-ready", "yes")
    await page.keyboard.type("ing 1 2 3 y")

    await expect(box).to_have_value("I am typing 1 2 3 y")
    await expect(box).to_be_focused()
    assert (await daemon.get(f"/v1/sessions/{session_id}")).json()["pending_approvals"]


async def test_a_question_is_answered_by_keyboard_alone(daemon: Daemon, opened: Opening) -> None:
    """Ctrl+Y goes there, Tab to the answer, Enter gives it; then one writes on."""
    turn = await asked(daemon)
    page = await opened(f"/s/{turn.session_id}")
    card = page.locator(".approval")
    await expect(card).to_have_attribute("data-ready", "yes")
    await page.keyboard.press("Control+y")
    await expect(card).to_be_focused()
    deny = card.get_by_role("button", name="Deny")
    for _ in range(8):
        await page.keyboard.press("Tab")
        if await deny.evaluate("node => node === document.activeElement"):
            break
    await page.keyboard.press("Enter")
    await page.keyboard.type("not today")
    await page.keyboard.press("Enter")

    await expect(page.locator("article.assistant").last).to_contain_text("So be it.")
    await expect(page.locator(".note")).to_contain_text("refused here: not today")
    assert not (daemon.workspace.path / "made.txt").exists()


async def test_denying_says_that_the_next_click_refuses(daemon: Daemon, opened: Opening) -> None:
    """The first asks for a reason, above the buttons; nobody has to guess that there is a second."""
    turn = await asked(daemon)
    page = await opened(f"/s/{turn.session_id}")
    card = page.locator(".approval")
    await expect(card).to_have_attribute("data-ready", "yes")
    await card.get_by_role("button", name="Deny", exact=True).click()
    why, now = card.get_by_label("Why not"), card.get_by_role("button", name="Deny now")
    await expect(why).to_be_focused()
    field, button = await why.bounding_box(), await now.bounding_box()
    assert field is not None
    assert button is not None
    assert field["y"] + field["height"] <= button["y"]
    await now.click()

    await expect(page.locator("article.assistant").last).to_contain_text("So be it.")


async def test_what_allows_and_what_refuses_are_not_mistaken_for_each_other(daemon: Daemon, opened: Opening) -> None:
    """At every width Tab goes as the eye does, what refuses comes last and apart, by shape and colour too."""
    turn = await asked(daemon)
    page = await opened(f"/s/{turn.session_id}")
    card = page.locator(".approval")
    await expect(card).to_have_attribute("data-ready", "yes")
    for width in (1280, 360):
        await page.set_viewport_size({"width": width, "height": 740})
        boxes = await card.locator(".answers button").evaluate_all(
            "all => all.map(one => [one.innerText, one.getBoundingClientRect().toJSON()])"
        )
        seen = sorted(boxes, key=lambda one: (round(one[1]["top"]), one[1]["left"]))
        assert [name for name, _ in seen] == [name for name, _ in boxes]
        assert [name for name, _ in boxes] == ["Allow once", "For this session", "For this workspace", "Deny"]
        last, deny = boxes[-2][1], boxes[-1][1]
        assert max(deny["left"] - last["right"], deny["top"] - last["bottom"]) >= 20
        await keep_screenshot(page, f"answers-{width}")
    looks = "node => [getComputedStyle(node).color, getComputedStyle(node, '::before').content]"
    allow, deny = [await card.get_by_role("button", name=name).evaluate(looks) for name in ("Allow once", "Deny")]
    assert allow[0] != deny[0]
    assert allow[1] != deny[1]
    await turn.deny()


async def test_an_answer_given_elsewhere_closes_the_question_and_says_so(daemon: Daemon, opened: Opening) -> None:
    """Two people look, one answers; the other sees what became of it."""
    turn = await asked(daemon)
    page = await opened(f"/s/{turn.session_id}")
    await expect(page.locator(".approval")).to_be_visible()
    await turn.deny(reason="keep my notes")

    await expect(page.locator(".approval")).to_have_count(0)
    await expect(page.locator(".note")).to_contain_text("refused elsewhere: keep my notes")


async def test_parts_of_a_change_are_accepted_one_by_one(daemon: Daemon, opened: Opening) -> None:
    """What is left out is not made."""
    daemon.workspace.write("a.txt", LINES)
    daemon.model.calls("edit", path="a.txt", old_text="9\n", new_text="nine\n", replace_all=True).then_says("ok")
    turn = await daemon.ask("count in words")
    await turn.question()
    page = await opened(f"/s/{turn.session_id}")
    hunks = page.locator(".hunks > .hunk")
    await expect(hunks).to_have_count(4)
    for at in (0, 2, 3):
        await hunks.nth(at).get_by_role("checkbox").uncheck()
    await page.locator(".approval .end").scroll_into_view_if_needed()
    await expect(page.locator(".approval")).to_have_attribute("data-ready", "yes")
    await page.get_by_role("button", name="Allow once").click()

    assert await turn.answer() == "ok"
    assert daemon.workspace.read("a.txt") == LINES.replace("line 19\n", "line 1nine\n")


async def test_a_part_of_a_change_is_allowed_once_and_none_of_it_not_at_all(daemon: Daemon, opened: Opening) -> None:
    """The card says how many pieces are ticked, and has no button that would do something else than it says."""
    daemon.workspace.write("a.txt", LINES)
    daemon.model.calls("edit", path="a.txt", old_text="9\n", new_text="nine\n", replace_all=True).then_says("ok")
    turn = await daemon.ask("count in words")
    await turn.question()
    page = await opened(f"/s/{turn.session_id}")
    card = page.locator(".approval")
    boxes = card.get_by_role("checkbox")
    await expect(card.locator(".pieces")).to_contain_text("4 of 4 pieces ticked")
    await expect(card.get_by_role("button", name="For this session")).to_be_visible()
    await card.locator(".end").scroll_into_view_if_needed()
    await expect(card).to_have_attribute("data-ready", "yes")

    await boxes.first.uncheck()
    await expect(card.locator(".pieces")).to_contain_text("3 of 4 pieces ticked")
    await expect(card.get_by_role("button", name="For this session")).to_be_hidden()
    await expect(card.get_by_role("button", name="For this workspace")).to_be_hidden()
    for at in (1, 2, 3):
        await boxes.nth(at).uncheck()
    await expect(card.get_by_role("button", name="Allow once")).to_be_disabled()
    await keep_screenshot(page, "approval-pieces")
    await boxes.first.check()
    await expect(card.get_by_role("button", name="Allow once")).to_be_enabled()
    await turn.deny()


async def test_a_long_command_must_have_been_seen_to_its_end(daemon: Daemon, opened: Opening, browser: Browser) -> None:
    """On a phone: nothing can be allowed before the end was on screen; then it can, with a thumb."""
    command = "echo start\n" + "".join(f"echo line {number}\n" for number in range(60)) + "touch made.txt"
    turn = await asked(daemon, command)
    phone = await browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    try:
        page: Page = await opened(f"/s/{turn.session_id}", within=phone)
        allow = page.get_by_role("button", name="Allow once")
        await expect(page.locator(".approval .exact")).to_contain_text("echo start")
        await expect(page.locator(".approval .end")).not_to_be_in_viewport()
        await allow.tap(force=True)
        await expect(page.locator(".approval")).to_have_attribute("data-ready", "no")
        await page.locator(".approval .end").scroll_into_view_if_needed()
        await expect(page.locator(".approval")).to_have_attribute("data-ready", "yes")
        await keep_screenshot(page, "approval-phone")
        await allow.tap()

        assert await turn.answer() == "So be it."
        assert await page.evaluate("document.documentElement.scrollWidth") <= 360
    finally:
        await phone.close()


async def test_a_checklist_is_edited_in_place(daemon: Daemon, opened: Opening) -> None:
    """A step that is unticked is left out; the rest is approved as it stands."""
    steps = [
        {"description": "Write the notes.", "toolName": "write_file", "target": "notes.txt"},
        {"description": "List the files.", "toolName": "shell", "target": "ls"},
    ]
    daemon.model.says(json.dumps({"steps": steps})).says("Nothing more to do.")
    turn = await daemon.ask("take notes", preflight=True)
    page = await opened(f"/s/{turn.session_id}")
    card = page.locator(".preflight")
    await expect(card).to_have_attribute("data-ready", "yes")
    await card.get_by_role("checkbox").nth(1).uncheck()
    await card.get_by_label("Step", exact=True).first.fill("Write short notes.")
    await card.get_by_role("button", name="Go ahead").click()

    assert await turn.answer() == "Nothing more to do."
    resolved = [
        event["data"] for event in await daemon.history(turn.session_id) if event["type"] == "preflight_resolved"
    ]
    assert [step["description"] for step in resolved[0]["steps"]] == ["Write short notes."]
    assert [step["description"] for step in resolved[0]["skipped"]] == ["List the files."]


HIDDEN = [
    *("\u00ad", "\u034f", "\u115f", "\u1160", "\u180e", "\u200b", "\u200c", "\u200d", "\u202e", "\u2066", "\u2800"),
    *("\u3164", "\ufe00", "\ufe0f", "\ufeff", "\uffa0", "\U000e0041", "\U000e0100", "\U000e01ef", "\u00a0", "\u2028"),
    "\x1b",
]


def is_written_out(text: str) -> bool:
    """Whether none of them is there, and the code of each is."""
    told = text.lower()
    return not any(one in text for one in HIDDEN) and all(f"{ord(one):x}" in told for one in HIDDEN)


async def test_nothing_hides_in_a_command(daemon: Daemon, opened: Opening) -> None:
    """Whatever has no shape of its own is written out, in the question and in the card of the call."""
    turn = await asked(daemon, "echo " + "x".join(HIDDEN))
    page = await opened(f"/s/{turn.session_id}")
    await expect(page.locator(".approval")).to_be_visible()

    assert is_written_out(await page.locator(".approval .exact").inner_text())
    await turn.deny()
    card = page.locator("details.call")
    await expect(card).to_be_visible()
    await card.evaluate("node => { node.open = true; }")
    await expect(card.locator("pre").first).to_contain_text("echo")
    assert is_written_out(await card.locator("pre").first.inner_text())


async def test_nothing_hides_in_a_change_or_in_the_name_of_its_file(daemon: Daemon, opened: Opening) -> None:
    """In several pieces, with the path above each, and in one."""
    name = "a" + "x".join(HIDDEN[:-2]) + ".txt"
    daemon.workspace.write(name, LINES)
    change = "nine" + "x".join(one for one in HIDDEN if one != "\u2028") + "\n"
    daemon.model.calls("edit", path=name, old_text="9\n", new_text=change, replace_all=True).then_says("ok")
    turn = await daemon.ask("count in words")
    await turn.question()
    page = await opened(f"/s/{turn.session_id}")
    await expect(page.locator(".hunks > .hunk")).to_have_count(4)

    shown = await page.locator(".approval").inner_text()
    assert [one for one in HIDDEN if one in shown] == []
    for one in HIDDEN[:-2]:
        assert f"{ord(one):x}" in (await page.locator(".hunk b").first.inner_text()).lower()
        assert f"{ord(one):x}" in (await page.locator(".hunk .add").first.inner_text()).lower()


async def test_who_asks_what_for_and_why_hide_nothing(daemon: Daemon, opened: Opening) -> None:
    """Names and reasons come from elsewhere too: the card writes them out, whoever sent them."""
    turn = await asked(daemon)
    page = await opened("/")

    async def changed(route: Route) -> None:
        told = (await daemon.get("/v1/inbox")).json()
        every = "x".join(HIDDEN)
        for one in told["items"]:
            one["path"] = [every]
            one["approval"] |= {"name": every, "reason": every}
        await route.fulfill(json=told)

    await page.route("**/v1/inbox", changed)
    await page.evaluate("location.hash = '/inbox'")
    card = page.locator(".approval")
    await expect(card).to_be_visible()

    assert is_written_out(await card.locator("header b").inner_text())
    assert is_written_out((await card.locator("header b").inner_text()).partition("wants to use")[2])
    assert is_written_out(await card.locator("p").first.inner_text())
    assert is_written_out(await page.locator(".asker .who").first.inner_text())
    await turn.deny()


async def test_a_refusal_that_fails_does_not_count_as_having_read(daemon: Daemon, opened: Opening) -> None:
    """Nothing can be allowed afterwards that could not be before."""
    command = "".join(f"echo line {number}\n" for number in range(200)) + "touch made.txt"
    turn = await asked(daemon, command)
    page = await opened(f"/s/{turn.session_id}")
    card = page.locator(".approval")
    await expect(card.locator(".end")).not_to_be_in_viewport()
    await page.route("**/approve", lambda route: route.abort())
    await card.get_by_role("button", name="Deny").click()
    await page.wait_for_timeout(600)
    await card.get_by_role("button", name="Deny").click()
    await expect(card.get_by_role("alert").first).to_contain_text("does not answer")
    await page.unroute("**/approve")

    await expect(card).to_have_attribute("data-ready", "no")
    await card.get_by_role("button", name="Allow once").click(force=True)
    assert (await daemon.get(f"/v1/sessions/{turn.session_id}")).json()["pending_approvals"]
    await card.locator(".end").scroll_into_view_if_needed()
    await expect(card).to_have_attribute("data-ready", "yes")
    await card.get_by_role("button", name="Allow once").click()
    assert await turn.answer() == "So be it."
    opened.problems.clear()  # type: ignore[attr-defined]  # the browser itself logs failed requests


async def test_a_checklist_must_have_been_seen_to_its_end_by_somebody_who_is_there(
    daemon: Daemon, opened: Opening
) -> None:
    """Not before the last step was on screen, and not by the click that brings the window to the front."""
    steps = [{"description": f"Step {n}.", "toolName": "shell", "target": f"echo {n} {'x' * 80}"} for n in range(20)]
    daemon.model.says(json.dumps({"steps": steps})).says("Done so far.")
    turn = await daemon.ask("go", preflight=True)
    page = await opened(f"/s/{turn.session_id}")
    card = page.locator(".preflight")
    go = card.get_by_role("button", name="Go ahead")
    await expect(card).to_be_visible()
    await expect(card.locator(".end")).not_to_be_in_viewport()
    await page.wait_for_timeout(700)
    await go.evaluate("node => node.click()")
    await expect(card).to_have_attribute("data-ready", "no")
    await expect(card.locator(".written").first).to_contain_text("x" * 80)
    await card.locator(".end").scroll_into_view_if_needed()
    await expect(card).to_have_attribute("data-ready", "yes")
    await go.evaluate("node => { dispatchEvent(new Event('focus')); node.click(); }")
    await page.wait_for_timeout(600)
    assert (await daemon.get(f"/v1/sessions/{turn.session_id}")).json()["pending_preflight"]
    await go.click()

    assert await turn.answer() == "Done so far."
