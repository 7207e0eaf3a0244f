"""The user's name for commits, without the rest of his settings."""

from agi.sandbox.identity import git_identity

SETTINGS = """
[user]
\tname = A Person
\temail = person@home.example
\tsigningKey = SECRET1
[core]
\teditor = evil
\tautocrlf = input
\tfsmonitor = evil
[credential]
\thelper = store --file SECRET2
[url "https://SECRET3@host/"]
\tinsteadOf = https://host/
[include]
\tpath = ~/other
[safe] directory = /a
[user "sub"]
\tname = SECRET4
[init]
\tdefaultBranch = main
[pull]
\trebase
[merge]
\tconflictStyle = diff3 \\
  SECRET5
"""


def test_only_harmless_settings_are_kept(tmp_path):
    """No key, no program, no file to include."""
    (tmp_path / ".gitconfig").write_text(SETTINGS)

    kept = git_identity(str(tmp_path), str(tmp_path / ".config")).decode()

    assert kept.split("\n\t") == [
        "[user]",
        "name = A Person\n[user]",
        "email = person@home.example\n[core]",
        "autocrlf = input\n[safe]",
        "directory = /a\n[init]",
        "defaultBranch = main\n[pull]",
        "rebase = true\n",
    ]


def test_both_places_count_and_a_change_is_noticed(tmp_path):
    """The older file after the newer, as git reads them."""
    (tmp_path / ".config/git").mkdir(parents=True)
    (tmp_path / ".config/git/config").write_text("[user]\nname = One\n")
    settings = str(tmp_path / ".config")
    assert git_identity(str(tmp_path), settings) == b"[user]\n\tname = One\n"

    (tmp_path / ".gitconfig").write_text("[user]\nname = Two\n")

    assert git_identity(str(tmp_path), settings) == b"[user]\n\tname = One\n[user]\n\tname = Two\n"


def test_without_settings_there_is_nothing(tmp_path):
    """Nor from what is no settings file."""
    (tmp_path / ".gitconfig").mkdir()

    assert git_identity(str(tmp_path), "/nonexistent") == b""
