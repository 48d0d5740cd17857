"""Finding the arena that ``rubble up`` runs: it leaves a card in its state folder that says where everything is."""

import contextlib
import json
import os
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

_ADDRESS_FILE: Final = "arena.json"


class NoToken(Exception):
    """There is no operator's token to be found."""


@dataclass(frozen=True)
class ArenaAddress:
    """Where everything of a running arena is. No secret is in it."""

    pid: int
    service: str
    api: str
    #: Where scrapes are answered, by process.
    metrics: dict[str, str] = field(default_factory=dict)
    #: The authority of its certificate, a file; empty: it speaks without TLS.
    ca: str = ""


def write_address(state_dir: Path, arena_address: ArenaAddress) -> None:
    """Leave the card, whole or not at all."""
    draft = state_dir / f".{_ADDRESS_FILE}.{os.getpid()}"
    draft.write_text(json.dumps(asdict(arena_address), indent=2) + "\n", encoding="utf-8")
    draft.replace(state_dir / _ADDRESS_FILE)


def remove_address(state_dir: Path) -> None:
    """The arena is no more."""
    (state_dir / _ADDRESS_FILE).unlink(missing_ok=True)


def read_address(state_dir: Path) -> ArenaAddress | None:
    """The card of the arena that runs there; None if none does."""
    try:
        found = json.loads((state_dir / _ADDRESS_FILE).read_text(encoding="utf-8"))
        arena_address = ArenaAddress(**found)
    except (OSError, ValueError, TypeError):
        return None
    with contextlib.suppress(PermissionError):  # it is alive, and somebody else's
        try:
            os.kill(arena_address.pid, 0)
        except ProcessLookupError:
            return None  # it was killed, and could not tidy up
    return arena_address


def without_password(url: str) -> str:
    """An address as it may be shown."""
    parts = urlsplit(url)
    netloc = parts.netloc.replace(f":{parts.password}@", ":***@") if parts.password is not None else parts.netloc
    query = re.sub(r"([^=&]*password=)[^&]+", r"\1***", parts.query)
    shown = urlunsplit(parts._replace(netloc=netloc, query=query))
    return shown if (netloc, query) != (parts.netloc, parts.query) else url


def secret_address(flag: str, given: str) -> str:
    """An address that may carry a password: from the flag without one, from its variable or the file of …_FILE; BadSetting."""
    from orchestrator.settings import BadSetting, given_secret

    variable = f"RUBBLE_{flag.strip('-').upper()}"
    if not given or given == os.environ.get(variable):
        return given_secret(os.environ, variable)
    try:
        shown = without_password(given)
    except ValueError as error:
        raise BadSetting(flag, "...", f"an address ({error})") from None
    if shown != given:
        expected = "no password, since every user of this machine can read command lines"
        raise BadSetting(flag, shown, f"{expected}; use {variable} or {variable}_FILE")
    return given


def operator_token(state_dir: str | Path) -> str:
    """The operator's token: from the environment, or from the file in the state folder; NoToken."""
    token = os.environ.get("RUBBLE_OPERATOR_TOKEN", "")
    if token:
        return token
    file = Path(os.environ.get("RUBBLE_OPERATOR_TOKEN_FILE", str(Path(state_dir) / "operator_token")))
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise NoToken(
            f"no operator's token: {file} cannot be read ({error.strerror}); set RUBBLE_OPERATOR_TOKEN, "
            f"or name the state folder of `rubble serve` with --state-dir"
        ) from None
