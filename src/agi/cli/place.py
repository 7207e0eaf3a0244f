"""Where a command works: the project's folder, the user's settings, the environment.

May import: errors, config, client, cli.
"""

from __future__ import annotations

import os
from pathlib import Path

from agi.cli.options import Arguments, usage
from agi.cli.output import say
from agi.client.settings import ClientSettings
from agi.config.files import PROJECT_DIR, config_dir, no_folder
from agi.errors import ConfigError, StorageError


def project_of(arguments: Arguments) -> Path:
    """The folder `--project` names, or this one; raises ConfigError if there is none."""
    return folder(arguments.command, arguments.get("--project") or ".")


def folder(command: str, text: str) -> Path:
    """An existing folder, with links followed; one whose name the log, which is UTF-8, can hold."""
    try:
        path = os.path.realpath(os.path.expanduser(text)) if "\0" not in text else ""
    except FileNotFoundError:  # relative to a folder that was removed meanwhile
        hint = "Go to another folder, or name one with --project and its whole path."
        raise ConfigError("The folder you are in is not there any more.", hint=hint, code="usage") from None
    if os.path.isfile(path):
        raise usage(command, f"{text[:200]!r} is a file, not a folder.")
    if not os.path.isdir(path):
        raise usage(command, f"There is no folder {text[:200]!r}.")
    if not _is_utf8(path):
        raise ConfigError(f"The path {path!r} is not valid UTF-8.", hint="Rename the folder.", code="usage")
    return Path(path)


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def place(arguments: Arguments) -> ClientSettings:
    """Where this command line works; that a log was made again is said on stderr, whatever the command."""
    return ClientSettings(
        project=project_of(arguments),
        home_config=config_dir(os.environ),
        env=dict(os.environ),
        tell=lambda text: say(f"note: {text}"),
    )


def has_sessions(settings: ClientSettings) -> bool:
    """Tell whether there is anything to look at, so that looking creates nothing; raises StorageError as below."""
    data = settings.project / PROJECT_DIR
    if (data / "agi.sqlite").exists() or (data / "sessions").exists():
        return True
    refuse_no_folders(data)
    return False


def refuse_no_folders(*folders: Path) -> None:
    """See that each, one below the other, is a folder that can be looked into, or is not there.

    What is not seen would count as lost, or as never said. Raises StorageError.
    """
    for path in folders:
        try:
            os.scandir(path).close()
        except FileNotFoundError:
            return
        except NotADirectoryError as error:
            raise no_folder(path) from error
        except OSError as error:
            text = f"{path} cannot be read: {error.strerror}."
            raise StorageError(text, hint="Check the disk, and who may read it.") from error
