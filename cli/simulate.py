"""``rubble simulate``: plays many games with built-in players and sums up the results."""

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b
from typing import Annotated

import typer
from rich.console import Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from cli import arguments
from cli.terminal import console, count_of, error_console, print_json
from service.engine import engine_kind
from service.games.core import Result
from service.games.playing import Played, play_one

MOST_GAMES = 10**9
BAR_WIDTH = 20


@dataclass
class Line:
    """The points and wins of one player: a seat, or a player of the game itself."""

    name: str
    points: int = 0
    wins: Fraction = Fraction(0)

    def add(self, result: Result, share: Fraction) -> None:
        """Count one more game."""
        self.points += result.score
        if result.rank == 1:
            self.wins += share


class Tally:
    """The results of a series so far. A shared victory is split: each of k winners gets 1/k of a win."""

    def __init__(self, policies: Sequence[str]) -> None:
        self.games = 0
        self.decisions = 0
        self.endings: Counter[str] = Counter()
        self.seats = [Line(name) for name in policies]
        self.house: dict[str, Line] = {}
        self._digest = blake2b(digest_size=16)

    def add(self, played: Played) -> None:
        """Count one more game."""
        self.games += 1
        self.decisions += played.decisions
        outcome = played.outcome
        self.endings[outcome.ending] += 1
        self._digest.update(bytes.fromhex(played.digest))
        share = Fraction(1, sum(result.rank == 1 for result in (*outcome.seats, *outcome.house)))
        for line, result in zip(self.seats, outcome.seats, strict=True):
            line.add(result, share)
        for result in outcome.house:
            self.house.setdefault(result.name, Line(result.name)).add(result, share)

    @property
    def digest(self) -> str:
        """Return a hash of all logs: equal for equal arguments, on every machine."""
        return self._digest.hexdigest()


def command(
    game: arguments.GameId = None,
    players: arguments.Players = None,
    games: Annotated[str, typer.Option("--games", metavar="K", help="Number of games.")] = "100",
    seed: arguments.Seed = "1",
    policy: arguments.Policies = None,
    option: arguments.GivenOptions = None,
    json: arguments.Json = False,
) -> None:
    """Play many games with built-in players and count who won.

    A shared victory is split: each of k winners gets 1/k of a win. Games that no seat wins were won by the game itself.
    The digest is a hash of every action of every game: equal for equal arguments, on every machine.

    [dim]$[/] rubble simulate --game relief --players 3 --games 200 --seed 7
    [dim]$[/] rubble simulate --game sf1906-2e --players 2 --policy greedy --policy random --json
    """
    found = arguments.read_game(game)
    seats = arguments.read_players(players, found)
    count = arguments.read_number("--games", games, 1, MOST_GAMES)
    number = arguments.read_seed(seed)
    policies = arguments.read_policies(policy, found, seats)
    options = arguments.read_options(option, found, seats)
    deciders = arguments.players_of(found, policies)

    tally = Tally(policies)
    start = time.perf_counter()
    for index in _with_progress(count, found.id):
        tally.add(play_one(found, seats, options, deciders, number, index))
    seconds = time.perf_counter() - start

    if json:
        print_json(
            {
                "game": found.id,
                "players": seats,
                "games": count,
                "seed": number,
                "policies": policies,
                "decisions": tally.decisions,
                "mean_scores": [line.points / count for line in tally.seats],
                "wins_by_seat": [float(line.wins) for line in tally.seats],
                "endings": dict(sorted(tally.endings.items())),
                "digest": tally.digest,
                "seconds": round(seconds, 3),
            }
        )
    else:
        console().print(page(found.title, tally, number, seconds))


def _with_progress(count: int, label: str) -> Iterator[int]:
    """Yield the numbers below count, with a progress bar if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield from range(count)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=error_console(), transient=True) as progress:
        yield from progress.track(range(count), description=label)


def page(title: str, tally: Tally, number: int, seconds: float) -> Group:
    """Show the results of a series."""
    counts = f" · {count_of(len(tally.seats), 'player')} · {count_of(tally.games, 'game')} · seed {number}"
    heading = Text.assemble((title, "bold"), counts)
    drawn = Table(show_edge=False, pad_edge=False)
    drawn.add_column("seat", justify="right")
    drawn.add_column("player", style="cyan")
    drawn.add_column("mean score", justify="right")
    drawn.add_column("wins", justify="right")
    drawn.add_column("", no_wrap=True)
    rows = [(str(seat), line) for seat, line in enumerate(tally.seats)]
    rows += [("house", line) for _, line in sorted(tally.house.items())]
    best = max(line.wins for _, line in rows)
    for label, line in rows:
        share = line.wins / tally.games
        style = "green" if line.wins == best else "dim"
        bar = Text("█" * round(share * BAR_WIDTH), style=style).append(f" {float(share):.0%}")
        drawn.add_row(label, line.name, f"{line.points / tally.games:.1f}", f"{float(line.wins):,.1f}", bar)
    endings = ", ".join(f"{ending} {count:,}" for ending, count in tally.endings.most_common())
    pace = (
        f"{tally.decisions:,} decisions in {seconds:.1f} s: {tally.games / seconds:,.0f} games/s, "
        f"{tally.decisions / seconds:,.0f} decisions/s ({engine_kind()} rules)"
    )
    notes = Text(f"endings: {endings}\n{pace}\ndigest: {tally.digest}", style="dim")
    return Group(Text(), heading, Text(), drawn, Text(), notes)
