"""The client's promises, kept by every transport alike."""

from __future__ import annotations

import asyncio

import pytest

from agi.client.base import Client, end_of
from agi.errors import Conflict, Invalid, NotFound
from agi.protocol.commands import Approve, Cancel, CreateSession, PostMessage, SetTrust, UpdateSession
from agi.protocol.events import Event, ModelOutputDelta
from agi.protocol.parts import Image, Text, plain_text
from agi.testing.files import broken_png, picture

NOBODY = "sess_00000000000000000000000000000000"


def words(text: str) -> PostMessage:
    return PostMessage(parts=[Text(text=text)])


async def until(client: Client, session_id: str, type: str, after: str = "") -> list[Event]:
    """Everything that happens until an event of this type."""
    found = []
    async with asyncio.timeout(20):
        async for event in client.follow(session_id, after):
            found.append(event)
            if event.type == type:
                break
    return found


async def test_a_question_is_asked_followed_and_read_again(client, here):
    """Create, post, follow, look: the words are the same whichever way they go."""
    session = await client.create_session(CreateSession(workspace_path=str(here.project), title="Hi"))
    posted = await client.post_message(session.id, words("hello"))
    events = await until(client, session.id, "turn_completed")
    answer = (await client.messages(session.id))[-1]
    spoken = [event.data.delta for event in events if isinstance(event.data, ModelOutputDelta)]

    assert not posted.queued
    assert [event.type for event in events][:2] == ["session_created", "message_added"]
    assert {event.turn_id for event in events[1:]} == {posted.turn_id}
    assert "".join(spoken).endswith(plain_text(answer.parts))
    assert [event.seq for event in events] == sorted(event.seq for event in events)
    assert [one.id for one in await client.sessions(limit=5)] == [session.id]
    assert (await client.session(session.id)).status == "completed"


async def test_a_file_is_stored_and_shown_whichever_way_it_goes(client, here):
    """What it is goes by its bytes; one that is damaged is refused in the same words."""
    session = await client.create_session(CreateSession(workspace_path=str(here.project)))

    stored = await client.attach(session.id, "shot one.png", picture())
    posted = await client.post_message(
        session.id, PostMessage(parts=[Text(text="look"), Image(ref=stored.ref, mime_type=stored.mime_type)])
    )
    await until(client, session.id, "turn_completed")

    assert (stored.mime_type, stored.note) == ("image/png", "")
    assert posted.turn_id
    with pytest.raises(Invalid) as refusal:
        await client.attach(session.id, "bad.png", broken_png())
    assert refusal.value.code == "image_damaged"


async def test_following_goes_on_from_a_position(client, here):
    """What was told before `end_of` is not told again."""
    session = await client.create_session(CreateSession(workspace_path=str(here.project)))
    await client.post_message(session.id, words("one"))
    await until(client, session.id, "session_completed")
    after = end_of(await client.session(session.id))
    second = await client.post_message(session.id, words("two"))
    events = await until(client, session.id, "turn_completed", after)

    assert events[0].type == "message_added"
    assert {event.turn_id for event in events} == {second.turn_id}


async def test_a_position_in_another_log_is_refused(client, here):
    """A log that was rebuilt has other numbers; nobody goes on in it unknowingly."""
    session = await client.create_session(CreateSession(workspace_path=str(here.project)))

    with pytest.raises(Conflict, match="rebuilt") as caught:
        await until(client, session.id, "never", "1@12345")
    assert caught.value.code == "resync"


async def test_errors_keep_their_class_code_and_hint(client, here):
    """What went wrong is the same thing everywhere."""
    with pytest.raises(NotFound) as missing:
        await client.session(NOBODY)
    with pytest.raises(NotFound):
        await until(client, NOBODY, "never")
    with pytest.raises(Invalid) as unknown:
        await client.create_session(CreateSession(workspace_path=str(here.project), agent="biuld"))
    session = await client.create_session(CreateSession(workspace_path=str(here.project)))
    with pytest.raises(Conflict) as idle:
        await client.cancel(session.id, Cancel())
    with pytest.raises(NotFound) as unasked:
        await client.approve(session.id, Approve(tool_call_id="call_x", action="approve"))

    assert (missing.value.code, unasked.value.code) == ("session_not_found", "approval_not_found")
    assert (unknown.value.code, unknown.value.hint) == ("unknown_agent", "Did you mean build?")
    assert idle.value.code == "nothing_to_cancel"


async def test_a_removed_session_ends_whoever_follows_it(client, here):
    """The stream comes to its end, without an error."""
    session = await client.create_session(CreateSession(workspace_path=str(here.project)))
    following = asyncio.create_task(until(client, session.id, "never"))
    await asyncio.sleep(0.05)
    await client.delete_session(session.id)

    assert [event.type for event in await following] == ["session_created"]
    assert await client.sessions() == []


async def test_who_would_answer_in_a_session_can_be_asked_before_there_is_one(client, here):
    """By what the session names, and by what its agent prefers; what cannot be is said, and nothing is begun."""
    (here.project / ".agi").mkdir(mode=0o700, exist_ok=True)
    (here.project / ".agi/agents.json").write_text('{"critic": {"provider": "openai", "model": "gpt-5"}}')

    default = await client.models()
    named = await client.models(agent="general", provider="scripted")
    prefers = await client.models(agent="critic")
    nobody = await client.models(agent="no one & nobody")

    assert (default.agent, default.default.provider) == ("build", "scripted")
    assert (named.agent, named.default.reason) == ("general", "asked")
    assert (prefers.default, "OPENAI_API_KEY" in prefers.problem) == (None, True)
    assert (nobody.default, "There is no agent 'no one & nobody'." in nobody.problem) == (None, True)
    assert nobody.models == default.models
    assert await client.sessions() == []


async def test_models_and_trust_can_be_looked_at(client, here):
    """What a face offers its user."""
    models = await client.models()
    before = await client.trust(here.project)
    after = await client.set_trust(SetTrust(path=str(here.project), trusted=True))

    assert models.default is not None
    assert (models.default.provider, models.models[-1].provider) == ("scripted", "scripted")
    assert (before.trusted, before.reason) == (False, "never_trusted")
    assert (after.trusted, after.path) == (True, str(here.project))


async def test_a_sessions_settings_are_changed_by_either_way(client, here):
    """Absent fields stay."""
    made = await client.create_session(CreateSession(workspace_path=str(here.project), title="before"))

    changed = await client.update_session(made.id, UpdateSession(title="after"))

    assert (changed.title, changed.agent) == ("after", made.agent)


async def test_messages_come_in_pages_from_the_latest_backwards(client, here):
    """Each page in order, and it says whether there are earlier ones."""
    made = await client.create_session(CreateSession(workspace_path=str(here.project)))
    for number in range(5):
        await client.post_message(made.id, PostMessage(parts=[Text(text=str(number))], auto_run=False))

    last = await client.message_page(made.id, limit=3)
    first = await client.message_page(made.id, before=last.messages[0].id, limit=3)

    assert [plain_text(one.parts) for one in last.messages] == ["2", "3", "4"]
    assert [plain_text(one.parts) for one in first.messages] == ["0", "1"]
    assert (last.has_more, first.has_more) == (True, False)
