"""Reads what was typed. Every function returns the value, or raises BadSetup, which names what was expected."""

import re
from collections.abc import Sequence
from typing import Annotated

import typer

from service import games
from service.games.core import AnyGame, BadSetup, OptionValue, Viewer
from service.games.playing import Player

LARGEST_SEED = 2**63 - 1

GameId = Annotated[str | None, typer.Option("--game", metavar="ID", help="The game; `rubble games` lists them.")]
Players = Annotated[
    str | None, typer.Option("--players", metavar="N", help="Number of players; by default as many as the game allows.")
]
Seed = Annotated[str, typer.Option("--seed", metavar="S", help="A number that decides every card and every choice.")]
Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy", metavar="NAME", help="A built-in player: give it once for all seats, or once for each seat."
    ),
]
GivenOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="An option of the game; can be repeated."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def read_game(text: str | None) -> AnyGame:
    """Return the game with that id."""
    if text is None:
        raise typer.TyperException("--game is missing; expected one of " + ", ".join(games.all_games()))
    return games.get(text)


def read_number(name: str, text: str, low: int, high: int) -> int:
    """Read a whole number from low to high."""
    if re.fullmatch(r"[+-]?[0-9]{1,30}", text) and low <= int(text) <= high:
        return int(text)
    raise BadSetup(name, text, f"a whole number from {low} to {high}")


def read_address(name: str, text: str) -> str:
    """Read a host:port to listen on."""
    from orchestrator.settings import BadSetting, address  # slow to import, and few commands listen

    try:
        if not text:
            raise BadSetting(name, text, "host:port or [IPv6 address]:port")
        return address({name: text}, name, "")
    except BadSetting as error:
        raise BadSetup(name, text, error.expected) from None


def read_seed(text: str) -> int:
    """Read the seed of a series of games."""
    return read_number("--seed", text, 0, LARGEST_SEED)


def read_players(text: str | None, game: AnyGame) -> int:
    """Read the number of players."""
    if text is None:
        return game.seats[-1]
    return read_number("--players", text, game.seats[0], game.seats[-1])


def read_policies(texts: Sequence[str] | None, game: AnyGame, players: int) -> list[str]:
    """Read the names of the built-in players, one for each seat."""
    names = list(texts or ["random"])
    for name in names:
        if name not in game.players:
            raise BadSetup("--policy", name, "one of " + ", ".join(game.players))
    if len(names) == 1:
        return names * players
    if len(names) != players:
        raise BadSetup("--policy", " ".join(names), f"one for all seats, or {players}, one for each seat")
    return names


def players_of(game: AnyGame, policies: Sequence[str]) -> list[Player]:
    """Return the built-in players with these names."""
    return [game.players[name] for name in policies]


def read_options(texts: Sequence[str] | None, game: AnyGame, players: int) -> dict[str, OptionValue]:
    """Return all options of the game: the given ones, checked, and the defaults of the others."""
    known = {option.name: option for option in game.options}
    given: dict[str, OptionValue] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise BadSetup(
                "--option",
                text,
                "NAME=VALUE, where NAME is one of: " + (", ".join(known) or "none, it has no options"),
            )
        if name in given:
            raise BadSetup("--option", text, f"{name} only once")
        given[name] = value
        if name in known:
            option = known[name]
            spelled = {str(choice): choice for choice in option.choices}
            if value in spelled:
                given[name] = spelled[value]
            elif option.range is not None and re.fullmatch(r"[+-]?[0-9]{1,30}", value):
                given[name] = int(value)
    return game.complete(players, given)


def read_viewer(text: str, players: int) -> Viewer:
    """Read the seat from which the table is viewed; None for a spectator."""
    if text == "spectator":
        return None
    if re.fullmatch(r"[0-9]{1,3}", text) and int(text) < players:
        return int(text)
    raise BadSetup("--viewer", text, f"spectator, or a seat from 0 to {players - 1}")
