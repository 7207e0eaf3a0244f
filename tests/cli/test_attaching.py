"""Files that go along with a prompt: `--attach FILE`, and `@path` in what was typed."""

from __future__ import annotations

import json

import pytest

from agi.cli.attaching import LIMIT, MOST, bring, mentioned
from agi.errors import ConfigError
from agi.testing.files import broken_png, picture
from agi.testing.provider import says


@pytest.mark.parametrize(
    ("typed", "paths"),
    [
        ("what is wrong in @src/app.py and @shot.png?", ["src/app.py", "shot.png"]),
        ("(see @a.txt), @b.txt; @c.txt.", ["a.txt", "b.txt", "c.txt"]),
        ("read @\"my file.txt\" and @'other one.md'", ["my file.txt", "other one.md"]),
        ("mail me@example.com or a.b@c.org", []),
        ("git@github.com:x/y.git, x@@y, foo/@bar", []),
        ("use @dataclass and @app.route", ["dataclass", "app.route"]),
        ("@", []),
        ("@Makefile", ["Makefile"]),
    ],
)
def test_a_mention_stands_on_its_own(typed, paths):
    """Not in an address; what is no file afterwards stays a word."""
    assert list(mentioned(typed)) == paths


def test_files_of_the_folder_are_attached_and_words_are_left_alone(tmp_path, capfd):
    """A decorator is no mistake; a name that can only be a file is worth a word."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.py").write_text("x = 1\n")
    (tmp_path / "empty.txt").touch()

    found = bring([], "@src/app.py @dataclass @app.route @missing.py @src @empty.txt @src/app.py", tmp_path)

    assert [(one.name, one.data) for one in found] == [("src/app.py", b"x = 1\n")]
    said = capfd.readouterr().err
    assert "@missing.py is not attached: there is no such file." in said
    assert "@empty.txt is not attached: the file is empty." in said
    assert "dataclass" not in said
    assert "app.route" not in said


@pytest.mark.threat("T18")
@pytest.mark.parametrize("mention", ["@../secret.txt", "@/etc/hostname", "@link.txt", "@.agi/daemon.json", "@pipe.txt"])
def test_a_mention_does_not_lead_out_of_the_folder(tmp_path, mention, capfd):
    """Nor to what is no regular file; `--attach` is the user's word for those."""
    import os

    folder = tmp_path / "project"
    (folder / ".agi").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / ".agi" / "daemon.json").write_text("token")
    os.mkfifo(folder / "pipe.txt")

    assert bring([], mention, folder) == ()
    assert mention in capfd.readouterr().err


def test_a_named_file_that_cannot_be_had_is_an_error(tmp_path):
    """Missing, empty, a folder, too large, or too many: nothing is asked."""
    (tmp_path / "empty").touch()
    with open(tmp_path / "huge", "wb") as huge:
        huge.truncate(LIMIT + 1)
    for name in ("gone.png", "empty", "huge", "."):
        with pytest.raises(ConfigError):
            bring([str(tmp_path / name)], "", tmp_path)
    with pytest.raises(ConfigError, match="is a folder"):
        bring([str(tmp_path)], "", tmp_path)
    for number in range(MOST + 1):
        (tmp_path / f"{number}.txt").write_text("x")
    with pytest.raises(ConfigError, match="51 files"):
        bring([str(tmp_path / f"{number}.txt") for number in range(MOST + 1)], "", tmp_path)


async def test_what_is_attached_reaches_the_model(cli):
    """From anywhere with --attach, several times; from the folder with @; the prompt stays as it was typed."""
    (cli.project / "notes.md").write_text("# Notes\n")
    (cli.project.parent / "shot.png").write_bytes(picture())
    shot = str(cli.project.parent / "shot.png")
    async with cli.answered_by(says("A blue square.")) as provider:
        result = await cli("compare @notes.md with it", "--attach", shot, f"--attach={cli.project / 'notes.md'}")

    assert (result.code, result.out, result.err) == (0, "A blue square.\n", "")
    asked = provider.requests[0].json["messages"][-1]["content"]
    assert [part["type"] for part in asked] == ["text", "image_url", "text", "text"]
    assert asked[0]["text"] == "compare @notes.md with it"
    assert asked[3]["text"] == "[file notes.md]\n```\n# Notes\n```"


async def test_what_is_refused_at_the_door_asks_nothing_and_leaves_nothing(cli):
    """A damaged picture is named with what to do."""
    (cli.project / "bad.png").write_bytes(broken_png())
    async with cli.answered_by(says("never")) as provider:
        result = await cli("look at @bad.png")
        listed = await cli("sessions", "--json")

    assert result.code != 0
    assert "cannot be decoded" in result.err
    assert provider.requests == []
    assert json.loads(listed.out or "[]") in ([], {"sessions": []})


async def test_stdin_attaches_nothing(cli):
    """A diff may name any file; only what a person typed counts."""
    (cli.project / "secret.txt").write_text("hidden")
    async with cli.answered_by(says("ok")) as provider:
        await cli("review", "-", stdin=b"+ see @secret.txt\n")

    assert b"hidden" not in provider.requests[0].body
