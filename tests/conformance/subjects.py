"""What is checked: every game found and the example game, with their seat counts and options."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from service.games import all_games
from service.games.core import AnyGame, Option, OptionValue
from tests import example_game

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Subject:
    """A game, and the places of its page and its playthroughs."""

    game: AnyGame
    pages: Path
    playthroughs: Path

    def playthrough(self, seats: int) -> Path:
        return self.playthroughs / self.game.id / f"{seats}-players.txt"


@dataclass(frozen=True)
class Setup:
    """One way to play a game: a number of seats and options."""

    game: AnyGame = field(compare=False, hash=False, repr=False)
    id: str
    seats: int
    options: tuple[tuple[str, OptionValue], ...] = ()

    def __str__(self) -> str:
        return "-".join([self.id, str(self.seats), *(f"{name}={value}" for name, value in self.options)])


def other_values(option: Option) -> tuple[OptionValue, ...]:
    """The choices, or both ends of the range, without the default."""
    values: tuple[OptionValue, ...] = option.choices if option.range is None else option.range
    return tuple(value for value in values if value != option.default)


def plain_tables(game: AnyGame) -> list[Setup]:
    """Returns every seat count with the default options."""
    return [Setup(game, game.id, seats) for seats in game.seats]


def tables(game: AnyGame) -> list[Setup]:
    """Returns every seat count with the defaults, and every other value of every option once, where it has an effect."""
    found = plain_tables(game)
    for number, option in enumerate(game.options):
        for value in other_values(option):
            counts = option.seats or tuple(game.seats)
            found.append(Setup(game, game.id, counts[-1 - number % len(counts)], ((option.name, value),)))
    return found


@cache
def subjects() -> tuple[Subject, ...]:
    """Every game in the registry, then the example game, which has its page and playthroughs in its own folder."""
    here = ROOT / "tests" / "example_game"
    found = [Subject(game, ROOT / "docs" / "games", ROOT / "tests" / "playthroughs") for game in all_games().values()]
    return (*found, *(Subject(game, here, here / "playthroughs") for game in example_game.GAMES))


def all_tables() -> Iterator[Setup]:
    """All tables of all games."""
    for subject in subjects():
        yield from tables(subject.game)
