"""Asks one question as a user would: the real harness, loop and tools in this process, on a copy of the project."""

from __future__ import annotations

import asyncio
import resource
import shutil
import subprocess
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agi.context.small import file_names
from agi.models.base import ModelRequest, StreamItem
from agi.models.small import SmallModel
from agi.protocol import commands
from agi.protocol.parts import plain_text
from agi.sessions.harness import Harness, HarnessSettings
from evals.questions import Question
from evals.read_only import only_looks

PROJECTS = Path(__file__).parent / "projects"
_BRANCH = "steady-lamp"
_AUTHOR = ("Jonas Weide", "jonas@example.org")
_COMMITS = ("Begin", "Write the documents", "Find links in reference style")
_DATES = "2024-05-0{}T12:00:00+00:00"


class Asked(Struct, frozen=True, kw_only=True):
    """What came of a question."""

    question: Question
    calls: tuple[tuple[str, str, bool], ...]
    """Tool, argument, and whether it went well."""
    answer: str
    status: str
    error: str
    cpu_s: float
    wall_s: float

    @property
    def right_tool(self) -> bool:
        """An acceptable tool with a fitting argument went well; where none is needed, none was used."""
        if not self.question.tools:
            return not self.calls
        return any(ok and self.question.fits(tool, argument) for tool, argument, ok in self.calls)

    @property
    def right_answer(self) -> bool:
        """The facts are in the answer, and were not guessed."""
        return self.right_tool and self.question.is_answered(self.answer)


class Site:
    """A project's copy with a harness on it, and one model for all its sessions."""

    def __init__(self, folder: Path, project: str, model: SmallModel) -> None:
        self.project = folder / project
        shutil.copytree(PROJECTS / project, self.project)
        _commit(self.project)
        self._model = _Told(model, self)
        home = folder / "home"
        home.mkdir(exist_ok=True)
        # A question changes nothing that would have to be verified.
        (home / "config.json").write_text('{"verify": {"commands": []}}')
        settings = HarnessSettings(
            project=self.project, home_config=home, env={"PATH": "/usr/bin:/bin"}, trust_once=True
        )
        self.harness = Harness(settings, stand_in=self._model)

    def system(self) -> str:
        """What the model is told of the project."""
        return file_names(self.harness.site().workspace)

    async def warm(self) -> float:
        """Have everything read that is known before a question; returns the CPU-seconds it took."""
        began = _cpu()
        await self._model.inner.warm(self.system(), self.harness.registry.definitions())
        return _cpu() - began

    async def ask(self, question: Question) -> Asked:
        """Ask in a session of its own; commands that only look are approved, all others refused."""
        session = await self.harness.create_session(commands.CreateSession())
        began, cpu = time.monotonic(), _cpu()
        posted = await self.harness.post_message(session.id, commands.PostMessage(content=question.text))
        assert posted.turn_id is not None
        answering = asyncio.create_task(self._answer_questions(session.id))
        try:
            turn = await self.harness.wait_turn(session.id, posted.turn_id)
        finally:
            answering.cancel()
        messages, _ = self.harness.messages(session.id, limit=100, before=None)
        return Asked(
            question=question,
            calls=self._calls(session.id),
            answer=plain_text(messages[-1].parts) if messages[-1].role == "assistant" else "",
            status=turn.status,
            error="" if turn.status == "completed" else f"[{turn.status}: {(turn.outcome or b'').decode()[:200]}]",
            cpu_s=_cpu() - cpu,
            wall_s=time.monotonic() - began,
        )

    def _calls(self, session_id: str) -> tuple[tuple[str, str, bool], ...]:
        asked: dict[str, tuple[str, str]] = {}
        found = []
        for event in self.harness.log.read(session_id, 0, 10_000):
            data = msgspec.json.decode(event.raw)
            if event.type == "tool_call_started":
                call = data["tool_call"]
                asked[call["id"]] = (call["name"], str(next(iter(call["input"].values()), "")))
            elif event.type == "tool_call_completed":
                tool, argument = asked.get(data["tool_call_id"], (data["name"], ""))
                found.append((tool, argument, bool(data["tool_result"]["ok"])))
        return tuple(found)

    async def _answer_questions(self, session_id: str) -> None:
        while True:
            await asyncio.sleep(0.05)
            for pending in self.harness.session(session_id).pending_approvals:
                command = str(msgspec.json.decode(pending.input).get("command", ""))
                action = "approve" if pending.name == "shell" and only_looks(command) else "deny"
                await self.harness.approve(
                    session_id, commands.Approve(tool_call_id=pending.tool_call_id, action=action)
                )


class _Told:
    """The model with the short system text, as the sessions give it to models of this profile."""

    profile = "small"

    def __init__(self, inner: SmallModel, site: Site) -> None:
        self.inner = inner
        self._site = site

    @property
    def provider(self) -> str:
        return "scripted"

    @property
    def name(self) -> str:
        return self.inner.name

    def takes_schema(self, *, with_tools: bool) -> bool:
        return self.inner.takes_schema(with_tools=with_tools)

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        return self.inner.stream(replace(request, system=self._site.system()))


def _commit(project: Path) -> None:
    """A history that questions can be asked about: three commits, the last of which touches everything left."""
    git = ["git", "-C", str(project), "-c", f"user.name={_AUTHOR[0]}", "-c", f"user.email={_AUTHOR[1]}"]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(project.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run([*git, "init", "-q", "-b", _BRANCH], check=True, env=env)
    for number, (message, path) in enumerate(zip(_COMMITS, ("README.md", "docs", "."), strict=True), 1):
        dated = {**env, "GIT_AUTHOR_DATE": _DATES.format(number), "GIT_COMMITTER_DATE": _DATES.format(number)}
        subprocess.run([*git, "add", path], check=True, env=dated)
        subprocess.run([*git, "commit", "-q", "-m", message], check=True, env=dated)


def _cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
