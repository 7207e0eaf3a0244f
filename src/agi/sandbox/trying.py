"""Try a rung out: a command that must succeed and one that must not tell more than any version number.

May import: sandbox.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from agi.sandbox.base import Confinement
from agi.sandbox.bubblewrap import Bubblewrap
from agi.sandbox.wrapped import Wrapped, Wrapper

_TRY_S = 10.0
_WRITE_BOTH = '(: >"$1") 2>/dev/null; : >inside'
"""What a sandbox must show for us to call it one: a file in the workspace is made, and one beside it is not."""


def try_out(wrapper: Wrapper, env: Mapping[str, str]) -> str:
    """What is wrong with a rung, in a few words; empty if it lets commands work and keeps them in."""
    import tempfile  # late: needed once, and it loads a good deal

    with tempfile.TemporaryDirectory(prefix="agi-") as folder:
        workspace = Path(folder, "inside").resolve()
        workspace.mkdir()
        outside = Path(folder, "outside")
        argv = ["/bin/sh", "-c", _WRITE_BOTH, "sh", str(outside)]
        try:
            place = Confinement(workspace=workspace)
            wrapped = wrapper.wrap(argv, place, cwd=str(workspace), env=env, grouped=True)
        except OSError as error:
            return str(error)
        said = _run(wrapped, workspace)
        if not said and outside.exists():
            return "it does not keep commands in"
        if not said and not (workspace / "inside").exists():
            return "it does not let commands work"
        return said


def variants(program: str) -> list[Bubblewrap]:
    """bubblewrap with all it says it can do, then with less: not all that it can do works everywhere."""
    try:
        said = subprocess.run([program, "--help"], capture_output=True, timeout=_TRY_S).stdout  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return []
    found = [
        Bubblewrap(
            program=program,
            can_disable_namespaces=can_disable,
            can_limit_sizes=b"--size" in said,
            can_bind_descriptors=b"--bind-fd" in said,
        )
        for can_disable in (True, False)
    ]
    return found if b"--disable-userns" in said else found[1:]


def _run(wrapped: Wrapped, cwd: Path) -> str:
    import tempfile

    with tempfile.TemporaryFile() as said:
        try:
            code = _code(wrapped, cwd, said.fileno())
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        finally:
            wrapped.close()
        if code == 0:
            return ""
        said.seek(0)
        lines = said.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else f"it ended with {code}"


def _code(wrapped: Wrapped, cwd: Path, said: int) -> int:
    if wrapped.start is not None:
        held = wrapped.start(cwd, (said, said))
        held.begin()
        code = held.wait(_TRY_S)
        if code is None:
            raise subprocess.TimeoutExpired(wrapped.argv, _TRY_S)
        return code
    wrapped.give_leave()
    return subprocess.run(  # noqa: S603
        wrapped.argv,
        env=wrapped.env,
        cwd=cwd,
        pass_fds=wrapped.pass_fds,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=said,
        timeout=_TRY_S,
        check=False,
    ).returncode
