"""Programs that start another one: which one, where that can be told, else everything it could be.

`env`, `xargs`, `timeout`, `find -exec`, `sh -c` and their like. A table says which of their options take a value; with
an option that is not in it, any word may be the program. May import: policy.bash.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from msgspec import Struct, field

from agi.policy.bash.values import UNKNOWN, has_option, names

SHELLS = names("sh bash dash zsh ksh ash fish rbash csh tcsh pwsh powershell")
CODE_TAKERS = names("eval trap ssh su watch parallel script flock entr")
"""Those that give an argument to a shell."""
MOST_WORDS = 200
"""Behind so many words nothing is looked for any more."""


class Started(Struct):
    """What a program starts besides itself."""

    commands: list[list[str]] = field(default_factory=list)
    """Programs with their arguments."""
    code: list[str] = field(default_factory=list)
    """Text that a shell reads."""
    certain: bool = True
    """Whether that is all; if not, `commands` holds whatever could be one."""


def name_of(word: str) -> str:
    """A program's name without its folder."""
    return word.rpartition("/")[2].lower()


def started_by(words: list[str]) -> Started | None:
    """Tell what a command starts; None if it is not known to start anything."""
    name = name_of(words[0])
    if name in SHELLS:
        return _shell(words[1:])
    if name.startswith(("python", "pypy")) and "-m" in words[1:-1]:
        # A module by its name is as good as a program of that name.
        return Started([words[words.index("-m") + 1 :]])
    find = _FINDERS.get(name)
    if find is not None:
        return find(words[1:])
    if name in _OPTIONS:
        return _wrapped(name, words)
    if name in UNSURE or name in CODE_TAKERS or name.startswith(("ld-linux", "ld-musl", "ld.so")):
        return _anything(words)
    return None


def _anything(words: list[str]) -> Started:
    """Any word may be the program, and any a piece of code."""
    later = [words[index:] for index in range(1, len(words))]
    code = words[1:] if name_of(words[0]) in CODE_TAKERS else []
    return Started(later, list(code), certain=False)


def _wrapped(name: str, words: list[str]) -> Started:
    """Pass over options, their values, assignments and positional words, as the table has them."""
    flags, valued, skipped = _OPTIONS[name]
    at = 1
    while at < len(words) and words[at][:1] == "-" and words[at] != "-":
        option = words[at]
        at += 1
        if option == "--":
            break
        if option in valued:
            at += 1
        elif not _is_known(option, flags, valued):
            return _anything(words)
    rest = words[at:]
    while rest and _is_assigned(name, rest[0]):
        rest = rest[1:]
    rest = rest[skipped:]
    if not rest:
        return Started()
    return Started([rest], certain=UNKNOWN not in "".join(words[1 : len(words) - len(rest)]))


def _is_known(option: str, flags: frozenset[str], valued: frozenset[str]) -> bool:
    """An option without a value, one with its value joined, or several letters joined."""
    long = option.partition("=")[0]
    if option in flags or (option.startswith("--") and "=" in option and long in valued):
        return True
    if option.startswith("--") or UNKNOWN in option:
        return False
    if option[:2] in valued:
        return True
    return all(f"-{letter}" in flags or (letter.isdigit() and "-0..9" in flags) for letter in option[1:])


def _is_assigned(program: str, word: str) -> bool:
    """Tell whether a word in front of the program sets a variable: to `env`, anything with an equals sign does."""
    if program == "env":
        return "=" in word or word == "-"
    return program == "time" and word.partition("=")[0].isidentifier() and "=" in word


def _find(arguments: list[str]) -> Started:
    found = Started()
    for index, argument in enumerate(arguments):
        if argument in ("-exec", "-execdir", "-ok", "-okdir"):
            rest = arguments[index + 1 :]
            end = next((at for at, word in enumerate(rest) if word in (";", "+")), len(rest))
            found.commands += [rest[:end]] if rest[:end] else []
    return found


def _fd(arguments: list[str]) -> Started:
    starts = ("-x", "-X", "--exec", "--exec-batch")
    later = [arguments[at + 1 :] for at, word in enumerate(arguments) if word in starts and arguments[at + 1 :]]
    joined = any(word.startswith(("-x", "-X", "--exec")) and word not in starts for word in arguments)
    return _anything(["fd", *arguments]) if joined else Started(later)


