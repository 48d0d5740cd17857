"""Calls LadderService for the commands: finds the arena and the right token, and reports every failure in one way."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.arena_address import NoToken, is_this_machine, operator_token, operator_token_if_known
from cli.arena_client import NothingToAsk, arena_access, print_problems
from cli.arguments import read_number
from cli.terminal import complain, count_of, own_command, report_error
from service.games.core import BadSetup

if TYPE_CHECKING:  # slow to import, and --help does not need it
    from orchestrator.api.ladder_client import LadderClient
    from orchestrator.roster import Problem

    Work = Callable[[LadderClient], int | None]

LadderName = Annotated[str, typer.Argument(metavar="LADDER", help="The ladder's name.")]
BuildName = Annotated[str, typer.Argument(metavar="BOT/LABEL", help="The build: bot/label.")]
Season = Annotated[
    str, typer.Option("--season", metavar="N", help="The number of a season; by default the current one.")
]
OwnerKey = Annotated[
    str,
    typer.Option(
        "--owner-key",
        metavar="FILE",
        help="File with your owner key; by default RUBBLE_OWNER_KEY, or the file that RUBBLE_OWNER_KEY_FILE names.",
    ),
]
FAILED: Final = 1
BAD_INPUT: Final = 2
#: Facts of an error that are numbers.
_NUMBERS: Final = ("limit", "used", "retry_after_s")


def read_season(text: str) -> int:
    """Read the number of a season; 0 if none is given."""
    return read_number("--season", text, 1, 2**32 - 1) if text else 0


class NoOwnerKey(Exception):
    """The command needs the key of an owner."""


# ----------------------------------------------------------------------------------------------------------------- tokens
def owner_key(file: str) -> str:
    """Return the owner key from the file, the variable or the file that a variable names; empty if none is given."""
    from orchestrator.settings import given_secret

    try:
        key = Path(file).read_text(encoding="utf-8").strip() if file else given_secret(os.environ, "RUBBLE_OWNER_KEY")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise BadSetup("--owner-key", file, f"a file with an owner key ({why})") from None
    if (key or file) and not re.fullmatch(r"[\x21-\x7e]+", key):
        raise BadSetup("--owner-key" if file else "RUBBLE_OWNER_KEY", file or "...", "one owner key and nothing else")
    return key


def needed_owner_key(file: str) -> str:
    """Return the owner key; raises NoOwnerKey if none is given."""
    key = owner_key(file)
    if not key:
        raise NoOwnerKey(
            "no owner key: give --owner-key FILE, or set RUBBLE_OWNER_KEY or RUBBLE_OWNER_KEY_FILE; if you have none, "
            f"sign up first: {own_command()} owner signup LADDER NAME"
        )
    return key


# ------------------------------------------------------------------------------------------------------------------ calls
def as_anybody(api: str, state_dir: str, json: bool, work: "Work", *, failed: int = FAILED) -> int:
    """Do something that needs no token."""
    return _call(api, state_dir, json, lambda: "", work, failed)


def as_operator(api: str, state_dir: str, json: bool, work: "Work") -> int:
    """Do something that only the operator may."""
    return _call(api, state_dir, json, lambda: operator_token(state_dir, api), work)


def as_operator_if_possible(api: str, state_dir: str, json: bool, work: "Work") -> int:
    """Do something that anybody may, but shows more to the operator."""
    return _call(api, state_dir, json, lambda: operator_token_if_known(api, state_dir), work)


def as_owner(api: str, state_dir: str, json: bool, file: str, work: "Work") -> int:
    """Do something with the key of an owner."""
    return _call(api, state_dir, json, lambda: needed_owner_key(file), work)


def as_owner_or_operator(api: str, state_dir: str, json: bool, file: str, work: "Work") -> int:
    """Do something with the key of an owner if one is given, else with the operator's token."""

    def token() -> str:
        key = owner_key(file)
        if key:
            return key
        try:
            return operator_token(state_dir, api)
        except NoToken:
            return needed_owner_key(file)

    return _call(api, state_dir, json, token, work)


def _call(api: str, state_dir: str, json: bool, token: Callable[[], str], work: "Work", failed: int = FAILED) -> int:
    """Do something with the ladders of an arena. ``failed`` is the exit code if it may succeed later."""
    from orchestrator.api.ladder_client import LadderClient
    from orchestrator.client import ServiceError
    from orchestrator.errors import TournamentError
    from orchestrator.settings import BadSetting

    with ExitStack() as stack:
        try:
            access = arena_access(api, state_dir, lambda: "", "--api ADDR (RUBBLE_API)")
            key = token()
            if key and not (json or access.ca_file or is_this_machine(access.address)):
                complain(f"your key goes to {access.address} without encryption; set RUBBLE_CA if that arena has TLS")
            return work(stack.enter_context(LadderClient(access, key))) or 0
        except NothingToAsk as error:
            return refuse(json, "NO_ARENA", str(error))
        except NoToken as error:
            return refuse(json, "NO_TOKEN", str(error))
        except NoOwnerKey as error:
            return refuse(json, "NO_OWNER_KEY", str(error))
        except (BadSetup, BadSetting) as error:
            return refuse(json, "BAD_INPUT", str(error))
        except TournamentError as error:  # the answer is not valid
            return refuse(json, error.reason, str(error))
        except ServiceError as error:
            facts = {name: int(fact) if name in _NUMBERS else fact for name, fact in error.facts.items()}
            refuse(json, error.reason, error.message if json else str(error), facts)
            return failed if error.is_passing else BAD_INPUT


def refuse_file(json: bool, problems: "Sequence[Problem]", file: str) -> int:
    """Report what is wrong in a ladder file. With JSON, the problems are listed as ``ladder check`` lists them."""
    if json:
        from cli.toml_files import listed

        told = f"{file} has {count_of(len(problems), 'problem')}"
        return refuse(json, "BAD_LADDER", told, {"file": file, "problems": listed(problems)})
    print_problems("\n".join(map(str, problems)), "ladder", file)
    return BAD_INPUT


def refuse(json: bool, reason: str, message: str, facts: Mapping[str, Any] = {}) -> int:
    """Report bad input, and return its exit code."""
    report_error(json, reason, message, facts)
    return BAD_INPUT
