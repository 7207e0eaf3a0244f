"""What `--help` says: one text a command. Only text. May import: cli."""

from __future__ import annotations

from agi.cli import words_crew as crew

ASK = """\
agi, a local-first agent harness: sessions with AI agents that work in your folder, under your control.

  agi "<prompt>"              ask; the answer streams to stdout, everything else to stderr
  agi -- <prompt>             the same; what follows -- is never an option or a command
  agi -                       the prompt is read from stdin
  agi "<prompt>" -            the prompt, then what stdin says
  agi setup                   choose who answers, enter a key       agi models     which can be asked, their prices
  agi tui                     a conversation on a whole screen      agi open       the same in your browser
  agi serve                   run the daemon                        agi sessions   list, show, export, remove
  agi trust                   let a project's own settings count    agi doctor     is everything in order?
  agi repair                  rebuild the log from its mirror       agi grants     what you allowed for longer
  agi policy explain "<cmd>"  would it run, be asked about, or not? agi undo       take back what the agent did
  agi jobs                    what runs in the background           agi tools      what agents can use here
  agi diff                    what it changed                       agi compact    make a conversation shorter
  agi skills                  instructions agents can load here     agi help NAME  more about one of these
  agi search "<words>"        find what was said and done           agi notes      what agents should know here
  agi fork                    another session from here             agi gc         what takes room, and making some
  agi context                 what the model is shown, and its cost agi mcp        tools of MCP servers
  agi draft ROLE --task SLUG  talk to an agent about a task         agi undraft    until you are done
  agi tasks                   what is to be done, and who did it    agi roles      who can be drafted here
  agi agents                  who is at work, and for whom          agi queue      what waits: list, edit, steer, drop
  agi steer "<words>"         tell the running turn something       agi log verify is the log as it was written?
  agi replay SESSION          play a session again, offline         agi policy replay  by another policy

Options, before or after the prompt:
  -a, --agent NAME      build (default), general, plan, or one of the project's
  -m, --model NAME      --provider NAME
  -c, --continue        go on with the latest session of this folder
  -s, --session ID      go on with a session; the beginning or the end of its id will do
  -y, --yes             approve what is asked; commands only in a trusted workspace
      --preflight       see the plan first: steps, risks, cost; nothing runs before you say yes
      --attach FILE     show a file: a picture, a sound, a PDF, text; may be given several times
      --project PATH    the folder to work in (default: this one)
      --trust           trust the workspace for this run
      --timeout S       stop after so many seconds
      --json            events as JSON lines on stdout
      --version         -h, --help

At a terminal agi asks before it writes or runs something. Without one such calls are refused, unless --yes.

A file of the folder named with @ in the prompt is attached too: @src/app.py, @"my notes.txt".

Exit codes: 0 answered; 1 failed; 2 wrong options or settings; 3 calls or the plan were refused;
4 stopped by a limit (steps, budget, length); 5 --timeout; 129 hung up; 130 interrupted; 141 nobody reads the output;
143 terminated.

Examples:
  agi "What does this project do?"
  agi --model gpt-5.1 --yes --trust "Make the tests pass" --timeout 900
  git diff | agi "Review this change" -
  agi -c "And now the documentation"
  agi "What is wrong in @src/app.py? It looks like @shot.png"
"""

SERVE = """\
agi serve [--open] [--port N] [--host ADDRESS] [--project PATH] [--db PATH] [--expose] [--trust]
          [--require-sandbox]

Runs the daemon for a project; its URL is printed on stdout. Turns go on when clients leave, and after a restart.

  --open           open the web page in your browser, signed in
  --port N         default 8787, or a free one if that is taken; 0 is any free one
  --host ADDRESS   default 127.0.0.1; any other than loopback needs --expose
  --expose         let other machines in; then everyone needs the token of .agi/daemon.json
  --project PATH   the folder to work in (default: this one)
  --db PATH        the database (default: .agi/agi.sqlite in the project)
  --trust          trust the workspace for this run
  --require-sandbox  do not start where nothing keeps commands in

Examples:
  agi serve
  agi serve --port 9000 --project ~/shop
"""

