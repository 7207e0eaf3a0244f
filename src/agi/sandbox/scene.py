"""What a command in a machine of its own sees: the root read-only, no home, the workspace, nothing that runs later.

One description for whoever builds such a machine with namespaces. `/dev` and `/proc` are the builder's business: they
belong to the namespaces. May import: sandbox.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from agi.sandbox.base import Confinement
from agi.sandbox.homes import within
from agi.sandbox.identity import git_identity
from agi.sandbox.mounted import kernel_mounts
from agi.sandbox.mounts import Mounts
from agi.sandbox.nested import Nested
from agi.sandbox.places import SCRATCH, Places, find_places
from agi.sandbox.repository import mount_repository
from agi.sandbox.watch import watch_over
from agi.sandbox.wrapped import Wrapped

OUR_FOLDER = ".agi"
SERVERS_FILE = ".mcp.json"
_SHOWN_OF_OURS = ("config.json", "agents.json", "mcp.json", "agents", "tools", "skills", ".gitignore")
"""What a project may keep in version control. The rest of our folder is the daemon's: its log, its token."""
_TOP = (".git", OUR_FOLDER, SERVERS_FILE)
_KEY = b"apikey"
_RESOLVER = "/etc/resolv.conf"


def set_scene(wrapped: Wrapped, mounts: Mounts, confinement: Confinement, env: Mapping[str, str]) -> None:
    """Look at the machine as it is now: what is to be mounted, the command's environment, what to look at afterwards.

    What is found is given back by who made `mounts`.
    """
    wrapped.env = {**env, "TMPDIR": SCRATCH[0]}
    places = find_places(confinement, wrapped.env)
    _build(mounts, confinement, places, wrapped.env)
    _watch_links(wrapped, confinement, places)
    if not confinement.read_only:
        # While the sandbox is built: the command begins only when it is given leave, which comes after this.
        wrapped.on_start.append(lambda pid: wrapped.notes.append(Nested(str(confinement.workspace)).put_back))


def _watch_links(wrapped: Wrapped, confinement: Confinement, places: Places) -> None:
    """A mount cannot stand on a link: what is one is put back afterwards. Asked once all names of ours are taken."""
    workspace = confinement.workspace
    names = (*_TOP, *places.watched, *places.watched_folders)
    if not confinement.read_only and any(os.path.islink(f"{workspace}/{name}") for name in names):
        wrapped.notes.append(watch_over(confinement, places).put_back)


def _build(mounts: Mounts, confinement: Confinement, places: Places, env: Mapping[str, str]) -> None:
    workspace = str(confinement.workspace)
    if os.getuid() == 0:
        # The kernel's settings go by the user, not by capabilities: root could name a program for it to run.
        mounts.freeze("/proc")
    _build_scratch(mounts, confinement, places.homes, env.get("HOME", ""))
    for path in places.readable:
        mounts.show_as_named(path)
    if confinement.network == "on":
        _show_resolver(mounts)
    # Before all that hides or protects: what is opened must not lie over that.
    for extra in confinement.writable:
        mounts.open(os.path.realpath(extra))
    outside = [path for path in places.hidden if not within(path, workspace)]
    for path in outside:
        mounts.veil(path)
    _build_identity(mounts, env, places.homes)
    _build_workspace(mounts, confinement, workspace)
    done = {*outside, f"{workspace}/{OUR_FOLDER}"}
    if not confinement.read_only:
        _pin_above(mounts, workspace, (*places.hidden, *places.frozen, *(path for path, _ in places.free)))
        done |= {path for path, content in places.free if mounts.reserve(path, content)}
    for path in places.hidden:
        if path not in done:
            mounts.veil(path)
    for path in places.frozen:
        if path not in done:
            mounts.show(path)
    if os.getuid() == 0:
        _freeze_kernels(mounts)


