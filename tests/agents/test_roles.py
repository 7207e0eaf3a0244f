"""Roles: Markdown files of a project and of the user become agents; one that is wrong is told of and costs no other."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from agi.agents.base import Agents
from agi.agents.builtin import READ_TOOLS
from agi.agents.load import load_agents
from agi.config import Config


class Places:
    """A project and the user's settings."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.home = root / "home"

    def write(self, path: str, text: str | bytes) -> None:
        place = self.project.parent / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())

    def load(self, *, trusted: bool = True) -> Agents:
        self.project.mkdir(exist_ok=True)
        config = replace(Config(), trusted=trusted)
        return load_agents(project=self.project, config=config, home_config=self.home)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def role(body: str = "Do it.", **fields: str) -> str:
    lines = "".join(f"{name}: {value}\n" for name, value in fields.items())
    return f"---\n{lines}---\n{body}\n"


def test_a_role_is_an_agent_with_prompt_tools_model_limits_and_permissions(places):
    """Everything the front matter says."""
    fields = {
        "name": "analyst",
        "description": "Finds  out.",
        "model": "anthropic/claude-x",
        "tools": "[read_file, fs.write]",
        "permissions": "[agent-draft, projects-list]",
        "maxSteps": "7",
        "maxUsd": "1.5",
    }
    places.write("project/.agi/roles/a.md", role("You analyse.", **fields))

    found = places.load().find("analyst")

    assert found.prompt.startswith("You analyse.")
    assert (found.description, found.provider, found.model) == ("Finds out.", "anthropic", "claude-x")
    assert (found.tools, found.permissions) == (("read_file", "fs.write"), ("agent-draft", "projects-list"))
    assert (found.max_steps, found.max_usd, found.source) == (7, 1.5, "project")


def test_what_a_role_leaves_out_is_the_least(places):
    """Its file names it, it only looks, and it may do nothing with the harness."""
    places.write("project/.agents/roles/reader.md", role())

    found = places.load().find("reader")

    assert (found.tools, found.permissions, found.model) == (READ_TOOLS, (), None)


def test_every_tool_is_asked_for_by_a_star(places):
    """As the agent `build` has them."""
    places.write("project/.agi/roles/dev.md", role(tools='"*"'))

    assert places.load().find("dev").tools is None


def test_the_first_folder_counts_and_the_other_is_told_of(places):
    """`.agi/roles`, then `.agents/roles`, then the user's."""
    places.write("project/.agi/roles/dev.md", role("First."))
    places.write("project/.agents/roles/dev.md", role("Second."))
    places.write("home/roles/dev.md", role("Third."))
    places.write("home/roles/own.md", role("Mine.", permissions="[agent-draft]"))

    agents = places.load(trusted=False)

    assert agents.find("dev").prompt.startswith("First.")
    assert [one.path for one in agents.problems] == [".agents/roles/dev.md", str(places.home / "roles/dev.md")]
    assert (agents.find("own").source, agents.find("own").permissions) == ("user", ("agent-draft",))


def test_a_role_cannot_take_the_place_of_another_agent(places):
    """A repository's `build` is not the agent `build`."""
    places.write("project/.agi/roles/build.md", role("Evil."))

    agents = places.load()

    assert "Evil" not in agents.find("build").prompt
    assert "Another agent" in agents.problems[0].message


def test_an_untrusted_projects_role_is_text(places):
    """Prompt and tools count; permissions and a higher step limit do not, and the first is told."""
    places.write("project/.agi/roles/a.md", role(permissions="[agent-draft]", maxSteps="5000", tools="[shell]"))

    agents = places.load(trusted=False)
    found = agents.find("a")

    assert (found.tools, found.permissions) == (("shell",), ())
    assert found.max_steps < 5000
    assert "agi trust" in agents.problems[0].hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no front matter"),
        ("no front matter", "no front matter"),
        ("---\nname: x\n", "does not end"),
        ("---\nname: ../up\n---\n", "cannot be"),
        ("---\nname: [a]\n---\n", "must be a text"),
        ("---\ncolour: red\n---\n", "no field"),
        ("---\npermissions: [everything]\n---\n", "no permission"),
        ("---\nmaxSteps: many\n---\n", "must be a number"),
        ("---\nmaxSteps: -1\n---\n", "must be a number"),
        ("---\nmaxUsd: nan\n---\n", "must be a number"),
        ("---\ndescription: *anchor\n---\n", "cannot begin"),
        (b"---\nname: \xff\n---\n", "not UTF-8"),
        ("---\ntools: [" + "a, " * 500 + "]\n---\n" + "b" * 300_000, "larger than"),
        ("---\nmodel: " + "m" * 500 + "\n---\n", "too long"),
    ],
)
def test_a_broken_file_is_told_and_left_out(places, text, said):
    """The others count all the same."""
    places.write("project/.agi/roles/broken.md", text)
    places.write("project/.agi/roles/good.md", role())

    agents = places.load()

    assert agents.find("good")
    assert [(one.path, said in one.message) for one in agents.problems] == [(".agi/roles/broken.md", True)]
    assert agents.problems[0].message.isprintable()


def test_a_link_is_not_followed_and_other_files_are_no_roles(places):
    """Neither a role nor the folder may lead out of the project."""
    places.write("secret.md", role("Secret."))
    places.write("project/.agi/roles/README.md", "about")
    places.write("project/.agi/roles/.hidden.md", "x")
    places.write("project/.agi/roles/notes.txt", "x")
    (places.project / ".agi" / "roles" / "linked.md").symlink_to(places.project.parent / "secret.md")
    (places.project / ".agents").mkdir()
    (places.project / ".agents" / "roles").symlink_to(places.project.parent)

    agents = places.load()

    assert {one.name for one in agents.all()} == {"build", "general", "plan"}
    assert [one.path for one in agents.problems] == [".agi/roles/linked.md", ".agents/roles"]


def test_characters_nobody_sees_are_taken_out(places):
    """As from every prompt."""
    places.write("project/.agi/roles/a.md", role("Be\u200b kind.\U000e0041"))

    assert places.load().find("a").prompt.startswith("Be kind.\n")
