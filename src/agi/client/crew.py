"""Roles and tasks of a project as its files have them; no daemon is needed, and no log is opened.

What runs is told by the daemon alone (see rpc). May import: errors, protocol, client; sessions, late.
"""

from __future__ import annotations

from agi.client.settings import ClientSettings
from agi.protocol.drafts import ListedTask, Roles


def offered_roles(settings: ClientSettings) -> Roles:
    """Who can be drafted in the project; raises what is wrong with the settings."""
    from agi.client.inprocess import _site as site_of  # late: it brings the whole house
    from agi.sessions.team import roles_of

    with site_of(settings) as site:
        return roles_of(site.agents)


def listed_tasks(settings: ClientSettings) -> list[ListedTask]:
    """The project's tasks, with the record of who worked on each as it was last written."""
    from agi.client.inprocess import _site as site_of  # late: it brings the whole house
    from agi.sessions.tasks import Tasks

    with site_of(settings) as site:
        return Tasks(None).all(site.workspace)


def new_task(settings: ClientSettings, title: str, slug: str | None) -> ListedTask:
    """Make a task; raises Invalid or Conflict."""
    from agi.client.inprocess import _site as site_of  # late: it brings the whole house
    from agi.sessions.tasks import Tasks

    with site_of(settings) as site:
        return Tasks(None).create(site.workspace, title, slug)
