"""The one limiter of results."""

import os
import subprocess
import sys
import textwrap

import msgspec
from msgspec import Raw

from agi.protocol.parts import Image, Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult
from agi.tools.base import Registry
from agi.tools.fitting import Limits
from agi.tools.limiter import LARGEST_FACTS, LONGEST_ERROR, MOST_FILES, Limiter

EMPTY = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


class Says:
    """A tool of somebody else's that answers with what it is told to."""

    definition = ToolDefinition(name="says", description="Says it.", input_schema=EMPTY, kind=ToolKind.READ)

    def __init__(self, **result):
        self._result = result

    async def invoke(self, context, call):
        return ToolResult(id=call.id, **{"ok": True, "parts": (), **self._result})


async def answer(desk, tool):
    return await Registry([tool]).invoke(desk.context, ToolCall("call_1", "says", Raw(b"{}")))


async def test_a_short_result_passes_untouched(desk):
    """Nothing is written, nothing is said."""
    result = await answer(desk, Says(parts=(Text(text="short\n"),), result={"a": 1}))

    assert result == ToolResult(id="call_1", ok=True, parts=(Text(text="short\n"),), result={"a": 1})
    assert not desk.context.artifacts.exists()


async def test_of_a_long_result_both_ends_are_shown_and_the_whole_is_kept(desk):
    """With exact counts, and where to go on reading."""
    text = "".join(f"line {number}\n" for number in range(1, 10_001))

    result = await answer(desk, Says(parts=(Text(text=text),)))
    shown = result.parts[0].text
    (ref,) = result.artifacts
    note = next(line for line in shown.split("\n") if line.startswith("["))
    missing = len(text) - len(shown.replace(note + "\n", ""))

    assert shown.startswith("line 1\nline 2\n")
    assert shown.endswith("line 9999\nline 10000\n")
    assert note == f"[8,000 lines, {missing:,} bytes left out; read them with read_file on {ref} from start_line=1001]"
    assert (desk.session / ref).read_text() == text
    assert (result.artifact.path, result.artifact.size) == (ref, len(text))
    assert await desk.text("read_file", path=ref, start_line=1001, end_line=1002) == "line 1001\nline 1002\n"


async def test_a_single_endless_line_is_cut(desk):
    """As a program prints that knows no newline."""
    result = await answer(desk, Says(parts=(Text(text="x" * 119_000 + "THE END"),)))
    shown = result.parts[0].text

    assert len(shown) < 2_300
    assert "THE END\n[1 long line cut: 117,007 bytes left out; read them with read_file on artifacts/" in shown


async def test_many_pieces_count_together(desk):
    """A thousand small texts are one long one; pictures are few."""
    parts = tuple(Text(text=f"{number} " + "y" * 90) for number in range(5000))
    pictures = tuple(Image(ref=f"artifacts/{number}", mime_type="image/png") for number in range(50))

    result = await answer(desk, Says(parts=parts + pictures))

    assert len(result.parts) == 1 + MOST_FILES
    assert len(result.parts[0].text) < 70_000
    assert "lines, " in result.parts[0].text


async def test_what_a_tool_kept_whole_itself_is_not_kept_twice(desk):
    """Its own note says where it is."""
    result = await answer(desk, Says(parts=(Text(text="x\n" * 5000),), artifacts=("artifacts/t/own.log",)))

    assert result.artifacts == ("artifacts/t/own.log",)
    assert "[3,000 lines, 6,000 bytes left out]" in result.parts[0].text
    assert not desk.context.artifacts.exists()


async def test_errors_and_facts_are_limited_too(desk):
    """Nothing gets into the log by another way."""
    result = await answer(desk, Says(ok=False, error="e" * 10**6, result={"rows": ["x" * 100] * 10_000}))

    assert len(result.error) < LONGEST_ERROR + 10
    assert len(msgspec.json.encode(result.result)) < LARGEST_FACTS
    assert result.result["left_out_bytes"] > 10**6


async def test_what_is_no_text_is_made_one(desk):
    """Half a surrogate pair cannot be written down."""
    assert (await answer(desk, Says(parts=(Text(text="a\ud800b"),)))).parts == (Text(text="a?b"),)


async def test_a_tool_may_set_limits_of_its_own(desk):
    """Where its own way of asking for more knows better."""
    tool = Says(parts=(Text(text="x" * 5000),))
    tool.limits = Limits(line=10_000)

    assert (await answer(desk, tool)).parts[0].text == "x" * 5000


async def test_a_full_disk_still_shows_the_two_ends(desk):
    """What could not be kept is said to be left out, and no place is named."""
    desk.context.artifacts.parent.mkdir()
    desk.context.artifacts.parent.chmod(0o700)
    desk.context.artifacts.write_text("a file where the folder should be")

    result = await answer(desk, Says(parts=(Text(text="x\n" * 5000),)))

    assert result.ok
    assert "[3,000 lines, 6,000 bytes left out]" in result.parts[0].text
    assert result.artifacts == ()


def test_a_limiter_takes_what_comes_in_pieces(desk):
    """Characters cut in two are put together again, and a short text needs no file."""
    short, long = Limiter(desk.context), Limiter(desk.context, "x.log")
    for byte in "größer\n".encode():
        short.add(bytes([byte]))
    for number in range(300_000):
        long.add(b"%d\n" % number)
    told = long.finish()

    assert short.finish().text == "größer\n"
    assert told.text.startswith("0\n1\n")
    assert told.text.endswith("299998\n299999\n")
    assert "[298,000 lines, " in told.text
    assert (desk.session / told.artifact.path).stat().st_size == told.artifact.size


GENERATED = """
    import resource, sys
    from pathlib import Path
    from agi.tools.base import ToolContext
    from agi.tools.limiter import Limiter
    context = ToolContext(workspace=None, artifacts=Path(sys.argv[1]), artifact_ref="artifacts/t", output=print)
    limiter = Limiter(context)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    piece = (b"a line of output that is neither short nor long\\n" * 1400)[:65536]
    for _ in range(int(sys.argv[2])):
        limiter.add(piece)
    shown = limiter.finish()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(grown, len(shown.text), shown.text.count("left out"))
"""


def test_hundreds_of_megabytes_cost_little_memory(tmp_path):
    """What grows is the file, up to its limit; the process does not."""
    (tmp_path / "artifacts").mkdir()
    pieces = 300 * 1024 * 1024 // 65536
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(GENERATED), str(tmp_path / "artifacts" / "t"), str(pieces)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    grown_kb, length, notes = map(int, done.stdout.split())

    assert grown_kb < 50 * 1024
    assert length < 70_000
    assert notes == 1
