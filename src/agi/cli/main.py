"""The entry point: finds the command and hands it the rest of the line. Loads nothing before it is needed.

What the commands do is written in their own files. May import: errors, cli.
"""

from __future__ import annotations

import _signal as signal
import gc
import os
import sys

from agi import __version__
from agi.cli import exits, words
from agi.cli.options import FLAG, Arguments, nearest, parse, usage
from agi.cli.output import STDERR, STDIN, STDOUT, end_line, is_fed, put
from agi.errors import AgiError

TYPE_CHECKING = False  # as `typing` has it, which costs more to load than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Command = Callable[[Arguments], int]

PROJECT = {"--project": "PATH"}
ASK_OPTIONS = {
    **PROJECT,
    "--agent": "NAME",
    "--provider": "NAME",
    "--model": "NAME",
    "--session": "ID",
    "--continue": FLAG,
    "--attach": "FILE…",
    "--preflight": FLAG,
    "--json": FLAG,
    "--yes": FLAG,
    "--trust": FLAG,
    "--timeout": "SECONDS",
}

UNDO_OPTIONS = {
    "--session": "ID",
    "--to": "POINT",
    "--files": FLAG,
    "--conversation": FLAG,
    "--both": FLAG,
    "--force": FLAG,
    "--preview": FLAG,
    "--json": FLAG,
    "--yes": FLAG,
}

SEARCH_OPTIONS = {
    "--session": "ID",
    "--kind": "KIND",
    "--role": "ROLE",
    "--tool": "NAME",
    "--path": "FILE",
    "--agent": "NAME",
    "--since": "DATE",
    "--until": "DATE",
    "--limit": "N",
    "--json": FLAG,
}

TUI_OPTIONS = {
    "--session": "ID",
    "--continue": FLAG,
    "--agent": "NAME",
    "--provider": "NAME",
    "--model": "NAME",
    "--theme": "NAME",
    "--trust": FLAG,
}

FORK_OPTIONS = {
    "--session": "ID",
    "--at": "POINT",
    "--before": FLAG,
    "--title": "TEXT",
    "--agent": "NAME",
    "--provider": "NAME",
    "--model": "NAME",
    "--json": FLAG,
}

MCP_OPTIONS = {
    "--url": "URL",
    "--header": "NAME:VALUE…",
    "--env": "NAME=VALUE…",
    "--sandbox": FLAG,
    "--to-project": FLAG,
    "--replace": FLAG,
    "--json": FLAG,
    "--yes": FLAG,
}

SETUP_OPTIONS = {
    "--project": "[PATH]",
    "--provider": "NAME",
    "--key": "-",
    "--key-env": "VARIABLE",
    "--key-file": "FILE",
    "--base-url": "URL",
    "--name": "NAME",
    "--api": "NAME",
    "--model": "NAME",
    "--agent": "NAME",
    "--no-test": FLAG,
    "--show": FLAG,
    "--json": FLAG,
    "--yes": FLAG,
}


def run() -> None:
    """Run the command this process was started with, and exit."""
    _open_streams()
    _hear_of_children()
    code = main(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, AttributeError):  # nobody reads it, or there is none
            pass
    os._exit(code)  # whatever was open is closed; taking every module apart would cost a tenth of a one-shot


def main(argv: list[str]) -> int:
    """Run one command line; gives the exit code."""
    try:
        return _dispatch(argv)
    except AgiError as error:
        return exits.report(error)
    except KeyboardInterrupt:
        end_line()
        return exits.INTERRUPTED
    except BrokenPipeError:
        return exits.BROKEN_PIPE
    except Exception as error:  # whatever it is, a person wants a sentence
        return exits.report_unexpected(error)


def _open_streams() -> None:
    """Put something harmless where a stream was closed: else the next file opened would get what we write to stdout."""
    for descriptor in (STDIN, STDOUT, STDERR):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _hear_of_children() -> None:
    """Who started us may have had the end of children ignored, which is inherited: each would seem to end well then."""
    child = getattr(signal, "SIGCHLD", None)  # not everywhere
    if child is not None and signal.getsignal(child) == signal.SIG_IGN:
        signal.signal(child, signal.SIG_DFL)


