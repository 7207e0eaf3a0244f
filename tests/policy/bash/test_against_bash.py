"""What bash really starts is the judge: the gate sees every program of it, or says that it cannot tell.

Lines are made at random: from a grammar, from such lines with something broken in them, and from the shell's own signs.
Each that the gate claims to understand is run for real (see `running.py`), and strace tells what was started.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.policy.bash.running import make_programs, started

from agi.policy.bash.seen import see

MISSING = [name for name in ("bash", "strace") if not shutil.which(name)]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")

SIGNS = (
    *("rm x", "rm", "r", "m", "'rm x'", '"rm x"', '"$(rm x)"', "{rm,x}", "echo", "true", "cat ", "a", "b ", "c;", "x="),
    *("$(", ")", "(", "`", "'", '"', "\\", "\\\n", "$", "$'", "''", "${", "}", ":-", "$((", "((", "))", "[", "]", "="),
    *(
        ";",
        "&&",
        "|",
        "||",
        "|&",
        "\n",
        " ",
        " ",
        " ",
        "#",
        "{ ",
        " }",
        "[[ ",
        " ]]",
        "!",
        "<",
        ">",
        "2>&1",
        "&>",
        "<<<",
    ),
    *("<(", "<<E", "\nE\n", "<<'E'", "<<-E", "if ", "then ", "fi", "else ", "do ", "done", "for a in b", "until "),
    *(
        "time ",
        "eval ",
        "sh -c ",
        "env ",
        "xargs ",
        "exec ",
        "nice ",
        "timeout 1 ",
        "command ",
        "-c ",
        "trap '",
        "EXIT",
    ),
    *("${x:-", "${x#", "$x", "@P}", "[0]", "case a in ", "a)", "esac", ";;", "[ ", "] ", " -v ", "-eq", "test ", "~"),
    *("printf -v ", "export ", "declare ", "\t", "find . -exec ", "{}", "\\;", "+", "'a[$(rm x)]'", "x='a[$(rm x)]';"),
    *("let ", "time -p ", "coproc ", "builtin ", ">&", "|\n", "&\n", "&", "1", "-", "*"),
)


class Lines:
    """Makes lines that mean something."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._functions = 0

    def line(self, depth: int = 2) -> str:
        """Statements one after the other."""
        joints = ["; ", " && ", " || ", " | ", " |& ", " & ", "\n", " ;\n"]
        count = self._chance.choice([1, 1, 1, 2, 2, 3])
        made = [self._statement(depth) for _ in range(count)]
        return "".join(f"{self._chance.choice(joints) if index else ''}{one}" for index, one in enumerate(made))

    def _statement(self, depth: int) -> str:
        if depth <= 0 or self._chance.random() < 0.45:
            return self._simple(depth)
        inner = self.line(depth - 1)
        return self._chance.choice(
            [
                lambda: f"({inner})",
                lambda: f"{{ {inner}; }}",
                lambda: f"if {inner}; then {self.line(depth - 1)}; else {self._simple(0)}; fi",
                lambda: f"if {self._simple(0)}; then {inner}; elif {self._simple(0)}; then {self._simple(0)}; fi",
                lambda: f"for v in {self._word(depth - 1)} {self._word(depth - 1)}; do {inner}; done",
                lambda: f"case {self._word(0)} in a) {inner};; *) {self._simple(0)};; esac",
                lambda: self._function(inner),
                lambda: self._document(),
                lambda: self._chance.choice(["[[ -f a ]] && ", "[ a = b ] || ", "! ", "(( 1 )) && "]) + inner,
            ]
        )()

    def _function(self, inner: str) -> str:
        self._functions += 1  # one that called itself would never end
        return f"fn{self._functions}() {{ {inner}; }}; fn{self._functions}"

    def _document(self) -> str:
        sign = self._chance.choice(["E", "'E'", "-E", '"E"'])
        behind = self._chance.choice(["", f" | {self._simple(0)}", f" && {self._simple(0)}", " >o"])
        text = self._chance.choice(["text", "$x", "it's (a", "rm x", "\trm x"])
        return f"cat <<{sign}{behind}\n{text}\nE\n{self._simple(0)}"

    def _simple(self, depth: int) -> str:
        code = "rm x; ls" if depth <= 0 else self.line(0).replace("'", "")
        before = self._chance.choice([""] * 6 + BEFORE)
        if self._chance.random() < 0.35:
            return self._chance.choice(
                [
                    f"{before}sh -c '{code}'",
                    f"{before}bash -e -o pipefail -c '{code}'",
                    f"{before}eval '{code}'",
                    f"echo a | xargs {self._chance.choice(['', '-n1 ', '-I{} ', '-0 '])}{self._chance.choice(INNER)}",
                    f"find . -maxdepth 0 -exec {self._chance.choice(INNER)} {{}} \\;",
                    "trap 'rm x' EXIT",
                ]
            )
        words = "".join(f" {self._word(depth)}" for _ in range(self._chance.randrange(4)))
        return before + self._chance.choice(PROGRAMS) + words + self._chance.choice([""] * 8 + REDIRECTS)

    def _word(self, depth: int) -> str:
        if depth > 0 and self._chance.random() < 0.4:
            inner = self.line(depth - 1)
            forms = [f"$({inner})", f'"$({inner})"', f"`{self._simple(0)}`", f"${{x:-$({inner})}}", f"<({inner})"]
            return self._chance.choice(forms)
        return self._chance.choice(WORDS)


