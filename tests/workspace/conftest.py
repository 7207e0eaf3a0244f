"""What several tests of this room share."""

import subprocess
import sys
from contextlib import contextmanager

import pytest

SWAP = """
import os, sys
os.chdir(sys.argv[1])
print("ready", flush=True)
while True:
    for name in ("real", "link"):
        try:
            os.rename(name, "door")
            os.rename("door", name)
        except FileNotFoundError:
            os.makedirs("real", exist_ok=True)  # a folder that was empty while it was the door may have been tidied up
        except OSError:
            os.rename("door", "made-" + os.urandom(4).hex())
"""


@pytest.fixture
def swapping():
    """Another process that lets `door` be now the folder `real`, now the `link`; what else comes there is put aside."""

    @contextmanager
    def swap(folder):
        with subprocess.Popen([sys.executable, "-I", "-S", "-c", SWAP, folder], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            try:
                yield
                assert process.poll() is None
            finally:
                process.kill()

    return swap
