"""A settings file that is wrong is refused with its name, the key, and what to do."""

from __future__ import annotations

import os

import pytest

from agi.errors import ConfigError

BROKEN = {
    "empty": b"",
    "only spaces": b" \n",
    "cut off": b'{"defaultAgent": "bui',
    "a comma too many": b'{"auth": "auto",}',
    "not a number": b'{"budget": {"usd": NaN}}',
    "infinite": b'{"budget": {"usd": 1e999}}',
    "not UTF-8": b'{"defaultAgent": "\xff\xfe"}',
    "a lone surrogate": b'{"defaultAgent": "\\ud800"}',
    "10,000 deep": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "10,000 lists deep": b"[" * 10_000 + b"]" * 10_000,
    "a list": b"[]",
    "a string": b'"build"',
    "null": b"null",
}

WRONG = {
    '{"defaultAgent": 3}': "defaultAgent",
    '{"defaultAgent": null}': "defaultAgent",
    '{"defaultModel": ""}': "defaultModel",
    '{"providers": []}': "providers",
    '{"providers": {"openai": true}}': "providers.openai",
    '{"providers": {"\\u001b[2J": {}}}': "providers",
    '{"agents": {"": {}}}': "agents",
    '{"providers": {"openai": {"enabled": "yes"}}}': "providers.openai.enabled",
    '{"providers": {"openai": {"baseUrl": "ftp://x"}}}': "providers.openai.baseUrl",
    '{"providers": {"openai": {"apiKey": 5}}}': "providers.openai.apiKey",
    '{"providers": {"openai": {"apiKey": "a\\nb"}}}': "providers.openai.apiKey",
    '{"providers": {"openai": {"apiKey": " "}}}': "providers.openai.apiKey",
    '{"approval": {"requireForKinds": ["write", "fly"]}}': "approval.requireForKinds[1]",
    '{"approval": {"requireForTools": "shell"}}': "approval.requireForTools",
    '{"approval": {"timeoutSeconds": -1}}': "approval.timeoutSeconds",
    '{"verify": {"autoVerify": 1}}': "verify.autoVerify",
    '{"verify": {"commands": [""]}}': "verify.commands[0]",
    '{"verify": {"maxAttempts": 1.5}}': "verify.maxAttempts",
    '{"patchReview": {"mode": "on"}}': "patchReview.mode",
    '{"budget": {"tokens": 1e30}}': "budget.tokens",
    '{"budget": {"perTurn": 3}}': "budget.perTurn",
    '{"budget": {"perSession": {"usd": "5"}}}': "budget.perSession.usd",
    '{"sandbox": {"mode": "none"}}': "sandbox.mode",
    '{"sandbox": {"network": 0}}': "sandbox.network",
    '{"agents": {"build": {"maxSteps": 0}}}': "agents.build.maxSteps",
    '{"auth": "none"}': "auth",
}


@pytest.mark.parametrize("file", ["project_says", "user_says"])
@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_file_that_is_no_json_object_is_named(places, file, content):
    """A broken file stops the start: what it forbids would otherwise be forgotten silently."""
    getattr(places, file)(content)
    with pytest.raises(ConfigError) as raised:
        places.load(trusted=True)

    assert str(places.project_file if file == "project_says" else places.user_file) in raised.value.message
    assert raised.value.hint


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize(("content", "key"), WRONG.items())
def test_a_wrong_value_is_named_by_its_key(places, content, key, trusted):
    """The error tells the file and the whole path of the key."""
    places.project_says(content)
    with pytest.raises(ConfigError) as raised:
        places.load(trusted=trusted)

    assert f"{places.project_file}: `{key}`: " in raised.value.message


SAID = {
    '{"auth": "none"}': "`auth`: expected `auto` or `token`; found another string.",
    '{"approval": {"requireForKinds": ["wirte"]}}': (
        "`approval.requireForKinds[0]`: expected `exec`, `network`, `read` or `write`; found another string."
    ),
    '{"verify": {"commands": "make"}}': "`verify.commands`: expected an array of strings; found a string.",
    '{"verify": {"maxAttempts": 101}}': (
        "`verify.maxAttempts`: expected a whole number from 0 up to 100; found a larger one."
    ),
    '{"providers": {"local": {"baseUrl": "localhost"}}}': (
        "`providers.local.baseUrl`: expected a URL that begins with http:// or https:// and has no spaces and no `@`; "
        "found another string."
    ),
    '{"providers": {"local": {"apiKey": 5}}}': "`providers.local.apiKey`: expected a string.",
    '{"providers": {"local": {"apiKey": " "}}}': (
        "`providers.local.apiKey`: expected a key of printable ASCII characters."
    ),
}


@pytest.mark.parametrize(("content", "said"), SAID.items())
def test_an_error_says_what_is_allowed(places, content, said):
    """In words, without a look into the documents."""
    places.user_says(content)
    with pytest.raises(ConfigError) as raised:
        places.load()

    assert raised.value.message == f"{places.user_file}: {said}"


def test_malformed_json_is_told_by_line_and_column(places):
    """As an editor shows them."""
    places.user_says('{\n  "auth": "auto"\n  "verify": {}\n}\n')
    with pytest.raises(ConfigError) as raised:
        places.load()

    assert raised.value.message == f"{places.user_file} is not valid JSON: expected ',' or '}}' at line 3, column 3."


@pytest.mark.parametrize(
    "content",
    [
        '{"providers": {"openai": {"apiKey": "sk-secret\\u0007"}}}',
        '{"providers": {"openai": {"baseUrl": "sk-secret"}}}',
        '{"auth": "sk-secret"}',
        '{"sandbox": {"mode": "sk-secret"}}',
        '{"approval": {"requireForKinds": ["sk-secret"]}}',
    ],
)
def test_an_error_never_quotes_a_key(places, content):
    """Neither one that is refused, nor one in a wrong place."""
    places.user_says(content)
    with pytest.raises(ConfigError) as raised:
        places.load()

    assert "sk-secret" not in f"{raised.value.message} {raised.value.hint}"


def test_a_byte_order_mark_is_accepted(places):
    """Some editors write one."""
    places.user_says(b'\xef\xbb\xbf{"defaultAgent": "plan"}')

    assert places.load().default_agent == "plan"


@pytest.mark.parametrize("file", ["project_says", "user_says"])
def test_a_file_over_a_mebibyte_is_refused(places, file):
    """Nobody writes that by hand."""
    getattr(places, file)(b'{"defaultAgent": "' + b"x" * (1 << 20) + b'"}')
    with pytest.raises(ConfigError, match="larger than 1048576 bytes"):
        places.load()


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
@pytest.mark.parametrize("file", ["project_says", "user_says"])
def test_an_unreadable_file_is_refused(places, file):
    """It may hold a rule that must not be forgotten."""
    getattr(places, file)({})
    (places.project_file if file == "project_says" else places.user_file).chmod(0)
    with pytest.raises(ConfigError, match="cannot be read: Permission denied"):
        places.load()
