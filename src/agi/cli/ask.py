"""`agi "<prompt>"`: ask once, see the answer come, and leave.

A running daemon answers, else the harness in this process. May import: errors, protocol, config, trust, client, cli.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agi.cli import exits
from agi.cli.approving import Approver
from agi.cli.beginning import Begun, Wish, begin, check, explained
from agi.cli.interrupts import Interrupts
from agi.cli.options import Arguments, usage
from agi.cli.output import say
from agi.cli.place import place
from agi.cli.printing import JsonPrinter, TextPrinter
from agi.cli.prompt import prompt_of, typed_of
from agi.cli.questions import someone_is_there
from agi.cli.turn import Turn
from agi.client.base import Brought, Client
from agi.client.find import open_client
from agi.client.settings import ClientSettings
from agi.trust import trust_state

if TYPE_CHECKING:
    from agi.cli.preflight import Plans

LONGEST_TIMEOUT = 7 * 24 * 3600


def ask(arguments: Arguments) -> int:
    """Ask what the command line says; gives the exit code."""
    if arguments.has("--session") and arguments.has("--continue"):
        raise usage("", "--session and --continue exclude each other.")
    timeout = arguments.number("--timeout", least=0.001, most=LONGEST_TIMEOUT)
    prompt = prompt_of(arguments)
    person = someone_is_there()
    settings = place(arguments)
    files = _files(arguments, settings)
    trusted = _trust(settings, person and not arguments.has("--trust"))
    wish = Wish(
        prompt=prompt,
        files=files,
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
        preflight=arguments.has("--preflight"),
    )
    return asyncio.run(_run(wish))


def _files(arguments: Arguments, settings: ClientSettings) -> tuple[Brought, ...]:
    """What goes along: files that were named by option, and those of the folder that what was typed mentions."""
    typed = typed_of(arguments)
    if "@" not in typed and not arguments.has("--attach"):
        return ()
    from agi.cli.attaching import bring  # late: most prompts are text alone

    return bring(arguments.all("--attach"), typed, settings.project)


def _trust(settings: ClientSettings, ask_first: bool) -> bool:
    if not ask_first:
        return trust_state(settings.project, settings.home_config).trusted
    from agi.cli.trusting import ask_trust  # late: only a person is asked

    return ask_trust(settings).trusted


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
    with explained(wish):
        client = await open_client(wish.settings, check=lambda: check(wish))
    try:
        if client.notice:
            say(f"note: {client.notice}")
        with explained(wish):
            begun = await begin(client, wish)
        return await _watch(client, begun, wish, interrupts)
    finally:
        await client.close()


async def _watch(client: Client, begun: Begun, wish: Wish, interrupts: Interrupts) -> int:
    colors = "NO_COLOR" not in wish.settings.env
    printer = JsonPrinter() if wish.json else TextPrinter(colors=colors)
    approver = Approver(
        client,
        begun.session_id,
        printer,
        person=wish.person,
        yes=wish.yes,
        trusted=wish.trusted,
        colors=colors,
        cancel=lambda: interrupts.stop(exits.INTERRUPTED),
    )

    def plans() -> Plans:
        from agi.cli.preflight import Plans  # late: few turns begin with one

        return Plans(
            client,
            begun.session_id,
            printer,
            person=wish.person,
            yes=wish.yes,
            trusted=wish.trusted,
            cancel=lambda: interrupts.stop(exits.INTERRUPTED),
        )

    turn = Turn(client, begun.session_id, begun.posted.turn_id or "", printer, approver, interrupts, plans)
    return await turn.watch(begun.after, queued=begun.posted.queued)
