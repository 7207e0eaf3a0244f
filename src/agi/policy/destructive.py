"""The destructive class: commands that delete, write elsewhere, rewrite history, or change disks and permissions.

Such a call is asked about each time, whatever was granted. In doubt the answer is yes: a line that cannot be read, a
program whose name is known only when it runs, unseen code given to a shell. May import: policy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from agi.policy.bash.seen import Part, Seen, is_hidden, is_interpreter, see
from agi.policy.bash.values import UNKNOWN, SimpleCommand, has_option, names
from agi.policy.bash.wrappers import CODE_TAKERS, MOST_WORDS, SHELLS, UNSURE, started_by
from agi.policy.git_commands import git_destroys
from agi.policy.places import leads_out

ALWAYS = names(
    "rm rmdir unlink shred srm rimraf wipe truncate dd fdisk sfdisk cfdisk parted sgdisk wipefs blkdiscard mkswap sudo "
    "doas pkexec shutdown reboot halt poweroff killall pkill userdel groupdel dropdb dropuser chattr mount umount "
    "iptables nft alias coproc"
)
"""Programs that have no harmless use, or that could do anything."""
TELLING: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "aws": names("rm rb terminate-instances"),
        "az": names("delete"),
        "cargo": names("publish yank"),
        "crontab": names("-r"),
        "docker": names("rm rmi prune kill down"),
        "find": names("-delete -fprint -fprint0 -fprintf -fls"),
        "gcloud": names("delete"),
        "gh": names("delete archive"),
        "helm": names("uninstall delete"),
        "kubectl": names("delete drain replace"),
        "npm": names("publish unpublish"),
        "podman": names("rm rmi prune kill down"),
        "redis-cli": names("flushall flushdb FLUSHALL FLUSHDB"),
        "systemctl": names("stop disable mask poweroff reboot"),
        "terraform": names("destroy apply"),
        "tofu": names("destroy apply"),
        "twine": names("upload"),
        "uv": names("publish"),
    }
)
"""Programs that destroy, or cannot be taken back, when one of these words stands among their arguments."""

_SQL = (
    *("drop table", "drop database", "drop schema", "drop index", "drop view", "drop user", "drop role"),
    *("truncate table", "delete from", "dropdatabase"),
)
_CODE = (
    *("rmtree", "unlink", "remove", "rmdir", "truncate", "rename", "delete", "chmod", "chown"),
    *("system", "popen", "subprocess", "spawn", "exec", "eval", "fork"),
)
"""Words in the code of another language that hint at deleting something, or at starting it."""
_POSITIONAL = names("chroot flock nsenter unshare bwrap firejail systemd-run")
"""Programs that start another one and take something else before it."""


def destroys(text: str) -> bool:
    """Tell whether a shell line could destroy something."""
    return seen_destroys(text, see(text))


def seen_destroys(text: str, seen: Seen) -> bool:
    """The same, of a line that was looked at already."""
    if seen.unreadable or seen.line is None or _has_any(text, _SQL):
        return True
    return any(_writes_away(command) for command in seen.line.commands) or any(map(_is_destructive, seen.parts))


def _has_any(text: str, phrases: tuple[str, ...]) -> bool:
    plain = " ".join(text.lower().split())
    return any(phrase in plain for phrase in phrases)


def _writes_away(command: SimpleCommand) -> bool:
    """Files outside, or a file that is emptied and nothing else."""
    if any(leads_out(target) for target in (*command.overwrites, *command.appends)):
        return True
    return bool(command.overwrites) and all(word in (":", "true") for word in command.words)


def _is_destructive(part: Part) -> bool:
    if not part.words:
        return part.command is not None and _writes_away(part.command)
    if part.via and part.command is not None and _writes_away(part.command):
        return True
    if len(part.words) > MOST_WORDS:
        return True
    if is_hidden(part.words[0]) and not part.guessed:
        return True
    return _wraps_hidden(part) or _is_destroyer(part)


def _wraps_hidden(part: Part) -> bool:
    """Tell whether the program that another one starts is hidden; a word after an option may be its value, or it."""
    started, name = started_by(part.words), part.name
    if started is None or part.guessed or (started.certain and name not in UNSURE) or name in SHELLS:
        return False
    before = name
    for word in part.words[1:]:
        if is_hidden(word) and word != "{}" and not _is_assignment(word):
            return True
        ambiguous = word[:1] in ("-", "") or word[0].isdigit() or before[:1] == "-" or word in ("run", "exec")
        if not ambiguous and not _is_assignment(word) and name not in _POSITIONAL:
            return False
        before = word
    return name not in UNSURE and name not in CODE_TAKERS


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.removesuffix("+").partition("[")[0].isidentifier()


def _is_destroyer(part: Part) -> bool:
    name, arguments = part.name, part.words[1:]
    if name in ALWAYS or name.startswith("mkfs") or not TELLING.get(name, frozenset()).isdisjoint(arguments):
        return True
    if name in SHELLS:
        return _shell_destroys(arguments, part.document)
    if is_interpreter(name):
        return _code_destroys(name, arguments, part.document)
    rule = _RULES.get(name)
    if (rule is not None or name in TELLING) and any(map(_hides_option, arguments)):
        return True
    return rule is not None and rule(arguments)


def _hides_option(word: str) -> bool:
    """Tell whether an option is spelled so that only the shell knows which one it is."""
    return word[:1] in ("-", "{") and any(sign in word for sign in "*?[" + UNKNOWN)


def _shell_destroys(arguments: list[str], document: str | None) -> bool:
    """Read the code a shell is given; what it reads from elsewhere is not known. A script is a file like any other."""
    code = [argument for argument in arguments if argument[:1] not in ("-", "+")]
    if has_option(arguments, "c", "--command"):
        return any(destroys(text) for text in code)
    if code and not has_option(arguments, "s"):
        return code[0].startswith("/dev/")  # another command writes it
    return document is None or destroys(document)


def _code_destroys(name: str, arguments: list[str], document: str | None) -> bool:
    """Look for telling words in code of another language; what comes through a pipe is not known."""
    if arguments in ([], ["-"]) and document is None:
        return True
    text = "\n".join((*arguments, document or ""))
    inline = (
        document is not None or name.endswith("awk") or has_option(arguments, "ceErp", "--eval", "--print", "--exec")
    )
    return bool(inline) and (UNKNOWN in text or _has_any(text, _CODE))


def _writes_out(arguments: list[str]) -> bool:
    return bool(arguments) and (leads_out(arguments[-1]) or has_option(arguments, "t", "--target-directory"))


def _recursive(arguments: list[str]) -> bool:
    return has_option(arguments, "R", "--recursive")


_RULES: Mapping[str, Callable[[list[str]], bool]] = MappingProxyType(
    {
        "chgrp": _recursive,
        "chmod": _recursive,
        "chown": _recursive,
        "cp": lambda arguments: _writes_out(arguments) or "/dev/null" in arguments,
        "env": lambda arguments: has_option(arguments, "S", "--split-string"),
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
        "tee": lambda arguments: any(leads_out(argument) for argument in arguments),
    }
)
