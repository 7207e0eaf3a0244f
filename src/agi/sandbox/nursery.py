"""The helper: a small program that is started once and from which commands are forked.

What a command costs is then a fork, not the start of an interpreter. It knows no command but the one it forks, holds
none of its descriptors, and ends when the daemon does. Whatever can be done before a fork is done here: a copy pays for
every page it touches. Loads little, and so goes without the standard library's words for sockets and signals. Started
as `main` of a process of its own, with the number of a socket. May import: sandbox (`holder`, `kernel`, `saying` only).
"""

from __future__ import annotations

import _signal as signal
import _socket as socket
import gc
import marshal
import os
import select
import struct
import sys

from agi.sandbox.holder import WATCHED, hold
from agi.sandbox.kernel import clone_apart, clone_into, next_signal, signal_descriptor
from agi.sandbox.saying import MEMBER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_MOST_DESCRIPTORS = 7
"""An order, a line, a folder, two pipes, what the command reads, if anything, and a channel for a door, if any."""
_ROOM = socket.CMSG_SPACE(_MOST_DESCRIPTORS * 4)
_WORDS = 64


def main() -> NoReturn:
    """Leave whoever started us, say who we are, then fork a holder for each order until nobody can give any."""
    door = socket.socket(fileno=int(sys.argv[1]))
    if os.fork():
        os._exit(0)
    door.send(str(os.getpid()).encode())
    gc.disable()
    # Who started the daemon may have had it ignored, which is inherited, and then nobody can be waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    signals = signal_descriptor(WATCHED)
    poll = select.poll()
    poll.register(signals, select.POLLIN)
    poll.register(door, select.POLLIN)
    while True:
        for fd, _ in poll.poll():
            if fd != signals:
                _serve(door, signals)
            elif next_signal(signals) not in (None, signal.SIGCHLD):
                os._exit(0)
            else:
                _collect()


def _serve(door: socket.socket, signals: int) -> None:
    # Not `recv_fds`, which takes the flag and does not pass it on: commands would inherit what is ours.
    word, extra, _, _ = door.recvmsg(_WORDS, _ROOM, socket.MSG_CMSG_CLOEXEC)
    if not word:
        os._exit(0)
    sent = b"".join(data for _, _, data in extra)
    descriptors = list(struct.unpack(f"{len(sent) // 4}i", sent))
    answer = _fork(door, descriptors, signals)
    try:
        os.write(descriptors[1], answer)  # on the command's own line: nobody waits for what others are told
    except OSError:
        pass  # who asked has hung up
    for fd in descriptors:
        os.close(fd)


def _collect() -> None:
    """Collect the holders that ended, so that what they used stays counted; what became of commands they say."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _fork(door: socket.socket, descriptors: list[int], signals: int) -> bytes:
    """The number of a new holder, with a word if it shares its limits already, or why there is none."""
    written, *rest = descriptors
    order = marshal.loads(_read(written))  # noqa: S302 - written by the daemon, for us alone
    entrance = door.fileno()
    try:
        pid, is_member = _copy(order)
    except OSError as problem:
        return (problem.strerror or "fork").encode()
    if pid:
        return str(pid).encode() + (MEMBER if is_member else b"")
    try:
        os.close(entrance)
        os.close(written)
        hold(order, rest, signals)
    finally:
        os._exit(1)


def _copy(order: dict[str, Any]) -> tuple[int, bool]:
    """A copy of this process, 0 in the copy; and whether it is in the control group it was to be born in, if in any."""
    plan = order["enclosure"]
    if order["birthplace"]:
        try:
            group = os.open(order["birthplace"], os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                return clone_into(group, plan["namespaces"] if plan is not None else 0), True
            finally:
                os.close(group)
        except OSError:
            pass  # an older system, or the group is gone: who asked has it join, or says what is wrong
    return (os.fork() if plan is None else clone_apart(plan["clone"], plan["namespaces"])), False


def _read(fd: int) -> bytes:
    """All of it, from its beginning: an order may come again."""
    return os.pread(fd, os.fstat(fd).st_size, 0)
