"""What the tests of tools share: a workspace, and a way to call a tool as a model would."""

import asyncio
import json

import pytest
from msgspec import Raw

from agi.eventlog.log import EventLog
from agi.protocol.events import SessionCreated
from agi.sessions.jobs import SessionsJobs
from agi.sessions.turn_jobs import TurnJobs
from agi.tools.base import Registry, ToolCall, ToolContext
from agi.tools.builtin import builtin_tools
from agi.views.tables import Tables
from agi.workspace.handle import Workspace

TURN = "turn_" + "0" * 32
SESSION = "sess_" + "0" * 32


class Desk:
    """A workspace with every built-in tool at hand."""

    def __init__(self, folder):
        self.root = folder / "proj"
        self.root.mkdir()
        self.session = folder / "session"
        self.session.mkdir()
        self.workspace = Workspace.open(self.root)
        self.heard = []
        self.registry = Registry(builtin_tools())
        self.verify_commands = ()
        self.seen = None
        self.approved = ""
        self.jobs = None
        self.cell = None
        self.skills = None

    @property
    def context(self):
        """What a tool is given."""
        return ToolContext(
            workspace=self.workspace,
            artifacts=self.session / "artifacts" / TURN,
            artifact_ref=f"artifacts/{TURN}",
            output=lambda *said: self.heard.append(said),
            verify_commands=self.verify_commands,
            seen=self.seen,
            approved=self.approved,
            jobs=self.jobs,
            cell=self.cell,
            skills=self.skills,
        )

    async def use(self, name, /, **given):
        """Call a tool with these arguments."""
        return await self.registry.invoke(self.context, ToolCall("call_1", name, Raw(json.dumps(given).encode())))

    def propose(self, name, *, after=None, **given):
        """What a call would change."""
        return self.registry.propose(self.workspace, ToolCall("call_1", name, Raw(json.dumps(given).encode())), after)

    async def until(self, condition):
        """Wait until something is true."""
        async with asyncio.timeout(20):
            while not condition():  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    async def text(self, name, /, **given):
        """Call a tool and give the text the model is shown."""
        result = await self.use(name, **given)
        return result.parts[0].text

    def write(self, path, content):
        """Put a file into the workspace."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        file.chmod(0o644)
        return file

    def tree(self):
        """All files of the workspace with their bytes."""
        files = (path for path in self.root.rglob("*") if path.is_file())
        return {str(path.relative_to(self.root)): path.read_bytes() for path in files}


@pytest.fixture
def desk(tmp_path):
    """A fresh workspace with all tools."""
    fresh = Desk(tmp_path)
    yield fresh
    fresh.workspace.close()


@pytest.fixture
async def busy(desk, tmp_path):
    """A workspace whose session can have jobs, with a real log."""
    log = EventLog(tmp_path / ".agi", Tables())
    now = "2026-01-01T00:00:00.000Z"
    made = SessionCreated(id=SESSION, agent="build", workspace_path="/", project_path="/", created_at=now)
    await log.append(SESSION, [(None, made)])
    await log.mirrored()
    desk.session = log.folder / "sessions" / SESSION
    desk.log = log
    desk.sessions_jobs = SessionsJobs(log)
    desk.jobs = TurnJobs(desk.sessions_jobs, SESSION, TURN, lambda data: log.append(SESSION, [(TURN, data)]))
    desk.job_events = lambda: [one.data for one in log.read(SESSION) if one.type.startswith("job_")]
    yield desk
    await desk.sessions_jobs.close()
    await log.close()
