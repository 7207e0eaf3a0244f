"""Running a command for a tool."""

from agi.tools import commands, output
from agi.tools.commands import run_for_tool


async def test_both_channels_are_kept_in_files_of_their_own(desk):
    """Each is named beside what is left out of it."""
    ran = await run_for_tool(desk.context, "seq 1 20000; seq 1 20000 >&2; exit 1", timeout_s=20)

    assert not ran.ok
    assert [artifact.size for artifact in ran.artifacts] == [108_894, 108_894]
    for artifact in ran.artifacts:
        assert f"read them with read_file on {artifact.path} from" in ran.text
        assert (desk.session / artifact.path).stat().st_size == artifact.size


async def test_an_output_larger_than_a_file_may_be_says_so(desk, monkeypatch):
    """The first part is kept, and called the first part."""
    monkeypatch.setattr(output.ArtifactFile.__init__, "__kwdefaults__", {"mime": "text/plain", "limit": 50_000})

    ran = await run_for_tool(desk.context, "seq 1 20000", timeout_s=20)

    assert "which holds the first 50,000 bytes" in ran.text
    assert ran.artifacts[0].size == 50_000


async def test_without_room_for_a_file_the_ends_are_shown_all_the_same(desk):
    """A command does not fail because its output could not be kept."""
    desk.context.artifacts.parent.mkdir()
    desk.context.artifacts.write_text("a file where the folder should be")

    ran = await run_for_tool(desk.context, "seq 1 20000", timeout_s=20)

    assert ran.ok
    assert ran.artifacts == ()
    assert "bytes left out]" in ran.text
    assert "read_file" not in ran.text


async def test_a_command_without_output_says_how_it_ended(desk):
    """There is always something to show."""
    assert (await run_for_tool(desk.context, "true", timeout_s=20)).text == "[exit code 0]"
    assert (await run_for_tool(desk.context, "kill -9 $$", timeout_s=20)).text == "[ended by SIGKILL]"


async def test_what_is_streamed_has_a_limit_for_each_channel(desk, monkeypatch):
    """One channel's flood does not silence the other."""
    monkeypatch.setattr(commands, "STREAM_LIMIT", 10)

    await run_for_tool(desk.context, "seq 1 1000; echo seen >&2", timeout_s=20)

    assert ("stderr", "seen\n") in desk.heard
    assert "".join(text for channel, text in desk.heard if channel == "stdout").startswith("1\n2\n3\n4\n5\n\n[what")
