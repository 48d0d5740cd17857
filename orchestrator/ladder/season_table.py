"""What is computed from the rated blocks of a season: the table, the verdicts of new builds, the pairs, and the history. Pure.

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
from orchestrator.ladder.pairs import LEAST_BLOCKS, Gain, RankWithout, gains, rank_without
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
#: The pairs of a list, at most, and those of them whose rank without each other is found: that takes a fit each.
MOST_PAIRS: Final = 500
MOST_RANKS: Final = 50
_GAIN_DECIMALS: Final = 4


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


class PairLine(msgspec.Struct, frozen=True):
    """What ``one`` gains, in points a game, when ``other`` is at the table."""

    one: str
    other: str
    blocks_with: int
    blocks_without: int
    gain: float
    #: Hold for all pairs of the list together.
    low: float
    high: float
    is_flagged: bool
    #: Only of flagged pairs of ranked builds: the rank of ``one``, and its rank without the blocks that it shared with ``other``.
    rank: int | None = None
    rank_without: int | None = None


class PairsDocument(msgspec.Struct, frozen=True):
    """The pairs of a season, at most ``MOST_PAIRS`` in each list: the flagged ones first, then the largest gain first."""

    builds: tuple[PairLine, ...]
    owners: tuple[PairLine, ...]
    blocks: int
    #: A pair is measured from this many blocks with and without each other.
    least_blocks: int

    def to_json(self) -> bytes:
        """The JSON that the book and the archive store."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, data: bytes) -> "PairsDocument":
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
    quantile = _rounded(quantile_of(exact, ranked, _rng(seed)), 3) if ranked else 0.0
    faults = per_entrant(results, results.faulted)

    def line(entrant: int, standing: Standing | None) -> Line:
        played = int(ratings.games[entrant])
        return Line(
            entrant=entrant,
            rank=standing.rank if standing else 0,
            rank_low=standing.rank_set[0] if standing else 0,
            rank_high=standing.rank_set[1] if standing else 0,
            elo=_elo(ratings, entrant) if played else None,
            half_width=_rounded(HALF_WIDTH * float(exact.error[entrant]) * ELO, ELO_DECIMALS) if played else None,
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
        seat_elo=tuple(_rounded(float(seat) * ELO, ELO_DECIMALS) for seat in exact.fit.seat),
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


def pairs_document(
    entrants: Sequence[Entrant],
    counted: Collection[int],
    games: Sequence[Game] | SeasonGames,
    seats: int,
    ratings: Ratings | None,
) -> PairsDocument:
    """Who gains when who is at the table, from the rated blocks that are over and their ratings."""
    results = results_of(entrants, games, seats)
    if ratings is None:
        return PairsDocument((), (), 0, LEAST_BLOCKS)
    ranked = [at for at in sorted(set(counted)) if ratings.games[at]]
    names = [entrant.name for entrant in entrants]
    of_builds = []
    for at, gain in enumerate(_sorted_gains(gains(results, ratings.fit))[:MOST_PAIRS]):
        without = None
        if gain.is_flagged and at < MOST_RANKS and {gain.one, gain.other} <= set(ranked):
            without = rank_without(results, ratings, bundled_of(entrants), ranked, gain.one, gain.other)
        of_builds.append(_pair(gain, names, without))
    # A bundled bot belongs to nobody: it has a number of its own, and its pairs are left out.
    owners = sorted({entrant.owner for entrant in entrants if entrant.owner is not None})
    number = {owner: at for at, owner in enumerate(owners)}
    own = iter(range(len(owners), len(owners) + len(entrants)))
    owner = [next(own) if entrant.owner is None else number[entrant.owner] for entrant in entrants]
    of_owners = gains(results, ratings.fit, np.array(owner, dtype=np.int64))
    among = [gain for gain in _sorted_gains(of_owners) if max(gain.one, gain.other) < len(owners)]
    return PairsDocument(
        builds=tuple(of_builds),
        owners=tuple(_pair(gain, owners, None) for gain in among[:MOST_PAIRS]),
        blocks=results.blocks,
        least_blocks=LEAST_BLOCKS,
    )


def _sorted_gains(found: Sequence[Gain]) -> list[Gain]:
    """The flagged ones first, in the order in which they were found, then the largest gain first, by the rounded number."""
    rest = [gain for gain in found if not gain.is_flagged]
    rest.sort(key=lambda gain: (-_rounded(gain.gain, _GAIN_DECIMALS), gain.one, gain.other))
    return [*(gain for gain in found if gain.is_flagged), *rest]


def _pair(gain: Gain, names: Sequence[str], ranks: RankWithout | None) -> PairLine:
    mean, low, high = (_rounded(value, _GAIN_DECIMALS) for value in (gain.gain, *gain.interval))
    return PairLine(
        one=names[gain.one],
        other=names[gain.other],
        blocks_with=gain.blocks_with,
        blocks_without=gain.blocks_without,
        gain=mean,
        low=low,
        high=high,
        is_flagged=gain.is_flagged,
        rank=ranks.rank if ranks else None,
        rank_without=ranks.rank_without if ranks else None,
    )


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


def _rounded(value: float, decimals: int) -> float:
    return round(value, decimals) + 0.0  # never -0.0


def _elo(ratings: Ratings, entrant: int) -> float:
    return _rounded(float(ratings.strength[entrant]) * ELO, ELO_DECIMALS)


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
