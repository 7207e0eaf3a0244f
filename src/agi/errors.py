"""Every error we raise, one family.

    AgiError
    ├── BadRequest        malformed: cannot be read at all
    ├── Invalid           readable, but not acceptable: wrong type, unknown name, missing key
    ├── NotAllowed        no credential, or not with this one
    ├── NotFound          no such session, turn, file
    ├── Conflict          not in this state: answered already, nothing to cancel
    ├── TooLarge          over a size limit
    ├── TooMany           over a rate limit
    ├── ConfigError       a settings file, environment variable or flag is wrong
    ├── WorkspaceError    a path that leads out of the workspace, or is no regular file
    ├── ModelError        the provider failed; says whether trying again may help
    ├── StorageError      the log could not be written or read
    │   ├── DiskFull      no space left
    │   ├── Damaged       what was read is not what was written
    │   └── LeaseLost     another process runs this session now
    └── Unavailable       shutting down, or not ready

An error knows its `code`, says what was tried and hints at what to do next. Turning codes into HTTP statuses
is server's business. Ordinary outcomes (finished, refused, canceled, out of steps) are events, not errors.
May import: nothing of ours.
"""

from __future__ import annotations


class AgiError(Exception):
    """The root of the family: `code` for programs, `message` and `hint` for people."""

    code = "error"

    def __init__(self, message: str, *, hint: str = "", code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if code:
            self.code = code


class BadRequest(AgiError):
    """Malformed: cannot be read at all."""

    code = "bad_request"


class Invalid(AgiError):
    """Readable but not acceptable."""

    code = "invalid"


class NotAllowed(AgiError):
    """No credential, or not with this one."""

    code = "not_allowed"


class NotFound(AgiError):
    """No such thing."""

    code = "not_found"


class Conflict(AgiError):
    """Not possible in the state the thing is in."""

    code = "conflict"


class TooLarge(AgiError):
    """Over a size limit."""

    code = "too_large"


class TooMany(AgiError):
    """Over a rate limit."""

    code = "too_many_requests"


class ConfigError(AgiError):
    """A settings file, environment variable or flag is wrong."""

    code = "config_invalid"


class WorkspaceError(AgiError):
    """A path that leads out of the workspace, or is not a regular file."""

    code = "path_refused"


class ModelError(AgiError):
    """The provider failed. `retryable` says whether the same request may succeed later."""

    code = "provider_failed"

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        code: str = "",
        retryable: bool = False,
        retry_after: float | None = None,
        status: int | None = None,
        parts: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message, hint=hint, code=code)
        self.retryable = retryable
        self.retry_after = retry_after
        self.status = status
        self.parts = parts
        """The refs of the attachments the provider will not take, where its words say which."""


class StorageError(AgiError):
    """The log could not be written or read."""

    code = "storage_failed"


class DiskFull(StorageError):
    """No space left for the log."""

    code = "disk_full"


class Damaged(StorageError):
    """What was read is not what was written."""

    code = "damaged"


class LeaseLost(StorageError):
    """Another process runs this session now."""

    code = "lease_lost"


class Unavailable(AgiError):
    """Shutting down, or not ready."""

    code = "unavailable"
