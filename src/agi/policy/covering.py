"""Which simple commands a rule about first words may allow: never one that starts or carries out something else.

A rule for `git status` says what the words after it may not do: no option that runs a program or writes a file, no
path that leads out of the workspace, nothing that only the shell will know. What is not covered is asked about, or
allowed by a rule for that exact command. May import: policy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from agi.policy.bash.seen import is_hidden, is_interpreter
from agi.policy.bash.values import UNKNOWN, SimpleCommand, has_option, names
from agi.policy.bash.wrappers import SHELLS, WRAPPERS, name_of
from agi.policy.places import is_device, is_inside, leads_out

STARTERS = names(
    "make gmake cmake ninja rake just ant nmake bmake bazel sed source . exec eval trap command builtin coproc alias "
    "export declare typeset local readonly set shopt unset read mapfile readarray enable hash bind complete compgen "
    "getopts wait "
    "let curl wget scp sftp rsync socat nc ncat telnet ftp openssl gpg screen tmux less more most man at batch cron "
    "crontab psql mysql mariadb mongo mongosh redis-cli tee dd install xdg-open open vimdiff git-shell sudo doas "
    "pkexec tar zip unzip 7z cpio"
)
"""Programs that start others, change the shell, reach out or write wherever they are told; shells, interpreters and
wrappers besides."""
RUNNERS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "bundle": names("check list"),
        "cargo": names("bench build check clippy doc fmt metadata test tree"),
        "composer": names("validate show"),
        "docker": names("images info inspect logs ps version"),
        "dotnet": names("build test"),
        "go": names("build doc fmt list test version vet"),
        "gradle": names("build check test"),
        "kubectl": names("describe get logs top version"),
        "mvn": names("compile test verify"),
        "npm": names("ls outdated test"),
        "pip": names("check freeze list show"),
        "pnpm": names("list outdated test"),
        "podman": names("images info inspect logs ps version"),
        "poetry": names("check show"),
        "pytest": names(""),
        "swift": names("build test"),
        "terraform": names("fmt validate version"),
        "tofu": names("fmt validate version"),
        "tox": names(""),
        "uv": names("tree version"),
        "yarn": names("list outdated test"),
    }
)
"""Programs that run a project's code or manage packages, and what of theirs is worth a rule: of such a program a rule
covers further plain words, and no options."""
READERS = names(
    "ls cat head tail wc grep egrep fgrep rg sort uniq cut tr diff cmp file stat du df pwd echo printf date basename "
    "dirname realpath readlink nl tac rev fold column paste join comm tree which type whoami id uname ps jq true false "
    "sleep md5sum sha1sum sha256sum sha512sum cksum od hexdump strings seq find expr test [ [[ : printenv nproc tty sed"
)
"""Programs that only look, with the options that are not below."""
GIT_READERS = names(
    "status log diff show blame ls-files ls-tree grep rev-parse rev-list describe shortlog cat-file name-rev "
    "merge-base whatchanged"
)
GIT_ORDINARY = names("add branch commit switch tag")
FREE = names("true false : test [ [[")
"""Builtins that need no rule beside commands that have one."""
_SCRIPTED = names("npm pnpm yarn")
_RUNS_SCRIPTS = names("run run-script")
_TEXT = names("echo printf true false : sleep seq basename dirname expr test [ [[")
"""Programs whose words are no files."""
_PATTERN_FIRST = names("grep egrep fgrep rg jq sed")
"""Programs whose first word is no file, unless an option says so."""
_ACTING: Mapping[str, tuple[str, tuple[str, ...]]] = MappingProxyType(
    {
        "date": ("s", ("--set",)),
        "diff": ("", ("--to-file", "--from-file")),
        "fd": ("xX", ("--exec",)),
        "file": ("Cm", ("--compile", "--magic-file")),
        "git": (
            "O",
            (
                *("--output", "--open-files-in-pager", "--ext-diff", "--textconv", "--upload-pack", "--receive-pack"),
                *("--exec", "--config", "--template", "--remote", "--extcmd"),
            ),
        ),
        "printf": ("v", ()),
        "rg": ("", ("--pre", "--hostname-bin", "--search-zip")),
        "sort": ("oTS", ("--output", "--compress-program", "--temporary-directory", "--files0-from")),
        "test": ("vR", ()),
        "[": ("vR", ()),
        "[[": ("vR", ()),
        "tree": ("oR", ("--output",)),
    }
)
"""Options of programs that run something or write a file: letters and long names."""
_GIT_STARTERS = names("bisect difftool filter-branch filter-repo mergetool send-email submodule daemon instaweb svn p4")
_GIT_LETTERS: Mapping[str, str] = MappingProxyType(
    {"clone": "uc", "rebase": "x", "grep": "f", "commit": "F", "tag": "F"}
)
"""Letters that mean a program to start, or a file to read, to one verb."""
_FIND_ACTS = names("-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from")
_FIND_FIRST = names("-L -H -P")
_SED_READS = re.compile(r"(?:\d+(?:,(?:\d+|\$))?|\$)?[pq=]")
_SED_OPTIONS = names("-n -E -r -s -u -z --quiet --silent --regexp-extended")


def problem_of(command: SimpleCommand) -> str:
    """Say why no rule about first words can allow a command; empty if one can."""
    if command.assigns:
        return "it sets variables, which can change what runs"
    if not command.words:
        return "it starts nothing"
    name = name_of(command.words[0])
    if is_hidden(command.words[0]):
        return "its program is known only when it runs"
    if name in SHELLS or is_interpreter(name) or (name in WRAPPERS and name not in ("find", "fd", *RUNNERS)):
        return f"{name} carries out whatever it is given"
    if name in ("cd", "pushd", "popd"):
        return "it changes where the rest runs"
    if name in STARTERS and not (name == "sed" and _sed_reads(command)):
        return f"{name} can start or change other things"
    if name in RUNNERS and not _is_task(command.words):
        return f"this use of {name} can run anything"
    if _acts(name, command):
        return f"{name} is given an option that runs or writes something"
    if name not in _TEXT and any(map(leads_out, _paths(name, command))):
        return "it names a path outside the workspace"
    return _unknown_words(name, command)


def covers(prefix: str, command: SimpleCommand) -> bool:
    """Tell whether a rule for these first words allows a command; `problem_of` has been asked."""
    words = prefix.split()
    if not begins_with(words, command.words) or any(at < len(words) for at in command.loose):
        return False
    if command.words[0] == "git":
        return len(words) > 1  # without a verb it could be anything, also an alias
    if name_of(command.words[0]) not in RUNNERS:
        return True
    task = (
        3 if command.words[1:2] and command.words[1] in _RUNS_SCRIPTS else 1 + bool(RUNNERS[name_of(command.words[0])])
    )
    return len(words) >= task and all(map(_is_plain, command.words[len(words) :]))


def begins_with(prefix: list[str], words: list[str], *, anywhere: bool = False) -> bool:
    """Compare word by word; the last of the prefix may end in `*`, and the program only with `anywhere`."""
    if not prefix or len(words) < len(prefix):
        return False
    *firm, last = prefix
    if words[: len(firm)] != firm:
        return False
    found = words[len(firm)]
    if last.endswith("*") and (firm or anywhere):
        return found.startswith(last[:-1]) and UNKNOWN not in found
    return found == last


def only_reads(command: SimpleCommand) -> bool:
    """Tell whether a command looks at things and does nothing else."""
    if any(not is_device(path) for path in (*command.overwrites, *command.appends)):
        return False
    if is_move_inside(command):
        return True
    if problem_of(command):
        return False
    name, *rest = command.words
    return name in READERS or (name == "git" and bool(rest) and rest[0] in GIT_READERS)


def is_move_inside(command: SimpleCommand) -> bool:
    """Tell whether a command only goes to a folder of the workspace."""
    plain = not command.assigns and not command.loose and not command.reads
    words = command.words
    return plain and len(words) == 2 and words[0] == "cd" and words[1][:1] != "-" and is_inside(words[1])


def first_words(command: SimpleCommand) -> str:
    """The words a rule for this command and others like it would name; empty if there are none to be sure of."""
    name, *rest = command.words
    verb = rest[0] if rest else ""
    if name == "git":
        return f"git {verb}" if verb in GIT_READERS or verb in GIT_ORDINARY else ""
    if name in _SCRIPTED and verb in _RUNS_SCRIPTS and len(rest) > 1:
        return f"{name} {verb} {rest[1]}"
    if name in RUNNERS:
        return f"{name} {verb}" if verb in RUNNERS[name] else ("" if RUNNERS[name] else name)
    if name == "sed":
        return "sed -n" if verb == "-n" else ""
    return name if name in READERS else ""


def _is_task(words: list[str]) -> bool:
    """Tell whether a program that runs a project's code is asked for one of its ordinary tasks."""
    verbs = RUNNERS[name_of(words[0])]
    verb = words[1] if len(words) > 1 else ""
    scripted = words[0] in _SCRIPTED and verb in _RUNS_SCRIPTS and len(words) > 2
    return not verbs or verb in verbs or scripted


