"""Finds the arena that ``rubble up`` runs: its addresses are in a file in its state folder."""

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
    """The operator's token was not found."""


@dataclass(frozen=True)
class ArenaAddress:
    """The addresses of a running arena. Contains no secret."""

    pid: int
    service: str
    api: str
    #: Address of the metrics, by process.
    metrics: dict[str, str] = field(default_factory=dict)
    #: File with the CA of its certificate; empty without TLS.
    ca: str = ""


def write_address(state_dir: Path, arena_address: ArenaAddress) -> None:
    """Write the file, in full or not at all."""
    draft = state_dir / f".{_ADDRESS_FILE}.{os.getpid()}"
    draft.write_text(json.dumps(asdict(arena_address), indent=2) + "\n", encoding="utf-8")
    draft.replace(state_dir / _ADDRESS_FILE)


def remove_address(state_dir: Path) -> None:
    """Remove the file, because the arena has stopped."""
    (state_dir / _ADDRESS_FILE).unlink(missing_ok=True)


def read_address(state_dir: Path) -> ArenaAddress | None:
    """Return the addresses of the arena that runs there, or None if none does."""
    try:
        found = json.loads((state_dir / _ADDRESS_FILE).read_text(encoding="utf-8"))
        arena_address = ArenaAddress(**found)
    except (OSError, ValueError, TypeError):
        return None
    with contextlib.suppress(PermissionError):  # it is alive, and belongs to another user
        try:
            os.kill(arena_address.pid, 0)
        except ProcessLookupError:
            return None  # it was killed and could not remove its file
    return arena_address


def without_password(url: str) -> str:
    """Hide the password of an address, so that it can be shown."""
    parts = urlsplit(url)
    netloc = parts.netloc.replace(f":{parts.password}@", ":***@") if parts.password is not None else parts.netloc
    query = re.sub(r"([^=&]*password=)[^&]+", r"\1***", parts.query)
    shown = urlunsplit(parts._replace(netloc=netloc, query=query))
    return shown if (netloc, query) != (parts.netloc, parts.query) else url


def secret_address(flag: str, given: str) -> str:
    """Return an address from a flag, its variable or the file named by …_FILE.

    Raises BadSetting if the flag contains a password, which only the variable and the file may.
    """
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


def is_this_machine(address: str) -> bool:
    """Whether host:port is a loopback address."""
    host = address.rpartition(":")[0].strip("[]")
    return host in ("localhost", "::1") or host.startswith("127.")


def _place(address: str) -> tuple[str, str]:
    """Host and port, with one name for this machine."""
    host, _, port = address.rpartition(":")
    return ("localhost" if is_this_machine(address) else host, port)


def operator_token_if_known(api: str, state_dir: str | Path) -> str:
    """Return the operator's token, or nothing. A given API may belong to another operator than the arena of the state folder."""
    try:
        return operator_token(state_dir, api)
    except NoToken:
        return ""


def operator_token(state_dir: str | Path, asked: str = "") -> str:
    """Return the operator's token from the environment or the state folder; raises NoToken if neither has it.

    ``asked``: the address that a flag or its variable names. The token of a folder is for the arena of that folder only.
    """
    token = os.environ.get("RUBBLE_OPERATOR_TOKEN", "")
    if token:
        return token
    if asked and "RUBBLE_OPERATOR_TOKEN_FILE" not in os.environ:
        known = read_address(Path(state_dir))
        if known is None or _place(asked) not in (_place(known.api), _place(known.service)):
            raise NoToken(
                f"only the organiser of the arena may do this, and {asked} is not the arena that runs in {str(state_dir)!r}, "
                "whose operator's token is not sent elsewhere; set RUBBLE_OPERATOR_TOKEN or RUBBLE_OPERATOR_TOKEN_FILE"
            )
    file = Path(os.environ.get("RUBBLE_OPERATOR_TOKEN_FILE", str(Path(state_dir) / "operator_token")))
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise NoToken(
            f"only the organiser of the arena may do this, and no operator's token was found: {file} cannot be read "
            f"({error.strerror}); set RUBBLE_OPERATOR_TOKEN, or name the state folder of `rubble up` with --state-dir"
        ) from None
