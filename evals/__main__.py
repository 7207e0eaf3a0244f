"""`python -m evals [tuned|held-out|seen] [id …]`: ask the embedded model, and print one table.

Without arguments the forty questions the bars are about are asked: those that were tuned on, and those held out.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from agi.errors import Invalid
from agi.models.embedded import Embedded, Engine
from agi.models.small import SmallModel
from agi.models.weights import cached, is_ours
from evals.asking import Asked, Site
from evals.questions import HELD_OUT, QUESTIONS, SEEN, TUNED, Question

BAR_QUESTIONS = 40
BARS = {"right tool": 36, "right answer": 30}
CPU_BAR_S = 10.0


def chosen(arguments: Sequence[str]) -> list[Question]:
    """The questions a command line names, by kind or by id; the forty if it names none."""
    kinds = {word.replace("-", " ") for word in arguments} & {TUNED, HELD_OUT, SEEN}
    ids = {word for word in arguments if word.replace("-", " ") not in kinds}
    if ids:
        return [one for one in QUESTIONS if one.id in ids]
    return [one for one in QUESTIONS if one.kind in (kinds or {TUNED, HELD_OUT})]


def find_weights(env: Mapping[str, str]) -> Path:
    """The file named by AGI_WEIGHTS, else the verified one in the cache; raises Invalid."""
    found = cached(env, env.get("AGI_WEIGHTS") or None)
    if found is None:
        raise Invalid("There are no weights to evaluate.", hint="Run `agi models fetch`, or set AGI_WEIGHTS to a file.")
    return found


async def run(questions: Sequence[Question], weights: Path, folder: Path) -> list[Asked]:
    """Ask them all, a project at a time, each in a warm session of its own."""
    engine = Engine(weights, keep_in=weights.parent if is_ours(weights) else folder)
    model = SmallModel(Embedded(engine))
    asked: list[Asked] = []
    print("| question | tool | answer | CPU-s | said |\n|---|---|---|---|---|")
    for project in dict.fromkeys(one.project for one in questions):
        site = Site(folder, project, model)
        try:
            warmed = await site.warm()
            print(f"| *{project}: warming* | | | {warmed:.1f} | |", flush=True)
            for question in questions:
                if question.project == project:
                    asked.append(await site.ask(question))
                    print(_row(asked[-1]), flush=True)
        finally:
            await site.harness.close()
    await engine.close()
    return asked


def _row(one: Asked) -> str:
    calls = "; ".join(f"{tool} {argument}{'' if ok else ' (failed)'}" for tool, argument, ok in one.calls) or "none"
    marks = ["yes" if right else "**no**" for right in (one.right_tool, one.right_answer)]
    said = " ".join((one.answer or one.error).split()).replace("|", "\\|")[:160]
    asked = f"{one.question.id} ({one.question.kind}) {one.question.text}"
    return f"| {asked} | {marks[0]}: {calls} | {marks[1]} | {one.cpu_s:.1f} | {said} |"


def summary(asked: Sequence[Asked]) -> list[str]:
    """How many were right, by kind, and what a first answer costs."""
    lines = []
    for name in (TUNED, HELD_OUT, SEEN, "all"):
        group = [one for one in asked if name in (one.question.kind, "all")]
        if group:
            tools, answers = sum(one.right_tool for one in group), sum(one.right_answer for one in group)
            cpu = sorted(one.cpu_s for one in group)
            lines.append(
                f"| {name} | {tools} of {len(group)} | {answers} of {len(group)} | {statistics.median(cpu):.1f} | "
                f"{cpu[-1]:.1f} | {sum(second <= CPU_BAR_S for second in cpu)} of {len(group)} |"
            )
    return lines


def main(arguments: Sequence[str]) -> int:
    """Evaluate and say whether the bars are met; they are meant for all questions together."""
    try:
        weights = find_weights(os.environ)
    except Invalid as error:
        print(f"skipped: {error.message} {error.hint}")
        return 0
    with tempfile.TemporaryDirectory(prefix="agi-evals-") as folder:
        asked = asyncio.run(run(chosen(arguments), weights, Path(folder)))
    print(f"\nload average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; weights {weights.name}\n")
    print("| questions | right tool | right answer | CPU-s, median | CPU-s, most | within 10 CPU-s |")
    print("|---|---|---|---|---|---|")
    print("\n".join(summary(asked)))
    counted = [one for one in asked if one.question.kind != SEEN]
    if len(counted) < BAR_QUESTIONS:
        return 0
    tools, answers = sum(one.right_tool for one in counted), sum(one.right_answer for one in counted)
    met = tools >= BARS["right tool"] and answers >= BARS["right answer"]
    bars = f"right tool >= {BARS['right tool']}, right answer >= {BARS['right answer']}"
    print(f"\nbars: {bars}: {'met' if met else 'NOT met'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
