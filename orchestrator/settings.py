"""The settings of the orchestrator, read once from the environment. If one is missing, the start fails and names it."""

import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.client import ServiceAccess
from orchestrator.private import absolute, address_paths, private_paths, write_hidden

#: The expected form of RUBBLE_BROKER.
BROKER_EXPECTED: Final = "an address such as redis://localhost:6379/1 or amqp://localhost"


class BadSetting(ValueError):
    """A setting that is missing or cannot be used."""

    def __init__(self, name: str, value: str, expected: str) -> None:
        super().__init__(f"{name}={value!r}; expected {expected}")
        self.expected = expected


@dataclass(frozen=True)
class Settings:
    """The settings of one process."""

    #: SQLAlchemy's address of the book: sqlite:////path/to/book.sqlite or postgresql+psycopg://user@host/name.
    book: str
    #: Celery's broker: redis://…, redis+socket:///path, or amqp://… for RabbitMQ.
    broker: str
    access: ServiceAccess
    #: The folder for scratch folders and output of bots.
    folder: Path
    #: How many matches this worker watches at once. It mostly waits.
    concurrency: int
    #: How many matches are handed out at once in the whole arena.
    window: int
    #: host:port where this process serves metrics; empty: nowhere.
    metrics: str = ""
    #: Whether the ladders of the book go on.
    ladders: bool = True
    #: Files and folders that no bot may read, as ``private_paths`` lists them.
    hidden: tuple[Path, ...] = ()

    @property
    def private(self) -> tuple[Path, ...]:
        """Everything that no bot may read: ``hidden``, the files in the addresses of book and broker, and other bots' folders."""
        return absolute((self.folder, *address_paths(self.book), *address_paths(self.broker), *self.hidden))

    def to_env(self) -> dict[str, str]:
        """The settings as environment variables for a child process."""
        return {
            "RUBBLE_BOOK": self.book,
            "RUBBLE_BROKER": self.broker,
            "RUBBLE_ADDRESS": self.access.address,
            "RUBBLE_OPERATOR_TOKEN": self.access.operator_token,
            "RUBBLE_CA": self.access.ca_file,
            "RUBBLE_WORK_DIR": str(self.folder),
            "RUBBLE_CONCURRENCY": str(self.concurrency),
            "RUBBLE_WINDOW": str(self.window),
            "RUBBLE_METRICS": self.metrics,
            "RUBBLE_LADDERS": "on" if self.ladders else "off",
            "RUBBLE_HIDDEN": write_hidden(self.hidden),
        }


def _number(env: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = env.get(name, str(default))
    if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
        raise BadSetting(name, text, f"a number from {low} to {high}")
    return int(text)


def is_on(env: Mapping[str, str], name: str) -> bool:
    """A setting that is on unless it says off."""
    text = env.get(name, "") or "on"
    if text not in ("on", "off"):
        raise BadSetting(name, text, "on or off")
    return text == "on"


def address(env: Mapping[str, str], name: str, default: str) -> str:
    """host:port to listen on."""
    text = env.get(name, "") or default
    if text and not re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/\s]+):[0-9]{1,5}", text):
        raise BadSetting(name, text, "host:port or [IPv6 address]:port")
    if text and int(text.rpartition(":")[2]) > 65_535:
        raise BadSetting(name, text, "a port from 0 to 65535")
    return text


def needed(env: Mapping[str, str], name: str, expected: str) -> str:
    """A required setting."""
    value = env.get(name, "")
    if not value:
        raise BadSetting(name, value, expected)
    return value


def given_secret(env: Mapping[str, str], name: str) -> str:
    """A setting that may hold a password, from the environment or the file that ``…_FILE`` names; empty if neither is set."""
    value, file = env.get(name, ""), env.get(f"{name}_FILE", "")
    if value and file:
        raise BadSetting(f"{name}_FILE", file, f"either {name} or {name}_FILE, not both")
    if file:
        try:
            value = Path(file).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise BadSetting(f"{name}_FILE", file, f"a file that can be read ({error.strerror})") from None
        if not value:
            raise BadSetting(f"{name}_FILE", file, "a file with something in it")
    return value


def secret(env: Mapping[str, str], name: str, expected: str) -> str:
    """A required setting that may contain a password."""
    value = given_secret(env, name)
    if not value:
        raise BadSetting(name, "", f"{expected}, or {name}_FILE naming a file with it")
    return value


def read_settings(env: Mapping[str, str] | None = None) -> Settings:
    """The settings of this process."""
    env = os.environ if env is None else env
    token = secret(env, "RUBBLE_OPERATOR_TOKEN", "the token of the service's operator")
    concurrency = _number(env, "RUBBLE_CONCURRENCY", 16, 1, 1000)
    return Settings(
        book=secret(env, "RUBBLE_BOOK", "an address such as sqlite:////var/lib/rubble/book.sqlite"),
        broker=secret(env, "RUBBLE_BROKER", BROKER_EXPECTED),
        access=ServiceAccess(
            needed(env, "RUBBLE_ADDRESS", "host:port of the service"), token, env.get("RUBBLE_CA", "")
        ),
        folder=Path(env.get("RUBBLE_WORK_DIR", ".rubble/work")),
        concurrency=concurrency,
        window=_number(env, "RUBBLE_WINDOW", 4 * concurrency, 1, 100_000),
        metrics=address(env, "RUBBLE_METRICS", ""),
        ladders=is_on(env, "RUBBLE_LADDERS"),
        hidden=private_paths(env),
    )


def owner_name() -> str:
    """The name of this process, unique among all workers on all machines."""
    return f"{socket.gethostname()}:{os.getpid()}"