def _dispatch(argv: list[str]) -> int:
    if not argv and is_fed():
        error = usage("", "There is no prompt.")
        error.hint = f"`agi -` reads it from stdin. {error.hint}"
        raise error
    if not argv or argv == ["--help"] or argv == ["-h"]:
        put(words.ASK)
        return exits.OK
    if argv in (["--version"], ["-V"]):
        put(f"agi {__version__}\n")
        return exits.OK
    if argv[0] == "help":
        return _help(argv[1:])
    if argv[0] in COMMANDS:
        command, options = COMMANDS[argv[0]]
        arguments = parse(argv[0], argv[1:], options)
    else:
        _refuse_near(argv[0])
        command, arguments = _ask, parse("", argv, ASK_OPTIONS)
    if arguments.has("--help"):
        put(words.BY_COMMAND.get(arguments.command, words.ASK))
        return exits.OK
    return command(arguments)


def _refuse_near(word: str) -> None:
    """Most prompts have a blank in them, and are no command for sure."""
    if word.isalpha() and word.isascii():
        from agi.cli.near import refuse_near

        refuse_near(word, (*COMMANDS, "help"))


def _help(names: list[str]) -> int:
    names = [] if names == ["help"] else names
    if names and names[0] not in words.BY_COMMAND:
        error = usage("", f"There is no command {names[0][:80]!r}.")
        error.hint = nearest(names[0], words.BY_COMMAND) + error.hint
        raise error
    put(words.BY_COMMAND[names[0]] if names else words.ASK)
    return exits.OK


def _ask(arguments: Arguments) -> int:
    gc.disable()  # nothing that is imported is garbage
    from agi.cli.ask import ask

    gc.freeze()
    gc.enable()
    return ask(arguments)


def _serve(arguments: Arguments) -> int:
    gc.disable()  # nothing that is imported is garbage
    from agi.cli.serve import serve

    gc.freeze()
    gc.enable()
    return serve(arguments)


def _open(arguments: Arguments) -> int:
    from agi.cli.open import open_page

    return open_page(arguments)


def _tui(arguments: Arguments) -> int:
    from agi.cli.tui import tui

    return tui(arguments)


def _sessions(arguments: Arguments) -> int:
    from agi.cli.sessions import sessions

    return sessions(arguments)


def _jobs(arguments: Arguments) -> int:
    from agi.cli.jobs import jobs

    return jobs(arguments)


def _diff(arguments: Arguments) -> int:
    from agi.cli.diff import diff

    return diff(arguments)


def _context(arguments: Arguments) -> int:
    from agi.cli.context import context

    return context(arguments)


def _undo(arguments: Arguments) -> int:
    from agi.cli.undo import undo

    return undo(arguments)


def _fork(arguments: Arguments) -> int:
    from agi.cli.fork import fork

    return fork(arguments)


def _gc(arguments: Arguments) -> int:
    from agi.cli.gc import gc

    return gc(arguments)


def _compact(arguments: Arguments) -> int:
    from agi.cli.compact import compact

    return compact(arguments)


def _repair(arguments: Arguments) -> int:
    from agi.cli.repair import repair

    return repair(arguments)


def _log(arguments: Arguments) -> int:
    from agi.cli.log import log

    return log(arguments)


def _replay(arguments: Arguments) -> int:
    from agi.cli.replay import replay

    return replay(arguments)


def _doctor(arguments: Arguments) -> int:
    from agi.cli.doctor import doctor

    return doctor(arguments)


def _trust(arguments: Arguments) -> int:
    from agi.cli.trust import trust

    return trust(arguments)


def _setup(arguments: Arguments) -> int:
    from agi.cli.setup import setup

    return setup(arguments)


def _queue(arguments: Arguments) -> int:
    from agi.cli.queue import queue

    return queue(arguments)


def _steer(arguments: Arguments) -> int:
    from agi.cli.queue import steer

    return steer(arguments)


def _models(arguments: Arguments) -> int:
    from agi.cli.models import models

    return models(arguments)


def _tools(arguments: Arguments) -> int:
    from agi.cli.tools import tools

    return tools(arguments)


def _skills(arguments: Arguments) -> int:
    from agi.cli.skills import skills

    return skills(arguments)


def _mcp(arguments: Arguments) -> int:
    from agi.cli.mcp import mcp

    return mcp(arguments)


def _roles(arguments: Arguments) -> int:
    from agi.cli.roles import roles

    return roles(arguments)


def _tasks(arguments: Arguments) -> int:
    from agi.cli.tasks import tasks

    return tasks(arguments)


def _agents(arguments: Arguments) -> int:
    from agi.cli.agents import agents

    return agents(arguments)


def _draft(arguments: Arguments) -> int:
    from agi.cli.draft import draft

    return draft(arguments)


