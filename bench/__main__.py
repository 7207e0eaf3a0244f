"""`python -m bench [name …]`: run the measurements, all of them if none is named, and print one table.

`python -m bench peers [name …]` measures ours beside others (`bench/peers`) and, with nobody named, writes what it
found into `docs/benchmarks.md`.
"""

from __future__ import annotations

import os
import sys

from bench import (
    adapters,
    chatting,
    checkpoints,
    context,
    load,
    mapping,
    measures,
    neighbours,
    patching,
    ranking,
    reading,
    remembering,
    sandboxing,
    screen,
    soak,
    webpage,
)

ALL = {
    "start": measures.start,
    "one_shot": measures.one_shot,
    "ready": measures.ready,
    "steps": measures.steps,
    "first_delta": measures.first_delta,
    "stream": measures.stream,
    "adapters": adapters.chunks,
    "imports": adapters.imports,
    "sandbox": sandboxing.sandbox,
    "long_session": measures.long_session,
    "context": context.context,
    "checkpoint": checkpoints.checkpoint,
    "search": reading.search,
    "repo_tree": reading.repo_tree,
    "repomap": mapping.repomap,
    "patch": patching.patch,
    "chat": chatting.chat,
    "approval": chatting.approval,
    "session_search": remembering.session_search,
    "tui": screen.tui,
    "web": webpage.web,
    "ranking": ranking.ranking,
    "neighbours": neighbours.neighbours,
    "load": load.load,
    "soak": soak.soak,
}


HOW_LONG = "All of them, with the peers, take half an hour on two processors, and peers are installed by npm and pip."


def _help() -> str:
    told = [f"  {name:<16}{(measure.__doc__ or '').strip().splitlines()[0]}" for name, measure in ALL.items()]
    peers = "  peers           Ours beside others; names of some may follow."
    turns = "AGI_TURNS sets how many turns `soak` and `neighbours` take."
    return "\n".join(((__doc__ or "").strip(), "", *told, peers, "", f"{HOW_LONG} {turns}"))


def main(names: list[str]) -> None:
    """Measure what is named, or everything."""
    if set(names) & {"-h", "--help"}:
        print(_help())
        return
    if names[:1] == ["peers"]:
        _peers(names[1:])
        return
    if unknown := [name for name in names if name not in ALL]:
        sys.exit(f"There is no measurement {unknown[0]!r}. There are: {', '.join(ALL)}, peers.")
    heads = ("what", "ours", "floor", "ratio", "bar", "note")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, Python {sys.version.split()[0]}\n")
    print("| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads))
    for name in names or ALL:
        for row in ALL[name]():
            print("| " + " | ".join(row.cells()) + " |", flush=True)
    if not names:
        print()
        _peers([])


def _peers(names: list[str]) -> None:
    from bench.peers.known import PEERS
    from bench.peers.run import peers

    known = [peer.name for peer in PEERS]
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"There is no peer {unknown[0]!r}. There are: {', '.join(known)}.")
    print(peers(names))


if __name__ == "__main__":
    main(sys.argv[1:])
