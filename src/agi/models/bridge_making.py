"""A model of pydantic-ai is made from a provider's name, a key and an address, or it is said what is missing.

The key goes to the provider's object and nowhere else. What else a provider needs (a region, a project) it finds where
its own tools do, in the user's environment, which a daemon lends it for that moment. May import: environment, errors,
extras, models.failures; needs the extra.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Mapping
from urllib.parse import urlsplit

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import Provider, infer_provider_class

from agi.environment import lent
from agi.errors import Invalid, ModelError
from agi.extras import how_to_install
from agi.models.failures import Failures

_KEY_WORDS = ("api_key", "token")
_URL_WORDS = ("base_url", "azure_endpoint", "api_base", "api_host")
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)`", re.ASCII)
_EXTRA = re.compile(r"pydantic-ai-slim\[[a-z0-9-]{1,40}\]", re.ASCII)
_SECRET = ("_KEY", "_TOKEN")
_ADDRESS = "_URL"
_ASIDE = re.compile(r"\([^()]{0,300}\)")


def make_model(provider: str, name: str, key: str, base_url: str | None, failures: Failures) -> Model:
    """Make the model to ask. Raises ModelError with what to install or to set."""
    # Its warnings are meant for those who program with it; stderr is the user's.
    warnings.filterwarnings("ignore", module=r"pydantic_ai(\.|\Z)")
    try:
        with lent():
            return infer_model(f"{provider}:{name}", lambda wanted: _provider(wanted, key, base_url))
    except ImportError as error:
        raise _not_installed(provider, error) from error
    except UserError as error:
        raise _not_set_up(provider, error.message, failures) from error
    except Invalid as error:
        raise failures.unusable(error) from error
    except Exception as error:  # each provider's own tools have errors of their own
        words = f"{provider} cannot be set up: {error}"
        raise failures.unusable(Invalid(words, hint=f"Check what {provider} wants to be set.")) from error


def _provider(name: str, key: str, base_url: str | None) -> Provider[object]:
    kind = infer_provider_class(name)
    taken = inspect.signature(kind).parameters
    given: dict[str, object] = {}
    if key:
        given[_word(taken, _KEY_WORDS, name, "apiKey")] = key
    if base_url:
        word = _word(taken, _URL_WORDS, name, "baseUrl")
        given[word] = urlsplit(base_url).netloc if word == "api_host" else base_url
    return kind(**given)


def _word(taken: Mapping[str, object], words: tuple[str, ...], name: str, setting: str) -> str:
    """What this provider calls one of our settings."""
    found = next((word for word in words if word in taken), None)
    if found is None:
        hint = f"Remove providers.{name}.{setting}; a server of your own is set up under another name."
        raise Invalid(f"{name} does not take a {setting}.", hint=hint)
    return found


def _not_installed(provider: str, error: ImportError) -> ModelError:
    extra = _EXTRA.search(str(error))
    hint = f"Run `{how_to_install(extra[0])}`." if extra else f"Missing: {error.name or 'unknown'}."
    return ModelError(f"The library for {provider} is not installed.", hint=hint, code="missing_extra")


def _not_set_up(provider: str, said: str, failures: Failures) -> ModelError:
    """Say which variable or setting of ours is wanted; `said` speaks to programmers."""
    variables = list(dict.fromkeys(_VARIABLE.findall(_ASIDE.sub("", said))))
    if not variables and "region_name" in said:
        variables = ["AWS_DEFAULT_REGION"]
    if not variables:
        return failures.unusable(Invalid(said, hint=f"Check the model's name and what {provider} wants to be set."))
    settings = []
    if any(name.endswith(_SECRET) for name in variables):
        settings.append(f"providers.{provider}.apiKey in ~/.config/agi/config.json")
    if any(name.endswith(_ADDRESS) for name in variables):
        settings.append(f"providers.{provider}.baseUrl in ~/.config/agi/config.json")
    hint = f"Set {' or '.join((*variables, *settings))}."
    if len(settings) == 1 and "apiKey" in settings[0]:
        return ModelError(f"There is no key for the provider {provider}.", hint=hint, code="missing_key")
    return ModelError(f"The provider {provider} needs another setting.", hint=hint, code="missing_setting")