OPEN = """\
agi open [SESSION] [--print] [--project PATH]

Opens the web page of the daemon that runs for the project in your browser, signed in; with a session, at that session.
The code in the address works once, within a minute. Without a screen, or with --print, the address is printed instead.

  SESSION          the session to show; the beginning or the end of its id will do
  --print          print the address, for a browser of your choice
  --project PATH   the folder whose daemon it is (default: this one)

Examples:
  agi serve --open
  agi open
  agi open --print
"""

TUI = """\
agi tui [--session ID | --continue] [--agent NAME] [--provider NAME] [--model NAME] [--theme NAME]
        [--project PATH] [--trust]

A conversation on the whole screen: answers as they come, questions as they are asked, what changed, taking it back.
Joins the daemon that runs for the project, else runs in this process. Needs the extra `tui` (agi doctor says how to get
it). In it, /help lists the commands and ? the keys.

  -s, --session ID   go on with a session; the beginning or the end of its id will do
  -c, --continue     go on with the latest session of this folder
  -a, --agent NAME   who answers in a new session; -m, --model NAME and --provider NAME likewise
  --theme NAME       dark, light, or terminal for the terminal's own colours; NO_COLOR is obeyed
  --project PATH     the folder to work in (default: this one)
  --trust            trust the workspace for this run

Examples:
  agi tui
  agi tui --continue
"""

SESSIONS = """\
agi sessions [list] [--limit N] [--json]
agi sessions show ID [--ids] [--json]
agi sessions export ID [--format ndjson|cassette|markdown] [--cassette] [--output FILE]
agi sessions rm ID [--yes]

The sessions of a project, with or without a running daemon. `export` writes the session's log, one event a line;
as a cassette, a file that `agi replay` plays again; or as Markdown to read.
ID may be the beginning or the end of an id, as long as only one session fits. Forks are marked with ⑂.

  --ids            the ids of messages too, to fork at one
  --format NAME    of an export: ndjson (default), cassette or markdown; --cassette is short for the second
  --output FILE    a new file for an export (default: stdout)
  --project PATH   the folder (default: this one)
  --limit N        at most so many, the latest first (default: 20)
  --json           for programs
  -y, --yes        remove without asking

Examples:
  agi sessions
  agi sessions show 3f9a
  agi sessions export 3f9a --output talk.ndjson
  agi sessions export 3f9a --cassette --output talk.agi-cassette
"""

SEARCH = """\
agi search "<words>" [--session ID] [--kind KIND] [--role ROLE] [--tool NAME] [--path FILE] [--agent NAME]
           [--since DATE] [--until DATE] [--limit N] [--json]

Finds what was said and done in the sessions of a project: messages, tool calls and their results, files touched,
titles. All words must be there; "a phrase" in quotes, begin* for a beginning. parseEnvelope and parse_envelope are
found whole and in parts. With --path, --tool or --session the words may be left out.

  -s, --session ID   in one session; the beginning or the end of its id will do
  --kind KIND        message, tool, file or title
  --role ROLE        user, assistant, tool or system
  --tool NAME        calls of one tool
  --path FILE        where this file, or something in this folder, was touched
  -a, --agent NAME   sessions of one agent
  --since DATE       2026-01-31, a time such as 2026-01-31T18:05:00Z, or 7d, 12h ago; --until the same
  --limit N          at most so many, the best first (default: 20)
  --json             for programs
  --project PATH     the folder (default: this one)

Examples:
  agi search "parse_envelope crash"
  agi search --path src/parser.py --since 7d
  agi search '"connection refused"' --kind tool
"""

NOTES = """\
agi notes [list] [--json]
agi notes add "<text>"
agi notes rm ID

Notes of yours for this folder, which agents are told in every session here. They are kept beside your own settings,
not in the project; no tool can write them. At most 50 of 1,000 characters.

  --project PATH   the folder (default: this one)
  --json           for programs

An id may be shortened to its beginning or its end.

Examples:
  agi notes add "The staging database is read-only; never migrate it."
  agi notes rm 3f9c
"""

