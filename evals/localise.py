"""`python -m evals.localise --data DIR --repos DIR [--baseline] [--without SIGN …] [--fit] [repo …]`

How well the ranking finds the files a commit changed, from its message alone, in the tree before it. DIR of the data
holds one file a repository: `{repo, ext, src, queries: [{id, parent, text, gold}]}`; DIR of the repositories has
`owner+name/repo` with the history, bare. Only commits before the parent are seen. Prints R@1, R@5, R@10 (any changed
file among the first k) and MRR over all files and over source files, and what a question costs.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from agi.index.ranking import Weights
from evals import fitting
from evals.localising import Asked, Repository, localise

SIGNS = Weights.__struct_fields__


def main(arguments: Sequence[str]) -> int:
    """Evaluate and print."""
    options = _options(arguments)
    found: dict[str, list[Asked]] = {}
    for file in sorted(options.data.glob("*.json")):
        repository = msgspec.json.decode(file.read_bytes(), type=Repository)
        name = repository.repo.rpartition("/")[2]
        if options.names and name not in options.names:
            continue
        with tempfile.TemporaryDirectory(prefix="agi-localise-") as folder:
            git = options.repos / repository.repo.replace("/", "+") / "repo"
            found[name] = asyncio.run(localise(repository, git, Path(folder), baseline=options.baseline))
        print(f"{name}: {len(found[name])} questions", file=sys.stderr, flush=True)
    if not found:
        sys.exit(f"There are no questions in {options.data}.")
    weights = msgspec.structs.replace(Weights(), **dict.fromkeys(options.without, 0.0))
    print_table("ranking", found, weights)
    if options.baseline:
        print_table("BM25 over 60-line chunks", found, None)
    if options.each:
        for sign in SIGNS:
            print_row(f"without {sign}", fitting.flat(found), msgspec.structs.replace(Weights(), **{sign: 0.0}))
    if options.fit:
        print("\nLeave one repository out: weights found on the others, asked about this one.\n")
        print_ranks("all, left out", fitting.leave_one_out(found))
    return 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evals.localise")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--baseline", action="store_true", help="also plain BM25 over chunks of 60 lines")
    parser.add_argument("--without", action="append", default=[], choices=SIGNS, help="leave out a sign")
    parser.add_argument("--each", action="store_true", help="leave out each sign in turn")
    parser.add_argument("--fit", action="store_true", help="find weights on all repositories but one, for each")
    parser.add_argument("names", nargs="*")
    return parser.parse_args(arguments)


def print_table(label: str, found: dict[str, list[Asked]], weights: Weights | None) -> None:
    print(f"\n| {label} | R@1 | R@5 | R@10 | MRR | R@1, source | R@5 | R@10 | MRR | p50 | p95 |\n|{'---|' * 11}")
    for name, asked in found.items():
        print_row(f"{name} ({len(asked)})", asked, weights)
    everything = fitting.flat(found)
    print_row(f"all ({len(everything)})", everything, weights)


def print_row(label: str, asked: Sequence[Asked], weights: Weights | None) -> None:
    ranks = [one.baseline if weights is None else one.ranks(weights) for one in asked]
    times = sorted(one.seconds * 1000 for one in asked)
    cost = ["", ""]
    if weights is not None:
        cost = [f"{statistics.median(times):.0f} ms", f"{times[int(len(times) * 0.95)]:.0f} ms"]
    print_ranks(label, ranks, cost)


def print_ranks(label: str, ranks: Sequence[tuple[int, int]], cost: Sequence[str] = ("", "")) -> None:
    cells = [f"{value:.3f}" for n in (0, 1) for value in fitting.figures([one[n] for one in ranks])]
    print(f"| {label} | {' | '.join(cells)} | {' | '.join(cost)} |", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
