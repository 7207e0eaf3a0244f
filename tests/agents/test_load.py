"""A project adds agents and changes those built in, with files that are text and nothing more."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agi.agents.base import Agent
from agi.agents.builtin import BUILTIN, MANNERS, READ_TOOLS
from agi.agents.load import load_agents
from agi.config import AgentSettings, Config
from agi.errors import ConfigError

BY_NAME = {agent.name: agent for agent in BUILTIN}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".agi").mkdir(parents=True)
    return tmp_path / "project"


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def load(project: Path, name: str, config: Config | None = None) -> Agent:
    return load_agents(project=project, config=config or Config()).find(name)


def test_without_files_there_are_the_builtin_agents(tmp_path):
    """Also in a folder that has no `.agi`."""
    assert load_agents(project=tmp_path, config=Config()).all() == tuple(sorted(BUILTIN, key=lambda agent: agent.name))


def test_the_seeds_example_works_as_it_stands(project):
    """Tools by their dotted names, prompts by their paths, a new agent beside the built-in ones."""
    write(
        project / ".agi/agents.json",
        {
            "general": {"tools": ["search", "fs.read"], "prompt": ".agi/agents/general/agent.txt"},
            "build": {"tools": ["fs.read", "fs.write", "shell.run"], "prompt": ".agi/agents/build/agent.txt"},
            "custom-repo": {"tools": ["custom-tool"], "prompt": ".agi/agents/custom-repo/agent.txt"},
        },
    )
    for name in ("general", "build", "custom-repo"):
        write(project / f".agi/agents/{name}/agent.txt", f"You are {name}.")

    custom = load(project, "custom-repo")
    assert (custom.tools, custom.prompt, custom.source) == (("custom-tool",), "You are custom-repo.", "project")
    assert load(project, "build").tools == ("fs.read", "fs.write", "shell.run")
    assert load(project, "general").prompt == "You are general."
    assert load(project, "plan") == BY_NAME["plan"]


def test_every_field_of_an_entry_counts(project):
    """Description, prompt, tools, provider, model and limit."""
    entry = {
        "description": "Reviews.",
        "prompt": "prompts/review.txt",
        "tools": [],
        "provider": "openai",
        "model": "gpt-4o-mini",
        "maxSteps": 7,
        "preflight": "always",
    }
    write(project / ".agi/agents.json", {"reviewer": entry})
    write(project / "prompts/review.txt", "Review.")

    assert load(project, "reviewer") == Agent(
        name="reviewer",
        description="Reviews.",
        prompt="Review.",
        tools=(),
        provider="openai",
        model="gpt-4o-mini",
        max_steps=7,
        preflight="always",
        source="project",
    )


def test_what_an_entry_leaves_out_stays(project):
    """For a built-in agent as built in; a new one only looks."""
    write(project / ".agi/agents.json", {"build": {"model": "m"}, "new": {}})

    build, new = load(project, "build"), load(project, "new")
    assert (build.tools, build.prompt, build.max_steps) == (None, BY_NAME["build"].prompt, 100)
    assert (new.tools, new.prompt, new.max_steps) == (READ_TOOLS, MANNERS, 50)


def test_the_tools_a_file_names_can_be_checked_by_those_who_know_the_tools(project):
    """Names are kept whether or not there is such a tool; agents that name none are left out."""
    write(project / ".agi/agents.json", {"build": {"tools": ["read_fiel"]}, "plan": {}, "new": {"tools": []}})
    agents = load_agents(project=project, config=Config())

    assert agents.named_tools == {"build": ("read_fiel",), "new": ()}
    assert agents.find("build").tools == ("read_fiel",)
    assert load_agents(project=project / "nowhere", config=Config()).named_tools == {}


@pytest.mark.parametrize(
    ("configured", "trusted", "wanted", "counts"),
    [
        ("off", False, "always", "always"),
        ("risky", False, "risky", "risky"),
        ("always", False, "risky", None),
        ("risky", False, "off", None),
        ("always", True, "off", "off"),
    ],
)
def test_an_agents_word_about_preflights_may_only_tighten_without_trust(project, configured, trusted, wanted, counts):
    """A project cannot talk its user out of seeing the plan."""
    write(project / ".agi/agents.json", {"build": {"preflight": wanted}})

    assert load(project, "build", Config(preflight=configured, trusted=trusted)).preflight == counts


@pytest.mark.parametrize("name", ["build", "general", "plan", "added"])
def test_agent_txt_is_the_prompt_of_any_agent(project, name):
    """A project's override beats the built-in prompt."""
    write(project / ".agi/agents.json", {"added": {}})
    write(project / f".agi/agents/{name}/agent.txt", "\ufeffOurs.\n")

    assert (load(project, name).prompt, load(project, name).source) == ("Ours.\n", "project")


def test_a_prompt_named_in_the_entry_beats_agent_txt(project):
    """The more explicit of the two."""
    write(project / ".agi/agents.json", {"build": {"prompt": "./prompts/../p.txt"}})
    write(project / ".agi/agents/build/agent.txt", "by place")
    write(project / "p.txt", "by name")
    write(project / "prompts/x", "")

    assert load(project, "build").prompt == "by name"