JOBS = """\
agi jobs [list] [--session ID] [--json]
agi jobs tail JOB [--session ID]
agi jobs stop JOB [--session ID]
agi jobs background [--session ID]

What agents run in the background. `tail` shows a job's last words and what it says from then on, `stop` ends it with
all its processes, `background` moves the command that a session waits for there. Jobs outlive turns, and end with the
daemon. JOB may be the beginning or the end of an id.

  -s, --session ID   those of one session, also what has ended there
      --project PATH the folder (default: this one)
      --json         for programs

Examples:
  agi jobs
  agi jobs tail 3f9a
"""

MODELS = """\
agi models [list] [--provider NAME] [--all] [--json]
agi models fetch [--if-needed]

The models that can be asked: how many tokens they hold, what a million tokens cost in and out, and which one answers by
default (*). Servers of your own are asked for theirs. What your settings say about a model counts first, then what its
server says, then the table of prices that agi brings along.

  --provider NAME   those of one provider
  --all             all of them, not only a handful of each provider
  --json            for programs; everything that is known
  --project PATH    the folder (default: this one)

`fetch` brings a small model onto this machine that needs no key: Qwen2.5-Coder 1.5B, 1.12 GB, verified by its digest.
Stopped in the middle, it goes on where it was. It is fine for looking things up, and not for real coding.

  --if-needed       nothing, where another model answers already

Examples:
  agi models
  agi models --provider anthropic --all
"""

DIFF = """\
agi diff [--session ID] [--turn TURN] [--json]
agi diff [--session ID] --from POINT [--to POINT]

What a session changed in its files, commands included, as a unified diff; git is not needed. Without --session, the
latest of this folder.

  -s, --session ID   the beginning or the end of its id will do
  --turn TURN        only what this turn changed
  --from, --to       between two points: a turn (its beginning), a checkpoint, `start` or `fork`
  --json             for programs
  --project PATH     the folder (default: this one)

Examples:
  agi diff
  agi diff --turn turn_019a…
"""

COMPACT = """\
agi compact [SESSION] [--focus TEXT] [--undo]

Makes a session's conversation shorter for the model: old outputs are left out, what was said is summed up, and what
the log itself knows (to-do list, files, jobs, your last message) is kept word by word. The log keeps everything, so it
can be undone. While a turn runs, it is done before the model is asked next.

  SESSION            the beginning or the end of its id will do (default: the latest of this folder)
  -s, --session ID   the same
  --focus TEXT       what the summary should dwell on
  --undo             tell the model again what it was told before
  --json             for programs
  --project PATH     the folder (default: this one)

Examples:
  agi compact
  agi compact --focus "the parser; forget the docs"
  agi compact --undo
"""

QUEUE = """\
agi queue [SESSION] [--json]
agi queue edit N "<words>"
agi queue steer N
agi queue drop N

Lists the messages that wait in a session, the next one first, or does something with one of them: N is its number in
the list. One that steers is told to the running turn at its next step; if the turn ends before, it is the next one.

  SESSION            the beginning or the end of its id will do (default: the latest of this folder)
  -s, --session ID   the same
  --json             for programs
  --project PATH     the folder (default: this one)

Examples:
  agi queue
  agi queue edit 1 "also update the README, in German"
  agi queue steer 1
"""

STEER = """\
agi steer "<words>"

Tells the turn that runs something at its next step: behind the results of the calls it has made, before its model is
asked again. If the turn ends before, it is answered next. Where nothing runs it is refused.

  -s, --session ID   the session (default: the latest of this folder)
  --json             for programs
  --project PATH     the folder (default: this one)

Examples:
  agi steer "leave the tests alone"
  agi steer --session 4f2a "use tabs"
"""

CONTEXT = """\
agi context [SESSION] [--json] [--text SECTION]

What the model is shown beside the conversation: each section with where it comes from and what it costs in tokens, what
was left out and why, and how much of the model's window is used. Without a session: what a new one here would be told.

  SESSION            the beginning or the end of its id will do
  --text SECTION     the very text of a section, by its name or by where it comes from
  -a, --agent NAME   for a session that is not begun: as this agent
  --json             for programs
  --project PATH     the folder (default: this one)

Examples:
  agi context
  agi context 3f2a --text rules
"""

