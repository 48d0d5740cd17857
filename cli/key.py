"""``rubble key``: keys for bots, and the bots that are connected."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table

from cli.arena_address import NoToken, is_this_machine, operator_token, read_address
from cli.arguments import Json
from cli.terminal import complain, console, print_json

if TYPE_CHECKING:
    from orchestrator.client import ArenaClient

_DEFAULT_ADDRESS: Final = "127.0.0.1:50051"

app = typer.Typer(
    help="Issue and revoke the keys that bots connect with.",
    no_args_is_help=False,
    rich_markup_mode="rich",
    add_completion=False,
)

Address = Annotated[
    str,
    typer.Option(
        "--address",
        metavar="ADDR",
        envvar="RUBBLE_ADDRESS",
        help="host:port of the service; by default that of `rubble up` in the state folder, or 127.0.0.1:50051.",
    ),
]
StateDir = Annotated[
    str,
    typer.Option(
        "--state-dir",
        metavar="DIR",
        envvar="RUBBLE_STATE_DIR",
        help="State folder of `rubble up` or `rubble serve`, with the operator's token; RUBBLE_OPERATOR_TOKEN goes before it.",
    ),
]
BotName = Annotated[
    str,
    typer.Argument(
        metavar="BOT",
        help="The bot's name: 1-64 letters, digits, dots, dashes and underscores, not beginning with a dot.",
    ),
]


@app.callback(invoke_without_command=True)
def _key(context: typer.Context) -> None:
    """Issue and revoke keys. A bot sends its key when it connects, and the key contains the bot's name.

    [dim]$[/] rubble key issue mybot
    [dim]$[/] rubble key revoke mybot
    [dim]$[/] rubble key connected
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


class BadName(Exception):
    """The arena does not know this bot; the message names the connected ones."""


def _with_client(address: str, state_dir: str, work: "Callable[[ArenaClient], None]") -> int:
    """Do something as the operator, at the address or else at the arena of the state folder; every failure is one line."""
    from orchestrator.client import ArenaClient, ServiceAccess, ServiceError

    # A service that was started by `rubble serve` has no file with its address: this machine is near enough.
    asked = "" if is_this_machine(address) else address
    arena_address = None if address else read_address(Path(state_dir))
    address = address or (arena_address.service if arena_address is not None else _DEFAULT_ADDRESS)
    ca = os.environ.get("RUBBLE_CA", "") or (arena_address.ca if arena_address is not None else "")
    try:
        with ArenaClient(ServiceAccess(address, operator_token(state_dir, asked), ca)) as client:
            work(client)
    except (NoToken, BadName, OSError) as error:
        complain(str(error))
        return 2
    except ServiceError as error:
        complain(f"{address}: {error}")
        return 2 if error.reason == "BAD_REQUEST" else 1
    return 0


@app.command("issue")
def issue(bot: BotName, address: Address = "", state_dir: StateDir = ".rubble") -> int:
    """Issue a key. It is shown once and not stored."""
    return _with_client(address, state_dir, lambda client: print(client.issue_key(bot)))


@app.command("revoke")
def revoke(bot: BotName, address: Address = "", state_dir: StateDir = ".rubble") -> int:
    """Revoke all keys of a bot; its open stream ends within seconds."""

    def take_back(client: "ArenaClient") -> None:
        from orchestrator.client import ServiceError

        try:
            generation = client.revoke_key(bot)
        except ServiceError as error:
            if error.reason != "BAD_REQUEST":
                raise
            there = ", ".join(sorted(client.connected())) or "no bot"
            raise BadName(f"no key of {bot!r} is on record; connected: {there}") from None
        print(f"revoked all keys of {bot} up to generation {generation}")

    return _with_client(address, state_dir, take_back)


@app.command("connected")
def connected(json: Json = False, address: Address = "", state_dir: StateDir = ".rubble") -> int:
    """List the bots that are connected."""

    def show(client: "ArenaClient") -> None:
        bots = client.connected()
        if json:
            fields = ("bot", "sdk", "max_parallel_games", "games", "since_ms")
            print_json([{field: getattr(bot, field) for field in fields} for bot in bots.values()])
            return
        table = Table("bot", "sdk", "games", "at once")
        for bot in bots.values():
            table.add_row(bot.bot, bot.sdk, str(bot.games), str(bot.max_parallel_games))
        console().print(table if bots else "no bot is connected")

    return _with_client(address, state_dir, show)
