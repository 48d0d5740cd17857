"""The games that a report lists, with links to their replays."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.records import Game
from orchestrator.report import words
from orchestrator.report.report_data import ReportData

#: How many games the page lists. The others are in ``results.csv``, so that the page stays small.
MOST_GAMES: Final = 200
#: How many losses of each entrant the page lists.
MOST_LOSSES: Final = 3


@dataclass(frozen=True)
class ListedPlayer:
    """A seat of a listed game."""

    name: str
    rank: int
    score: int
    #: Why it was forfeited; empty if it was not.
    fault: str


@dataclass(frozen=True)
class ListedGame:
    """A game as the page shows it."""

    order: int
    #: The best first.
    players: tuple[ListedPlayer, ...]
    ending: str
    decisions: int
    #: The path of its replay, relative to the page; empty if it is not exported.
    replay: str


@dataclass(frozen=True)
class Loss:
    """A game that an entrant lost, or in solo games its score."""

    game: ListedGame
    rank: int
    score: int
    #: How many points it was behind the first player. Negative if it was ahead in points and forfeited its seat.
    behind: int
    fault: str


def listed_games(report_data: ReportData) -> list[ListedGame]:
    """The first games of the schedule, at most ``MOST_GAMES``."""
    return [_listed(report_data, game) for game in report_data.games[:MOST_GAMES]]


def worst_losses(report_data: ReportData) -> list[list[Loss]]:
    """At most ``MOST_LOSSES`` losses of each entrant, the worst first, in the order of the table.

    The worst has the last rank and the most points behind the first player. Solo games have no first player: there the lowest
    scores are the worst.
    """
    is_solo = report_data.players == 1
    found: dict[int, list[tuple[tuple[int, int, int], Game, int]]] = {}
    for game in report_data.games:
        for entrant in set(game.seats):
            seat = _best_seat(game, entrant)
            if is_solo:
                key = (0, game.scores[seat], game.order)
            elif game.ranks[seat] > min(game.ranks):
                key = (-game.ranks[seat], -_behind(game, seat), game.order)
            else:
                continue
            found.setdefault(entrant, []).append((key, game, seat))
    losses = []
    for line in report_data.standings.entrants:
        worst = sorted(found.get(line.entrant, ()), key=lambda loss: loss[0])[:MOST_LOSSES]
        losses.append([_loss(report_data, game, seat) for _, game, seat in worst])
    return losses


def replay_commands(report_data: ReportData) -> list[str]:
    """Commands that show a replay and list the losses of a bot, with names from this report; none without replays.

    The example is the entrant with the lowest rank that has a listed loss with a replay.
    """
    for line, losses in reversed(list(zip(report_data.standings.entrants, worst_losses(report_data), strict=True))):
        for loss in losses:
            if loss.game.replay:
                lost = "" if report_data.players == 1 else " --lost"
                bot = shlex.quote(words.visible(line.name))
                return [f"rubble replay show {loss.game.replay}", f"rubble replay list replays --bot {bot}{lost}"]
    return [f"rubble replay show {path}" for path in list(report_data.replays.values())[:1]]


def _best_seat(game: Game, entrant: int) -> int:
    """The best seat of an entrant: a bot has several if copies of it play."""
    own: Sequence[int] = [seat for seat, seated in enumerate(game.seats) if seated == entrant]
    return min(own, key=lambda seat: (game.ranks[seat], -game.scores[seat], seat))


def _behind(game: Game, seat: int) -> int:
    first = max(score for score, rank in zip(game.scores, game.ranks, strict=True) if rank == min(game.ranks))
    return first - game.scores[seat]


def _loss(report_data: ReportData, game: Game, seat: int) -> Loss:
    listed = _listed(report_data, game)
    return Loss(listed, game.ranks[seat], game.scores[seat], _behind(game, seat), game.faults[seat])


def _listed(report_data: ReportData, game: Game) -> ListedGame:
    seats = sorted(range(len(game.seats)), key=lambda seat: (game.ranks[seat], seat))
    players = tuple(
        ListedPlayer(report_data.names[game.seats[seat]], game.ranks[seat], game.scores[seat], game.faults[seat])
        for seat in seats
    )
    return ListedGame(game.order, players, game.ending, game.decisions, report_data.replays.get(game.order, ""))
