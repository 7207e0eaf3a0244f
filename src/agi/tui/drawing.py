"""How an entry looks: its lines at a width, in a palette, folded or not.

Drawn lines are kept by whoever shows them. May import: counts, tui.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct
from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from agi.counts import counted
from agi.tui.entries import Aside, Call, Entry, Said, Thought, Told
from agi.tui.markdown import blocks, drawn, plain
from agi.tui.safe import one_line, shown
from agi.tui.times import lasting
from agi.tui.tokens import Palette

MARKS = {
    "asked": "○",
    "waiting": "◆",
    "running": "●",
    "ok": "✓",
    "failed": "✗",
    "refused": "✗",
    "interrupted": "■",
}
"""The shape of a call's state; its word stands beside it where it is not just done."""
FOLDED = 8
"""Lines of a failed or running call's output, or of a diff, that are shown folded."""
UNFOLDED = 400
"""Lines that are shown when all is unfolded; there is `/diff` for more."""
MARGIN = 1


class Look(Struct, frozen=True):
    """What drawing depends on, beside the entry."""

    width: int
    palette: Palette
    unfolded: bool = False


@lru_cache(maxsize=256)
def style(palette: Palette, colour: str = "", ground: str = "", attributes: str = "") -> Style:
    """A style in the words of a palette, such as `bad` on `raised`, `bold`."""
    words = [attributes]
    for name, before in ((colour, ""), (ground, "on ")):
        value = getattr(palette, name) if name else ""
        if palette.native:
            value = value.removeprefix("ansi_")
        words.append(f"{before}{value}" if value else "")
    return Style.parse(" ".join(word for word in words if word) or "none")


def marked(palette: Palette) -> Style:
    """How a marked row looks, also where there are no colours."""
    return style(palette, "text", "sel", "reverse" if palette.native else "")


def draw(entry: Entry, look: Look) -> list[Strip]:
    """The lines of an entry, with a blank one before where another one begins to speak."""
    head = _head(entry, look) if entry.head else [Strip([])] if entry.gap else []
    match entry:
        case Thought():
            words = len(entry.text.split())
            body = _folded(entry, look, f"thought · {words} {'word' if words == 1 else 'words'}")
        case Aside():
            body = _folded(
                entry, look, f"told the model about the workspace · {counted(len(entry.text.splitlines()), 'line')}"
            )
        case Said():
            body = _said(entry, look)
        case Call():
            body = _call(entry, look)
        case Told():
            body = _told(entry, look)
        case _:
            body = []
    return [*head, *body]


def _line(look: Look, *pieces: tuple[str, Style], indent: int = MARGIN) -> Strip:
    segments = [Segment(" " * indent), *(Segment(text, made) for text, made in pieces if text)]
    return Strip(segments).crop(0, look.width)


def _lines(lines: list[list[Segment]], indent: int = MARGIN) -> list[Strip]:
    return [Strip([Segment(" " * indent), *line]) for line in lines]


def _head(entry: Entry, look: Look) -> list[Strip]:
    colour = "accent" if isinstance(entry, Said) and entry.by_user else "agent"
    who, _, rest = one_line(entry.head, 200).partition(" · ")
    pieces = [
        (who, style(look.palette, colour, "", "bold")),
        (f" · {rest}" if rest else "", style(look.palette, "faint")),
    ]
    return [Strip([]), _line(look, *pieces)]


def _said(entry: Said, look: Look) -> list[Strip]:
    width = look.width - 2 * MARGIN
    if entry.by_user:
        made = [*plain(shown(entry.text).strip("\n"), width, look.palette)]
        lines = _lines(made)
    else:
        lines = []
        for text in blocks(entry.text):
            if text.strip():
                lines += [Strip([])] if lines else []
                lines += _block(text, width, look.palette)
    if entry.note:
        lines.append(_line(look, (f"[{entry.note}]", style(look.palette, "bad"))))
    return lines


@lru_cache(maxsize=512)
def _block(text: str, width: int, palette: Palette) -> list[Strip]:
    return _lines(drawn(text, width, palette))


def _folded(entry: Said, look: Look, about: str) -> list[Strip]:
    """One line that says what it is, or all of it where everything is unfolded."""
    faint = style(look.palette, "faint", "", "italic")
    if not look.unfolded:
        last = one_line(entry.text[-200:].rpartition("\n")[2], 80) if entry.live else ""
        return [_line(look, (f"… thinking: {last}" if entry.live else f"▸ {about}", faint))]
    made = plain(shown(entry.text).strip(), look.width - 2 * MARGIN - 2, look.palette)
    return [Strip([Segment(" " * (MARGIN + 2)), *Segment.apply_style(line, faint)]) for line in made]


