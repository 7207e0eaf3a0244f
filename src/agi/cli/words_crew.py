"""What `--help` says of drafts, roles and tasks. Only text. May import: nothing of ours."""

from __future__ import annotations

ROLES = """\
agi roles [--json]

Lists who can be drafted here: the built-in agents, those of .agi/agents.json, and roles, which are Markdown files with
a front matter in .agi/roles and .agents/roles of the project and in the folder `roles` of your own settings. Says
which files do not count, and why. Permissions of a project's roles count once you trust it.

  --project PATH   the folder (default: this one)
  --json           for programs

Examples:
  agi roles
"""

TASKS = """\
agi tasks [list] [--json]
agi tasks new "<title>" [--slug SLUG] [--json]

Tasks are folders .agents/tasks/<slug>/ of the project. Lists them with who worked on each and what came of it; `new`
makes one and prints its slug.

  --slug SLUG      its name (default: made from the title)
  --project PATH   the folder (default: this one)
  --json           for programs

Examples:
  agi tasks new "Sort out the checkout"
"""

DRAFT = """\
agi draft ROLE --task SLUG [--json]
agi draft [--json]

Drafts an agent into a task: a conversation that any client of the project's daemon can go on with, also after a
restart, until it is undrafted. One draft is active in a project. Without a role, says how it
stands. Needs `agi serve`. To talk to it: agi --session ID "…", or agi tui; to end it: agi undraft.

  --task SLUG      the task; `agi tasks` lists them
  --project PATH   the folder (default: this one)
  --json           for programs

Examples:
  agi draft product-analyst --task checkout
  agi draft
"""

UNDRAFT = """\
agi undraft [--json]

Closes the project's draft, stops what it does, and says how many turns it took and what it cost. Its session stays.

  --project PATH   the folder (default: this one)
  --json           for programs

Examples:
  agi undraft
"""

AGENTS = """\
agi agents [--json]

Lists who is alive here, drafted agents and workers, each below whom it works for: its role, what it is doing, since
when, and its id, which is that of its session.

  --project PATH   the folder (default: this one)
  --json           for programs

Examples:
  agi agents
"""

BY_COMMAND = {"roles": ROLES, "tasks": TASKS, "draft": DRAFT, "undraft": UNDRAFT, "agents": AGENTS}
