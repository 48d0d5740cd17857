"""What is computed from the rated blocks of a season: the table, the verdicts of new builds, and the history. Pure.

Everything is rounded before it is compared: the Elo of the table has one decimal, and ranks are decided by that number. Sums over
many games differ in their last bits from machine to machine, about 1e-9 Elo, so that a table comes out equal to the byte.
"""

from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Final

import msgspec
import numpy as np

from orchestrator.ladder.model import DrawnTable, RatingPoint
from orchestrator.ladder.ratings import ELO_DECIMALS, Ratings, Standing, published, quantile_of, rate, standings_at
from orchestrator.ladder.season_games import SeasonGames
from orchestrator.ladder.seasons import blocks_to_swap, finals_field
from orchestrator.ladder.verdicts import BuildVerdict, judge, trial_values
from orchestrator.ratings.davidson_luce import ELO
from orchestrator.ratings.results import Results, per_entrant
from orchestrator.records import Game

#: Half of a 95 per cent interval, in standard errors.
HALF_WIDTH: Final = 1.96
#: The first lines of a final table have exact numbers of blocks to swap; those of the others are estimates.
EXACT_LINES: Final = 8
#: A point of the history is kept if the games have grown by one part of this many.
HISTORY_PART: Final = 20


class Entrant(msgspec.Struct, frozen=True):
    """A build of a season, or a bundled bot. Entrants are numbered from 0."""

    name: str
    #: None for a bundled bot.
    owner: str | None


class Line(msgspec.Struct, frozen=True):
    """One line of the table."""

    entrant: int
    #: 0: not ranked.
    rank: int
    #: The ranks that the games do not exclude.
    rank_low: int
    rank_high: int
    #: None without games.
    elo: float | None
    half_width: float | None
    games: int
    blocks: int
    is_provisional: bool
    #: Share of its games that it forfeited.
    fault_share: float
    #: Only in a final table: the blocks without which it would change places with the next line. Exact for the first
    #: ``EXACT_LINES`` lines, an estimate to first order for the others; None: half of all blocks would not be enough.
    blocks_to_swap: int | None = None


