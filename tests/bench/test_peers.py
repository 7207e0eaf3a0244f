"""The table of peers: how figures become columns, who is said to lead, and what a run keeps."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bench.peers import costs, installing, report
from bench.peers.base import Ground, Package
from bench.peers.columns import COLUMNS, median
from bench.peers.known import APART, OURS, PEERS
from bench.peers.measuring import CHUNKS, STEPS
from bench.peers.playing import Noted, Play, Player, gaps_ms
from bench.peers.run import Keeper

from agi.net.http import HttpClient

ROOT = Path(__file__).parents[2]
FIELD = report.Field("agi", ("floor", "agi, no sandbox"), {"chunk_cpu": ["quiet"]})
BY_KEY = {column.key: column for column in COLUMNS}


def test_a_further_step_costs_what_the_loop_took_over_a_run_with_one():
    """What is started and loaded once is no part of it: the run with one call is told as it is."""
    samples = {"shot_cpu": [90.0, 100.0, 130.0], "first_cpu": [140.0, 150.0, 190.0], "loop_cpu": [150.0 + STEPS * 4]}

    assert median(BY_KEY["step_cpu"], samples) == 4.0
    assert median(BY_KEY["called_cpu"], samples) == 150.0


def test_a_chunk_costs_what_the_stream_took_over_a_plain_one_shot():
    """In microseconds."""
    samples = {"shot_cpu": [100.0], "stream_cpu": [100.0 + CHUNKS / 100]}

    assert median(BY_KEY["chunk_cpu"], samples) == pytest.approx(10.0)


def test_what_was_not_measured_has_no_figure():
    """Nothing is guessed: no run, no number."""
    assert [median(column, {}) for column in COLUMNS] == [None] * len(COLUMNS)
    assert "| idle RSS MB | 46.0 | – |" in report.table({"agi": {"idle": [46.0]}, "other": {}}, "agi")


def test_less_than_nothing_is_no_figure():
    """Something was cleared up meanwhile, as by a database that makes itself smaller."""
    found = {"agi": {"disk": [18.0]}, "other": {"disk": [-137.0]}}

    assert "| disk a turn KB | 18.0 | – |" in report.table(found, "agi")
    assert "nobody to compare with" in report.standing(found, FIELD)


def test_the_page_shows_what_is_measured_now():
    """A table of other columns was written by another tree."""
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    measured = page.partition(report.BEGIN)[2].partition(report.END)[0]
    table = measured.partition("| | ")[2].partition("\n\n")[0]

    heads = [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines()[2:]]

    assert heads == [column.head for column in COLUMNS]


def test_ratios_are_to_ours():
    """How many times ours somebody takes."""
    table = report.table({"agi": {"shot_cpu": [100.0]}, "other": {"shot_cpu": [250.0]}}, "agi")

    assert "| one-shot, CPU ms | 100 | 250 (2.5×) |" in table


def test_where_somebody_else_leads_it_is_said_plainly():
    """Our own rows are no better than they are."""
    found = {
        "agi": {"idle": [46.0]},
        "floor": {"idle": [1.0]},
        "agi, no sandbox": {"idle": [2.0]},
        "other": {"idle": [30.0]},
    }

    assert report.standing(found, FIELD) == "- idle RSS MB: **other leads** (30.0; agi 46.0)"


def test_a_difference_that_cannot_be_told_is_none():
    """Within what the method resolves, nobody leads."""
    found = {"agi": {"start_cpu": [11.5]}, "other": {"start_cpu": [11.0]}}

    assert "level with other" in report.standing(found, FIELD)


def test_who_shows_no_text_as_it_comes_is_told_but_not_ranked():
    """Printing once at the end is less work than the column is about."""
    stream = {"shot_cpu": [0.0], "stream_cpu": [CHUNKS * 12 / 1000]}
    found = {"agi": stream, "quiet": {"shot_cpu": [0.0], "stream_cpu": [CHUNKS * 2 / 1000]}, "other": stream}

    line = next(line for line in report.standing(found, FIELD).splitlines() if "chunk" in line)

    assert "level with other" in line
    assert line.endswith("without showing text as it comes: quiet 2")


def test_where_commands_are_run_like_is_told_with_like():
    """Whoever holds nothing in has less to do; the whole verdict stands first all the same."""
    match = report.Match("in a sandbox", "agi", ["codex"]), report.Match("without one", "agi, no sandbox", ["bare"])
    gaps = {"agi": 16.0, "codex": 70.0, "agi, no sandbox": 7.0, "bare": 11.0}
    found = {name: {"step_gap": [value]} for name, value in gaps.items()}

    assert report.standing(found, FIELD._replace(matches=match)) == (
        "- tool step, gap ms: **bare leads** (11.0; agi 16.0); in a sandbox: agi leads (16.0; next codex, 70.0); "
        "without one: agi leads (7; next bare, 11.0)"
    )


def test_only_what_stands_between_the_marks_of_a_page_is_replaced():
    """The method around it is written by hand."""
    page = f"before\n{report.BEGIN}\nold\n{report.END}\nafter"

    assert report.put_into(page, "new") == f"before\n{report.BEGIN}\n\nnew\n\n{report.END}\nafter"


def test_a_page_without_marks_is_refused():
    """Nothing is overwritten by guess."""
    with pytest.raises(ValueError, match="has no"):
        report.put_into("a page", "new")


def test_a_gap_is_from_the_end_of_an_answer_to_the_next_request():
    """The model's own time is not the harness's."""
    times = [Noted(came=0.0, went=1.0, size=1), Noted(came=1.25, went=2.0, size=1)]

    assert gaps_ms(times) == [250.0]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "npm error code 1\nnpm error Error: Request failed: getaddrinfo ENOTFOUND example.com\n",
            "Error: Request failed:",
        ),
        ("npm error notarget No matching version found for @a/b@1.0.\n", "notarget No matching version found for"),
        ("", "it does not say why"),
    ],
)
def test_an_installers_complaint_is_told_in_one_line_without_hosts(said, told):
    """Where packages come from is the user's affair."""
    reason = installing.reason(said)

    assert reason.startswith(told)
    assert "example.com" not in reason


