"""Finds the API of an arena: by its address, or by the state folder of `rubble up`."""

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.terminal import complain, own_command

if TYPE_CHECKING:  # slow to import, and --help does not need it
    from orchestrator.client import ServiceAccess

ApiAddress = Annotated[
    str,
    typer.Option(
        "--api", metavar="ADDR", envvar="RUBBLE_API", help="Use the API at host:port (for TLS, set RUBBLE_CA)."
    ),
]
StateDir = Annotated[
    str,
    typer.Option(
        "--state-dir", metavar="DIR", envvar="RUBBLE_STATE_DIR", help="State folder of `rubble up`, whose API is used."
    ),
]


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


def print_problems(message: str, kind: str, file: str) -> None:
    """Print what the API found wrong in a file, under the file's own name. ``kind`` is the command that checks such files."""
    print(re.sub(rf"^{kind}\.toml(?=:\d+: )", lambda _: file, message, flags=re.MULTILINE), file=sys.stderr)
    if message.endswith("…"):
        complain(f"there may be more; `{own_command()} {kind} check {file}` shows all problems")
