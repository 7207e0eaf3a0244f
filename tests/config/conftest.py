from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from agi.config import Config, Flags, load_config


class Places:
    """A project and its user's folder, both empty, and what stands in them."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.home = root / "home" / ".config" / "agi"
        self.env: dict[str, str] = {}
        self.project.mkdir()
        self.home.mkdir(parents=True, mode=0o700)

    @property
    def project_file(self) -> Path:
        return self.project / ".agi" / "config.json"

    @property
    def user_file(self) -> Path:
        return self.home / "config.json"

    def project_says(self, content: Mapping[str, object] | str | bytes) -> None:
        self.project_file.parent.mkdir(exist_ok=True)
        _write(self.project_file, content)

    def user_says(self, content: Mapping[str, object] | str | bytes) -> None:
        _write(self.user_file, content)
        self.user_file.chmod(0o600)

    def load(self, *, trusted: bool = False, flags: Flags | None = None) -> Config:
        return load_config(
            project=self.project, home_config=self.home, env=self.env, flags=flags or Flags(), trusted=trusted
        )


def _write(path: Path, content: Mapping[str, object] | str | bytes) -> None:
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)
