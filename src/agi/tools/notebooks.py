"""A notebook as text: its cells in order, and what they put out. Pure. May import: nothing of ours."""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class _Output(Struct):
    text: str | list[str] = ""
    data: dict[str, object] = {}
    ename: str = ""
    evalue: str = ""
    traceback: list[str] = []


class _Cell(Struct):
    cell_type: str = ""
    source: str | list[str] = ""
    outputs: list[_Output] = []


class _Notebook(Struct):
    cells: list[_Cell]


def notebook_text(data: bytes) -> str | None:
    """The cells of a notebook and their outputs; None if it is not one."""
    try:
        cells = msgspec.json.decode(data, type=_Notebook).cells
    except (msgspec.DecodeError, RecursionError):
        return None
    return "\n".join(_cell(number, cell) for number, cell in enumerate(cells, 1))


def _cell(number: int, cell: _Cell) -> str:
    shown = [f"[cell {number}: {cell.cell_type[:40]}]", _joined(cell.source)]
    shown += [_output(output) for output in cell.outputs]
    return "\n".join(part.removesuffix("\n") for part in shown if part)


def _output(output: _Output) -> str:
    """Text as it is; of pictures and the like, only that they are there."""
    text = _joined(output.text) or _joined(output.data.get("text/plain", ""))
    if output.ename:
        text = "\n".join(output.traceback) or f"{output.ename}: {output.evalue}"
    others = [kind for kind in output.data if kind != "text/plain" and not (kind == "text/html" and text)]
    notes = "".join(f"[{kind[:80]}, not shown]\n" for kind in others)
    return f"[output]\n{_COLOUR.sub('', text)}".removesuffix("\n") + "\n" + notes if text or notes else ""


def _joined(text: object) -> str:
    if isinstance(text, list):
        return "".join(part for part in text if isinstance(part, str))
    return text if isinstance(text, str) else ""