def _undraft(arguments: Arguments) -> int:
    from agi.cli.draft import undraft

    return undraft(arguments)


def _grants(arguments: Arguments) -> int:
    from agi.cli.grants import grants

    return grants(arguments)


def _search(arguments: Arguments) -> int:
    from agi.cli.search import search

    return search(arguments)


def _notes(arguments: Arguments) -> int:
    from agi.cli.notes import notes

    return notes(arguments)


def _policy(arguments: Arguments) -> int:
    from agi.cli.policy import policy

    return policy(arguments)


COMMANDS: dict[str, tuple[Command, Mapping[str, str]]] = {
    "serve": (
        _serve,
        {
            **PROJECT,
            "--port": "N",
            "--host": "ADDRESS",
            "--db": "PATH",
            "--open": FLAG,
            "--expose": FLAG,
            "--trust": FLAG,
            "--require-sandbox": FLAG,
        },
    ),
    "open": (_open, {**PROJECT, "--print": FLAG}),
    "tui": (_tui, {**PROJECT, **TUI_OPTIONS}),
    "sessions": (
        _sessions,
        {
            **PROJECT,
            "--limit": "N",
            "--output": "FILE",
            "--format": "NAME",
            "--cassette": FLAG,
            "--ids": FLAG,
            "--json": FLAG,
            "--yes": FLAG,
        },
    ),
    "search": (_search, {**PROJECT, **SEARCH_OPTIONS}),
    "notes": (_notes, {**PROJECT, "--json": FLAG}),
    "jobs": (_jobs, {**PROJECT, "--session": "ID", "--json": FLAG}),
    "diff": (
        _diff,
        {**PROJECT, "--session": "ID", "--turn": "TURN", "--from": "POINT", "--to": "POINT", "--json": FLAG},
    ),
    "context": (_context, {**PROJECT, "--agent": "NAME", "--text": "SECTION", "--json": FLAG}),
    "undo": (_undo, {**PROJECT, **UNDO_OPTIONS}),
    "fork": (_fork, {**PROJECT, **FORK_OPTIONS}),
    "gc": (
        _gc,
        {
            **PROJECT,
            "--dry-run": FLAG,
            "--older-than": "AGE",
            "--max-size": "SIZE",
            "--keep": "N",
            "--yes": FLAG,
            "--json": FLAG,
        },
    ),
    "compact": (_compact, {**PROJECT, "--session": "ID", "--focus": "TEXT", "--undo": FLAG, "--json": FLAG}),
    "queue": (_queue, {**PROJECT, "--session": "ID", "--json": FLAG}),
    "steer": (_steer, {**PROJECT, "--session": "ID", "--json": FLAG}),
    "models": (_models, {**PROJECT, "--provider": "NAME", "--all": FLAG, "--json": FLAG, "--if-needed": FLAG}),
    "tools": (_tools, {**PROJECT, "--json": FLAG}),
    "skills": (_skills, {**PROJECT, "--json": FLAG}),
    "mcp": (_mcp, {**PROJECT, **MCP_OPTIONS}),
    "roles": (_roles, {**PROJECT, "--json": FLAG}),
    "tasks": (_tasks, {**PROJECT, "--slug": "SLUG", "--json": FLAG}),
    "draft": (_draft, {**PROJECT, "--task": "SLUG", "--json": FLAG}),
    "undraft": (_undraft, {**PROJECT, "--json": FLAG}),
    "agents": (_agents, {**PROJECT, "--json": FLAG}),
    "log": (_log, {**PROJECT, "--all": FLAG, "--head": "HASH", "--json": FLAG}),
    "replay": (_replay, {**PROJECT, "--from": "SEQ", "--until": "SEQ", "--json": FLAG}),
    "repair": (_repair, {**PROJECT, "--from-mirrors": FLAG}),
    "doctor": (_doctor, {**PROJECT, "--json": FLAG}),
    "grants": (_grants, {**PROJECT, "--all": FLAG, "--json": FLAG}),
    "policy": (
        _policy,
        {**PROJECT, "--tool": "NAME", "--agent": "NAME", "--policy": "FILE", "--all": FLAG, "--json": FLAG},
    ),
    "trust": (_trust, {"--revoke": FLAG, "--list": FLAG, "--json": FLAG, "--yes": FLAG}),
    "setup": (_setup, SETUP_OPTIONS),
}
"""The words that are commands when they come first, and the options each takes. They are imported when they run."""


if __name__ == "__main__":
    run()
