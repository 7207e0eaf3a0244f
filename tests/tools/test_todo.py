"""todo: the agent's own list."""


async def test_the_whole_list_is_written_and_shown(desk):
    """Each item with a sign for how it stands."""
    items = [
        {"text": "look\naround", "status": "done"},
        {"text": "change it", "status": "in_progress"},
        {"text": "test it"},
    ]

    result = await desk.use("todo", items=items)

    assert result.parts[0].text == "[x] look around\n[>] change it\n[ ] test it\n1 of 3 done."
    assert result.result["items"] == [*items[:2], {"text": "test it", "status": "pending"}]
    assert not result.changed


async def test_an_empty_list_is_a_list(desk):
    """Everything may be done."""
    assert await desk.text("todo", items=[]) == "The list is empty."


async def test_what_is_no_list_is_refused(desk):
    """With the reason."""
    for items in (
        "x",
        [{"text": ""}],
        [{"text": "a", "status": "maybe"}],
        [{"text": "a", "why": 1}],
        [{"text": "a"}] * 101,
    ):
        assert not (await desk.use("todo", items=items)).ok
