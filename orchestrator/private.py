"""The list of everything that no bot may read: each file and folder with a secret that a setting names."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

#: Variables that name a private file or folder: all RUBBLE_…_FILE, some others, and those of PostgreSQL.
_PATHS: Final = re.compile(r"RUBBLE_\w+_FILE|RUBBLE_(TLS_KEY|WORK_DIR)|PG(PASSFILE|SSLKEY|SERVICEFILE)")
#: Variables with an address; it may name a file, and its query may name more.
_ADDRESSES: Final = ("RUBBLE_BOOK", "RUBBLE_BROKER", "RUBBLE_REDIS")
#: Query parameters that name a private file: libpq's sslkey and passfile, ssl_keyfile of Redis, and similar ones.
_FILES_OF_ADDRESSES: Final = re.compile(r"\w*(key|keyfile|passfile|servicefile)")
#: What rubble serve, up and tournament write into a state folder. The folder may hold other files too.
STATE_FILES: Final = ("operator_token", "secrets", "book.sqlite", "redis", "keys", "logs", "work")
#: Where libpq looks for passwords and keys by default.
_LIBPQ: Final = ("~/.pgpass", "~/.pg_service.conf", "~/.postgresql")
_BESIDE_SQLITE: Final = ("", "-wal", "-shm", "-journal")


def private_paths(env: Mapping[str, str]) -> tuple[Path, ...]:
    """The private paths that these environment variables name; callers pass flags as the variables they stand for."""
    return absolute(_named(env))


def absolute(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Each path once and absolute, relative to the working directory of this process."""
    return tuple(dict.fromkeys(path.expanduser().absolute() for path in paths))


def write_hidden(paths: Iterable[Path]) -> str:
    """Encode paths for RUBBLE_HIDDEN as a JSON list, since a path may contain the separator."""
    return json.dumps([str(path) for path in paths])


def _read_hidden(text: str) -> list[Path]:
    """Read RUBBLE_HIDDEN: a JSON list, or paths with separators. Raises BadSetting if it is neither."""
    from orchestrator.settings import BadSetting  # settings imports this module

    if not text.startswith("["):
        return [Path(path) for path in text.split(os.pathsep) if path]
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(path, str) and path for path in found):
        raise BadSetting("RUBBLE_HIDDEN", text, f"paths separated by {os.pathsep!r}, or a JSON list of paths")
    return [Path(path) for path in found]


def _named(env: Mapping[str, str]) -> Iterator[Path]:
    for name, value in env.items():
        if value and _PATHS.fullmatch(name):
            yield Path(value)
    yield from _read_hidden(env.get("RUBBLE_HIDDEN", ""))
    state = Path(env.get("RUBBLE_STATE_DIR") or ".rubble")
    yield from (state / name for name in STATE_FILES)
    yield from beside(state / "book.sqlite")
    for variable in _ADDRESSES:
        address = env.get(variable) or _content(env.get(f"{variable}_FILE", ""))
        yield from address_paths(address)


def address_paths(address: str) -> Iterator[Path]:
    """The private files of an address: an SQLite database, a Unix socket, and keys and passwords named in the query."""
    scheme, _, path, query, _ = urlsplit(address)
    if scheme.startswith("sqlite"):
        yield from beside(Path(path.removeprefix("/"))) if path.strip("/") else ()
    elif scheme in ("unix", "redis+socket"):
        yield Path(path)
    elif scheme.startswith("postgres"):
        yield from (Path(place) for place in _LIBPQ)
    yield from (Path(value) for name, value in parse_qsl(query) if _FILES_OF_ADDRESSES.fullmatch(name))


def beside(database: Path) -> Iterator[Path]:
    """An SQLite database and the files that SQLite keeps beside it."""
    yield from (Path(f"{database}{suffix}") for suffix in _BESIDE_SQLITE)


def _content(file: str) -> str:
    """The address in a file; empty if it cannot be read. The code that reads the setting reports the error."""
    try:
        return Path(file).read_text(encoding="utf-8").strip() if file else ""
    except (OSError, UnicodeDecodeError):
        return ""
