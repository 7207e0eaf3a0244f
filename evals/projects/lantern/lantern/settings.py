"""What can be set, and what holds if nothing is."""

from dataclasses import dataclass

CONFIG_NAME = "lantern.toml"
DEFAULT_JOBS = 6
TIMEOUT_SECONDS = 12.5
PAUSE_SECONDS = 0.75
CACHE_HOURS = 24
USER_AGENT = "lantern-links/0.9 (+https://lantern.example/bot)"


@dataclass(frozen=True)
class Settings:
    """The settings of one run."""

    jobs: int = DEFAULT_JOBS
    timeout: float = TIMEOUT_SECONDS
    pause: float = PAUSE_SECONDS
    ignore: tuple[str, ...] = ("localhost", "example.com")
    format: str = "text"
