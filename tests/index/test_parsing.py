"""Parsing in a process of its own: what a file does to it happens to nobody else."""

import os
import signal
import sys
import threading

import pytest

from agi.index.parsing import Parsing, Source
from agi.index.symbols import Symbols, read_symbols

STAND_IN = """
import os, signal, time
from agi.index import worker
real = worker.read_symbols
worker.SECONDS_PER_FILE = 0.3
def read(path, data):
    if data == b"crash": os.kill(os.getpid(), signal.SIGSEGV)
    if data == b"slow": time.sleep(60)
    if data == b"memory": return [bytearray(1 << 30) for _ in range(8)]
    return real(path, data)
worker.read_symbols = read
worker.main()
"""
"""The real process, but some contents do what only a hostile file does."""

GOOD = b"def good(): ...\n"


def _names(found):
    return [[one.name for one in symbols.definitions] for symbols in found]


def test_the_answers_are_those_of_this_process(parsing):
    """Nothing is lost on the way there and back, also of large files and odd names."""
    many = "".join(f"def f{n}(): g{n}()\n" for n in range(3000)).encode()
    sources = [Source("a.py", GOOD), Source("odd\udcff.py", GOOD), Source("b.py", many), Source("c.txt", b"x")]

    found = parsing.read(sources, threading.Event())

    assert found == [read_symbols(source.path, source.data) for source in sources]


@pytest.mark.parametrize("harm", [b"crash", b"slow", b"memory"])
def test_a_file_that_ends_the_process_has_no_symbols_and_the_others_have(harm):
    """It is known which one it was; what came before and after is answered."""
    parsing = Parsing([sys.executable, "-c", STAND_IN])
    try:
        sources = [Source("a.py", GOOD), Source("b.py", harm), Source("c.py", GOOD)]

        found = parsing.read(sources, threading.Event())
    finally:
        parsing.close()

    assert _names(found) == [["good"], [], ["good"]]
    assert found[1] == Symbols(language="python", partial=True)


def test_harm_at_the_very_beginning_is_noticed_too():
    """A file that ends one process after the other is given up."""
    parsing = Parsing([sys.executable, "-c", STAND_IN])
    try:
        found = parsing.read(
            [Source("a.py", b"crash"), Source("b.py", b"crash"), Source("c.py", GOOD)], threading.Event()
        )
    finally:
        parsing.close()

    assert _names(found) == [[], [], ["good"]]


def test_a_process_that_is_gone_is_started_again():
    """It ends by itself when it was not asked for a while; the next file does not notice."""
    parsing = Parsing()
    try:
        parsing.read([Source("a.py", GOOD)], threading.Event())
        first = parsing._process.pid
        os.kill(first, signal.SIGKILL)

        found = parsing.read([Source("a.py", GOOD)], threading.Event())

        assert _names(found) == [["good"]]
        assert parsing._process.pid != first
    finally:
        parsing.close()


def test_a_process_that_cannot_be_started_leaves_files_without_symbols():
    """The map is poorer then, and there is one."""
    parsing = Parsing([sys.executable, "-c", "raise SystemExit(1)"])
    try:
        found = parsing.read([Source("a.py", GOOD)], threading.Event())
    finally:
        parsing.close()

    assert found == [Symbols(language="python", partial=True)]


def test_told_to_stop_it_stops():
    """Whoever waits is not kept; the process is ended."""
    parsing = Parsing([sys.executable, "-c", STAND_IN.replace("0.3", "60")])
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()

    found = parsing.read([Source("a.py", b"slow")], stop)

    assert found == []
    assert parsing._process is None


def test_closing_ends_the_process_and_so_does_forgetting():
    """Nobody is left behind."""
    parsing = Parsing()
    parsing.read([Source("a.py", GOOD)], threading.Event())
    pid = parsing._process.pid

    del parsing

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
