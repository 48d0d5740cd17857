"""Finds the API of an arena: by its address, or by the state folder of `rubble up`."""

import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.terminal import complain, own_command
from service.games.core import BadSetup

if TYPE_CHECKING:  # slow to import, and --help does not need it
    from orchestrator.client import ServiceAccess


def _api_address(context: typer.Context, given: str) -> str:
    """Check an address. One from the environment does not count if the command line names an arena or a book."""

    def source(parameter: str) -> str:
        found = context.get_parameter_source(parameter)
        return "" if found is None else found.name

    if source("api") == "ENVIRONMENT" and "COMMANDLINE" in (source("state_dir"), source("book")):
        return ""
    host, _, port = given.rpartition(":")
    if given and not (host and re.fullmatch("[0-9]{1,5}", port) and 0 < int(port) <= _LAST_PORT):
        raise BadSetup("--api (RUBBLE_API)", given, 'HOST:PORT, as `rubble up` prints it beside "api"')
    return given


ApiAddress = Annotated[
    str,
    typer.Option(
        "--api",
        metavar="ADDR",
        envvar="RUBBLE_API",
        callback=_api_address,
        help="Use the API at host:port (for TLS, set RUBBLE_CA).",
    ),
]
StateDir = Annotated[
    str,
    typer.Option(
        "--state-dir", metavar="DIR", envvar="RUBBLE_STATE_DIR", help="State folder of `rubble up`, whose API is used."
    ),
]

_LAST_PORT: Final = 65_535
#: The state folder of an arena, unless another one is given.
USUAL_STATE_DIR: Final = ".rubble"


class NothingToAsk(Exception):
    """There is no arena or book to use; the message says what was expected."""


def arena_access(api: str, state_dir: str, token: Callable[[], str], others: str) -> "ServiceAccess":
    """Return the API's address with a token; ``token`` is called once the arena is found.

    Raises NothingToAsk if no arena runs in the state folder; ``others`` says what else may be given.
    """
    from cli.arena_address import read_address
    from orchestrator.client import ServiceAccess

    arena_address = None if api else read_address(Path(state_dir))
    if not api and arena_address is None:
        raise NothingToAsk(
            f"no arena runs in {state_dir!r} (--state-dir); start one with `{own_command()} up`, or give {others}"
        )
    address, ca = (arena_address.api, arena_address.ca) if arena_address is not None else (api, "")
    return ServiceAccess(address, token(), os.environ.get("RUBBLE_CA", "") or ca)


def same_arena(api: str, state_dir: str) -> str:
    """Return the flags with which the next command finds the same arena; empty for the usual one."""
    if api:
        return f" --api {shlex.quote(api)}"
    return "" if state_dir == USUAL_STATE_DIR else f" --state-dir {shlex.quote(state_dir)}"


def print_problems(message: str, kind: str, file: str) -> None:
    """Print what the API found wrong in a file, under the file's own name. ``kind`` is the command that checks such files."""
    print(re.sub(rf"^{kind}\.toml(?=:\d+: )", lambda _: file, message, flags=re.MULTILINE), file=sys.stderr)
    if message.endswith("…"):
        complain(f"there may be more; `{own_command()} {kind} check {file}` shows all problems")
