"""Rules of .gitignore files: the same answers as git's, and no pattern that takes long."""

import os
import random
import subprocess
import time

import pytest

from agi.workspace.ignore import ANY, Rule, Rules, inherited, read_rules


def ignored(text, path, *, is_folder=False):
    return bool(Rules(read_rules(text)).verdict(path.split("/"), is_folder=is_folder))


@pytest.mark.parametrize(
    ("rule", "path", "leaves_out"),
    [
        ("*.py", "a/b.py", True),
        ("b.py", "a/b.py", True),
        ("/b.py", "a/b.py", False),
        ("a/*.py", "a/b.py", True),
        ("a/*.py", "x/a/b.py", False),
        ("a/**", "a", False),
        ("a/**", "a/b/c", True),
        ("**/c", "c", True),
        ("a/**/c", "a/c", True),
        ("a/**/c", "a/x/y/c", True),
        ("a/*/c", "a/c", False),
        ("foo**bar", "foo-bar", True),
        ("[ab].py", "b.py", True),
        ("[!ab].py", "b.py", False),
        ("[]x]", "]", True),
        ("[z-a]", "b", False),
        ("[[:digit:]]x", "3x", True),
        ("a[", "a[", False),
        ("a\\", "a\\", False),
        ("\\*x", "*x", True),
        ("\\#x", "#x", True),
        ("\\!x", "!x", True),
        ("#x", "#x", False),
        ("x ", "x", True),
        ("x\\ ", "x ", True),
        ("x\r", "x", True),
        ("", "x", False),
        ("/", "x", False),
        ("a//b", "a/b", False),
        ("\ufeffx", "x", True),
    ],
)
def test_a_rule_means_what_it_means_to_git(rule, path, leaves_out):
    """Names at any depth, anchored paths, stars, classes, escapes."""
    assert ignored(rule, path) is leaves_out


def test_the_last_rule_that_fits_decides():
    """A later exception brings a file back."""
    assert ignored("*.log\n!keep.log\n", "a/x.log")
    assert not ignored("*.log\n!keep.log\n", "a/keep.log")
    assert ignored("!keep.log\n*.log\n", "keep.log")


def test_a_rule_for_folders_leaves_files_alone():
    """A slash at the end."""
    assert ignored("build/", "build", is_folder=True)
    assert not ignored("build/", "build")


NAMES = ["a", "b", "ab", "a.py", "b.log", ".x", "A", "a b", "[", "a-b"]
GLOBS = ["a", "*", "*.py", "?", "a*", "*b", "[ab]", "[!a]*", "**", ".*", "[[:alpha:]]", "a[-]b", "\\[", "*.l?g", "A"]


def git_says(folder, rules, paths):
    """Which of the paths git leaves out."""
    (folder / ".gitignore").write_text(rules)
    asked = "\0".join(paths).encode()
    done = subprocess.run(
        ["git", "-c", "core.quotePath=false", "check-ignore", "-z", "--no-index", "--stdin"],
        cwd=folder,
        input=asked,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"},
    )
    return {path.decode() for path in done.stdout.split(b"\0") if path}


def test_generated_rules_mean_what_they_mean_to_git(tmp_path):
    """A hundred and fifty files of rules, each asked about many paths, folder by folder as a walk would."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    chance = random.Random(22)
    for _ in range(150):
        lines = []
        for _ in range(chance.randint(1, 5)):
            parts = [chance.choice(GLOBS) for _ in range(chance.randint(1, 3))]
            lines.append(
                chance.choice(["", "", "!"]) + chance.choice(["", "/"]) + "/".join(parts) + chance.choice(["", "", "/"])
            )
        text = "\n".join(lines) + "\n"
        paths = sorted({"/".join(chance.choice(NAMES) for _ in range(chance.randint(1, 3))) for _ in range(40)})
        rules = Rules(read_rules(text))

        def is_left_out(path, rules=rules):
            names = path.split("/")
            return any(rules.verdict(names[:n], is_folder=n < len(names)) for n in range(1, len(names) + 1))

        assert {path for path in paths if is_left_out(path)} == git_says(tmp_path, text, paths), text


def test_rules_of_a_folder_above_are_told_as_they_hold_below():
    """What is left of each when the way down is used up."""
    rules = read_rules("/pk*/*/build\n*.o\n!/pkg/x/keep\nfoo/**/z\n/pkg/y/q\n/pkg/x/**/deep/\n")

    assert [str(rule) for rule in inherited(rules, ["pkg", "x"])] == ["/build", "/**/*.o", "!/keep", "/**/deep/"]


def test_a_folder_that_is_ignored_itself_shows_what_is_in_it():
    """Whoever looks into it wants to see it."""
    assert inherited(read_rules("build/\n*.o\n"), ["build", "sub"]) == []
    assert inherited(read_rules("*\n"), ["anything"]) == []


def test_no_rule_takes_long():
    """Neither many stars, nor many rules, nor an endless line."""
    hostile = "*a" * 60 + "b\n" + "/".join([ANY, "a*a*a*a*a*b"] * 30) + "\n" + "[" * 5_000 + "\n" + "x?*" * 2_000 + "\n"
    rules = Rules(read_rules(hostile + "r*\n" * 100_000))
    began = time.process_time()

    for name in ("a" * 250, "x" * 250, "b"):
        assert rules.verdict([name] * 50, is_folder=True) in (None, True)

    assert time.process_time() - began < 2


def test_a_rule_is_written_as_a_line():
    """In a form that means the same to any reader of such files."""
    assert str(Rule((ANY, "a"), negated=True, only_folders=True)) == "!/**/a/"
