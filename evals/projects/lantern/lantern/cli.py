"""The command line."""

import argparse
import sys

from lantern import __version__
from lantern.report import REPORTS
from lantern.settings import DEFAULT_JOBS

EXIT_DEAD_LINKS = 1
EXIT_UNREADABLE = 3
EXIT_OFFLINE = 7


def build_parser() -> argparse.ArgumentParser:
    """The options there are."""
    parser = argparse.ArgumentParser(prog="lantern")
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--jobs", type=int, default=DEFAULT_JOBS)
    parser.add_argument("--format", choices=sorted(REPORTS), default="text")
    parser.add_argument("--since", metavar="COMMIT", help="only files changed since a commit")
    parser.add_argument("--version", action="version", version=__version__)
    return parser


def main() -> int:
    """Run it."""
    arguments = build_parser().parse_args()
    # TODO: --since is parsed but not used yet
    sys.stderr.write(f"checking {len(arguments.paths)} paths with {arguments.jobs} jobs\n")
    return 0