BEFORE = ["x=1 ", "x=$(b) ", "env ", "env A=1 ", "env =1 ", "nice ", "nice -n 5 ", "timeout 2 ", "timeout -s KILL 2 "]
BEFORE += ["nohup ", "time ", "time - ", "command ", "exec ", "builtin ", "stdbuf -oL ", "! "]
PROGRAMS = ["ls", "cat", "rm", "git", "a", "b", "echo", "printf", "true", "test", "'rm'", "r\\m", "r''m", '"ls"', ":"]
INNER = ["rm", "ls", "env rm", "sh -c 'rm x'", "nice ls"]
WORDS = [
    "a",
    "-n",
    "--opt=v",
    "a/b",
    "'a b'",
    "'$(rm x)'",
    "'`rm`'",
    '"$x"',
    '"it\'s"',
    '"\\$(rm)"',
    "$x",
    "${x}",
    "$?",
]
WORDS += [
    "${x:-a}",
    "${x%.a}",
    "${x//a/b}",
    "a*",
    "{a,b}",
    "~/x",
    "a\\ b",
    "a#b",
    "$'a'",
    "$((1+2))",
    "$((x+1))",
    "a=b",
]
REDIRECTS = [" >o", " 2>/dev/null", " >>o", " 2>&1", " </dev/null", " <<<a", " &>o", " >|o", " >&2", " 3>&1", " <&-"]


def well_formed(chance: random.Random, lines: Lines) -> str:
    return lines.line()


def broken(chance: random.Random, lines: Lines) -> str:
    line = lines.line()
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(line) + 1)
        line = chance.choice(
            [line[:at] + chance.choice(SIGNS) + line[at:], line[:at] + line[at + chance.randint(1, 3) :]]
        )
    return line


def signs(chance: random.Random, lines: Lines) -> str:
    return "".join(chance.choice(SIGNS) for _ in range(chance.randint(2, 12)))


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """What lines find on their PATH."""
    return make_programs(tmp_path / "programs")


def check(make: Callable[[random.Random, Lines], str], seed: int, count: int, programs: Path, tmp_path: Path) -> int:
    """Compare for so many lines; gives how many of them started something."""
    chance = random.Random(seed)
    lines = Lines(chance)
    made = [line for line in (make(chance, lines) for _ in range(count)) if "\0" not in line]
    understood = [(line, seen) for line in made if not ((seen := see(line)).unreadable or seen.unsure)]
    ran = started([line for line, _ in understood], programs, tmp_path / "lines")
    assert len(ran) == len(understood)
    for (line, seen), names in zip(understood, ran, strict=True):
        assert names <= {part.name for part in seen.parts}, line
    return sum(map(bool, ran))


@pytest.mark.threat("T22")
@pytest.mark.parametrize(("make", "count", "least"), [(well_formed, 60, 36), (broken, 60, 10), (signs, 240, 5)])
def test_the_gate_sees_every_program_that_bash_starts(make, count, least, programs, tmp_path):
    """Most well-formed lines are understood and few that are only signs; all of those are seen right."""
    telling = check(make, 7, count, programs, tmp_path)

    assert telling >= least


@pytest.mark.threat("T22")
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("make", [well_formed, broken, signs])
def test_the_gate_sees_every_program_of_thousands_of_lines(make, programs, tmp_path):
    """More of the same; AGI_LINES says how many of each kind. `make enemies` has more than five thousand in all."""
    count = int(os.environ.get("AGI_LINES", "400"))
    telling = check(make, int(os.environ.get("AGI_SEED", "1")), count, programs, tmp_path)
    print(f"{make.__name__}: {count} lines, {telling} of them started something")


def test_the_judge_sees_what_is_started(programs, tmp_path):
    """The judge of the judge, also of what a line leaves in the background and of what has a path."""
    lines = {
        "env rm x": {"env", "rm"},
        "echo $(ls) | xargs -n1 git": {"ls", "xargs", "git"},
        "time - rm": {"-"},
        "env =1 cat": {"env", "cat"},
        "true; echo rm": set(),
        "(cat & wait); sh -c 'nice rm'": {"cat", "sh", "nice", "rm"},
        f"{programs}/rm": {"rm"},
        "gone; rm": {"rm"},
    }

    assert started(list(lines), programs, tmp_path / "lines") == list(lines.values())