def test_the_configured_limit_beats_the_entrys(project):
    """`agents.<name>.maxSteps` is what a user says about limits."""
    write(project / ".agi/agents.json", {"build": {"maxSteps": 60}, "new": {}})
    config = Config(agents={"build": AgentSettings(max_steps=5), "plan": AgentSettings(max_steps=6)}, trusted=True)

    assert [load(project, name, config).max_steps for name in ("build", "plan", "new")] == [5, 6, 50]


@pytest.mark.parametrize(("trusted", "expected"), [(False, [100, 50, 3]), (True, [500, 400, 3])])
def test_only_a_trusted_project_raises_a_limit(project, trusted, expected):
    """Lowering is anyone's right."""
    write(
        project / ".agi/agents.json", {"build": {"maxSteps": 500}, "new": {"maxSteps": 400}, "general": {"maxSteps": 3}}
    )
    config = Config(trusted=trusted)

    assert [load(project, name, config).max_steps for name in ("build", "new", "general")] == expected


def test_hidden_characters_are_left_out_of_a_prompt(project):
    """What a person reviewing it cannot see, the model is not told."""
    write(project / ".agi/agents/build/agent.txt", "Be\u200b kind.\U000e0041\U000e0042\u202e")

    assert load(project, "build").prompt == "Be kind."


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ("", "is empty"),
        ("{", "not valid JSON"),
        ("[]", "must hold a JSON object"),
        ('{"a": ' * 10_000, "nested too deeply"),
        ('{"build": 3}', "`build`: expected an object; found a whole number"),
        ('{"build": {"tools": "shell"}}', "`build.tools`: expected an array of strings or null; found a string"),
        ('{"build": {"tools": [1]}}', "`build.tools[0]`"),
        ('{"build": {"prompt": ""}}', "`build.prompt`"),
        ('{"build": {"maxSteps": 0}}', "`build.maxSteps`"),
        ('{"build": {"tool": []}}', "`build`: `tool` is not known here; the nearest is `tools`"),
        ('{"build": {"maxSteps": "many"}}', "`build.maxSteps`: expected a whole number from 1 up to 1000000 or null"),
        ('{\n"build" {}}', "expected ':' at line 2, column 9"),
        ('{"../evil": {}}', "'../evil' cannot be an agent's name"),
        ('{"..": {}}', "cannot be an agent's name"),
        ('{"": {}}', "cannot be an agent's name"),
        ('{"a/b": {}}', "cannot be an agent's name"),
        ('{"-x": {}}', "cannot be an agent's name"),
        (json.dumps({"x" * 65: {}}), "cannot be an agent's name"),
        (json.dumps({f"a{number}": {} for number in range(201)}), "more than 200 agents"),
    ],
)
def test_a_wrong_file_is_named_with_its_key(project, content, key):
    """And what is wrong with it."""
    write(project / ".agi/agents.json", content)
    with pytest.raises(ConfigError) as raised:
        load(project, "build")

    assert str(project / ".agi/agents.json") in raised.value.message
    assert key in raised.value.message
    assert raised.value.hint


@pytest.mark.parametrize(
    "prompt", ["../secret.txt", "/etc/passwd", "link.txt", "folder/secret.txt", "missing.txt", "a\0b", ".agi"]
)
def test_a_prompt_is_a_file_inside_the_project(project, prompt):
    """Neither a path nor a link leads out, and a missing file is said."""
    write(project.parent / "secret.txt", "secret")
    (project / "link.txt").symlink_to("../secret.txt")
    (project / "folder").symlink_to("..")
    write(project / ".agi/agents.json", {"build": {"prompt": prompt}})
    with pytest.raises(ConfigError) as raised:
        load(project, "build")

    assert f"{project / '.agi/agents.json'}: `build.prompt`: " in raised.value.message


def _link_out(path: Path) -> None:
    write(path.parents[4] / "secret.txt", "secret")
    path.symlink_to(path.parents[4] / "secret.txt")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _huge(path: Path) -> None:
    path.write_bytes(b"x" * ((256 << 10) + 1))


def _not_utf8(path: Path) -> None:
    path.write_bytes(b"\xff\xfe")


@pytest.mark.parametrize("make", [_link_out, _pipe, _huge, _not_utf8])
def test_a_prompt_that_is_no_proper_text_file_is_refused(project, make):
    """With its path."""
    path = project / ".agi/agents/build/agent.txt"
    path.parent.mkdir(parents=True)
    make(path)
    with pytest.raises(ConfigError, match=r"agents/build/agent\.txt"):
        load(project, "build")


def test_agents_json_behind_a_link_is_refused(project):
    """It is among the files that are trusted by their content."""
    write(project / "real.json", {})
    (project / ".agi/agents.json").symlink_to("../real.json")
    with pytest.raises(ConfigError, match="symlink"):
        load(project, "build")


def test_a_prompt_may_be_a_link_that_stays_inside(project):
    """Text is not trusted by its content."""
    write(project / "prompts/build.txt", "linked")
    (project / ".agi/agents/build").mkdir(parents=True)
    (project / ".agi/agents/build/agent.txt").symlink_to(project / "prompts/build.txt")

    assert load(project, "build").prompt == "linked"
