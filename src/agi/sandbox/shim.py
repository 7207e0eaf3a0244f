"""A small program inside a sandbox without a way out: opens a door, hands it to the daemon, becomes the command.

Started as `python -I -S shim.py PORT CHANNEL COMMAND …`: the door is on loopback at that port, and is handed out over
the channel. Runs on its own. May import: nothing of ours.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from typing import NoReturn

_NOT_FOUND = 127


def main() -> NoReturn:
    """Do both."""
    port, channel, *argv = sys.argv[1:]
    _open_gate(int(port), int(channel))
    _become(argv)


def _open_gate(port: int, channel: int) -> None:
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", port))
    door.listen(128)
    with socket.socket(fileno=channel) as out:
        socket.send_fds(out, [b"d"], [door.fileno()])
    door.close()


def _become(argv: list[str]) -> NoReturn:
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores these, and what is ignored stays so
    try:
        os.execvpe(argv[0], argv, os.environ)  # noqa: S606
    except OSError as problem:
        os.write(2, f"{argv[0]}: {problem.strerror}\n".encode())
        os._exit(_NOT_FOUND)


if __name__ == "__main__":
    main()
