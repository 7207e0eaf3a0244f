"""Run commands one after the other in a workspace, as whoever runs this, and say as JSON what came of each.

Started as `python one_by_one.py RUNG WORKSPACE COMMANDS`, where COMMANDS is a list as JSON. Runs on its own so that
another user can run it, to whom a closed folder is closed.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from agi.errors import AgiError
from agi.sandbox.base import Confinement
from agi.sandbox.cell import Cell
from agi.sandbox.ladder import Ladder
from agi.workspace.processes import child_environment, run_command


async def main(rung: str, workspace: Path, commands: list[str], hidden: list[str]) -> None:
    env = {**child_environment(os.environ, os.getpid()), "HOME": "/nonexistent"}
    ladder = Ladder(env, tried=[rung])
    if ladder.rung.name != rung:
        sys.exit(f"{rung} does not work here: {ladder.rung.why}")
    cell = Cell(ladder, Confinement(workspace=workspace, hidden=tuple(workspace / name for name in hidden)))
    said = []
    for command in commands:
        try:
            result = await run_command(
                command, cwd=workspace, timeout_s=30, env=env, on_output=lambda *_: None, cell=cell
            )
            said.append([result.exit_code, result.stdout.head, result.stderr.head, result.notes])
        except AgiError as problem:
            said.append([problem.code, str(problem), problem.hint, []])
    ladder.close()
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3]), sys.argv[4:]))
