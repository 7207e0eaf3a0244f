"""Numbers as Prometheus reads them."""

from __future__ import annotations

from agi.telemetry.families import MOST_SERIES, Durations, Family, gauge


def test_a_counter_adds_up_by_its_labels() -> None:
    """One line for each combination, under one heading."""
    family = Family("agi_x_total", "Things.", ("tool", "outcome"))
    family.add(1, "shell", "ok")
    family.add(2, "shell", "ok")
    family.add(0.5, "read_file", "failed")

    assert list(family.lines()) == [
        "# HELP agi_x_total Things.",
        "# TYPE agi_x_total counter",
        'agi_x_total{tool="read_file",outcome="failed"} 0.5',
        'agi_x_total{tool="shell",outcome="ok"} 3',
    ]


def test_a_label_cannot_break_out_of_its_line() -> None:
    """Names of tools come from others: quotes, backslashes, line ends and half characters stay inside."""
    family = Family("agi_x_total", "Things.", ("tool",))
    family.add(1, 'a"} 9\nevil_total 1\\\ud800')

    assert list(family.lines())[2:] == ['agi_x_total{tool="a\\"} 9\\nevil_total 1\\\\?"} 1']


def test_a_family_takes_only_so_many_series() -> None:
    """A server with endless tool names costs no endless memory; what is too much is counted together."""
    family = Family("agi_x_total", "Things.", ("tool",))
    for n in range(MOST_SERIES + 50):
        family.add(1, f"tool{n}")
    family.add(1, "tool0")

    lines = list(family.lines())[2:]

    assert len(lines) == MOST_SERIES + 1
    assert 'agi_x_total{tool="other"} 50' in lines
    assert 'agi_x_total{tool="tool0"} 2' in lines


def test_a_histogram_counts_upwards() -> None:
    """Each bucket holds those below it too; the last one is all."""
    family = Durations("agi_s", "Times.")
    for seconds in (0.005, 0.05, 2.0, 9999.0):
        family.observe(seconds)

    lines = dict(line.rsplit(" ", 1) for line in list(family.lines())[2:])

    assert lines['agi_s_bucket{le="0.01"}'] == "1"
    assert lines['agi_s_bucket{le="0.05"}'] == "2"
    assert lines['agi_s_bucket{le="5"}'] == "3"
    assert lines['agi_s_bucket{le="1800"}'] == "3"
    assert lines['agi_s_bucket{le="+Inf"}'] == lines["agi_s_count"] == "4"
    assert float(lines["agi_s_sum"]) == 10001.055


def test_a_gauge_is_what_stands_there_now() -> None:
    """With a label or without."""
    assert list(gauge("agi_g", "Now.", "", {"": 2.0}))[2:] == ["agi_g 2"]
    assert list(gauge("agi_g", "Now.", "status", {"b": 1, "a": 2}))[2:] == [
        'agi_g{status="a"} 2',
        'agi_g{status="b"} 1',
    ]