def _freeze_kernels(mounts: Mounts) -> None:
    """Of the kernel's own file systems that are mounted in places that may be changed, nothing is: as with `/proc`."""
    opened = [(step[1], step[2]) for step in mounts.steps if step[0] == "bind" and step[3]]
    found = kernel_mounts([path for path, _ in opened])
    seen = [at + path[len(place) :] for path in found for place, at in opened if within(path, place)]
    for path in dict.fromkeys(seen):
        if mounts.may_be_changed(path):
            mounts.freeze(path)


def _pin_above(mounts: Mounts, workspace: str, paths: Sequence[str]) -> None:
    """Folders of the workspace above what is hidden or frozen become mounts of their own: none can be moved away.

    Otherwise the next command would find under another name what is hidden by its name.
    """
    pinned: set[str] = {workspace, f"{workspace}/.git", f"{workspace}/{OUR_FOLDER}"}
    for path in paths:
        above: list[str] = []
        folder = os.path.dirname(path)
        while within(folder, workspace) and folder not in pinned:
            above.append(folder)
            folder = os.path.dirname(folder)
        for folder in reversed(above):
            if os.path.islink(folder) or not os.path.isdir(folder):
                break
            mounts.open(folder)
            pinned.add(folder)


def _build_scratch(mounts: Mounts, confinement: Confinement, homes: Sequence[str], home: str) -> None:
    for path in (*SCRATCH, *homes):
        if path == SCRATCH[0] and confinement.tmp is not None:
            mounts.open(os.path.realpath(confinement.tmp), path)
        else:
            mounts.empty(path)
    if home and any(within(home, path) and home != path for path in (*SCRATCH, *homes)):
        mounts.make(home)


def _show_resolver(mounts: Mounts) -> None:
    """How names are looked up, where that file is a link into `/run`."""
    real = os.path.realpath(_RESOLVER)
    if any(within(real, path) for path in SCRATCH) and os.path.isfile(real):
        mounts.show_as_named(real)


def _build_identity(mounts: Mounts, env: Mapping[str, str], homes: Sequence[str]) -> None:
    home = env.get("HOME", "")
    if any(within(home, path) for path in homes):
        settings = env.get("XDG_CONFIG_HOME") or f"{home}/.config"
        if identity := git_identity(home, settings):
            mounts.write(identity, f"{home}/.gitconfig")


def _build_workspace(mounts: Mounts, confinement: Confinement, workspace: str) -> None:
    if confinement.read_only:
        mounts.show(workspace)
    else:
        mounts.open(workspace)
        mount_repository(mounts, workspace, may_create=confinement.may_create_repository)
        _protect_file(mounts, f"{workspace}/{SERVERS_FILE}")
    _protect_ours(mounts, f"{workspace}/{OUR_FOLDER}", confinement)


def _protect_file(mounts: Mounts, path: str) -> None:
    if not mounts.reserve(path) and os.path.exists(path) and not os.path.islink(path):
        mounts.show(path)


def _protect_ours(mounts: Mounts, folder: str, confinement: Confinement) -> None:
    if not confinement.read_only and mounts.reserve(folder):
        return
    if os.path.islink(folder) or not os.path.lexists(folder):
        return
    if not os.path.isdir(folder):
        mounts.show(folder)  # else it could be made the folder it should be
    else:
        mounts.empty(folder)
        for name in _SHOWN_OF_OURS:
            path = f"{folder}/{name}"
            if os.path.lexists(path) and not os.path.islink(path) and not _holds_a_key(path):
                mounts.show(path)
        for path in map(os.path.realpath, confinement.readable):
            if within(path, folder) and os.path.exists(path):
                mounts.show(path)
        mounts.freeze(folder)


def _holds_a_key(path: str) -> bool:
    """Whether a settings file has a key in it; such a file is not shown, whoever put it there."""
    try:
        return path.endswith("config.json") and _KEY in Path(path).read_bytes().lower()
    except OSError:
        return True
