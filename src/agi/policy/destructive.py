"""The destructive class: commands that delete, write elsewhere, rewrite history, or change disks and permissions.

Such a call is asked about each time, whatever was granted. In doubt the answer is yes: a line that cannot be read, a
program whose name is known only when it runs, unseen code given to a shell. May import: policy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from types import MappingProxyType

from agi.policy.commands import UNKNOWN, SimpleCommand, Unreadable, has_option, read_line
from agi.policy.git_commands import git_destroys


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ALWAYS = _words(
    "rm rmdir unlink shred srm rimraf wipe truncate dd fdisk sfdisk cfdisk parted sgdisk wipefs blkdiscard mkswap sudo "
    "doas pkexec shutdown reboot halt poweroff killall pkill userdel groupdel dropdb dropuser chattr mount umount "
    "iptables nft alias coproc"
)
"""Programs that have no harmless use, or that could do anything."""
WRAPPERS = _words(
    "env nohup nice ionice time timeout stdbuf setsid exec command builtin chroot unshare nsenter xargs find fd "
    "busybox toybox strace ltrace systemd-run firejail bwrap docker podman kubectl npx uv uvx poetry pipx watch "
    "parallel script flock ssh su trap eval entr"
)
"""Programs that start another one, named somewhere among their arguments."""
POSITIONAL = _words("chroot flock nsenter unshare bwrap firejail systemd-run")
"""Those of them that take something else before it."""
CODE_TAKERS = _words("eval trap ssh su watch parallel script flock entr")
"""Those of them that give an argument to a shell."""
SHELLS = _words("sh bash dash zsh ksh ash fish rbash csh tcsh pwsh powershell")
TELLING: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "aws": _words("rm rb terminate-instances"),
        "az": _words("delete"),
        "cargo": _words("publish yank"),
        "crontab": _words("-r"),
        "docker": _words("rm rmi prune kill down"),
        "find": _words("-delete -fprint -fprint0 -fprintf -fls"),
        "gcloud": _words("delete"),
        "gh": _words("delete archive"),
        "helm": _words("uninstall delete"),
        "kubectl": _words("delete drain replace"),
        "npm": _words("publish unpublish"),
        "podman": _words("rm rmi prune kill down"),
        "redis-cli": _words("flushall flushdb FLUSHALL FLUSHDB"),
        "systemctl": _words("stop disable mask poweroff reboot"),
        "terraform": _words("destroy apply"),
        "tofu": _words("destroy apply"),
        "twine": _words("upload"),
        "uv": _words("publish"),
    }
)
"""Programs that destroy, or cannot be taken back, when one of these words stands among their arguments."""

_KEYWORDS = _words("if then elif else fi do done while until ! { } time")
_HEADS = frozenset({"for", "select", "case"})
_MOST_WORDS = 200
_INTERPRETERS = _words("python pypy perl ruby node deno bun php lua rscript osascript awk gawk mawk nawk")
_SQL = (
    *("drop table", "drop database", "drop schema", "drop index", "drop view", "drop user", "drop role"),
    *("truncate table", "delete from", "dropdatabase"),
)
_CODE = (
    *("rmtree", "unlink", "remove", "rmdir", "truncate", "rename", "delete", "chmod", "chown"),
    *("system", "popen", "subprocess", "spawn", "exec", "eval", "fork"),
)
"""Words in the code of another language that hint at deleting something, or at starting it."""
_DEVICES = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/")
_SCRATCH = ("/tmp/", "/var/tmp/")  # noqa: S108 -- recognised, not used
_PROTECTED = frozenset({"..", ".git", ".agi", ".mcp.json"})


def destroys(text: str) -> bool:
    """Tell whether a shell line could destroy something."""
    try:
        line = read_line(text)
    except Unreadable:
        return True
    return _has_any(text, _SQL) or any(_is_destructive(command, line.documents) for command in line.commands)


def _has_any(text: str, phrases: tuple[str, ...]) -> bool:
    plain = " ".join(text.lower().split())
    return any(phrase in plain for phrase in phrases)


def _is_destructive(command: SimpleCommand, documents: list[str]) -> bool:
    words = _without_prefix(command.words)
    if any(_leads_out(target) for target in (*command.overwrites, *command.appends)):
        return True
    if command.overwrites and all(word in (":", "true") or _is_assignment(word) for word in command.words):
        return True
    documents = documents if command.reads_document else []
    return bool(words) and (_is_hidden(words[0]) or _starts_destroyer(words, documents))


def _without_prefix(words: list[str]) -> list[str]:
    """Leave out keywords and assignments; `for x in …` starts nothing by itself."""
    for index, word in enumerate(words):
        if word in _HEADS:
            return []
        if word == "function":
            return _without_prefix(words[index + 2 :])
        if word not in _KEYWORDS and not _is_assignment(word):
            return words[index:]
    return []


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.removesuffix("+").partition("[")[0].isidentifier()


def _is_hidden(word: str) -> bool:
    """Tell whether a program's name is not what it seems: a variable, a pattern, letters that look alike."""
    return word not in ("[", "[[") and (not word.isascii() or any(character in word for character in "*?[{" + UNKNOWN))


