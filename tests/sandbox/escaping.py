"""Run all attempts to escape on one rung, as whoever runs this, and say as JSON what came of them, from both sides.

Started as `python escaping.py RUNG FOLDER`. The folder is made a small world: a workspace, a home with a key, a place
outside, and servers that listen there. Runs on its own so that another user can run it.
"""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from agi.sandbox.base import Confinement
from agi.sandbox.cell import Cell
from agi.sandbox.ladder import Ladder
from agi.workspace.processes import child_environment, run_command

SECRET = "sk-planted-in-the-environment"


class World:
    """What there is outside, and whether anything of it was touched."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.home = folder / "home"
        self.outside = folder / "outside"
        for place in (self.workspace, self.home / ".ssh", self.outside):
            place.mkdir(parents=True)
        (self.home / ".ssh" / "id").write_text("a key")
        (self.outside / "theirs").write_text("theirs")
        subprocess.run(["git", "init", "-q", str(self.workspace)], check=True)
        shutil.copy(Path(__file__).with_name("attempts.py"), self.workspace)
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.udp.setblocking(False)
        self.messages = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.messages.bind(str(self.outside / "messages"))
        self.messages.setblocking(False)
        code = "import signal, time; signal.signal(signal.SIGUSR1, lambda *_: exit(7)); print(1, flush=True);"
        self.victim = subprocess.Popen(
            [sys.executable, "-c", f"{code} time.sleep(99)", "victim-of-this-test"],
            env={"OPENAI_API_KEY": SECRET, "PATH": "/usr/bin:/bin"},
            stdout=subprocess.PIPE,
        )
        self.victim.stdout.readline()

    async def listen(self) -> dict[str, object]:
        def greet(reader, writer):
            writer.write(b"hello")
            writer.close()

        tcp = await asyncio.start_server(greet, "127.0.0.1", 0)
        await asyncio.start_unix_server(greet, self.outside / "socket")
        abstract = f"agi-test-{os.getpid()}"
        await asyncio.start_unix_server(greet, "\0" + abstract)
        return {
            "workspace": str(self.workspace),
            "home": str(self.home),
            "outside": str(self.outside),
            "secret": SECRET,
            "victim": self.victim.pid,
            "udp": self.udp.getsockname()[1],
            "tcp": tcp.sockets[0].getsockname()[1],
            "unix": str(self.outside / "socket"),
            "messages": str(self.outside / "messages"),
            "abstract": abstract,
        }

    def damage(self) -> list[str]:
        """What was touched, as seen from outside."""
        found = []
        if sorted(os.listdir(self.outside)) != ["messages", "socket", "theirs"] or os.path.exists("/etc/agi-escaped"):
            found.append("a file was planted outside")
        if (self.outside / "theirs").read_text() != "theirs":
            found.append("a file outside was changed")
        if os.listdir(self.home) != [".ssh"]:
            found.append("home was written to")
        if any(path.stat().st_mode & 0o6000 for path in self.workspace.iterdir() if path.is_file()):
            found.append("a file that runs as its owner was left")
        if self.victim.poll() is not None:
            found.append("a process outside was ended")
        for way_out in (self.udp, self.messages):
            try:
                way_out.recv(10)
                found.append("a packet came out")
            except BlockingIOError:
                pass
        self.victim.kill()
        self.victim.wait()
        return found


async def main(rung: str, folder: Path) -> None:
    world = World(folder)
    facts = await world.listen()
    os.environ["OPENAI_API_KEY"] = SECRET
    env = {**child_environment(os.environ, os.getpid()), "HOME": str(world.home)}
    ladder = Ladder(env, tried=[rung])
    if ladder.rung.name != rung:
        sys.exit(f"{rung} does not work here: {ladder.rung.why}")
    cell = Cell(ladder, Confinement(workspace=world.workspace))
    heard: list[str] = []
    result = await run_command(
        f"{sys.executable} -I attempts.py '{json.dumps(facts)}'",
        cwd=world.workspace,
        timeout_s=60,
        env=env,
        on_output=lambda channel, text: heard.append(text) if channel == "stdout" else None,
        cell=cell,
    )
    said = {
        "rung": cell.rung.name,
        "gaps": cell.rung.gaps,
        "uid": os.getuid(),
        "exit_code": result.exit_code,
        "stderr": result.stderr.head,
        "notes": result.notes,
        "outcomes": json.loads("".join(heard) or "{}"),
        "damage": world.damage(),
    }
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
