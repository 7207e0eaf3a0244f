"""`agi log verify`: does the hash chain of the log hold. Reads the files as they are: a daemon would mend some of it.

May import: errors, protocol, config, client, cli; and, as `agi repair` does, eventlog and views.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import msgspec

from agi.cli import exits
from agi.cli.display import exact
from agi.cli.options import Arguments, nearest, usage
from agi.cli.output import put
from agi.cli.place import project_of, refuse_no_folders
from agi.client.running import is_locked
from agi.config.files import PROJECT_DIR
from agi.errors import Damaged, Invalid, NotFound, StorageError
from agi.eventlog.chain import digest_of, kind_of
from agi.eventlog.links import refuse_links_within
from agi.eventlog.repair import is_anything
from agi.eventlog.schema import STEPS
from agi.eventlog.verify import LogFiles
from agi.protocol.chains import LogCheck
from agi.views.comparing import differing
from agi.views.tables import Tables, anchor

ACTIONS = ("verify",)
PATIENCE_S = 2.0
"""How long a mirror that is being written may take to get where the database is."""


def log(arguments: Arguments) -> int:
    """Look through one session's log, or all of them."""
    words = arguments.only(1, 2)
    if words[0] not in ACTIONS:
        error = usage("log", f"There is no `agi log {words[0][:40]}`, only {' and '.join(ACTIONS)}.")
        error.hint = nearest(words[0], ACTIONS) + error.hint
        raise error
    if len(words) == 2 and arguments.has("--all"):
        raise usage("log", "Name a session, or say --all.")
    head = _head(arguments.get("--head") or "")
    if head and len(words) != 2:
        raise usage("log", "--head is about one session: name it.")
    project = project_of(arguments)
    data = project / PROJECT_DIR
    refuse_links_within(data)
    files = LogFiles(data, data / "agi.sqlite")
    ids, damage = _sessions(files)
    broken: StorageError | None = None
    if not ids and damage is None:
        refuse_no_folders(data, data / "sessions")
    if len(words) == 2:
        ids = [_named(words[1], ids, damage)]
        damage = None  # of what was asked about, its own check tells
    patience = PATIENCE_S if is_locked(project) else 0.0
    checks = [_settled(files, session_id, head, patience=patience) for session_id in ids]
    if len(words) == 1 and checks and damage is None and all(check.intact for check in checks):
        broken = _broken(files)
    if arguments.has("--json"):
        put(msgspec.json.encode(checks).decode() + "\n")
    elif checks or damage is None:
        for check in checks:
            put("\n".join(_told(check, bool(head))) + "\n")
        put(_summary(checks))
        put("".join(f"{line}\n" for line in _advice(checks)))
    if (problem := damage or broken) is not None:
        raise problem
    return exits.OK if all(check.intact for check in checks) else exits.FAILED


def _sessions(files: LogFiles) -> tuple[list[str], Damaged | None]:
    """All of them; where the database is damaged, those with a mirror, and what is to be said about it."""
    try:
        return files.sessions(), None
    except Damaged as error:
        if not is_anything(files.database, files.folder):
            return [], None  # nobody has said anything yet
        text = f"{error.message} Sessions without a mirror were not looked at."
        return files.mirrored(), Damaged(text, hint=error.hint)


def _broken(files: LogFiles) -> StorageError | None:
    """What is wrong with the database where all that is known of it is as it was written."""
    if not files.database.exists():
        return None
    try:
        files.refuse_broken((*STEPS, *Tables.steps))
    except StorageError as error:
        return error
    return None


def _head(text: str) -> str:
    if text and kind_of(text.strip().lower()) is None:
        raise Invalid(f"{text[:80]!r} is no hash.", hint="Give all 64 characters, as `agi log verify` prints them.")
    return text.strip().lower()


def _named(text: str, ids: list[str], damage: Damaged | None) -> str:
    found = [one for one in ids if one == text] or [one for one in ids if one.startswith(text) or one.endswith(text)]
    if len(found) == 1:
        return found[0]
    if not found and damage is not None:
        raise damage
    name = repr(text[:80])
    said = f"{name} could be any of {len(found)} sessions." if found else f"There is no session {name}."
    raise NotFound(said, code="session_not_found", hint="List them with `agi sessions`.")


def _settled(files: LogFiles, session_id: str, head: str, *, patience: float) -> LogCheck:
    """The log of a session that may be written just now: its mirror follows the database within moments."""
    give_up = time.monotonic() + patience
    while True:
        check = files.check(session_id, anchor, head, comparing=differing)
        behind = [one for one in check.findings if one.place == "mirror" and one.problem == "truncated"]
        if not behind or len(behind) < len(check.findings) or time.monotonic() >= give_up:
            return check
        time.sleep(0.05)


def _told(check: LogCheck, was_given: bool) -> Iterator[str]:
    verdict = "intact" if check.intact else "NOT as it was written"
    yield f"{check.session_id}  {check.events} events  {verdict}"
    yield f"  head: {digest_of(check.head) or 'none'}"
    for one in check.findings:
        yield f"  {one.place}: {exact(one.message)}"
    for note in check.notes:
        yield f"  {exact(note)}"
    if was_given and check.head_seq:
        later = check.events - check.head_seq
        since = f"; {later} came after it" if later else ""
        yield f"  The hash you kept is that of event {check.head_seq}{since}."
    for span in check.late[:5]:
        yield f"  Events {span.first} to {span.last} were chained after they were written, by an update or a repair."
    for seq in check.anew[:5]:
        yield f"  The chain begins anew at event {seq}: nothing before it is vouched for by what comes after."


def _advice(checks: list[LogCheck]) -> list[str]:
    """What would mend it; where only a head that was kept fits nothing, nothing would."""
    found = [one for check in checks for one in check.findings]
    places = {one.place for one in found}
    steps: list[str] = []
    if "database" in places:
        again = "makes the database again: of each event it takes what still fits the chain."
        steps.append(f"`agi repair --from-mirrors` {again}")
    if any((one.place, one.problem, one.seq) == ("mirror", "unreadable", 0) for one in found):
        steps.append("Check the disk and who may read the mirrors, or move away what is no file.")
    if places & {"mirror", "session.json"}:
        then = "After that, `agi repair`" if steps else "`agi repair`"
        steps.append(f"{then} writes the mirrors anew from the database.")
    return steps


def _summary(checks: list[LogCheck]) -> str:
    if not checks:
        return "No sessions yet.\n"
    broken = sum(not check.intact for check in checks)
    many = f"{len(checks)} session{'s' if len(checks) > 1 else ''}"
    return f"{many}: all intact.\n" if not broken else f"{many}: {broken} not as written.\n"
