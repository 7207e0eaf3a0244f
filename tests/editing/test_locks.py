"""One lock for each file."""

import threading

from agi.editing import locks
from agi.editing.locks import holding


def test_who_holds_a_file_keeps_others_out_and_only_of_that_file():
    """Another file is free meanwhile."""
    order, inside, free = [], threading.Event(), threading.Event()

    def other():
        inside.wait(10)
        with holding(["b"]):
            order.append("b is free")
        free.set()
        with holding(["a"]):
            order.append("a, later")

    thread = threading.Thread(target=other)
    thread.start()
    with holding(["a"]):
        inside.set()
        assert free.wait(10)
        order.append("a, first")
    thread.join(10)

    assert order == ["b is free", "a, first", "a, later"]


def test_locks_in_any_order_never_wait_in_a_circle():
    """And none is left over."""

    def work(names):
        for _ in range(500):
            with holding(names):
                pass

    threads = [
        threading.Thread(target=work, args=(names,)) for names in (["a", "b", "a"], ["b", "a"], ["b", "c"], ["c", "a"])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert not any(thread.is_alive() for thread in threads)
    assert locks._locks == {}