def _unknown_words(name: str, command: SimpleCommand) -> str:
    """What only the shell knows may be a path that leads out; a pattern may meet a file whose name is an option."""
    if name not in _TEXT and any(UNKNOWN in word for word in command.words):
        return "some of its words are known only when it runs"
    takes_options = name in _ACTING or name not in READERS or name in ("find", "sed", "uniq")
    return "a pattern in it could become an option" if command.loose and takes_options else ""


def _acts(name: str, command: SimpleCommand) -> bool:
    arguments = command.words[1:]
    if name == "find":
        return not _FIND_ACTS.isdisjoint(arguments) or any(word.startswith(("-D", "-O")) for word in arguments)
    if name == "uniq":
        return sum(not word.startswith("-") for word in arguments) > 1
    if name == "git" and (not arguments or arguments[0].startswith("-")):
        return True  # an option before the verb can say where the repository is, and what its programs are
    if name == "git" and _git_acts(arguments[0], arguments[1:]):
        return True
    letters, names = _ACTING.get(name, ("", ()))
    return has_option(arguments, letters, *names)


def _git_acts(verb: str, arguments: list[str]) -> bool:
    """Tell whether one of git's verbs starts programs, by itself or by an option of its own."""
    return verb in _GIT_STARTERS or has_option(arguments, _GIT_LETTERS.get(verb, ""))