UNDO = """\
agi undo [--session ID] [--to POINT] [--files | --conversation | --both] [--yes]
agi undo FILE … [--force]

Takes back what a session did: by default the changes of files that its last turn made, commands included; git is not
needed. Shows first what would happen, and asks. What you changed yourself since then is never overwritten, unless you
name it and say --force. The undo itself can be undone; it says how.

  -s, --session ID   the beginning or the end of its id will do (default: the latest of this folder)
  --to POINT         a turn (back to its beginning), a checkpoint, `start`, or `fork` (default: the last turn)
  --files            the files (default)
  --conversation     what was said; it stays in the log, and the model no longer knows it
  --both             both
  FILE               only these files, and those in these folders
  --force            also those of them that somebody else changed
  --preview          only show it
  -y, --yes          do not ask
  --json             for programs; without --yes only a preview
  --project PATH     the folder (default: this one)

Examples:
  agi undo
  agi undo src/parser.py
  agi undo --both --to turn_019a…
"""

FORK = """\
agi fork [SESSION] [--at POINT [--before]] [--title TEXT] [--agent NAME] [--provider NAME] [--model NAME] [--json]

Begins another session with what was said in one, up to a point; also while that one runs. The source is not changed.
The id of the new session is printed. Without SESSION, the latest of this folder.

  --at POINT         a message (msg_…, see `agi sessions show --ids`), a turn (turn_…, to its end) or the number of an
                     event (default: as it stands now)
  --before           without that message or turn, to say something else in its place
  --title TEXT       default: that of the source, marked as a fork
  --agent, --provider, --model
                     who goes on with it (default: as in the source)
  -s, --session ID   the same as SESSION; the beginning or the end of its id will do
  --json             the whole session, for programs
  --project PATH     the folder (default: this one)

Files stay as they are. `agi undo --to fork` brings back those of that moment.

Examples:
  agi fork
  agi fork 3f9a --at msg_019a… --before
"""

GC = """\
agi gc [--dry-run] [--older-than AGE] [--max-size SIZE] [--keep N] [--yes] [--json]

Says what takes room in a project's .agi, and makes some: removes sessions that are over the limits of `retention` in
the settings, or over those named here; then what stopped processes left behind and checkpoints nothing needs; and gives
the room back to the disk. Without any limit no session is removed. A session that runs, waits for an answer or is held
by another process stays. Works beside a running daemon.

  --dry-run          only say it
  --older-than AGE   sessions in which nothing happened for 90d, 12h or 2w; in the place of the configured limits
  --max-size SIZE    if all of it takes more than 2GB or 500MB, those that were quiet longest; likewise
  --keep N           so many of the latest stay in any case
  --yes              remove sessions without asking
  --json             for programs
  --project PATH     the folder (default: this one)

Examples:
  agi gc --dry-run
  agi gc --older-than 90d --keep 20
"""

REPAIR = """\
agi repair [--project PATH] [--from-mirrors]

Rebuilds the database from the mirrors in .agi/sessions when it is missing or damaged; when it is in order, makes sure
that the mirrors say the same. What cannot be read is set aside, never deleted. Stop the daemon first.

  --from-mirrors   rebuild the database in any case; the old file is set aside. `agi repair` afterwards writes those
                   mirrors anew that were damaged
  --project PATH   the folder (default: this one)

Exit codes: 0 in order, or mended; 1 something is left to do, and is said; 2 wrong options, no such folder.

Examples:
  agi repair
  agi repair --project ~/shop --from-mirrors
"""

REPLAY = """\
agi replay SESSION|FILE [--from SEQ] [--until SEQ] [--json] [--project PATH]

Plays a session or a cassette again, offline: the real loop runs, and models, tools and people answer what they answered
then. Each event that it makes is held against the recorded one, byte for byte. No provider is asked, no tool runs, and
no file is written. Make a cassette to keep with `agi sessions export ID --cassette`.

  --from SEQ       fold the state up to this event and play from there; within an answer, from its beginning
  --until SEQ      play up to this event
  --project PATH   the folder of the session (default: this one)
  --json           for programs

Exit codes: 0 identical, or nothing to compare; 1 something else would happen, the first difference is shown, or the log
is damaged; 2 wrong options, no such session, or the file is no cassette.

Examples:
  agi replay 3f9a
  agi replay talk.agi-cassette
  agi replay talk.agi-cassette --from 120
"""

