"""What a name holds, in short."""

import os
import socket

from agi.workspace.digests import digest, digest_at, link_digest


def test_each_kind_of_thing_has_its_own_name(tmp_path):
    """A file by its content, a link by where it points, nothing by nothing."""
    (tmp_path / "f").write_bytes(b"x" * 300_000)
    (tmp_path / "link").symlink_to("f")
    (tmp_path / "dir").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(tmp_path / "door"))
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        found = [digest_at(fd, name) for name in ("f", "link", "dir", "pipe", "door", "nothing")]
    finally:
        os.close(fd)

    assert found == [digest(b"x" * 300_000), link_digest("f"), "other", "other", "other", None]
