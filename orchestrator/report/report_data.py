"""The data of a report, read from the book once."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from msgspec import structs

from orchestrator.book import Book, Progress, Tournament
from orchestrator.ratings import openskill_ladder, sequential
from orchestrator.ratings.results import in_schedule_order, read
from orchestrator.ratings.table import Standings, standings
from orchestrator.ratings.verdict import Verdict
from orchestrator.records import Game
from orchestrator.spec import Spec

#: The number of points in a rating history; more would not be visible.
LOOKS = 60


@dataclass(frozen=True)
class RatingHistory:
    """The ladder's ratings over the schedule."""

    #: The number of games (for solo: compared deals) at each point; the first is 0.
    games: tuple[int, ...]
    #: One row per point, one rating per entrant.
    rungs: tuple[tuple[openskill_ladder.LadderRating, ...], ...]


@dataclass(frozen=True)
class ReportData:
    """One tournament from the book, and what is computed from it."""

    tournament: Tournament
    game: str
    players: int
    #: By entrant number; copies of a bot are one entrant.
    names: tuple[str, ...]
    #: In schedule order.
    games: tuple[Game, ...]
    #: By position in the schedule.
    match_ids: dict[int, str]
    progress: Progress
    endings: dict[str, int]
    standings: Standings
    climb: RatingHistory
    #: Only for a tournament of the format ``compare``: is the first entrant better than the second?
    test: sequential.SequentialResult | None
    #: Notes of workers, and withdrawals.
    notes: tuple[str, ...]
    #: When the last game was recorded, if known.
    ended_ms: int | None
    #: The paths of the replays beside the report, by position in the schedule. Empty if none are exported with it.
    replays: Mapping[int, str]


def read_report_data(
    book: Book,
    tournament_id: str,
    *,
    only_whole_blocks: bool = False,
    replays: Mapping[str, str] | None = None,
) -> ReportData:
    """Read one tournament and compute its standings. Raises UnknownTournament if the book has none.

    ``replays`` has the paths of the replays that are exported beside the report, by match id.
    """
    tournament = book.tournament(tournament_id)
    spec = tournament.spec
    players = spec.players
    names, recorded = by_bot(spec, book.games(tournament.id))
    hidden = book.blocks_under_way(tournament.id) if only_whole_blocks else ()
    games = in_schedule_order([game for game in recorded if game.block not in hidden], len(names), players)
    progress = book.progress(tournament.id)
    climb = rating_history(games, len(names), players)
    match_ids = book.match_ids(tournament.id)
    beside = replays or {}
    return ReportData(
        tournament=tournament,
        game=spec.game,
        players=players,
        names=names,
        games=tuple(games),
        match_ids=match_ids,
        progress=progress,
        endings=book.endings(tournament.id),
        standings=with_ladder_ratings(standings(games, names, players, ladder=False), climb),
        climb=climb,
        notes=(*book.notes(tournament.id), *_withdrawn(book, tournament)),
        test=_test(book, tournament, games, is_over=progress.is_over),
        ended_ms=tournament.ended_ms or None,
        replays={order: beside[match] for order, match in match_ids.items() if match in beside},
    )


def _withdrawn(book: Book, tournament: Tournament) -> list[str]:
    """The withdrawn entrants and the reasons, as sentences."""
    names = tournament.spec.entrants
    return [f"{names[found.entrant]} was withdrawn: it {found.reason}." for found in book.withdrawals(tournament.id)]


def by_bot(spec: Spec, games: Sequence[Game]) -> tuple[tuple[str, ...], list[Game]]:
    """Names and games with all copies of a bot under one number: a comparison is about bots, not copies."""
    bots = spec.bot_names
    names = tuple(dict.fromkeys(bots))
    if len(names) == len(bots):
        return names, list(games)
    number = [names.index(bot) for bot in bots]
    return names, [structs.replace(game, seats=tuple(number[entrant] for entrant in game.seats)) for game in games]


def rating_history(games: Sequence[Game], entrants: int, players: int) -> RatingHistory:
    """Rate the schedule as the ladder does, and keep the ratings at some points."""
    results = read(games, entrants, players)
    rows = len(results.block)
    rungs = openskill_ladder.ladder(results.only(np.zeros(rows, dtype=np.bool_)))
    looks, seen = [0], [tuple(rungs)]
    for stop in sorted({round(rows * look / LOOKS) for look in range(1, LOOKS + 1)} - {0}):
        between = np.zeros(rows, dtype=np.bool_)
        between[looks[-1] : stop] = True
        rungs = openskill_ladder.ladder(results.only(between), rungs)
        looks.append(stop)
        seen.append(tuple(rungs))
    return RatingHistory(tuple(looks), tuple(seen))


def with_ladder_ratings(table: Standings, climb: RatingHistory) -> Standings:
    """Fill the ladder column of the table from the end of the rating history, so that it is computed only once."""
    last = climb.rungs[-1]
    lines = (
        replace(line, openskill_mu=last[line.entrant].mu, openskill_sigma=last[line.entrant].sigma)
        for line in table.entrants
    )
    return replace(table, entrants=tuple(lines))


def answer_so_far(book: Book, tournament: Tournament) -> sequential.SequentialResult | None:
    """The result of the sequential test after the blocks played so far; None if there is no test."""
    _, games = by_bot(tournament.spec, book.games(tournament.id))
    return _test(book, tournament, games, is_over=False)


def _in_turn(book: Book, tournament: Tournament, games: Sequence[Game]) -> list[Game]:
    """The games of whole blocks, up to the first block that is not over.

    Blocks that finish early wait for those before them, so that the answer does not depend on speed. A block with a dropped match
    will never be complete: it is ignored, and later blocks do not wait for it.
    """
    first_open, broken = book.blocks_in_turn(tournament.id)
    return [game for game in games if game.block < first_open and game.block not in broken]


def _test(
    book: Book, tournament: Tournament, games: Sequence[Game], *, is_over: bool
) -> sequential.SequentialResult | None:
    """Run the sequential test over whole blocks, with the settings of the roster."""
    spec = tournament.spec
    if spec.format != "compare":
        return None
    answer = sequential.compare(_in_turn(book, tournament, games), 0, 1, spec.players, question_of(spec))
    if is_over and answer.verdict is Verdict.RUNNING:
        return replace(answer, verdict=Verdict.UNDECIDED)  # no block is left to decide it
    return answer


def question_of(spec: Spec) -> sequential.SequentialSettings:
    """The test settings of the roster. With fewer blocks than the first check needs, the test stays undecided."""
    asked = spec.question
    if asked is None:
        return sequential.SequentialSettings()
    most = max(asked.most_blocks, sequential.SequentialSettings.first_look)
    return sequential.SequentialSettings(t0=asked.t0, t1=asked.t1, alpha=asked.alpha, beta=asked.beta, most_blocks=most)


def causes_of(report_data: ReportData) -> list[str]:
    """Every cause of a forfeit that occurred, the most frequent first."""
    found: Counter[str] = Counter()
    for line in report_data.standings.entrants:
        found.update(line.faults)
    return [cause for cause, _ in sorted(found.items(), key=lambda item: (-item[1], item[0]))]
