"""The table of all finished games, as the command line, the report and the contract show it."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.ratings import davidson_luce, head_to_head, openskill_ladder
from orchestrator.ratings import standings as official
from orchestrator.ratings.intervals import ENOUGH_BLOCKS, students_quantile, together
from orchestrator.ratings.points import Floats
from orchestrator.ratings.rank_sets import rank_sets
from orchestrator.ratings.results import Results, digest, in_schedule_order, per_entrant, read
from orchestrator.records import Game


@dataclass(frozen=True)
class Standing:
    """One line of the table. None means that the value is unknown: no game, or a number that the games do not bound."""

    name: str
    #: Its number in the tournament, as in ``Game.seats``.
    entrant: int
    rank: int
    #: The best and the worst rank that it may truly have: 95 per cent for the whole table together.
    rank_range: tuple[int, int]
    #: The entrants of a group cannot be distinguished from its first: 95 per cent for the whole table together.
    group: int
    #: The number of seats played: the number of games, unless copies of a bot play in one game.
    games: int
    blocks: int
    mean_points: float | None
    ci95: tuple[float, float] | None
    #: First places; m tied ones count 1/m each.
    wins: float
    #: Of the games it played to the end; the margin is over the best of the others.
    mean_score: float | None
    mean_margin: float | None
    faults: dict[str, int]
    #: Without the blocks in which any entrant had a fault.
    clean_mean_points: float | None
    clean_rank: int | None
    #: The standard error is relative to the mean of the scale; None for an entrant alone on its scale, whose Elo is a bound.
    elo: float | None
    elo_se: float | None
    #: Entrants with the same number are on one scale: the games bound their differences on both sides. Between scales the
    #: difference is a bound.
    elo_scale: int
    openskill_mu: float | None
    openskill_sigma: float | None
    #: Depends on machine and load, unlike the rest.
    mean_think_ms: float | None
    #: What puts it behind the line above: mean points, or a tie-break. None for the first line, for one that shares its rank, and
    #: in a table that was read from a message.
    behind_by: official.Criterion | None = None

    @property
    def elo_half(self) -> float | None:
        """Half the width of the 95 per cent interval of ``elo``, for this line by itself. One block says nothing about it."""
        if self.elo_se is None or self.blocks < 2:
            return None
        return float(students_quantile(np.array(self.blocks))) * self.elo_se


@dataclass(frozen=True)
class SeatEffect:
    """The advantage of a seat between equal entrants."""

    seat: int
    mean_points: float | None
    elo: float
    elo_se: float


@dataclass(frozen=True)
class Pair:
    """``one`` against ``other``, by number: the difference of their mean points at common tables."""

    one: int
    other: int
    games: int
    difference: float
    #: 95 per cent for all pairs together.
    ci95: tuple[float, float]
    #: The share of their common games in which ``one`` was ahead; a tie counts half.
    ahead: float


@dataclass(frozen=True)
class Standings:
    """Everything that the games so far say."""

    players: int
    games: int
    blocks: int
    seed: int
    #: From first to last; entrants that share a rank in the order of their numbers.
    entrants: tuple[Standing, ...]
    seats: tuple[SeatEffect, ...]
    #: Every pair that met, the lower number first.
    pairs: tuple[Pair, ...]
    #: Cycles of three entrant numbers: each is ahead of the next, and the last of the first, with all intervals above zero.
    cycles: tuple[tuple[int, int, int], ...]
    #: By entrant number: weight in the Nash mixture, its interval, points against the mixture. A diagnostic.
    nash: tuple[float, ...]
    nash_ci95: tuple[tuple[float, float], ...]
    nash_skill: tuple[float, ...]
    #: More than one: components that never met, directly or through others, and cannot be compared.
    components: tuple[tuple[int, ...], ...]
    #: Warnings for readers of the table; empty is good.
    notes: tuple[str, ...]
    #: A hash of order, blocks, seats, ranks, scores and faults: the same for every run of the same games.
    digest: str


def standings(
    games: Sequence[Game],
    entrants: Sequence[str],
    players: int,
    seed: int = 1906,
    *,
    ladder: bool = True,
    resamples: int = head_to_head.NASH_RESAMPLES,
) -> Standings:
    """The table of a tournament, finished or not. It does not depend on the order of ``games``.

    ``players`` is the number of seats; 1 compares solo games deal by deal. ``seed`` is for the resampled tournaments of
    the Nash mixture. The ``ladder`` column is computed game by game, and takes most of the time for long tournaments.
    """
    if players < 1:
        raise ValueError(f"{players} players; expected at least 1")
    count = len(entrants)
    ordered = in_schedule_order(games, count, players)
    results = read(ordered, count, players)
    points = official.means(results)
    counted = official.tally(results)
    met = head_to_head.meetings(results)
    ranking = official.official_ranking(points, counted, met)
    ranks, order = ranking.ranks, ranking.order
    low, high = points.interval()
    clean = official.without_faults(results)
    clean_points = official.means(clean)
    clean_ranks = official.official_ranking(clean_points, official.tally(clean), head_to_head.meetings(clean)).ranks
    strength = davidson_luce.fit(results)
    difference, half = points.differences(together(count * (count - 1) // 2))
    half[strength.component[:, None] != strength.component[None, :]] = np.inf  # those that never met cannot be ordered
    group = official.groups(difference, half, order)
    ranges = rank_sets(points.mean, half)
    rungs = openskill_ladder.ladder(results) if ladder else None
    causes, think = _faults_and_times(ordered, count)
    mixture = head_to_head.nash(met, seed, resamples)

    lines = []
    numbers: dict[int, int] = {}
    for entrant, behind_by in zip(order, ranking.behind_by, strict=True):
        seats = int(points.counts[entrant])
        known = seats > 0
        finished, compared = int(counted.finished[entrant]), int(counted.compared[entrant])
        lines.append(
            Standing(
                name=entrants[entrant],
                entrant=entrant,
                rank=int(ranks[entrant]),
                rank_range=ranges[entrant],
                group=int(group[entrant]),
                games=seats,
                blocks=int(points.blocks[entrant]),
                mean_points=_number(points.mean[entrant]),
                ci95=(float(low[entrant]), float(high[entrant])) if known else None,
                wins=float(counted.wins[entrant]),
                mean_score=int(counted.scores[entrant]) / finished if finished else None,
                mean_margin=int(counted.margins[entrant]) / compared if compared else None,
                faults=dict(sorted(causes[entrant].items())),
                clean_mean_points=_number(clean_points.mean[entrant]),
                clean_rank=int(clean_ranks[entrant]) if clean_points.counts[entrant] else None,
                elo=_number(strength.elo[entrant]) if known else None,
                elo_se=_number(strength.elo_se[entrant]) if known else None,
                elo_scale=numbers.setdefault(int(strength.scale[entrant]), len(numbers) + 1),
                openskill_mu=rungs[entrant].mu if rungs else None,
                openskill_sigma=rungs[entrant].sigma if rungs else None,
                mean_think_ms=think[entrant],
                behind_by=behind_by,
            )
        )
    parts = tuple(tuple(np.flatnonzero(strength.component == part).tolist()) for part in np.unique(strength.component))
    return Standings(
        players=players,
        games=len(ordered),
        blocks=results.blocks,
        seed=seed,
        entrants=tuple(lines),
        seats=_seats(results, strength),
        pairs=_pairs(met),
        cycles=tuple(head_to_head.cycles(met)),
        nash=tuple(mixture.mixture.tolist()),
        nash_ci95=tuple(zip(mixture.low.tolist(), mixture.high.tolist(), strict=True)),
        nash_skill=tuple(mixture.skill.tolist()),
        components=parts,
        notes=_notes(results, points, strength, parts),
        digest=digest(ordered),
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _faults_and_times(ordered: Sequence[Game], count: int) -> tuple[list[Counter[str]], list[float | None]]:
    causes: list[Counter[str]] = [Counter() for _ in range(count)]
    times, seats = [0] * count, [0] * count
    for game in ordered:
        for entrant, cause, spent in zip(game.seats, game.faults, game.think_ms, strict=True):
            times[entrant] += spent
            seats[entrant] += 1
            if cause:
                causes[entrant][cause] += 1
    return causes, [spent / taken if taken else None for spent, taken in zip(times, seats, strict=True)]


def _seats(results: Results, strength: davidson_luce.Fit) -> tuple[SeatEffect, ...]:
    if results.seats == 1:
        return ()
    mean: Floats = results.points.mean(axis=0) / results.unit if len(results.block) else np.full(results.seats, np.nan)
    return tuple(
        SeatEffect(
            seat, _number(mean[seat]), float(strength.seat[seat]) * davidson_luce.ELO,
            float(strength.seat_se[seat]) * davidson_luce.ELO,
        )
        for seat in range(results.seats)
    )  # fmt: skip


def _pairs(met: head_to_head.Meetings) -> tuple[Pair, ...]:
    pairs = []
    for one, other in zip(*np.nonzero(np.triu(met.games, 1)), strict=True):
        mean, half, games = float(met.difference[one, other]), float(met.half[one, other]), int(met.games[one, other])
        interval = (max(mean - half, -1.0), min(mean + half, 1.0))
        ahead = int(met.doubled[one, other]) / (2 * games)
        pairs.append(Pair(int(one), int(other), games, mean, interval, ahead))
    return tuple(pairs)


def _notes(
    results: Results, points: official.Means, strength: davidson_luce.Fit, parts: tuple[tuple[int, ...], ...]
) -> tuple[str, ...]:
    if not results.blocks:
        return ("No game is over yet.",)
    notes = []
    few = points.blocks[(points.blocks > 0) & (points.blocks < ENOUGH_BLOCKS)]
    if len(few):
        notes.append(
            f"Entrants with fewer than {ENOUGH_BLOCKS} blocks of their own: {len(few)} of {results.entrants}, the fewest"
            f" {few.min()}. Their numbers are a first impression; the intervals are wide and rough."
        )
    if len(parts) > 1:
        notes.append(f"The entrants fall into {len(parts)} parts that never met; ranks across them have no meaning.")
    else:
        alone = int((strength.members == 1).sum())
        shared = len(np.unique(strength.scale[strength.members > 1]))
        if alone and results.entrants > 1:
            notes.append(f"Won or lost everything against the others: {alone}. Their Elo is a bound, without an error.")
        if shared > 1:
            notes.append(
                f"Elo has {shared} scales: between them nobody ever beat or tied with the stronger side. ± is within a"
                " scale; a difference between scales is only a bound."
            )
    if not strength.converged:
        notes.append("The fit of the Elo column did not converge.")
    faulted = per_entrant(results, results.faulted).sum()
    if faulted:
        notes.append(f"Forfeited seats: {int(faulted)}. The clean columns of the report leave their blocks out.")
    return tuple(notes)