class TableDocument(msgspec.Struct, frozen=True):
    """The table of a season."""

    #: From first to last, then those without a rank: the strongest first, those without games last.
    lines: tuple[Line, ...]
    games: int
    blocks: int
    #: A difference is certain if it is larger than this many standard errors.
    quantile: float
    #: The advantage of each seat, relative to their mean.
    seat_elo: tuple[float, ...]
    notes: tuple[str, ...] = ()
    is_final: bool = False

    def to_json(self) -> bytes:
        """The JSON that the book and the archive store."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, data: bytes) -> "TableDocument":
        """Read the JSON. Raises msgspec.ValidationError if it is not valid."""
        return msgspec.json.decode(data, type=cls)


def season_table(
    entrants: Sequence[Entrant],
    counted: Collection[int],
    games: Sequence[Game] | SeasonGames,
    seats: int,
    seed: bytes,
    start: Ratings | None = None,
    *,
    is_final: bool = False,
) -> tuple[TableDocument, Ratings | None]:
    """The table from the rated blocks that are over, and the ratings, from which the next call may start; None without games.

    ``counted`` are the entrants that have a rank once they have games. ``seed`` finds the quantile of the rank sets. A final table
    starts from nothing and has ``blocks_to_swap``.
    """
    results = results_of(entrants, games, seats)
    if not len(results.block):
        waiting = tuple(Line(at, 0, 0, 0, None, None, 0, 0, True, 0.0) for at in range(len(entrants)))
        return TableDocument(waiting, 0, 0, 0.0, (0.0,) * seats, is_final=is_final), None
    exact = rate(results, bundled_of(entrants), None if is_final else start)
    ratings = published(exact)
    ranked = [at for at in sorted(set(counted)) if ratings.games[at]]
    quantile = rounded(quantile_of(exact, ranked, _rng(seed)), 3) if ranked else 0.0
    faults = per_entrant(results, results.faulted)

    def line(entrant: int, standing: Standing | None) -> Line:
        played = int(ratings.games[entrant])
        return Line(
            entrant=entrant,
            rank=standing.rank if standing else 0,
            rank_low=standing.rank_set[0] if standing else 0,
            rank_high=standing.rank_set[1] if standing else 0,
            elo=_elo(ratings, entrant) if played else None,
            half_width=rounded(HALF_WIDTH * float(exact.error[entrant]) * ELO, ELO_DECIMALS) if played else None,
            games=played,
            blocks=int(ratings.blocks[entrant]),
            is_provisional=standing.is_provisional if standing else True,
            fault_share=round(int(faults[entrant]) / played, 4) if played else 0.0,
        )

    table = standings_at(ratings, ranked, quantile) if ranked else ()
    lines = [line(standing.build, standing) for standing in table]
    unranked = sorted(set(range(len(entrants))) - set(ranked), key=lambda at: _by_strength(ratings, at))
    if is_final:
        swaps = _swaps(results, exact, lines)
        lines = [msgspec.structs.replace(each, blocks_to_swap=swap) for each, swap in zip(lines, swaps, strict=True)]
    document = TableDocument(
        lines=(*lines, *(line(at, None) for at in unranked)),
        games=len(results.block),
        blocks=results.blocks,
        quantile=quantile,
        seat_elo=tuple(rounded(float(seat) * ELO, ELO_DECIMALS) for seat in exact.fit.seat),
        notes=_notes(exact),
        is_final=is_final,
    )
    return document, exact


def results_of(entrants: Sequence[Entrant], games: Sequence[Game] | SeasonGames, seats: int) -> Results:
    """The games as columns, in schedule order."""
    read = games if isinstance(games, SeasonGames) else SeasonGames(seats, games)
    return read.results(len(entrants))


def bundled_of(entrants: Sequence[Entrant]) -> list[int]:
    """The bundled bots, whose mean is 0 on the scale."""
    return [at for at, entrant in enumerate(entrants) if entrant.owner is None]


def finalists(document: TableDocument, entrants: Sequence[Entrant], size: int) -> tuple[int, ...]:
    """The field of the finals by a table, the best first."""
    ranked = [
        Standing(
            line.entrant,
            line.rank,
            (line.rank_low, line.rank_high),
            line.elo or 0.0,
            line.half_width or 0.0,
            line.games,
            line.blocks,
            line.is_provisional,
        )
        for line in document.lines
        if line.rank
    ]
    return finals_field(ranked, [entrant.owner for entrant in entrants], size)


def trial_verdict(
    new: int,
    parent: int,
    tables: Sequence[DrawnTable],
    games: Sequence[Game],
    seats: int,
    names: Sequence[str],
) -> BuildVerdict:
    """Whether a new build is better than its parent. ``names`` are those of all entrants.

    A trial is two tables of one deal. It counts once all games of both are among ``games``, in the order of the deals.
    """
    deal_of = {table.block: table.deal for table in tables if table.trial == new}
    of_trial = [game for game in games if game.block in deal_of]
    played: dict[int, int] = {}
    for game in of_trial:
        deal = deal_of[game.block]
        played[deal] = played.get(deal, 0) + 1
    whole = sorted(deal for deal, count in played.items() if count == 2 * seats)
    number = {deal: at for at, deal in enumerate(whole)}
    kept = sorted((game for game in of_trial if deal_of[game.block] in number), key=lambda game: game.order)
    results = SeasonGames(seats, kept).results(len(names))
    trial = np.array([number[deal_of[game.block]] for game in kept], dtype=np.int64)
    return judge(names[new], names[parent], trial_values(results, trial, new, parent))


def history_points(document: TableDocument, last_games: Mapping[int, int], at_ms: int) -> list[RatingPoint]:
    """The points of the history that a new table adds: of each entrant with a twentieth more games than at its last point.

    ``last_games`` has the games at the last point of each entrant that has one.
    """
    points = []
    for line in document.lines:
        before = last_games.get(line.entrant, 0)
        has_grown = line.games > before and HISTORY_PART * (line.games - before) >= before
        if line.elo is not None and line.half_width is not None and has_grown:
            points.append(
                RatingPoint(
                    line.entrant, line.games, at_ms, line.elo, line.half_width, line.rank_low, line.rank_high
                )
            )  # fmt: skip
    return points


def _rng(seed: bytes) -> np.random.Generator:
    mixed = blake2b(seed, digest_size=32, person=b"rubble-ranks").digest()
    return np.random.default_rng(int.from_bytes(mixed, "big"))


def rounded(value: float, decimals: int) -> float:
    """A number as documents have it."""
    return round(value, decimals) + 0.0  # never -0.0


def _elo(ratings: Ratings, entrant: int) -> float:
    return rounded(float(ratings.strength[entrant]) * ELO, ELO_DECIMALS)


def _by_strength(ratings: Ratings, entrant: int) -> tuple[bool, float, int]:
    has_none = not ratings.games[entrant]
    return has_none, 0.0 if has_none else -_elo(ratings, entrant), entrant


def _swaps(results: Results, ratings: Ratings, lines: Sequence[Line]) -> list[int | None]:
    found: list[int | None] = []
    for at, (line, following) in enumerate(pairwise(lines)):
        if line.rank == following.rank:
            found.append(0)
        else:
            is_exact = at < EXACT_LINES
            found.append(blocks_to_swap(results, ratings, line.entrant, following.entrant, is_exact=is_exact))
    return [*found, None][: len(lines)]


def _notes(ratings: Ratings) -> tuple[str, ...]:
    notes = []
    apart = len(np.unique(ratings.fit.component[ratings.games > 0]))
    if apart > 1:
        notes.append(
            f"There are {apart} groups that never met, not even through others: between them the Elo says nothing."
        )
    if not ratings.fit.converged:
        notes.append("The fit did not converge: the Elo is not exact.")
    return tuple(notes)