LOG = """\
agi log verify [SESSION | --all] [--head HASH] [--json] [--project PATH]

Checks that the log is as it was written: each event's hash covers its bytes and the hash of the event before it. Looks
at the database and at the mirror, names the first events that were changed, are missing, out of order or cut off, and
prints each session's head, the hash of its last event. Also says whether messages and turns are what the events say.
Reads only, and mends nothing; also while a daemon runs.

  --all            every session (also without a session)
  --head HASH      a head that you kept elsewhere: is the log up to that event still the same?
  --project PATH   the folder (default: this one)
  --json           for programs

Someone who can write the files can also chain them again. Only a head kept elsewhere shows that.

Exit codes: 0 as written; 1 something is not, or the log cannot be read; 2 wrong options, no such session.

Examples:
  agi log verify
  agi log verify 4c41 --head c97d9d246f23b022bf240c068a33a46155b89fffef4bb0662bf406414fa2ed13
"""

DOCTOR = """\
agi doctor [--project PATH] [--json]

Looks whether everything is in order, says which model would answer and why, and asks the servers that settings name
for their models. Names the extras that are not installed, with the command that adds each. Changes nothing. Exits with
1 if something is broken.

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

SETUP = """\
agi setup [--project [PATH]]
agi setup --provider NAME [--key-env VARIABLE | --key-file FILE | --key -] [--model NAME]
agi setup --base-url URL [--name NAME] [--model NAME]
agi setup --show [--json]

Chooses who answers: OpenAI, Anthropic, Google, a server of your own (Ollama, LM Studio, llama.cpp, vLLM, OpenRouter …)
or the embedded model. At a terminal it asks; what the options say is not asked. One tiny question is sent to see that
it works. Keys go into your own settings, readable by you alone, and are never shown.

  --project [PATH]      let the choice count for this project only; the key still goes into your own settings
  --provider NAME       openai, anthropic, google, embedded, ollama, lmstudio, llamacpp, vllm, openrouter, or any name
  --key-env VARIABLE    take the key from an environment variable
  --key-file FILE       take it from a file
  --key -               take it from stdin, or be asked for it
  --base-url URL        where the API of a server of your own begins
  --name NAME           what to call that server (default: by its address)
  --api NAME            how it is spoken to: chat (default), responses, messages, gemini
  -m, --model NAME      -a, --agent NAME
  --no-test             ask the model nothing
  -y, --yes             ask me nothing: take the first choice for what was left open
  --show                what is set up, and where it comes from
  --json                for programs

Examples:
  agi setup
  agi setup --provider anthropic --key-env ANTHROPIC_API_KEY
  pass show openai | agi setup --provider openai --key -
  agi setup --provider ollama --model qwen3:8b --project
"""

GRANTS = """\
agi grants [list] [--all] [--project PATH] [--json]
agi grants revoke ID [--project PATH]

What you allowed for longer than one call, by answering a question with s or w: in this folder, and in its sessions.
What is revoked is asked about again, also in turns that run.

  --all            also what you allowed in other folders
  --project PATH   the folder (default: this one)
  --json           for programs

An id may be shortened to its beginning or its end.

Examples:
  agi grants
  agi grants revoke 3f9c
"""

POLICY = """\
agi policy explain "<command>" [--tool NAME] [--agent NAME] [--project PATH] [--json]
agi policy replay SESSION|FILE [--policy FILE] [--all] [--project PATH] [--json]

Says what would become of a command and why: each program it would start, the files it would open, the rule that
decides, the risk, and what an answer could be remembered as. Runs nothing.

`replay` judges every call of a session, or of a cassette, again: by your settings as they are now, or by those in a
file. It says what was allowed, asked about or denied then and would be now, and by which rule.

Of `explain`:
  --tool NAME      another tool than shell; the text is then a path, or its whole input as JSON
  -a, --agent NAME who would call it (default: the agent of a new session)

Of `replay`:
  --policy FILE    a settings file (the defaults if it has no `approval`), or only what stands under `approval`; else
                   the settings of the folder
  --all            the calls that would be decided as they were, too

