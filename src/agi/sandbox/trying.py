"""Try a rung out: a command that must succeed and one that must not tell more than any version number.

What could not be tried is no rung that does not hold: else a full disk would take the walls away. May import: errors,
sandbox.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from agi.errors import Unavailable
from agi.sandbox.base import Confinement
from agi.sandbox.bubblewrap import Bubblewrap
from agi.sandbox.homes import find_homes
from agi.sandbox.passing import is_passing, reads_as_passing
from agi.sandbox.places import SCRATCH
from agi.sandbox.scratch import make_folder, remove_folder
from agi.sandbox.wrapped import Wrapped, Wrapper

_TRY_S = 10.0
_WRITE_BOTH = '(: >"$1") 2>/dev/null; : >inside'
"""What a sandbox must show for us to call it one: a file in the workspace is made, and one beside it is not."""
_HINT = (
    "Nothing was run. Make room: on the disk, in memory, or by ending what uses up files and processes. "
    "It is tried again each time."
)
_HINT_WHERE = (
    "Nothing was run. Start agi with TMPDIR set to a folder that it may write to. It is tried again each time."
)


def try_out(wrapper: Wrapper, env: Mapping[str, str]) -> str:
    """What is wrong with a rung, in a few words; empty if it lets commands work and keeps them in.

    Raises `Unavailable` if that could not be found out for a reason that passes.
    """
    folder = _make_place(env)
    inside, outside = f"{folder}/inside", f"{folder}/outside"
    try:
        said = _try_in(wrapper, env, inside, outside)
        if not said and os.path.exists(outside):
            return "it does not keep commands in"
        if not said and not os.path.exists(f"{inside}/inside"):
            return "it does not let commands work"
        return said
    except (OSError, subprocess.TimeoutExpired) as error:
        return _lasting(error)
    finally:
        _clear(folder, inside)


def _make_place(env: Mapping[str, str]) -> str:
    """Where it is tried, with a workspace in it: if there is another, not in a place that is empty inside.

    Such a one cannot be written to from there, and would not show that all the rest can.
    """
    try:
        folder = make_folder(env, last=(*SCRATCH, *find_homes(env.get("HOME", ""), os.getuid())))
        try:
            os.mkdir(f"{folder}/inside")
        except OSError:
            remove_folder(folder)
            raise
    except OSError as error:
        hint = _HINT if is_passing(error) else _HINT_WHERE
        raise _untried(f"no temporary folder can be made: {error}", hint) from error
    return folder


def _try_in(wrapper: Wrapper, env: Mapping[str, str], inside: str, outside: str) -> str:
    argv = ["/bin/sh", "-c", _WRITE_BOTH, "sh", outside]
    env = {**env, "LC_ALL": "C"}  # what a shell says of its failure is read
    place = Confinement(workspace=Path(inside))
    return _run(wrapper.wrap(argv, place, cwd=inside, env=env, grouped=True), Path(inside))


def _lasting(error: OSError | subprocess.TimeoutExpired, what: str = "") -> str:
    """Why it does not work, in words; `Unavailable` if it might a moment later."""
    if isinstance(error, subprocess.TimeoutExpired) or is_passing(error):
        raise _untried(f"{what}{error}") from error
    return f"{what}{error}"


def _untried(why: str, hint: str = _HINT) -> Unavailable:
    return Unavailable(f"Which sandbox works here could not be tried: {why}.", hint=hint, code="sandbox_failed")


def _clear(folder: str, inside: str) -> None:
    """Remove what is known to be there; whatever else came about is removed by who takes longer to load."""
    with suppress(OSError):
        os.unlink(f"{inside}/inside")
        os.rmdir(inside)
    remove_folder(folder)


def variants(program: str) -> list[Bubblewrap]:
    """bubblewrap with all it says it can do, then with less: not all that it can do works everywhere.

    Raises `Unavailable` if it could not be asked for a reason that passes.
    """
    try:
        said = subprocess.run([program, "--help"], capture_output=True, timeout=_TRY_S).stdout  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        _lasting(error, "bubblewrap: ")
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
    try:
        with open(os.memfd_create("agi"), "r+b") as said:
            code = _code(wrapped, cwd, said.fileno())
            said.seek(0)
            words = said.read().decode(errors="replace").strip()
    finally:
        wrapped.close()
    if code == 0:
        return ""
    last = words.rpartition("\n")[2][:200] or f"it ended with {code}"
    if reads_as_passing(words):
        raise _untried(last)
    return last


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
