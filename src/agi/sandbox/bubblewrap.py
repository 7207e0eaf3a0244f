"""The first rung: bubblewrap builds a machine of its own around a command, with namespaces and without any power.

The root is read-only, home and `/run` are not there, the workspace may be changed but for what runs later, the network
is a loopback without a way out. All capabilities are dropped: as root, a sandbox with them is none. Whether it works
here is for the ladder to find out. May import: errors, sandbox.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from agi.sandbox.base import Confinement
from agi.sandbox.homes import within
from agi.sandbox.identity import git_identity
from agi.sandbox.inner import guarded_by_shell
from agi.sandbox.landlock import watch_over
from agi.sandbox.limits import wanted
from agi.sandbox.mounts import Mounts
from agi.sandbox.nested import Nested
from agi.sandbox.places import SCRATCH, Places, find_places
from agi.sandbox.repository import mount_repository
from agi.sandbox.seccomp import Sockets, build_filter
from agi.sandbox.wrapped import Wrapped

OUR_FOLDER = ".agi"
SERVERS_FILE = ".mcp.json"
_SHOWN_OF_OURS = ("config.json", "agents.json", "mcp.json", "agents", "tools", "skills", ".gitignore")
"""What a project may keep in version control. The rest of our folder is the daemon's: its log, its token."""
_TOP = (".git", OUR_FOLDER, SERVERS_FILE)
_KEY = b"apikey"
_RESOLVER = "/etc/resolv.conf"


class Bubblewrap(Struct, frozen=True, kw_only=True):
    """The program, and what this version of it can do."""

    program: str
    can_disable_namespaces: bool = True
    can_limit_sizes: bool = True
    can_bind_descriptors: bool = True

    def wrap(
        self, argv: Sequence[str], confinement: Confinement, *, cwd: str, env: Mapping[str, str], grouped: bool
    ) -> Wrapped:
        """Make a command ready."""
        mounts = Mounts(
            by_descriptor=self.can_bind_descriptors,
            has_sizes=self.can_limit_sizes,
            scratch=confinement.limits.scratch,
        )
        wrapped = Wrapped()
        wrapped.hides_signals = True
        wrapped.until_started.push(mounts.until_started)
        wrapped.until_over.push(mounts.until_over)
        try:
            wrapped.env = _environment(env)
            self._add_namespaces(mounts, confinement)
            places = find_places(confinement, wrapped.env)
            _build(mounts, confinement, places, wrapped.env)
            _watch_links(wrapped, confinement, places)
            if not confinement.read_only:
                # While the sandbox is built: the command begins only when it is given leave, which comes after this.
                wrapped.on_start.append(lambda pid: wrapped.notes.append(Nested(str(confinement.workspace)).put_back))
            self._add_filter(mounts, confinement)
            numbers = wanted(confinement.limits, grouped=grouped)
            report, leave = wrapped.open_report(), wrapped.open_leave()
            inner = guarded_by_shell(argv, numbers, report=report, leave=leave)
            if confinement.network == "allow-list":
                inner = _through_gate(wrapped, confinement, inner)
            wrapped.argv = [self.program, *mounts.arguments, "--chdir", cwd, "--", *inner]
            wrapped.pass_fds += mounts.descriptors
        except BaseException:
            wrapped.close()
            raise
        return wrapped

    def _add_namespaces(self, mounts: Mounts, confinement: Confinement) -> None:
        mounts.add("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
        if confinement.network != "on":
            mounts.add("--unshare-net")
        if self.can_disable_namespaces:
            mounts.add("--disable-userns")
        mounts.add("--cap-drop", "ALL", "--die-with-parent", "--new-session")

    def _add_filter(self, mounts: Mounts, confinement: Confinement) -> None:
        program = build_filter(platform.machine(), Sockets(internet=True, unix=confinement.unix_sockets))
        if program is not None:
            mounts.add("--seccomp", str(mounts.pass_bytes(program)))


def _through_gate(wrapped: Wrapped, confinement: Confinement, argv: Sequence[str]) -> list[str]:
    from agi.sandbox.gate import Gate  # late: most commands have no network
    from agi.sandbox.hosts import Hosts
    from agi.sandbox.proxy import Proxy

    gate = Gate(Proxy(Hosts(confinement.hosts, confinement.denied_hosts)), wrapped)
    return gate.through(argv)


def _watch_links(wrapped: Wrapped, confinement: Confinement, places: Places) -> None:
    """A mount cannot stand on a link: what is one is put back afterwards. Asked once all names of ours are taken."""
    workspace = confinement.workspace
    names = (*_TOP, *places.watched, *places.watched_folders)
    if not confinement.read_only and any(os.path.islink(f"{workspace}/{name}") for name in names):
        wrapped.notes.append(watch_over(confinement, places).put_back)


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    return {**env, "TMPDIR": SCRATCH[0]}


def _build(mounts: Mounts, confinement: Confinement, places: Places, env: Mapping[str, str]) -> None:
    workspace = str(confinement.workspace)
    mounts.add("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    if os.getuid() == 0:
        # The kernel's settings go by the user, not by capabilities: root could name a program for it to run.
        mounts.freeze("/proc")
    _build_scratch(mounts, confinement, places.homes, env.get("HOME", ""))
    for path in places.readable:
        mounts.add("--ro-bind", path, path)
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
        done |= {path for path, content in places.free if mounts.reserve(path, content)}
    for path in places.hidden:
        if path not in done:
            mounts.veil(path)
    for path in places.frozen:
        if path not in done:
            mounts.show(path)


def _build_scratch(mounts: Mounts, confinement: Confinement, homes: Sequence[str], home: str) -> None:
    for path in (*SCRATCH, *homes):
        if path == SCRATCH[0] and confinement.tmp is not None:
            mounts.open(os.path.realpath(confinement.tmp), path)
        else:
            mounts.empty(path)
    if home and any(within(home, path) and home != path for path in (*SCRATCH, *homes)):
        mounts.add("--dir", home)


def _show_resolver(mounts: Mounts) -> None:
    """How names are looked up, where that file is a link into `/run`."""
    real = os.path.realpath(_RESOLVER)
    if any(within(real, path) for path in SCRATCH) and os.path.isfile(real):
        mounts.add("--ro-bind", real, real)


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
    if not os.path.islink(folder) and os.path.isdir(folder):
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
