"""What is set up, and how choices are written down: keys and addresses into the user's own file, always; which
provider, model and agent answer into that file too, or into a project's.

Keys are never told, only whether there is one and where it comes from. Asking for them is others' business.
May import: errors, config, trust, client.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from agi.client.settings import ClientSettings
from agi.config import Config, ProviderSettings, Secret, load_config
from agi.config.files import CONFIG_LIMIT, CONFIG_NAME, PROJECT_DIR, read_file, read_inside
from agi.config.load import VARIABLES
from agi.config.parse import parse_settings
from agi.config.settings import ProviderSection, Settings
from agi.config.store import Document, update_document, update_project_document
from agi.config.values import Api
from agi.errors import ConfigError
from agi.trust import set_trust, trust_state

EMBEDDED = "embedded"
"""The provider that is a model in this process."""
_DEFAULTS = ("defaultProvider", "defaultModel", "defaultAgent")


class ProviderState(Struct, frozen=True, kw_only=True):
    """How a provider stands, without its key."""

    name: str
    has_key: bool = False
    key_from: str = ""
    """The environment variable or the file its key comes from."""
    variable: str = ""
    """The environment variable its key may come from; empty if there is none for it."""
    base_url: str | None = None
    api: Api | None = None
    enabled: bool = True
    is_built_in: bool = False


class Survey(Struct, frozen=True, kw_only=True):
    """Everything that is set up here."""

    providers: Mapping[str, ProviderState]
    config: Config

    def provider(self, name: str) -> ProviderState:
        """How one provider stands, also one that nobody has named yet."""
        return self.providers.get(name, ProviderState(name=name))

    def with_choices(self, choices: Choices) -> ProviderSettings:
        """How a provider would be reached once the choices are written down."""
        known = self.config.provider(choices.provider)
        return ProviderSettings(
            base_url=choices.base_url or known.base_url,
            api_key=choices.key or known.api_key,
            api=choices.api or known.api,
        )


class Choices(Struct, frozen=True, kw_only=True):
    """What is to be written down; what is None stays as it is."""

    provider: str
    model: str | None = None
    """None: none is named, and the provider's first choice answers."""
    agent: str | None = None
    base_url: str | None = None
    api: Api | None = None
    key: Secret | None = None


class Written(Struct, frozen=True, kw_only=True):
    """The settings that were written into one file."""

    path: Path
    keys: tuple[str, ...]


def survey(settings: ClientSettings) -> Survey:
    """Look at what is set up; raises ConfigError if a file cannot be read."""
    trusted = trust_state(settings.project, settings.home_config).trusted
    config = load_config(project=settings.project, home_config=settings.home_config, env=settings.env, trusted=trusted)
    files = [(settings.home_config / CONFIG_NAME, _sections(_own(settings.home_config)))]
    if trusted:
        files.insert(0, (settings.project / PROJECT_DIR / CONFIG_NAME, _sections(_projects(settings.project))))
    names = dict.fromkeys((*VARIABLES, *config.providers))
    found = {name: _state(name, config, _key_file(name, files)) for name in names}
    return Survey(providers=found, config=config)


def save(settings: ClientSettings, choices: Choices, *, for_project: bool) -> tuple[Written, ...]:
    """Write choices down; gives what was written where. An error leaves the file it names as it was."""
    provider = {
        "enabled": True if not _is_enabled(settings, choices.provider) else None,
        "baseUrl": choices.base_url,
        "api": choices.api,
        "apiKey": choices.key.reveal() if choices.key else None,
    }
    section = {key: value for key, value in provider.items() if value is not None}
    defaults = dict(zip(_DEFAULTS, (choices.provider, choices.model, choices.agent), strict=True))
    written = [_save_project(settings, defaults)] if for_project else []
    if section or not for_project:
        written.insert(0, _save_own(settings, choices.provider, section, {} if for_project else defaults))
    return tuple(written)