def _sed_reads(command: SimpleCommand) -> bool:
    """Tell whether sed prints lines and nothing else: its scripts can run and write, too."""
    options = [word for word in command.words[1:] if word.startswith("-")]
    script = next((word for word in command.words[1:] if not word.startswith("-")), "")
    return _SED_OPTIONS.issuperset(options) and bool(_SED_READS.fullmatch(script)) and not command.loose


def _paths(name: str, command: SimpleCommand) -> list[str]:
    """The words that may be files, and the files it reads from."""
    words = [word for word in command.words[1:] if not word.startswith("-")]
    joined = [word.partition("=")[2] for word in command.words[1:] if word.startswith("--") and "=" in word]
    joined += [word[2:] for word in command.words[1:] if word[:1] == "-" and word[2:3] in ("/", "~", ".")]
    if name == "find":
        words = _start_folders(command.words[1:])
    if name in _PATTERN_FIRST and not has_option(command.words[1:], "ef", "--regexp", "--file", "--from-file"):
        words = words[1:]
    known = [word for word in (*words, *joined, *command.reads) if UNKNOWN not in word and not is_device(word)]
    return [word.replace("$", "").replace("`", "") for word in known]


def _start_folders(words: list[str]) -> list[str]:
    """Where find begins: the words behind its first options, up to the first test."""
    start = next((at for at, word in enumerate(words) if word not in _FIND_FIRST), len(words))
    end = next((at for at, word in enumerate(words) if at >= start and word[:1] in "-!("), len(words))
    return words[start:end]


def _is_plain(word: str) -> bool:
    return not word.startswith("-") and "=" not in word and UNKNOWN not in word