def _starts_destroyer(words: list[str], documents: list[str]) -> bool:
    """Look at a program; of one that starts another, at everything that could be the other."""
    if _name(words[0]) not in WRAPPERS:
        return _is_destroyer(words, documents)
    if len(words) > _MOST_WORDS:
        return True
    later = [words[index:] for index in range(len(words))]
    return any(_wraps_hidden(rest) or _is_destroyer(rest, documents) for rest in later)


def _wraps_hidden(words: list[str]) -> bool:
    """Tell whether the program that another one starts is hidden; a word after an option may be its value, or it."""
    name, before = _name(words[0]), words[0]
    for word in words[1:] if name in WRAPPERS else ():
        if _is_hidden(word) and word != "{}" and not _is_assignment(word):
            return True
        ambiguous = word[:1] in ("-", "") or word[0].isdigit() or before[:1] == "-" or word in ("run", "exec")
        if not ambiguous and not _is_assignment(word) and name not in POSITIONAL:
            return False
        before = word
    return False


def _is_destroyer(words: list[str], documents: list[str]) -> bool:
    name, arguments = _name(words[0]), words[1:]
    if name in ALWAYS or name.startswith("mkfs") or not TELLING.get(name, frozenset()).isdisjoint(arguments):
        return True
    if name in CODE_TAKERS:
        return any(destroys(argument) for argument in arguments)
    if name in SHELLS:
        return _shell_destroys(arguments, documents)
    if name.rstrip("0123456789.") in _INTERPRETERS:
        return _code_destroys(name, arguments, documents)
    rule = _RULES.get(name)
    return rule is not None and rule(arguments)


def _name(word: str) -> str:
    return word.rpartition("/")[2].lower()


def _shell_destroys(arguments: list[str], documents: list[str]) -> bool:
    """Read the code a shell is given; what it reads from elsewhere is not known. A script is a file like any other."""
    code = [argument for argument in arguments if argument[:1] not in ("-", "+")]
    if has_option(arguments, "c", "--command"):
        return any(destroys(text) for text in code)
    if code and not has_option(arguments, "s"):
        return False
    return not documents or any(destroys(document) for document in documents)


def _code_destroys(name: str, arguments: list[str], documents: list[str]) -> bool:
    """Look for telling words in code of another language; what comes through a pipe is not known."""
    text = "\n".join((*arguments, *documents))
    if arguments in ([], ["-"]) and not documents:
        return True
    inline = documents or name.endswith("awk") or has_option(arguments, "ceErp", "--eval", "--print", "--exec")
    return bool(inline) and (UNKNOWN in text or _has_any(text, _CODE))


def _leads_out(path: str) -> bool:
    """Tell whether a path may lie outside the workspace, or is one of ours and git's that decide what runs."""
    if path.startswith(_DEVICES):
        return False
    # bash expands the file of `>&` twice, so that even quoted signs can start a command.
    unsure = any(sign in path for sign in (UNKNOWN, "$", "`"))
    absolute = path.startswith("/") and not path.startswith(_SCRATCH)
    return unsure or absolute or path.startswith("~") or not _PROTECTED.isdisjoint(path.split("/"))


def _writes_out(arguments: list[str]) -> bool:
    return bool(arguments) and (_leads_out(arguments[-1]) or has_option(arguments, "t", "--target-directory"))


def _recursive(arguments: list[str]) -> bool:
    return has_option(arguments, "R", "--recursive")


def _finds_for_hidden(arguments: list[str]) -> bool:
    starts = ("-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec")
    return any(option in starts and _is_hidden(program) for option, program in pairwise(arguments))


_RULES: Mapping[str, Callable[[list[str]], bool]] = MappingProxyType(
    {
        "chgrp": _recursive,
        "chmod": _recursive,
        "chown": _recursive,
        "cp": _writes_out,
        "env": lambda arguments: has_option(arguments, "S", "--split-string"),
        "fd": _finds_for_hidden,
        "find": _finds_for_hidden,
        "git": git_destroys,
        "install": _writes_out,
        "ln": _writes_out,
        "mv": lambda arguments: _writes_out(arguments) or "/dev/null" in arguments,
        "npx": lambda arguments: has_option(arguments, "c", "--call"),
        "rsync": lambda arguments: has_option(arguments, "", "--delete", "--remove-source-files"),
        "setfacl": _recursive,
        "tar": lambda arguments: has_option(
            arguments, "I", "--to-command", "--checkpoint-action", "--remove-files", "--use-compress-program"
        ),
        "tee": lambda arguments: any(_leads_out(argument) for argument in arguments),
    }
)
