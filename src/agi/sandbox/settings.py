"""Which settings of a repository could start a program: all that are not known to be harmless.

git knows dozens of settings that name programs, and every version adds some. So those that ordinary work leaves behind
(a clone, a branch, a name for commits) are listed here, and the rest counts. What cannot be read exactly as git would
read it counts too. Pure. May import: nothing of ours.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"(?:[^"\\\n]|\\.)*")?\s*\]', re.ASCII)
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=(.*))?\Z", re.DOTALL)
_BLANK = " \t\r\f\v"
_HARMLESS = {
    "core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks worktree "
    "autocrlf eol safecrlf quotepath sparsecheckout sparsecheckoutcone abbrev untrackedcache preloadindex commentchar "
    "sharedrepository longpaths compression bigfilethreshold",
    "remote": "url pushurl fetch push tagopt mirror prune prunetags promisor partialclonefilter skipdefaultupdate "
    "skipfetchall followremotehead gh-resolved",
    "branch": "remote merge pushremote rebase description autosetupmerge autosetuprebase sort gh-merge-base "
    "vscode-merge-base",
    "submodule": "url active branch ignore path fetchrecursesubmodules recurse shallow alternatelocation "
    "alternateerrorstrategy",
    "extensions": "worktreeconfig objectformat compatobjectformat partialclone refstorage noop preciousobjects "
    "relativeworktrees",
    "user": "name email signingkey useconfigonly",
    "author": "name email",
    "committer": "name email",
    "init": "defaultbranch",
    "pull": "rebase ff",
    "push": "default autosetupremote followtags",
    "fetch": "prune prunetags parallel",
    "merge": "conflictstyle ff renamelimit",
    "rebase": "autostash autosquash updaterefs",
    "rerere": "enabled autoupdate",
    "commit": "gpgsign verbose",
    "tag": "gpgsign sort",
    "diff": "algorithm renames renamelimit mnemonicprefix noprefix colormoved",
    "gc": "auto autodetach pruneexpire",
    "maintenance": "auto",
    "index": "version sparse skiphash",
    "feature": "manyfiles experimental",
    "receive": "denycurrentbranch denynonfastforwards denydeletes",
    "uploadpack": "allowfilter allowanysha1inwant allowreachablesha1inwant allowtipsha1inwant",
    "lfs": "repositoryformatversion access",
}
_KNOWN = {f"{section}.{key}" for section, keys in _HARMLESS.items() for key in keys.split()}
_WHOLE = frozenset({"advice", "color", "status", "log", "column"})
"""Sections of which all is about looks."""
_WORK_TREE = "core.worktree"
_PLAIN = re.compile(r'[^"\\#;]+\Z')
_HELPER = re.compile(r'\s*"?[A-Za-z0-9+.-]*::')
"""An address that names a program to fetch with."""


def dangers(text: bytes, is_inside: Callable[[str], bool]) -> frozenset[str]:
    """The settings in a file that could start a program, as `section.key = value`; empty if there is none.

    So does one that has git write files elsewhere: `is_inside` tells whether a place may be written to.
    """
    if b"\0" in text:
        return frozenset({"what is not text"})
    found: set[str] = set()
    section = ""
    for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        rest = os.fsdecode(line).strip(_BLANK)
        while header := _SECTION.match(rest):
            section, rest = header[1].lower().partition(".")[0], rest[header.end() :].strip(_BLANK)
        if rest and rest[0] not in "#;":
            found.update(_dangers_of(section, rest, is_inside))
    return frozenset(found)


def _dangers_of(section: str, line: str, is_inside: Callable[[str], bool]) -> list[str]:
    setting = _SETTING.match(line)
    if setting is None or line.endswith("\\") or not section:
        return [f"`{line[:60]}`, which cannot be read"]
    name, value = f"{section}.{setting[1].lower()}", (setting[2] or "").strip()
    is_known = name in _KNOWN or section in _WHOLE
    leads_out = name == _WORK_TREE and (not _PLAIN.match(value) or not is_inside(value))
    if is_known and not leads_out and not (name.endswith("url") and _HELPER.match(value)):
        return []
    return [f"{name} = {value[:200]}"]