def test_a_package_that_cannot_be_installed_is_missing_with_a_reason(tmp_path, monkeypatch):
    """A peer is skipped by name, never guessed."""
    monkeypatch.setattr(installing, "CACHE", tmp_path)
    monkeypatch.setattr(
        installing, "_commands", lambda *_: [(sys.executable, "-c", "import sys; sys.exit('no such thing')")]
    )

    with pytest.raises(installing.Missing, match="no such thing"):
        installing.install(Package("pip", ("nothing==1",), "1"))


def test_names_of_peers_are_their_own_and_versions_are_pinned():
    """Two runs measure the same programs."""
    assert len({peer.name for peer in PEERS}) == len(PEERS)
    assert {OURS, *APART} <= {peer.name for peer in PEERS}
    for peer in PEERS:
        assert not peer.package.kind or peer.package.version in peer.package.wants[0]


def test_the_whole_tree_of_a_run_is_counted_and_nothing_of_it_is_left(tmp_path):
    """Also what it left in the background."""
    burn = "import subprocess,sys,time; subprocess.run([sys.executable,'-c','sum(range(3_000_000))']); print('word0')"
    left = f'sleep 1000 & echo $! > {tmp_path}/pid; {sys.executable} -c "{burn}"'

    cost = costs.run(("/bin/sh", "-c", left), {"PATH": "/usr/bin:/bin"}, tmp_path, expect="word0")

    assert cost.cpu_ms > 20
    assert cost.peak_mb > 5
    _wait_until_gone(int((tmp_path / "pid").read_text()))


DETACHING = """
import os, sys, time
gone, ours = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.close(ours)
        os.read(gone, 1)  # until who started us has ended
        until = time.process_time() + 0.05
        while time.process_time() < until: pass
    os._exit(0)
os.wait()
print("word0")
"""


def test_who_left_the_tree_for_good_is_counted_too(tmp_path):
    """As a helper that is nobody's child, and ends when its daemon does."""
    code = (
        "import sys; from pathlib import Path; from bench.peers import costs; costs.adopt_orphans();"
        "print(costs.run((sys.executable, '-c', sys.argv[1]), {}, Path('/'), expect='word0').cpu_ms)"
    )
    said = subprocess.run([sys.executable, "-c", code, DETACHING], capture_output=True, text=True, check=True, cwd=ROOT)

    assert float(said.stdout) >= 50


def _wait_until_gone(pid: int) -> None:
    """It was killed; the system takes a moment, and whose child it is collects it."""
    until = time.monotonic() + 20
    while costs.standing(pid)[0] not in ("", "Z", "X"):
        assert time.monotonic() < until
        os.sched_yield()


@pytest.mark.parametrize("command", [("/bin/sh", "-c", "echo other"), ("/bin/sh", "-c", "echo word0; exit 3")])
def test_a_run_that_does_not_do_what_it_should_is_a_failure(tmp_path, command):
    """A peer that printed an error quickly has not won."""
    with pytest.raises(costs.Failed):
        costs.run(command, {"PATH": "/usr/bin:/bin"}, tmp_path, expect="word0")


def test_a_run_that_broke_off_goes_on_where_it_was(tmp_path):
    """What is measured is kept."""
    Keeper(tmp_path / "run.json").take("agi/start/0", "agi", {"start_cpu": 11.0})

    again = Keeper(tmp_path / "run.json")

    assert again.run.done == ["agi/start/0"]
    assert again.run.found == {"agi": {"start_cpu": [11.0]}}


@pytest.mark.parametrize("peer", [peer for peer in PEERS if peer.package.kind], ids=lambda peer: peer.name)
def test_a_peer_is_pointed_at_the_provider_on_loopback_and_nowhere_else(peer, tmp_path):
    """Its settings and environment name no other host."""
    ground = Ground(tmp_path)
    peer.settle(ground, "http://127.0.0.1:1234/v1")

    written = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    said = " ".join((*written, *ground.env.values(), *peer.one_shot(ground)))
    assert "127.0.0.1:1234" in said
    assert all(rest.startswith("127.0.0.1") for rest in said.split("http://")[1:])
    assert "https://" not in said


async def test_the_player_calls_the_peers_own_tool_so_many_times_and_answers_side_questions_with_text():
    """A request without tools is no part of the loop."""
    async with Player(Play(steps=1, tool="bash", arguments={"command": "true %d"})) as player, HttpClient() as client:

        async def ask(**body: object) -> bytes:
            import json

            data = json.dumps({"model": "script", "stream": True, **body}).encode()
            url = f"{player.base_url}/chat/completions"
            async with await client.request("POST", url, headers={}, body=data) as response:
                return await response.read()

        user = {"role": "user", "content": "go"}
        tools = [{"type": "function"}]
        called = await ask(messages=[user], tools=tools)
        ended = await ask(messages=[user, {"role": "tool", "tool_call_id": "1", "content": ""}], tools=tools)
        aside = await ask(messages=[user])

    assert b"bash" in called
    assert b"true 0" in called
    assert b"word0" in ended
    assert b"A title" in aside
    await asyncio.sleep(0)
    assert len(player.times) == 2
