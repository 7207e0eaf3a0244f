"""Settings: files, environment and flags become one frozen value.

`values` holds what the rest of the house sees, `settings` what stands in a `config.json`, `files` how a project's files
are opened, `narrowing` what an untrusted project may say, `load` how it all becomes one `Config`.
May import: errors, protocol.
"""

from agi.config.files import config_dir, project_dir, read_inside
from agi.config.load import load_config
from agi.config.values import AgentSettings, Config, Flags, ProviderSettings, SandboxSettings, Secret

__all__ = [
    "AgentSettings",
    "Config",
    "Flags",
    "ProviderSettings",
    "SandboxSettings",
    "Secret",
    "config_dir",
    "load_config",
    "project_dir",
    "read_inside",
]
