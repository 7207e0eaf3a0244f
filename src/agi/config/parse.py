"""How a settings file is read: JSON in, structs out; a mistake becomes an error that names the file and the key.

Values are never quoted in an error, since one of them may be a key. May import: errors, explain, protocol.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Struct, UnsetType

from agi.config.settings import (
    NAMED,
    NAMED_IN,
    SECTIONS,
    ApprovalSection,
    BudgetSection,
    LimitsSection,
    Settings,
    Single,
    overlay,
)
from agi.config.values import Secret
from agi.errors import ConfigError

S = TypeVar("S", bound=Struct)
Unknown = tuple[str, str, tuple[str, ...]]
"""A key that is not known: what stands before it, the key, and the keys that are known there."""
BOM = b"\xef\xbb\xbf"
FIELDS = dict(zip(Settings.__struct_encode_fields__, Settings.__struct_fields__, strict=True))
"""What a key of a file is called here."""
_LONGEST_NAME = 100
_MOST_SHOWN = 20
_HINT = "Correct it there, or remove it."
_POLICY_HINT = "Correct it there, or name another file."


def parse_settings(content: bytes, file: str) -> tuple[Settings, tuple[str, ...]]:
    """Read a `config.json`; gives the settings and a warning for each key that is not known."""
    document = parse_json(content, file)
    single = convert(document, Single, "", file)
    named = {key: _named(document[key], shape, key, file) for key, shape in NAMED.items() if key in document}
    sections = {
        FIELDS[key]: convert(document[key], shape, f".{key}", file)
        for key, shape in SECTIONS[Settings].items()
        if key in document
    }
    settings = Settings(**msgspec.structs.asdict(single), **named, **sections)  # type: ignore[arg-type]
    if not isinstance(settings.budget, UnsetType):
        settings = msgspec.structs.replace(settings, budget=_folded(settings.budget))
    return settings, _unknown_warnings(_unknown(document, Settings, ""), file)


def parse_policy(content: bytes, file: str) -> Settings:
    """Read a settings file, or what stands under `approval` alone; a key that is not known is an error."""
    try:
        return _policy(content, file)
    except ConfigError as error:
        if error.hint != _HINT:
            raise
        raise ConfigError(error.message, code=error.code, hint=_POLICY_HINT) from error  # it was named for this once


def _policy(content: bytes, file: str) -> Settings:
    document = parse_json(content, file)
    is_alone = not set(document) & set(FIELDS) and bool(set(document) & set(ApprovalSection.__struct_encode_fields__))
    if is_alone:
        settings = Settings(approval=convert(document, ApprovalSection, "", file))
    else:
        settings, _ = parse_settings(content, file)
    if unknown := _unknown(document, ApprovalSection if is_alone else Settings, ""):
        name, meant = _told(unknown[0])
        where = " of `approval`" if is_alone else ""
        hint = "Give a settings file, or what stands under `approval` alone; half of a policy is not tried out."
        raise ConfigError(f"{file}: `{name}` is not a known setting{where}.{meant}", hint=hint)
    return settings


def parse_json(content: bytes, file: str) -> dict[str, object]:
    """Read a file that must hold one JSON object; whatever else it holds becomes an error that names it."""
    try:
        document = msgspec.json.decode(content.removeprefix(BOM))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} {_malformed(content.removeprefix(BOM), error)}.", hint=_HINT) from error
    except RecursionError as error:
        raise ConfigError(f"{file} is nested too deeply.", hint=_HINT) from error
    if not isinstance(document, dict):
        raise ConfigError(f"{file} must hold a JSON object.", hint='Begin it with "{".')
    return document


def convert(value: object, shape: type[S], at: str, file: str, hint: str = _HINT) -> S:
    """Fit one object of a file into its struct; `at` is the key it stands under."""
    try:
        return msgspec.convert(value, shape, dec_hook=_custom)
    except msgspec.ValidationError as error:
        from agi.explain import explain  # late: needed only for a mistake

        raise ConfigError(f"{file}: {explain(error, shape, quote=False, at=at)}.", hint=hint) from error


def secret(text: str) -> Secret:
    """Make a key of text; raises ValueError if it could not be sent in a header."""
    key = text.strip()
    if not key or not key.isascii() or not key.isprintable():
        raise ValueError("Expected a key of printable ASCII characters")
    return Secret(key)


def _custom(kind: type, value: object) -> object:
    if kind is not Secret:
        return value
    if not isinstance(value, str):
        raise ValueError("Expected a string")
    return secret(value)


def _malformed(content: bytes, error: msgspec.DecodeError | UnicodeDecodeError) -> str:
    from agi.explain import where  # late: needed only for a mistake

    return f"is not valid JSON: {where(content, error)}" if content.strip() else "is empty"


def _folded(budget: BudgetSection) -> BudgetSection:
    """Move limits that stand directly in `budget` to `perTurn`, which beats them."""
    flat = LimitsSection(usd=budget.usd, tokens=budget.tokens, steps=budget.steps, seconds=budget.seconds)
    turn = flat if isinstance(budget.per_turn, UnsetType) else overlay(flat, budget.per_turn)
    return BudgetSection(per_turn=turn, per_session=budget.per_session)


def _named(value: object, shape: type[S], at: str, file: str) -> dict[str, S]:
    """Fit an object of objects entry by entry, so that an error can tell the name."""
    if not isinstance(value, dict):
        raise ConfigError(f"{file}: `{at}`: expected an object with a name for each key.", hint=_HINT)
    for name in value:
        if not name.isprintable() or not 0 < len(name) <= _LONGEST_NAME:
            raise ConfigError(f"{file}: `{at}`: {name[:_LONGEST_NAME]!r} is not a usable name.", hint=_HINT)
    return {name: convert(entry, shape, f"{at}.{name}", file) for name, entry in value.items()}


def _unknown_warnings(keys: list[Unknown], file: str) -> tuple[str, ...]:
    """Name the first of them, made printable: a hostile file may have any number, of any letters."""
    if not keys:
        return ()
    warnings = []
    for key in keys[:_MOST_SHOWN]:
        name, meant = _told(key)
        warnings.append(f"{file}: `{name}` is not a known setting and is ignored.{meant}")
    if len(keys) > _MOST_SHOWN:
        warnings.append(f"{file}: {len(keys) - _MOST_SHOWN} more settings are not known and are ignored.")
    return tuple(warnings)


def _told(unknown: Unknown) -> tuple[str, str]:
    """The name of a key that is not known, and what may have been meant."""
    from agi.explain import nearest, printable  # late: needed only for a mistake

    at, key, known = unknown
    near = nearest(key, known)
    return printable(at + key), f" Did you mean `{printable(at + near)}`?" if near else ""


def _unknown(document: dict[str, object], shape: type[Struct], at: str) -> list[Unknown]:
    known = shape.__struct_encode_fields__
    found = [(at, key, known) for key in document if key not in known]
    for key, inner in SECTIONS.get(shape, {}).items():
        section = document.get(key)
        if isinstance(section, dict):
            found += _unknown(section, inner, f"{at}{key}.")
    for key, inner in NAMED_IN.get(shape, {}).items():
        entries = document.get(key)
        for name, entry in entries.items() if isinstance(entries, dict) else ():
            found += _unknown(entry, inner, f"{at}{key}.{name}.")
    return found