def _xargs(arguments: list[str]) -> Started:
    """The program may be made from the input where it stands in the place of `{}`."""
    found = _wrapped("xargs", ["xargs", *arguments])
    replaced = has_option(arguments, "IiJ", "--replace")
    if replaced and any("{" in command[0] or len(command[0]) == 1 for command in found.commands):
        return _anything(["xargs", *arguments])
    return found


def _command(arguments: list[str]) -> Started:
    return Started() if has_option(arguments[:1], "vV") else _wrapped("command", ["command", *arguments])


def _eval(arguments: list[str]) -> Started:
    return Started(code=[" ".join(arguments)] if arguments else [])


def _trap(arguments: list[str]) -> Started:
    if len(arguments) < 2 or arguments[0] in ("-", "-l", "-p"):
        return Started()
    return Started(code=[arguments[1] if arguments[0] == "--" else arguments[0]])


def _shell(arguments: list[str]) -> Started:
    """The code behind `-c`; a script, and what comes through a pipe, could start anything."""
    at, code = 0, False
    while at < len(arguments) and arguments[at][:1] in ("-", "+") and arguments[at] not in ("-", "--"):
        option = arguments[at]
        if option.startswith("--") or UNKNOWN in option or option.strip("-+").strip("abcefhiklmnprstuvxBCEHPTo"):
            return Started(code=arguments[at:], certain=False)
        code = code or "c" in option
        at += 2 if option.endswith(("o", "O")) else 1
    rest = arguments[at + (arguments[at : at + 1] == ["--"]) :]
    if not code:
        return Started(certain=False)
    return Started(code=rest[:1], certain=bool(rest))


_OPTIONS: Mapping[str, tuple[frozenset[str], frozenset[str], int]] = MappingProxyType(
    {
        "builtin": (names("--"), names(""), 0),
        "busybox": (names(""), names(""), 0),
        "chronic": (names("-v -e"), names(""), 0),
        "command": (names("-p"), names(""), 0),
        "doas": (names("-n"), names("-u"), 0),
        "env": (
            names("-i -0 -v --ignore-environment --null --debug"),
            names("-u -C --unset --chdir"),
            0,
        ),
        "exec": (names("-c -l"), names("-a"), 0),
        "ionice": (names("-t --ignore"), names("-c -n --class --classdata"), 0),
        "nice": (names("-0..9"), names("-n --adjustment"), 0),
        "nohup": (names(""), names(""), 0),
        "setsid": (names("-c -f -w --ctty --fork --wait"), names(""), 0),
        "stdbuf": (names(""), names("-i -o -e --input --output --error"), 0),
        "sudo": (names("-A -b -E -H -k -n -P -S"), names("-u -g -p -C -h -r -t --user --group"), 0),
        "time": (names("-p -a -v -q --portability --append --verbose --quiet"), names("-f -o --format --output"), 0),
        "timeout": (
            names("-v --verbose --foreground --preserve-status"),
            names("-k -s --kill-after --signal"),
            1,
        ),
        "toybox": (names(""), names(""), 0),
        "xargs": (
            names("-0 -r -t -p -x -o --null --no-run-if-empty --verbose --interactive --exit --open-tty --show-limits"),
            names(
                "-I -n -P -L -s -d -E -a -J -R --max-args --max-procs --max-lines --max-chars --delimiter --arg-file "
                "--replace --eof"
            ),
            0,
        ),
    }
)
"""Of each: options without a value, options with one, and how many words come before the program."""
UNSURE = names(
    "chroot unshare nsenter strace ltrace systemd-run firejail bwrap docker podman kubectl npx uv uvx poetry pipx "
    "pdm hatch bunx pnpx watch parallel script flock ssh su entr runuser setpriv taskset chrt numactl unbuffer "
    "faketime proot fakeroot rlwrap setarch linux32 linux64 i386 x86_64 prlimit choom valgrind sg run-parts ssh-agent "
    "xvfb-run dbus-run-session dbus-launch systemd-inhibit start-stop-daemon hyperfine at batch daemonize perf "
    "catchsegv gdb heaptrack cgexec newgrp unbuffer tsocks proxychains torsocks"
)
"""Those whose options are not in the table."""
_FINDERS: Mapping[str, Callable[[list[str]], Started]] = MappingProxyType(
    {"command": _command, "eval": _eval, "fd": _fd, "find": _find, "trap": _trap, "xargs": _xargs}
)
WRAPPERS = frozenset({*_OPTIONS, *_FINDERS, *UNSURE, *CODE_TAKERS})
"""All of them, shells apart."""
