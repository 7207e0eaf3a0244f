"""`agi "<prompt>"`: ask once, see the answer come, and leave.

A running daemon answers, else the harness in this process. May import: errors, protocol, config, trust, client, cli.
"""

from __future__ import annotations

import asyncio
import os

from msgspec import Struct
from msgspec.structs import replace

from agi.cli import exits
from agi.cli.approving import Approver
from agi.cli.interrupts import Interrupts
from agi.cli.options import Arguments, usage
from agi.cli.output import STDIN, say
from agi.cli.place import place
from agi.cli.printing import JsonPrinter, TextPrinter
from agi.cli.questions import someone_is_there
from agi.cli.turn import Turn
from agi.client.base import Client, ClientSettings, Posted, end_of
from agi.client.find import open_client
from agi.errors import AgiError, NotFound
from agi.protocol.commands import Cancel, CreateSession, PostMessage
from agi.protocol.parts import Text
from agi.trust import trust_state

LONGEST = 1_000_000
LONGEST_TIMEOUT = 7 * 24 * 3600


class Wish(Struct, frozen=True, kw_only=True):
    """What was asked for."""

    prompt: str
    settings: ClientSettings
    agent: str | None = None
    provider: str | None = None
    model: str | None = None
    session: str | None = None
    latest: bool = False
    json: bool = False
    yes: bool = False
    timeout: float | None = None
    person: bool = False
    trusted: bool = False


def ask(arguments: Arguments) -> int:
    """Ask what the command line says; gives the exit code."""
    if arguments.has("--session") and arguments.has("--continue"):
        raise usage("", "--session and --continue exclude each other.")
    timeout = arguments.number("--timeout", least=0.001, most=LONGEST_TIMEOUT)
    prompt = _prompt(arguments)
    person = someone_is_there()
    settings = place(arguments)
    trusted = _trust(settings, person and not arguments.has("--trust"))
    wish = Wish(
        prompt=prompt,
        settings=replace(settings, trust_once=arguments.has("--trust") and not trusted),
        agent=arguments.get("--agent"),
        provider=arguments.get("--provider"),
        model=arguments.get("--model"),
        session=arguments.get("--session"),
        latest=arguments.has("--continue"),
        json=arguments.has("--json"),
        yes=arguments.has("--yes"),
        timeout=timeout,
        person=person,
        trusted=trusted or arguments.has("--trust"),
    )
    return asyncio.run(_run(wish))


def _trust(settings: ClientSettings, ask_first: bool) -> bool:
    if not ask_first:
        return trust_state(settings.project, settings.home_config).trusted
    from agi.cli.trusting import ask_trust  # late: only a person is asked

    return ask_trust(settings).trusted


def _prompt(arguments: Arguments) -> str:
    """The one prompt of the line; what is not UTF-8 in it is replaced, as nothing could store it."""
    if arguments.words and arguments.after is not None:
        raise usage("", f"There are two prompts: {arguments.words[0][:60]!r} and what follows `--`.")
    if len(arguments.words) > 1:
        raise usage("", f"There is more than one prompt: {' '.join(arguments.words)[:80]!r}. Put it in quotes.")
    text = " ".join(arguments.after) if arguments.after is not None else "".join(arguments.words)
    if text == "-" and arguments.after is None:
        raw = _read_stdin()
    else:
        raw = os.fsencode(text)
    prompt = raw.decode(errors="replace")
    if not prompt.strip():
        raise usage("", "The prompt is empty.")
    if len(prompt) > LONGEST:
        raise usage("", f"The prompt has more than {LONGEST} characters. Put it into a file and name the file.")
    return prompt


def _read_stdin() -> bytes:
    try:
        with open(STDIN, "rb", closefd=False) as stdin:
            return stdin.read(4 * LONGEST + 1)
    except OSError as error:
        raise usage("", f"The prompt cannot be read from stdin: {error.strerror}.") from error


async def _run(wish: Wish) -> int:
    """Race the asking against interrupts; before there is a turn to end well, it is simply dropped."""
    with Interrupts() as interrupts:
        task = asyncio.create_task(_ask(wish, interrupts))
        interrupts.listen(task.cancel)
        if wish.timeout is not None:
            interrupts.after(wish.timeout)
        try:
            return await task
        except asyncio.CancelledError:
            say("agi: stopped before there was an answer.")
            return interrupts.code or exits.INTERRUPTED


async def _ask(wish: Wish, interrupts: Interrupts) -> int:
    client = await open_client(wish.settings)
    try:
        session_id, after = await _session(client, wish)
        posted = await _post(client, session_id, wish)
        printer = JsonPrinter() if wish.json else TextPrinter(colors="NO_COLOR" not in wish.settings.env)
        if client.notice:
            printer.note(f"note: {client.notice}")
        approver = Approver(
            client,
            session_id,
            printer,
            person=wish.person,
            yes=wish.yes,
            trusted=wish.trusted,
            cancel=lambda: interrupts.stop(exits.INTERRUPTED),
        )
        turn = Turn(client, session_id, posted.turn_id or "", printer, approver, interrupts)
        return await turn.watch(after, queued=posted.queued)
    finally:
        await client.close()


async def _session(client: Client, wish: Wish) -> tuple[str, str]:
    """The session to ask in, and the position from where it is of interest."""
    project = str(wish.settings.project)
    if wish.session is not None:
        found = await client.session(wish.session)
    elif wish.latest:
        here = [one for one in await client.sessions(limit=100) if one.workspace_path == project]
        if not here:
            raise NotFound("There is no session to go on with here.", hint="Leave out --continue.")
        found = here[0]
    else:
        command = CreateSession(workspace_path=project, agent=wish.agent, provider=wish.provider, model=wish.model)
        return (await client.create_session(command)).id, ""
    return found.id, end_of(found)


async def _post(client: Client, session_id: str, wish: Wish) -> Posted:
    """Say the prompt. Where nobody can be asked, what needs asking is refused at once."""
    command = PostMessage(
        parts=[Text(text=wish.prompt)],
        auto_run=True,
        agent=wish.agent,
        provider=wish.provider,
        model=wish.model,
        on_ask="wait" if wish.person or wish.yes else "deny",
    )
    posting = asyncio.ensure_future(client.post_message(session_id, command))
    try:
        return await asyncio.shield(posting)
    except asyncio.CancelledError:
        # Whoever interrupts just now must not leave a turn behind that nobody knows of.
        await asyncio.wait([posting])
        if not posting.exception():
            await _cancel(client, session_id, posting.result())
        raise


async def _cancel(client: Client, session_id: str, posted: Posted) -> None:
    try:
        await client.cancel(session_id, Cancel(turn_id=posted.turn_id, reason="interrupted at the command line"))
    except AgiError:
        pass