def shadowed(settings: ClientSettings, choices: Choices) -> tuple[str, ...]:
    """Name the settings of the project's own file that count here in the place of what was chosen."""
    theirs, trusted = _projects(settings.project), trust_state(settings.project, settings.home_config).trusted
    name = choices.provider
    section = _sections(theirs).get(name, ProviderSection()) if trusted else ProviderSection()
    beaten = {
        "defaultProvider": (theirs.default_provider, name),
        "defaultModel": (theirs.default_model, choices.model),
        "defaultAgent": (theirs.default_agent, choices.agent),
        f"providers.{name}.baseUrl": (section.base_url, choices.base_url),
        f"providers.{name}.apiKey": (section.api_key, choices.key),
    }
    return tuple(key for key, (says, wanted) in beaten.items() if wanted and says is not UNSET and says != wanted)


def _save_own(
    settings: ClientSettings, name: str, section: Mapping[str, object], defaults: Mapping[str, str | None]
) -> Written:
    path = settings.home_config / CONFIG_NAME

    def change(document: Document) -> None:
        if section:
            providers = _objects(document, "providers", path)
            entry = _objects(providers, name, path)
            entry.update({key: _raw(value) for key, value in section.items()})
            providers[name] = _raw(entry)
            document["providers"] = _raw(providers)
        _put(document, defaults)

    update_document(settings.home_config, change)
    keys = [f"providers.{name}.{key}" for key in section] + [key for key, value in defaults.items() if value]
    return Written(path=path, keys=tuple(keys))


def _save_project(settings: ClientSettings, defaults: Mapping[str, str | None]) -> Written:
    """Whoever trusted the project trusts it with this change of their own, unless anything else changed meanwhile."""
    project, home = settings.project, settings.home_config
    was_trusted = trust_state(project, home).trusted
    update_project_document(project, lambda document: _put(document, defaults))
    name = f"{PROJECT_DIR}/{CONFIG_NAME}"
    now = trust_state(project, home)
    if was_trusted and now.changed == (name,):
        set_trust(project, home, True, seen=now.fingerprint)
    return Written(path=project / name, keys=tuple(key for key, value in defaults.items() if value))


def _put(document: Document, defaults: Mapping[str, str | None]) -> None:
    """A model that was meant for another provider does not stay; an agent does."""
    for key, value in defaults.items():
        if value is not None:
            document[key] = _raw(value)
        elif key == "defaultModel":
            document.pop(key, None)


def _objects(document: Document, key: str, path: Path) -> Document:
    """One object of a file by its keys, each value as it stands there."""
    try:
        return msgspec.json.decode(document.get(key, b"{}"), type=Document)
    except msgspec.DecodeError as error:
        raise ConfigError(f"{path}: `{key}` must be an object.", hint="Correct it there, or remove it.") from error


def _raw(value: object) -> Raw:
    return Raw(msgspec.json.encode(value))


def _is_enabled(settings: ClientSettings, name: str) -> bool:
    section = _sections(_own(settings.home_config)).get(name)
    return section is None or section.enabled is not False


def _own(home_config: Path) -> Settings:
    path = home_config / CONFIG_NAME
    content = read_file(path, limit=CONFIG_LIMIT)
    return parse_settings(content, str(path))[0] if content is not None else Settings()


def _projects(project: Path) -> Settings:
    content = read_inside(project, f"{PROJECT_DIR}/{CONFIG_NAME}", limit=CONFIG_LIMIT)
    path = project / PROJECT_DIR / CONFIG_NAME
    return parse_settings(content, str(path))[0] if content is not None else Settings()


def _sections(settings: Settings) -> Mapping[str, ProviderSection]:
    return {} if isinstance(settings.providers, UnsetType) else settings.providers


def _key_file(name: str, files: Sequence[tuple[Path, Mapping[str, ProviderSection]]]) -> Path | None:
    """The file whose key counts, of those given in order of precedence."""
    said = ((path, sections.get(name)) for path, sections in files)
    return next((path for path, one in said if one and not isinstance(one.api_key, UnsetType)), None)


def _state(name: str, config: Config, key_file: Path | None) -> ProviderState:
    known = config.provider(name)
    variable = VARIABLES[name][0] if name in VARIABLES else ""
    return ProviderState(
        name=name,
        has_key=known.api_key is not None,
        key_from=str(key_file or variable) if known.api_key else "",
        variable=variable,
        base_url=known.base_url,
        api=known.api,
        enabled=known.enabled,
        is_built_in=name in VARIABLES,
    )