def _call(entry: Call, look: Look) -> list[Strip]:
    palette = look.palette
    colour = {"ok": "ok", "failed": "bad", "refused": "bad", "waiting": "wait", "running": "accent"}.get(
        entry.state, "faint"
    )
    word = {"waiting": "waits for you", "refused": "refused", "interrupted": "interrupted", "running": "running"}
    right = " ".join(part for part in (entry.telling, word.get(entry.state, "")) if part)
    if entry.seconds is not None and entry.state in ("ok", "failed"):
        right = f"{right}  {lasting(entry.seconds):>6}".strip()
    name = one_line(entry.name, 20)
    left = f"{name:<6} "
    room = look.width - 2 * MARGIN - 2 - cell_len(left) - (cell_len(right) + 2 if right else 0)
    about = entry.about
    if cell_len(about) > room:
        about = set_cell_size(about, max(room - 1, 0)).rstrip() + "…" if room > 1 else ""
    gap = " " * max(look.width - 2 * MARGIN - 2 - cell_len(left) - cell_len(about) - cell_len(right), 1)
    first = _line(
        look,
        (f"{MARKS[entry.state]} ", style(palette, colour)),
        (left, style(palette, "muted")),
        (about, style(palette, "text")),
        (gap, style(palette)),
        (right, style(palette, "bad" if entry.state in ("failed", "refused") else "faint")),
    )
    return [first, *_below(entry, look)]


def _below(entry: Call, look: Look) -> list[Strip]:
    """What is shown under a call: the change it made; of others the output, if it failed, runs, or all is unfolded."""
    if entry.patch:
        return diff_lines(entry.patch, look, indent=5, limit=UNFOLDED if look.unfolded else FOLDED, hunks_only=True)
    if entry.state in ("asked", "waiting") or not (look.unfolded or entry.state in ("failed", "refused", "running")):
        return []
    text = shown(entry.output).strip("\n")
    if not text:
        return []
    lines = text.split("\n")
    limit = UNFOLDED if look.unfolded else FOLDED
    kept = lines[-limit:] if entry.state == "running" else _ends(lines, limit)
    left_out = len(lines) - len(kept)
    made = [_line(look, (_cut(line, look.width - 6), style(look.palette, "muted")), indent=5) for line in kept]
    if left_out > 0:
        note = _line(
            look,
            (f"… {left_out} more {'line' if left_out == 1 else 'lines'} (ctrl+o)", style(look.palette, "faint")),
            indent=5,
        )
        made.insert(0 if entry.state == "running" else limit // 2, note)
    return made


def _ends(lines: list[str], limit: int) -> list[str]:
    """The first and the last lines: where a command failed, both tell."""
    if len(lines) <= limit:
        return lines
    return [*lines[: limit // 2], *lines[-(limit - limit // 2) :]]


def diff_lines(
    patch: str, look: Look, *, indent: int = MARGIN, limit: int = 0, hunks_only: bool = False
) -> list[Strip]:
    """A unified diff, coloured and with its signs; only outside of hunks does `+++` or `---` name a file."""
    palette, made, in_hunk = look.palette, [], False
    width = look.width - indent - MARGIN
    lines = shown(patch.rstrip("\n")).split("\n")
    for line in lines:
        in_hunk = line.startswith("@@") or (in_hunk and not line.startswith("diff "))
        if hunks_only and not in_hunk:
            continue
        sign = line[:1] if in_hunk else ""
        ground = {"+": "add", "-": "remove"}.get(sign, "")
        colour = {"@": "faint", "+": "text", "-": "text"}.get(sign, "muted" if in_hunk else "text")
        made.append((_cut(line, width), style(palette, colour, ground, "" if in_hunk else "bold")))
    left_out = len(made) - limit if limit else 0
    shown_lines = made[:limit] if left_out > 0 else made
    strips = [
        _line(look, (set_cell_size(text, width) if kind.bgcolor else text, kind), indent=indent)
        for text, kind in shown_lines
    ]
    if left_out > 0:
        strips.append(_line(look, (f"… {left_out} more lines (ctrl+o, /diff)", style(palette, "faint")), indent=indent))
    return strips


def _cut(text: str, width: int) -> str:
    """A line that fits; what is cut off is marked."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + "…"


def _told(entry: Told, look: Look) -> list[Strip]:
    colour = {"good": "ok", "bad": "bad", "wait": "wait"}.get(entry.tone, "muted")
    made = style(look.palette, colour)
    lines = plain(shown(entry.text), look.width - 2 * MARGIN, look.palette)
    return [Strip([Segment(" " * MARGIN), *Segment.apply_style(line, made)]) for line in lines]
