"""``rubble play``: a person plays against bundled bots, over the same API as any bot."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from cli import arguments
from cli.terminal import complain, console
from service.games.core import AnyGame, BadSetup

FAILED: Final = 1
BUNDLED: Final = ("greedy", "random", "mcts")


def command(
    game: arguments.GameId = None,
    players: Annotated[
        str | None, typer.Option("--players", metavar="N", help="Number of players; by default two.")
    ] = None,
    bots: Annotated[
        str,
        typer.Option(
            "--bots",
            metavar="NAMES",
            help="greedy, random or mcts: one for all other seats, or one for each, with commas.",
        ),
    ] = "greedy",
    seat: Annotated[str, typer.Option("--seat", metavar="K", help="Your seat, counted from 0.")] = "0",
    seed: Annotated[
        str | None,
        typer.Option("--seed", metavar="S", help="A number that decides every card; by default they are random."),
    ] = None,
    option: arguments.GivenOptions = None,
    address: Annotated[
        str | None,
        typer.Option(
            "--address", metavar="ADDR", help="Play on a running service; needs its token in RUBBLE_OPERATOR_TOKEN."
        ),
    ] = None,
    replays: Annotated[str, typer.Option("--replays", metavar="DIR", help="Folder for the replay.")] = "replays",
) -> int:
    """Play a game yourself, against bundled bots.

    Starts a service for the length of the game. Answer with the number of an action or with its notation.

    [dim]$[/] rubble play --game sf1906-2e --players 1
    [dim]$[/] rubble play --game relief --bots greedy,random --seat 2 --seed 7
    """
    found = arguments.read_game(game)
    opponents = _read_bots(bots)
    count = _read_players(players, found, opponents)
    own = arguments.read_number("--seat", seat, 0, count - 1)
    number = None if seed is None else arguments.read_seed(seed)
    options = arguments.read_options(option, found, count)
    opponents = _spread(opponents, count)
    _check_folder(replays)

    import grpc

    from cli import human_seat as seats
    from cli.human_player import HumanGame
    from cli.local_service import LocalService, ProcessDied
    from cli.processes import at_sigterm

    try:
        with LocalService() as local_service, at_sigterm():
            where, token = seats.service(local_service, address)
            with seats.open_channel(where) as channel:
                taken = seats.take_seats(local_service, channel, where, token, found, own, opponents, number, options)
                return HumanGame(taken, local_service, console(), Path(replays)).play()
    except ProcessDied as error:
        complain(str(error))
    except grpc.RpcError as error:
        complain(f"the service says {error.code().name}: {error.details()}")
    return FAILED


# -------------------------------------------------------------------------------------------------------------- arguments
def _read_bots(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in BUNDLED:
            raise BadSetup("--bots", name, "one of " + ", ".join(BUNDLED))
    return names


def _check_folder(replays: str) -> None:
    """Check before the game that the replay can be saved after it."""
    place = Path(replays).absolute()
    while not place.exists():
        place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise BadSetup("--replays", replays, f"a folder that can be written, and {place} cannot")


def _read_players(text: str | None, game: AnyGame, bots: Sequence[str]) -> int:
    if text is None and len(bots) == 1:
        return max(2, game.seats[0])
    return arguments.read_players(text or str(len(bots) + 1), game)


def _spread(bots: Sequence[str], players: int) -> list[str]:
    if len(bots) == 1:
        return list(bots) * (players - 1)
    if len(bots) != players - 1:
        raise BadSetup("--bots", ",".join(bots), f"one for all, or {players - 1}, one for each other seat")
    return list(bots)
