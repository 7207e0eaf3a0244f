"""Many workers at once: every result is right, and nothing is left behind."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from agi.models.base import ModelRequest
from agi.models.scripted import Call, Step
from agi.testing.box import eventually

from .conftest import FREE, Crewed, delegates, prompt, report, results


def working_below(folder: Path) -> list[str]:
    """The processes whose working folder is in this one."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if os.readlink(entry / "cwd").startswith(str(folder)):
                    found.append(entry.name)
    return found


@pytest.mark.parametrize("many", [8, pytest.param(50, marks=pytest.mark.slow)])
async def test_each_of_many_workers_at_once_gives_its_own_result(tmp_path: Path, many: int) -> None:
    """Each runs a command in a folder of its own; none sees what another wrote, and no folder or job stays."""
    crewed = Crewed(tmp_path, {**FREE, "workers": {"maxLive": many, "maxTotal": many}})
    (crewed.project / "shared.txt").write_text("nobody\n")
    await crewed.open()

    def writer(request: ModelRequest) -> Sequence[Step]:
        found = results(request)
        if not found:
            command = f"echo {prompt(request)} > shared.txt; cat shared.txt"
            return [Call("shell", {"command": command})]
        return report(str(found[0]))

    crewed.parts["writer"] = writer
    crewed.parts["lead"] = delegates(*({"role": "writer", "prompt": f"number-{n}"} for n in range(many)))
    session = await crewed.ask()
    found = json.loads(crewed.answer(session.id))
    completed = await crewed.heard(session.id, "worker_completed", many)

    assert all(f"number-{n}\n" in one["summary"] + "\n" for n, one in enumerate(found))
    assert {one["status"] for one in found} == {"completed"}
    assert {tuple(change["path"] for change in one["changes"]) for one in found} == {("shared.txt",)}
    assert len({event.data.agent_id for event in completed}) == many
    assert (crewed.project / "shared.txt").read_text() == "nobody\n"
    assert crewed.harness.crew.pool.agents() == []
    assert working_below(crewed.harness.apart.root) == []
    for one in found:
        await crewed.harness.delete_session(one["agent_id"])
    await eventually(lambda: crewed.folders() == [])
    await crewed.harness.close()
