"""What `--help` says: one text a command. Only text. May import: nothing of ours."""

from __future__ import annotations

ASK = """\
agi, a local-first agent harness: sessions with AI agents that work in your folder, under your control.

  agi "<prompt>"              ask; the answer streams to stdout, everything else to stderr
  agi -- <prompt>             the same; what follows -- is never an option or a command
  agi -                       the prompt is read from stdin
  agi "<prompt>" -            the prompt, then what stdin says
  agi serve                   run the daemon                        agi sessions   list, show, export, remove
  agi trust                   let a project's own settings count    agi doctor     is everything in order?
  agi repair                  rebuild the log from its mirror       agi help NAME  more about one of these

Options, before or after the prompt:
  -a, --agent NAME      build (default), general, plan, or one of the project's
  -m, --model NAME      --provider NAME
  -c, --continue        go on with the latest session of this folder
  -s, --session ID      go on with a session; the beginning or the end of its id will do
  -y, --yes             approve what is asked; commands only in a trusted workspace
      --project PATH    the folder to work in (default: this one)
      --trust           trust the workspace for this run
      --timeout S       stop after so many seconds
      --json            events as JSON lines on stdout
      --version         -h, --help

At a terminal agi asks before it writes or runs something. Without one such calls are refused, unless --yes.

Exit codes: 0 answered; 1 failed; 2 wrong options or settings; 3 calls were refused because nobody could be asked;
4 stopped by a limit (steps, budget, length); 5 --timeout; 130 interrupted; 143 terminated.

Examples:
  agi "What does this project do?"
  agi --model gpt-5.1 --yes --trust "Make the tests pass" --timeout 900
  git diff | agi "Review this change" -
  agi -c "And now the documentation"
"""

SERVE = """\
agi serve [--port N] [--host ADDRESS] [--project PATH] [--db PATH] [--expose] [--trust]

Runs the daemon for a project; its URL is printed on stdout. Turns go on when clients leave, and after a restart.

  --port N         default 8787, or a free one if that is taken; 0 is any free one
  --host ADDRESS   default 127.0.0.1; any other than loopback needs --expose
  --expose         let other machines in; then everyone needs the token of .agi/daemon.json
  --project PATH   the folder to work in (default: this one)
  --db PATH        the database (default: .agi/agi.sqlite in the project)
  --trust          trust the workspace for this run

Examples:
  agi serve
  agi serve --port 9000 --project ~/shop
"""

SESSIONS = """\
agi sessions [list] [--limit N] [--json]
agi sessions show ID [--json]
agi sessions export ID [--output FILE]
agi sessions rm ID [--yes]

The sessions of a project, with or without a running daemon. `export` writes the session's log, one event a line.
ID may be the beginning or the end of an id, as long as only one session fits.

  --project PATH   the folder (default: this one)
  --limit N        at most so many, the latest first (default: 20)
  --json           for programs
  -y, --yes        remove without asking

Examples:
  agi sessions
  agi sessions show 3f9a
  agi sessions export 3f9a --output talk.ndjson
"""

REPAIR = """\
agi repair [--project PATH] [--from-mirrors]

Rebuilds the database from the mirrors in .agi/sessions when it is missing or damaged; when it is in order, makes sure
that the mirrors say the same. What cannot be read is set aside, never deleted. Stop the daemon first.

  --from-mirrors   rebuild the database in any case; the old file is set aside

Examples:
  agi repair
  agi repair --project ~/shop --from-mirrors
"""

DOCTOR = """\
agi doctor [--project PATH] [--json]

Looks whether everything is in order, says which model would answer and why, and asks the servers that settings name
for their models. Changes nothing. Exits with 1 if something is broken.

Examples:
  agi doctor
  agi doctor --json
"""

TRUST = """\
agi trust [PATH] [--yes] [--revoke]
agi trust --list [--json]

A project's own tools, commands, base URLs, keys and looser rules count only once you trust it, as it is now: what
changes must be trusted again. Without PATH, this folder. At a terminal it shows the files and asks; with --yes, or
without a terminal, it trusts at once.

  -y, --yes   trust without asking
  --revoke    trust it no longer
  --list      what is trusted

Examples:
  agi trust
  agi trust ~/shop --revoke
  agi trust --list
"""

BY_COMMAND = {"serve": SERVE, "sessions": SESSIONS, "repair": REPAIR, "doctor": DOCTOR, "trust": TRUST}
"""The help of each command; that of asking is `ASK`."""
