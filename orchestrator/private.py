"""The one list of what no bot may read: every file and folder with a secret that a setting names, however it is given."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

#: Variables that name a private file or folder: all that are called RUBBLE_…_FILE, and others; the last ones are PostgreSQL's.
_PATHS: Final = re.compile(r"RUBBLE_\w+_FILE|RUBBLE_(TLS_KEY|WORK_DIR)|PG(PASSFILE|SSLKEY|SERVICEFILE)")
#: Variables with an address; it may name a file, or more files behind its question mark.
_ADDRESSES: Final = ("RUBBLE_BOOK", "RUBBLE_BROKER", "RUBBLE_REDIS")
#: What names a private file behind that question mark: libpq's sslkey and passfile, ssl_keyfile of Redis, and the like.
_FILES_OF_ADDRESSES: Final = re.compile(r"\w*(key|keyfile|passfile|servicefile)")
#: What a state folder holds, as rubble serve, up and tournament fill it. Other things may be beside it.
STATE_FILES: Final = ("operator_token", "secrets", "book.sqlite", "redis", "keys", "logs", "work")
#: Where libpq looks for passwords and keys that nobody names.
_LIBPQ: Final = ("~/.pgpass", "~/.pg_service.conf", "~/.postgresql")
_BESIDE_SQLITE: Final = ("", "-wal", "-shm", "-journal")


def private_paths(env: Mapping[str, str]) -> tuple[Path, ...]:
    """What these settings, as environment variables, name and no bot may read; flags are passed as the variables they stand for."""
    return absolute(_named(env))


def absolute(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Each of these paths once and whole: a relative one is that of this process's working directory."""
    return tuple(dict.fromkeys(path.expanduser().absolute() for path in paths))


def write_hidden(paths: Iterable[Path]) -> str:
    """Paths as RUBBLE_HIDDEN hands them on: a JSON list, since a path may have the separator in it."""
    return json.dumps([str(path) for path in paths])


def _read_hidden(text: str) -> list[Path]:
    """The paths of RUBBLE_HIDDEN: a JSON list, or a text with separators; BadSetting."""
    from orchestrator.settings import BadSetting  # the settings are read with this list

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
    """The private files of an address: a database or a socket that is a file, and keys and passwords named in its query."""
    scheme, _, path, query, _ = urlsplit(address)
    if scheme.startswith("sqlite"):
        yield from beside(Path(path.removeprefix("/"))) if path.strip("/") else ()
    elif scheme in ("unix", "redis+socket"):
        yield Path(path)
    elif scheme.startswith("postgres"):
        yield from (Path(place) for place in _LIBPQ)
    yield from (Path(value) for name, value in parse_qsl(query) if _FILES_OF_ADDRESSES.fullmatch(name))


def beside(database: Path) -> Iterator[Path]:
    """A database of SQLite and what is kept beside it."""
    yield from (Path(f"{database}{suffix}") for suffix in _BESIDE_SQLITE)


def _content(file: str) -> str:
    """The address in a file; empty if there is none. The reader of the setting says what is wrong with the file."""
    try:
        return Path(file).read_text(encoding="utf-8").strip() if file else ""
    except (OSError, UnicodeDecodeError):
        return ""
