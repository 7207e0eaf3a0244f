"""`python -m bench [name …]`: run the measurements and print one table."""

from __future__ import annotations

import os
import sys

from bench import measures

ALL = ("start", "one_shot", "ready", "steps", "first_delta", "stream", "long_session")


def main(names: list[str]) -> None:
    """Measure what is named, or everything."""
    heads = ("what", "ours", "floor", "ratio", "bar", "note")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, Python {sys.version.split()[0]}\n")
    print("| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads))
    for name in names or ALL:
        for row in getattr(measures, name)():
            print("| " + " | ".join(row.cells()) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
