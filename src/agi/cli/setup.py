"""`agi setup`: a provider, its key, a model and an agent, asked for or given, tried once, and written down.

May import: errors, config, client, cli.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from msgspec.structs import replace

from agi.cli import exits
from agi.cli.menu import Left
from agi.cli.options import Arguments, usage
from agi.cli.output import put, say
from agi.cli.place import folder, place
from agi.cli.questions import someone_is_there
from agi.cli.setup_flags import Wish, not_enough, read_wish
from agi.cli.setup_known import checked_agent
from agi.cli.setup_words import outcome, outcome_json, overview, overview_json, short
from agi.cli.terminal import Stopped, endings_raised
from agi.client.settings import ClientSettings
from agi.client.setup import EMBEDDED, Choices, Survey, save, shadowed, survey
from agi.client.trial import Offered, ask_once, check_model, offered
from agi.errors import AgiError, ConfigError

UNCHANGED = "Nothing was changed."
LISTED = 5


def setup(arguments: Arguments) -> int:
    """Set something up, or show what is; gives the exit code."""
    settings = _place(arguments)
    if arguments.has("--show"):
        return _show(arguments, settings)
    try:
        with endings_raised():
            return _setup(arguments, settings)
    except (Left, EOFError):
        code = exits.FAILED
    except Stopped as stopped:
        code = 128 + stopped.number
    except KeyboardInterrupt:
        code = exits.INTERRUPTED
    say(UNCHANGED)
    return code


def _setup(arguments: Arguments, settings: ClientSettings) -> int:
    wish = read_wish(arguments, os.environ)
    found = survey(settings)
    person = someone_is_there() and not wish.yes and not wish.json
    if wish.agent is not None:
        checked_agent(wish.agent, settings.project if wish.for_project else None)
    if wish.is_enough(found, person=person):
        choices, seconds = _settle(wish, found)
    elif person:
        choices, seconds = _ask(wish, found, settings), None
    else:
        raise not_enough(wish)
    return _save(settings, wish, choices, seconds)


def _place(arguments: Arguments) -> ClientSettings:
    """Where it works; `--project` may have the folder behind it, or mean this one."""
    words = [*arguments.words, *(arguments.after or ())]
    if len(words) > 1 or (words and (not arguments.has("--project") or arguments.get("--project"))):
        raise usage("setup", "`agi setup` takes options only.")  # not repeated: it may be a key
    settings = place(arguments)
    return replace(settings, project=folder("setup", words[0])) if words else settings


def _show(arguments: Arguments, settings: ClientSettings) -> int:
    if set(arguments.given) - {"--show", "--json", "--project"}:
        raise usage("setup", "--show goes only with --json and --project.")
    found = survey(settings)
    put(overview_json(found) if arguments.has("--json") else overview(found))
    return exits.OK


def _ask(wish: Wish, found: Survey, settings: ClientSettings) -> Choices:
    """Ask for what was left open; raises Left if the person leaves."""
    from agi.cli.dialogue import open_dialogue  # late: scripts need none of it
    from agi.cli.setup_dialogue import SetupDialogue

    with open_dialogue(settings.env) as dialogue:
        return SetupDialogue(dialogue, wish, found, settings).ask()


def _settle(wish: Wish, found: Survey) -> tuple[Choices, float | None]:
    """Make choices of a command line that says enough, and try them."""
    if wish.provider == EMBEDDED:
        return wish.embedded(), None
    choices = Choices(
        provider=wish.provider or "",
        model=wish.model,
        agent=wish.agent,
        base_url=wish.address(found),
        api=wish.api,
        key=wish.key,
    )
    return asyncio.run(_tried(choices, found, test=wish.test))


async def _tried(choices: Choices, found: Survey, *, test: bool) -> tuple[Choices, float | None]:
    reached, env = found.with_choices(choices), dict(os.environ)
    model = choices.model or _kept(choices, found) or _only(await offered(choices.provider, reached, env))
    choices = replace(choices, model=model)
    if not test:
        await check_model(choices.provider, reached, env, model)
        return choices, None
    say(f"Asking {model} of {choices.provider} for a word …")
    try:
        return choices, await ask_once(choices.provider, reached, env, model)
    except AgiError as error:
        error.hint = f"{error.hint} {UNCHANGED} With --no-test it is saved all the same.".strip()
        raise


def _kept(choices: Choices, found: Survey) -> str | None:
    config = found.config
    return config.default_model if config.default_provider == choices.provider else None


def _only(offers: Offered) -> str:
    """The model that answers if nobody chooses; raises ConfigError where there are several, or none is told."""
    if offers.first or len(offers.models) == 1:
        return offers.first or offers.models[0].id
    names = ", ".join(one.id for one in offers.models[:LISTED])
    more = f", and {len(offers.models) - LISTED} more" if len(offers.models) > LISTED else ""
    text = f"The server has: {names}{more}." if names else "The server does not tell its models."
    raise ConfigError(
        "Which model is to answer was not said.", hint=f"{text} Add `--model NAME`.", code="missing_model"
    )


def _save(settings: ClientSettings, wish: Wish, choices: Choices, seconds: float | None) -> int:
    written = save(settings, choices, for_project=wish.for_project)
    put(
        outcome_json(choices, written, seconds)
        if wish.json
        else outcome(choices, written, for_project=wish.for_project)
    )
    if beaten := shadowed(settings, choices):
        path = short(Path(settings.project, ".agi", "config.json"))
        say(f"note: {path} says {' and '.join(beaten)}, and that counts in this folder.")
    return exits.OK