Of both:
  --project PATH   the folder (default: this one)
  --json           for programs

Exit codes: 0; of `replay` 1 if a call would be decided otherwise, or the log is damaged; 2 wrong options, no such
session, or the file is no cassette or no policy.

Examples:
  agi policy explain "git log --oneline | head"
  agi policy explain 'env X=1 sh -c "rm -rf build"'
  agi policy explain docs/intro.md --tool write_file
  agi policy replay 3f9a --policy stricter.json
"""

TOOLS = """\
agi tools [list] [--json]
agi tools new NAME

The tools agents can be given: those that are always there and the project's own (.agi/tools), with what is wrong with
any of these. A project's tools are loaded once you trust it (agi trust). `new` writes a small tool that works, to begin
with.

  --project PATH   the folder (default: this one)
  --json           for programs; with schemas

Examples:
  agi tools
  agi tools new line_count
"""

MCP = """\
agi mcp [list] [--json]
agi mcp add NAME [--env NAME=VALUE]… [--sandbox] [--to-project] [--replace] -- COMMAND [ARGUMENT]…
agi mcp add NAME --url URL [--header NAME:VALUE]… [--to-project] [--replace]
agi mcp rm NAME [--to-project]
agi mcp test NAME [--json]
agi mcp approve NAME [TOOL] [--yes]
agi mcp serve

MCP servers bring tools of other programs. Yours stand in mcp.json of your settings, a project's in its .agi/mcp.json or
.mcp.json, and those count once you trust it. `list` says how each stands and starts nothing; `test` starts one and says
what it offers. What a server says of its tools is kept when it is first seen; what is different later is not used until
`approve` has shown you the difference.

`serve` is the other way round: over its standard input and output, another program's agent (Claude Code, Codex, any MCP
client) uses the agents of this folder, through the daemon if one runs. docs/mcp-server.md says how to set it up.

  --url URL            a server that speaks streamable HTTP
  --header NAME:VALUE  sent with every request; ${VARIABLE} is filled in from the environment
  --env NAME=VALUE     a variable of the server's own; ${VARIABLE} likewise
  --sandbox            run it where commands run: it sees and changes the workspace only, without network
  --to-project         write to the project's .agi/mcp.json instead of your own file
  --replace            put it in the place of one of that name
  --project PATH       the folder (default: this one)
  --json               for programs
  --yes                approve what is shown without a question

Examples:
  agi mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  agi mcp add tracker --url https://tracker.example/mcp --header 'Authorization: Bearer ${TRACKER_TOKEN}'
  agi mcp test files
  claude mcp add agi -- agi mcp serve
"""

SKILLS = """\
agi skills [list] [--json]
agi skills show NAME [FILE] [--json]
agi skills check FOLDER [--json]

Skills are instructions that agents load when they fit: folders with a SKILL.md in .agi/skills, .agents/skills and
.claude/skills of the project, and in the folder `skills` of your own settings. Lists those that count, and says what is
wrong with the others. `show` prints a skill's text, or one of its files; `check` says whether a folder holds one that
can be used, and exits with 1 if not. Nothing of a skill is run.

  --project PATH   the folder (default: this one)
  --json           for programs

Examples:
  agi skills
  agi skills show pdf-forms
  agi skills check .agi/skills/pdf-forms
"""

BY_COMMAND = {
    "serve": SERVE,
    "open": OPEN,
    "tui": TUI,
    "sessions": SESSIONS,
    "search": SEARCH,
    "notes": NOTES,
    "jobs": JOBS,
    "diff": DIFF,
    "context": CONTEXT,
    "undo": UNDO,
    "fork": FORK,
    "gc": GC,
    "compact": COMPACT,
    "queue": QUEUE,
    "steer": STEER,
    "models": MODELS,
    "tools": TOOLS,
    "skills": SKILLS,
    "mcp": MCP,
    **crew.BY_COMMAND,
    "log": LOG,
    "replay": REPLAY,
    "repair": REPAIR,
    "doctor": DOCTOR,
    "grants": GRANTS,
    "policy": POLICY,
    "trust": TRUST,
    "setup": SETUP,
}
"""The help of each command; that of asking is `ASK`."""
