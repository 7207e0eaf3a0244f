"""The demo says first that it is no AI model, uses real tools, and tells only what they found."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import Raw

from agi.models.base import CallMade, Finished, ModelRequest, TextDelta
from agi.models.demo import DemoModel
from agi.protocol.messages import Message
from agi.protocol.parts import Text, ToolResultContent, ToolResultPart
from agi.tools.base import Registry, ToolCall, ToolContext
from agi.tools.read_file import ReadFileTool
from agi.tools.repo_tree import RepoTreeTool
from agi.tools.write_file import WriteFileTool
from agi.workspace.handle import Workspace

TOOLS = Registry((ReadFileTool(), RepoTreeTool()))
README = "# Widget\n\n[![badge](x)](y)\n\nWidget makes widgets.\nQuickly.\n\n## More\n"


def message(role: str, *parts, origin: str = "") -> Message:
    return Message(id="msg_1", role=role, parts=parts, created_at="", status="complete", origin=origin)


def result(name: str, text: str, ok: bool = True) -> Message:
    content = ToolResultContent(id="call_1", name=name, ok=ok, parts=(Text(text=text),))
    return message("tool", ToolResultPart(content=content))


async def play(*results: Message, tools=None, asked: str = "what is this?") -> tuple[str, list[CallMade], int]:
    offered = TOOLS.definitions() if tools is None else tools
    request = ModelRequest(system="", messages=(message("user", Text(text=asked)), *results), tools=offered)
    items = [item async for item in DemoModel().stream(request)]
    assert isinstance(items[-1], Finished)
    deltas = [item.text for item in items if isinstance(item, TextDelta)]
    return "".join(deltas), [item for item in items if isinstance(item, CallMade)], len(deltas)


async def converse(folder: Path) -> tuple[str, list[str], int]:
    """Let it work in a folder with the real tools; returns its last words, its calls and the pieces these came in."""
    results: list[Message] = []
    made: list[str] = []
    with Workspace.open(folder) as workspace:
        context = ToolContext(
            workspace=workspace, artifacts=folder / "out", artifact_ref="artifacts/turn", output=lambda *_: None
        )
        while True:
            text, calls, pieces = await play(*results)
            if not calls:
                return text, made, pieces
            (call,) = calls
            made.append(f"{call.name} {call.arguments}")
            done = await TOOLS.invoke(context, ToolCall(call.id, call.name, Raw(call.arguments.encode())))
            content = ToolResultContent(id=call.id, name=call.name, ok=done.ok, parts=done.parts, error=done.error)
            results.append(message("tool", ToolResultPart(content=content)))


def fill(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(README)


async def test_its_first_words_say_what_it_is():
    """Nobody takes it for an AI model; then it looks around with a real tool."""
    text, calls, _ = await play()

    assert text.startswith("I am a script, not an AI model")
    assert [(call.name, call.arguments) for call in calls] == [("repo_tree", "{}")]


@pytest.mark.parametrize(
    ("names", "path"),
    [
        (("README.md", "Makefile", "src/main.py"), "README.md"),
        (("LICENSE", "readme.rst", "src/README.md"), "readme.rst"),
        (("src/README.md", "notes.txt"), "notes.txt"),
    ],
)
async def test_it_reads_the_readme_or_else_the_first_file(tmp_path, names, path):
    """The choice is by what the real tree shows at its top."""
    fill(tmp_path, *names)
    _, made, _ = await converse(tmp_path)

    assert made == ["repo_tree {}", f'read_file {{"path":"{path}"}}']


async def test_its_answer_is_made_of_what_the_tools_found(tmp_path):
    """Counts, the heading and the first paragraph, in small pieces, and how to get a real model."""
    fill(tmp_path, "README.md", "src/main.py")
    text, _, pieces = await converse(tmp_path)

    assert "3 entries here, 1 of them folders" in text
    assert "README.md has 8 lines, and is headed “Widget”" in text
    assert "> Widget makes widgets. Quickly." in text
    for way in ("`agi setup`", "Ollama", "`agi models fetch`"):
        assert way in text
    assert pieces > 10


async def test_a_folder_without_files_is_only_counted(tmp_path):
    """There is nothing to read, so nothing is read; links and folders are no files."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("/etc/passwd")
    text, made, _ = await converse(tmp_path)

    assert made == ["repo_tree {}"]
    assert "2 entries here, 1 of them folders" in text


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ((result("repo_tree", "refused", ok=False),), "did not succeed"),
        ((result("repo_tree", "./\n[nothing here]"),), "0 entries"),
        ((result("repo_tree", "./\n  a.txt\n"), result("read_file", "no", ok=False)), "could not read a.txt"),
        ((result("repo_tree", "./\n  a.txt\n"), result("read_file", "")), "a.txt has 0 lines"),
    ],
)
async def test_what_did_not_work_is_said(results, said):
    """A refused or empty result ends the demonstration honestly."""
    text, calls, _ = await play(*results)

    assert not calls
    assert said in text


async def test_without_tools_it_only_says_what_it_is():
    """And how to get a real model."""
    text, calls, _ = await play(tools=())

    assert not calls
    assert text.startswith("I am a script, not an AI model")
    assert "`agi setup`" in text


ORDER = "write notes.txt: eggs"
WRITING = Registry((RepoTreeTool(), WriteFileTool())).definitions()


async def test_an_order_is_carried_out_once_and_its_end_is_told():
    """It says what it is first, calls the tool that was spelled out, and then only whether it succeeded."""
    text, calls, _ = await play(tools=WRITING, asked=ORDER)
    assert text.startswith("I am a script, not an AI model. I do what you spelled out")
    assert [(call.name, call.arguments) for call in calls] == [
        ("write_file", '{"path":"notes.txt","content":"eggs\\n"}')
    ]

    for ok, said in ((True, "The tool write_file succeeded.\n"), (False, "The tool write_file did not succeed.\n")):
        assert (await play(result("write_file", "", ok), tools=WRITING, asked=ORDER))[:2] == (said, [])


async def test_after_a_failed_verification_an_order_is_not_carried_out_again():
    """What the harness says in a user's place is no new order; that it cannot mend anything is said."""
    failed = message("user", Text(text="make test failed"), origin="verification")
    text, calls, _ = await play(result("write_file", ""), message("assistant"), failed, tools=WRITING, asked=ORDER)

    assert not calls
    assert "a script cannot mend that" in text


async def test_an_order_for_a_tool_that_is_not_offered_is_a_question_like_any_other():
    """An agent that may only look is not led to ask for more."""
    _, calls, _ = await play(asked=ORDER)

    assert [call.name for call in calls] == ["repo_tree"]
