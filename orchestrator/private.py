"""The one list of what no bot may read: every file and folder with a secret that a setting names, however it is given."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

#: Variables that name a private file or folder: all that are called RUBBLE_…_FILE, and others; the last ones are PostgreSQL's.
_PATHS: Final = re.compile(r"RUBBLE_\w+_FILE|RUBBLE_(TLS_KEY|WORK_DIR)|PG(PASSFILE|SSLKEY|SERVICEFILE)")
#: Variables with an address; it may name a file, or more files behind its question mark.
_ADDRESSES: Final = ("RUBBLE_BOOK", "RUBBLE_BROKER", "RUBBLE_REDIS")
#: What a state folder holds, as rubble serve, up and tournament fill it. Other things may be beside it.
STATE_FILES: Final = ("operator_token", "secrets", "book.sqlite", "redis", "keys", "logs", "work")
#: Where libpq looks for passwords and keys that nobody names.
_LIBPQ: Final = ("~/.pgpass", "~/.pg_service.conf", "~/.postgresql")
_BESIDE_SQLITE: Final = ("", "-wal", "-shm", "-journal")


def private_paths(env: Mapping[str, str]) -> tuple[Path, ...]:
    """What these settings, as environment variables, name and no bot may read; flags are passed as the variables they stand for."""
    return tuple(dict.fromkeys(path.expanduser().absolute() for path in _named(env)))


def _named(env: Mapping[str, str]) -> Iterator[Path]:
    for name, value in env.items():
        if value and _PATHS.fullmatch(name):
            yield Path(value)
    yield from (Path(path) for path in env.get("RUBBLE_HIDDEN", "").split(os.pathsep) if path)
    state = Path(env.get("RUBBLE_STATE_DIR") or ".rubble")
    yield from (state / name for name in STATE_FILES)
    yield from beside(state / "book.sqlite")
    for variable in _ADDRESSES:
        address = env.get(variable) or _content(env.get(f"{variable}_FILE", ""))
        yield from address_paths(address)


def address_paths(address: str) -> Iterator[Path]:
    """The private files of an address: a database or a socket that is a file, and keys and passwords named in its query."""
    scheme, _, path, query, _ = urlsplit(address)
    if scheme.startswith("sqlite"):
        yield from beside(Path(path.removeprefix("/"))) if path.strip("/") else ()
    elif scheme in ("unix", "redis+socket"):
        yield Path(path)
    elif scheme.startswith("postgres"):
        yield from (Path(place) for place in _LIBPQ)
    yield from (Path(value) for name, value in parse_qsl(query) if re.search("key|pass|service", name) and "/" in value)


def beside(database: Path) -> Iterator[Path]:
    """A database of SQLite and what is kept beside it."""
    yield from (Path(f"{database}{suffix}") for suffix in _BESIDE_SQLITE)


def _content(file: str) -> str:
    """The address in a file; empty if there is none. The reader of the setting says what is wrong with the file."""
    try:
        return Path(file).read_text(encoding="utf-8").strip() if file else ""
    except (OSError, UnicodeDecodeError):
        return ""
