"""What of an event can be found: bounded, and without what nobody would look for."""

from __future__ import annotations

import json

import pytest
from msgspec import Raw
from msgspec.structs import replace

from agi.protocol import events as ev
from agi.protocol.ids import MESSAGE, new_id
from agi.protocol.parts import Artifact, Reasoning, Text, ToolCallContent, ToolCallPart
from agi.protocol.tools import ToolResult
from agi.views.entries import MOST_ENTRIES, SAID, entries_of

PATCH = "*** Begin Patch\n*** Update File: src/a.py\n*** Move to: src/b.py\n@@\n-x\n+y\n*** End Patch"


def found(book, data):
    (event,) = book.tell(None, data)
    return [(one.kind, one.role, one.tool, one.text) for one in entries_of(event)]


def called(name, args: bytes):
    return ToolCallPart(content=ToolCallContent(id="call_1", name=name, args=Raw(args)))


def test_text_is_found_and_thoughts_are_not(book):
    """What was said counts, not what was thought on the way."""
    message = book.message(role="assistant", parts=(Reasoning(text="hmm"), Text(text="Done.")))

    assert found(book, ev.ModelOutputCompleted(message=message)) == [("message", "assistant", "", "Done.")]
    assert found(book, ev.SessionUpdated(title="Fix it")) == [("title", None, "", "Fix it")]
    assert found(book, ev.SessionUpdated(agent="plan")) == []


def test_a_call_is_found_by_its_name_its_arguments_and_its_files(book):
    """Every value of them, without the JSON around it."""
    parts = (called("read_file", b'{"path": "./src/a.py", "start_line": 7}'), called("apply_patch", _json(PATCH)))

    assert found(book, ev.ModelOutputCompleted(message=book.message(role="assistant", parts=parts))) == [
        ("tool", "assistant", "read_file", "read_file\n./src/a.py\n7"),
        ("file", "assistant", "read_file", "src/a.py"),
        ("tool", "assistant", "apply_patch", f"apply_patch\n{PATCH}"),
        ("file", "assistant", "apply_patch", "src/a.py\nsrc/b.py"),
    ]


@pytest.mark.parametrize(
    "args", [b'"just text"', b'{"path": "."}', b'{"path": "a\\u0007b"}', b"[1, %b2%b]" % (b"[" * 50, b"]" * 50)]
)
def test_arguments_may_be_anything(book, args):
    """A model wrote them: what is no file's name is none."""
    message = book.message(role="assistant", parts=(called("x", args),))

    assert [one[0] for one in found(book, ev.ModelOutputCompleted(message=message))] == ["tool"]


def test_a_result_is_found_by_its_two_ends_and_the_files_it_changed(book):
    """A command says in its diff what it changed."""
    text = "begin " + "x" * 100_000 + " end"
    diff = Artifact(kind="file_diff", patch="--- a/old.py\n+++ b/new.py\n@@ -1 +1 @@\n-a\n+b\n")
    result = ToolResult(id="call_1", ok=True, parts=(Text(text=text),), artifact=diff)
    done = ev.ToolCallCompleted(tool_call_id="call_1", name="shell", tool_result=result, message_id=new_id(MESSAGE))
    output, files = found(book, done)

    assert output[3].startswith("begin ")
    assert output[3].endswith(" end")
    assert len(output[3]) < 5_000
    assert files == ("file", "tool", "shell", "old.py\nnew.py")


def test_what_the_harness_tells_of_the_context_is_not_found(book):
    """A map names everything in every session; nobody said it. What it says of a verification is found."""
    told = book.message("A map of the repository: parse_envelope")
    checked = replace(told, origin="verification")

    assert found(book, ev.MessageAdded(message=replace(told, origin="context"), run=False)) == []
    assert len(found(book, ev.MessageAdded(message=checked, run=False))) == 1


def test_there_is_a_limit_to_everything(book):
    """One message cannot fill the index."""
    many = tuple(called("x", b"{}") for _ in range(1000))
    long = book.message("y" * 1_000_000)

    assert len(found(book, ev.ModelOutputCompleted(message=book.message(role="assistant", parts=many)))) == MOST_ENTRIES
    assert len(found(book, ev.MessageAdded(message=long, run=False))[0][3]) <= sum(SAID) + 1


def _json(patch: str) -> bytes:
    return json.dumps({"patch": patch}).encode()
