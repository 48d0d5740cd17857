"""Checks of the ratings with simulated tournaments whose true strengths are known: ``make science``.

Every check has fixed seeds, a bound and a measured value. Bots of the additive model score skill + seat + luck of the deal
in that seat + the rest, all normal; bots of the Gumbel model follow Plackett and Luce. The numbers hold for these
models; ``docs/science.md`` keeps the last table.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from itertools import combinations, product

import numpy as np
from msgspec import structs
from rich import box
from rich.console import Console
from rich.table import Table
from scipy import stats

from bench import science_games, science_null
from bench.measured import Measured, between
from bench.simulated import (
    additive,
    as_games,
    balanced_deals,
    davidson_luce_games,
    gumbel,
    random_tables,
    ranked,
)
from orchestrator.ratings import davidson_luce, openskill_ladder, sequential, standings
from orchestrator.ratings.intervals import together
from orchestrator.ratings.points import Floats, rank_points
from orchestrator.ratings.rank_sets import rank_sets
from orchestrator.ratings.results import Results, tables
from orchestrator.ratings.table import standings as table
from orchestrator.ratings.verdict import Verdict

# The checks are numbered as in the acceptance list of the design.


def duplicate_deals(blocks: int = 20_000, seed: int = 5) -> Iterator[Measured]:
    """5: playing one deal in every rotation reduces luck and does not change the mean."""
    for players in (2, 3, 4):
        rng = np.random.default_rng([seed, players])
        skill = np.zeros(players)
        skill[0] = 0.2
        deals = np.tile(np.arange(players), (blocks, 1))
        spread: dict[str, list[tuple[float, float]]] = {"score": [], "rank points": []}
        for duplicate in (True, False):
            results, performance = additive(rng, skill, deals, duplicate=duplicate)
            own = results.entrant == 0
            points = results.points / results.unit
            for name, value in (("score", performance), ("rank points", points)):
                lead = value[own] - (value.sum(axis=1) - value[own]) / (players - 1)
                by_block = lead.reshape(blocks, players).mean(axis=1)
                spread[name].append((float(by_block.mean()), float(by_block.var(ddof=1))))
        for name, bound in (("score", 1.9), ("rank points", 1.5)):
            (mean, variance), (plain_mean, plain_variance) = spread[name]
            yield between("5 duplicates", f"k={players}: variance saved, {name}", plain_variance / variance, bound)
            apart = abs(mean - plain_mean) / math.sqrt((variance + plain_variance) / blocks)
            yield between("5 duplicates", f"k={players}: means apart in SE, {name}", apart, high=3)


def recovery(runs: int = 12, sizes: tuple[int, ...] = (600, 2400), seed: int = 7) -> Iterator[Measured]:
    """7: the order of 12 bots, 47 Elo apart, is recovered; Kendall's tau with the true order."""
    theta = np.linspace(0, 11 * 0.27, 12)
    seat = np.array([0.3, 0.1, -0.1, -0.3])
    bounds = {600: (0.95, 0.95, 0.90), 2400: (0.98, 0.98, 0.97)}
    for games in sizes:
        found: list[tuple[float, float, float]] = []
        for run in range(runs):
            rng = np.random.default_rng([seed, games, run])
            results = gumbel(rng, theta, random_tables(rng, 12, 4, games), seat, grid=0.3)
            mu = [rung.mu for rung in openskill_ladder.ladder(results)]
            estimates = (standings.means(results).mean, davidson_luce.fit(results).theta, np.array(mu))
            taus = [float(stats.kendalltau(estimate, theta).statistic) for estimate in estimates]
            found.append((taus[0], taus[1], taus[2]))
        mean = np.array(found).mean(axis=0)
        for name, tau, bound in zip(("mean points", "MLE", "openskill"), mean, bounds[games], strict=True):
            yield between("7 recovery", f"{games} games: tau of {name}", float(tau), bound)


def seat_effects(runs: int = 200, games: int = 600, seed: int = 8) -> Iterator[Measured]:
    """8: the true seat effects are recovered; a bot that wins everything keeps a finite rating."""
    theta = np.linspace(-0.8, 0.8, 8)
    seat = np.array([0.3, 0.1, -0.1, -0.3])
    worst, inside = [], []
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        seats = random_tables(rng, 8, 4, games)
        fit = davidson_luce.fit(davidson_luce_games(rng, theta, seats, seat, (0.3, 0.1, 0.02)))
        apart = np.abs(fit.seat - seat) / fit.seat_se
        worst.append(float(apart.max()))
        inside.append(float(np.mean(apart < 1.96)))
    yield between("8 seats", f"runs with every seat within 3 SE, of {runs}", float(np.mean(np.array(worst) < 3)), 0.97)
    yield between("8 seats", "coverage of the seat's 95% intervals", float(np.mean(inside)), 0.93, 0.97)
    ranks = np.tile(np.arange(1, 5), (200, 1))
    fit = davidson_luce.fit(tables(4, np.tile(np.arange(4), (200, 1)), ranks, np.arange(200)))
    yield between(
        "8 all wins", "Elo of first over last, 200 games, always the same order", float(np.ptp(fit.elo)), 400, 1e5
    )


def second_opinion(seed: int = 8) -> Iterator[Measured]:
    """8: without ties and seats the fit equals the Plackett-Luce fit of choix."""
    import choix

    rng = np.random.default_rng(seed)
    results = gumbel(rng, np.linspace(-1, 1, 8), random_tables(rng, 8, 4, 300))
    order = np.argsort(results.places, axis=1)
    rankings = [tuple(row) for row in np.take_along_axis(results.entrant, order, axis=1).tolist()]
    theirs = choix.opt_rankings(8, rankings, alpha=davidson_luce.RIDGE / 2)
    ours = davidson_luce.fit(results, seat_effect=False).theta
    yield between(
        "8 choix", "greatest distance of a strength", float(np.abs(ours - theirs + theirs.mean()).max()), high=0.02
    )


def coverage(runs: int = 1000, large: int = 21_000, seed: int = 9) -> Iterator[Measured]:
    """9: how often 95 per cent intervals contain the true value."""
    theta = np.linspace(-0.8, 0.8, 8)
    seat = np.array([0.3, 0.1, -0.1, -0.3])
    check = "9 coverage"
    for name, delta in (("no ties", (0.0, 0.0, 0.0)), ("ties", (0.3, 0.1, 0.02))):
        held, naive, split = [], [], []
        for run in range(runs):
            rng = np.random.default_rng([seed, 1, len(name), run])
            seats = random_tables(rng, 8, 4, 140)
            tied = delta[0] > 0
            fit = davidson_luce.fit(
                davidson_luce_games(rng, theta, seats, seat, delta) if tied else gumbel(rng, theta, seats, seat)
            )
            held.append(_inside(fit, fit.sandwich, theta))
            naive.append(_inside(fit, fit.fisher, theta))
            if not tied:
                pairs = davidson_luce.fit(split_into_pairs(gumbel(rng, theta, seats)), seat_effect=False)
                split.append(_inside(pairs, pairs.fisher, theta))
        yield between(check, f"MLE, 140 games, {name}: clustered", float(np.mean(held)), 0.93, 0.97)
        yield between(check, f"MLE, 140 games, {name}: Fisher", float(np.mean(naive)), 0.93, 0.97)
        if split:
            yield between(
                check, "games split into pairs, unclustered (why nobody ships it)", float(np.mean(split)), high=0.92
            )
    skill = np.linspace(-0.5, 0.5, 8)
    fits = []
    for run in range(
        4
    ):  # rounded performances do not follow this model exactly: the true value is taken from many games
        rng = np.random.default_rng([seed, 2, run])
        many, _ = additive(rng, skill, balanced_deals(rng, 8, 4, large), grid=0.4)
        fits.append((davidson_luce.fit(many).theta, standings.means(many).mean))
    true_theta = np.mean([one for one, _ in fits], axis=0)
    true_mean = np.mean([one for _, one in fits], axis=0)
    held, naive = [], []
    for run in range(runs):
        rng = np.random.default_rng([seed, 3, run])
        results, _ = additive(rng, skill, balanced_deals(rng, 8, 4, 70), grid=0.4)
        fit = davidson_luce.fit(results)
        held.append(_inside(fit, fit.sandwich, true_theta))
        naive.append(_inside(fit, fit.fisher, true_theta))
    yield between(check, "MLE, 70 deals x 4 duplicate: clustered", float(np.mean(held)), 0.93, 0.97)
    yield between(check, "MLE, 70 deals x 4 duplicate: Fisher (too wide)", float(np.mean(naive)), 0.97)
    for blocks in (70, 35, 14):
        held = []
        for run in range(runs):
            rng = np.random.default_rng([seed, 4, blocks, run])
            results, _ = additive(rng, skill, balanced_deals(rng, 8, 4, blocks), grid=0.4)
            low, high = standings.means(results).interval()
            held.append(float(np.mean((low <= true_mean) & (true_mean <= high))))
        yield between(check, f"mean points, {blocks} deals x 4, clustered", float(np.mean(held)), 0.93, 0.97)


def _inside(fit: davidson_luce.Fit, covariance: Floats, truth: Floats) -> float:
    error = np.abs(fit.theta - (truth - truth.mean()))
    return float(np.mean(error <= stats.norm.ppf(0.975) * fit.standard_errors(covariance)))


def split_into_pairs(results: Results) -> Results:
    """Splits every game into games of its pairs: six games out of one, which are not independent."""
    sides = list(combinations(range(results.seated.shape[1]), 2))
    seats = np.concatenate([results.entrant[:, side] for side in sides])
    places = np.concatenate([results.places[:, side] for side in sides])
    return tables(results.entrants, seats, places, np.arange(len(seats)))


def sequential_test(runs: int = 2000, seed: int = 10) -> Iterator[Measured]:
    """10: the sequential test errs as often as it claims, and is shorter than a fixed one."""
    check = "10 sequential"
    sample = np.repeat([0.0, 0.25, 0.5, 0.75, 1.0], [39, 8843, 26675, 9240, 44]) - 0.5
    per_elo = math.sqrt(2) * math.log(10) / 800
    asked = sequential.SequentialSettings(t0=0.5 * per_elo, t1=2.5 * per_elo, most_blocks=len(sample))
    value = sequential.llr(np.array([len(sample)]), np.array([sample.mean()]), np.array([sample.var()]), asked)
    yield between(check, "LLR of the published sample", float(value[0]), 2.937, 2.947)
    fixed = (2 * stats.norm.ppf(0.95) / 0.2) ** 2
    question = sequential.SequentialSettings(t1=0.2, every=4, most_blocks=5000)
    for players, copies in ((2, 1), (4, 2)):
        gap = gap_of_effect(players, 0.2)
        for effect, name in ((0.0, "nothing"), (0.5, "half"), (1.0, "all")):
            better, lengths = [], []
            for run in range(runs):
                rng = np.random.default_rng([seed, players, int(10 * effect), run])
                answer = sequential.decide(versus(rng, players, effect * gap, 1000), question)
                better.append(answer.verdict is Verdict.BETTER)
                lengths.append(answer.blocks)
            share, length = float(np.mean(better)), float(np.mean(lengths)) / float(fixed)
            design = f"k={players}, {copies}A{copies}B"
            if effect == 0.0:
                yield between(check, f"{design}: false accepts", share, high=0.06)
            elif effect == 1.0:
                yield between(check, f"{design}: false rejects", 1 - share, high=0.06)
            else:
                yield between(check, f"{design}: accepts at half the effect", share, 0.4, 0.6)
            if effect != 0.5:
                yield between(check, f"{design}: blocks / fixed test, {name} of the effect", length, high=0.65)


def versus(rng: np.random.Generator, players: int, gap: float, blocks: int) -> Floats:
    """Returns block values of A against B: two games on one deal, seats exchanged."""
    deal = np.tile(np.arange(players) % 2, (blocks, 1))
    if players > 2:
        deal = rng.permuted(deal, axis=1)
    seats = np.stack([deal, 1 - deal], axis=1)
    advantage = np.linspace(0.3, -0.3, players)
    luck = rng.normal(scale=math.sqrt(0.5), size=(blocks, 1, players))
    performance = np.where(seats == 0, gap, 0.0) + advantage + luck + rng.normal(scale=math.sqrt(0.5), size=seats.shape)
    rows = seats.reshape(-1, players)
    results = tables(2, rows, ranked(performance.reshape(-1, players)), np.repeat(np.arange(blocks), 2))
    return sequential.block_values(results, 0, 1)


def gap_of_effect(players: int, effect: float, seed: int = 1) -> float:
    """Returns the gap in skill at which a block's mean is ``effect`` standard deviations; linear for small gaps."""
    low, high = 0.0, 1.0
    for _ in range(12):
        gap = (low + high) / 2
        values = versus(np.random.default_rng([seed, players]), players, gap, 40_000)
        low, high = (gap, high) if values.mean() / values.std() < effect else (low, gap)
    return (low + high) / 2


def twins(runs: int = 1000, blocks: int = 70, seed: int = 11) -> Iterator[Measured]:
    """Checks the table for the same bot under two names, and for a bot known to be stronger."""
    check = "twins"
    skill = np.array([-0.4, -0.2, 0.0, 0.0, 0.1, 0.2, 0.3, 0.6])
    apart, found, right, split, ranges = [], [], [], [], []
    ranks = [(8, 8), (7, 7), (5, 6), (5, 6), (4, 4), (3, 3), (2, 2), (1, 1)]
    level = together(8 * 7 // 2)
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        results, _ = additive(rng, skill, balanced_deals(rng, 8, 4, blocks), grid=0.4)
        points = standings.means(results)
        difference, half = points.differences()
        apart.append(abs(difference[2, 3]) > half[2, 3])
        found.append(difference[7, 1] > half[7, 1])
        right.append(not (difference[1, 7] > half[1, 7]))
        sets = rank_sets(points.mean, points.differences(level)[1])
        ranges.append(
            all(best <= low and high <= worst for (best, worst), (low, high) in zip(sets, ranks, strict=True))
        )
        equal, _ = additive(rng, np.zeros(8), balanced_deals(rng, 8, 4, blocks), grid=0.4)
        same = standings.means(equal)
        order = np.argsort(-same.mean, kind="stable").tolist()
        split.append(standings.groups(*same.differences(level), order).max() > 1)
    yield between(check, "one bot under two names, told apart at 95%", float(np.mean(apart)), 0.03, 0.07)
    yield between(check, "eight equal bots split into groups", float(np.mean(split)), high=0.06)
    yield between(check, "the stronger found stronger (0.8 sd, 70 deals)", float(np.mean(found)), 0.95)
    yield between(check, "the weaker never called stronger", float(np.mean(right)), 0.999)
    yield between(check, "tables in which every rank range holds every true rank", float(np.mean(ranges)), 0.94)


def tie_patterns() -> Iterator[Measured]:
    """12: rank points add up to half the seats, however they tie."""
    wrong = sum(
        abs(sum(rank_points(ranks)) - players / 2) > 1e-12
        for players in (2, 3, 4)
        for ranks in product(range(1, players + 1), repeat=players)
    )
    yield between("12 points", "rankings of 2, 3 and 4 seats with a wrong sum, of 287", wrong, high=0)


def naming(seed: int = 12) -> Iterator[Measured]:
    """12: names, the order of games and their numbers do not change the table."""
    rng = np.random.default_rng(seed)
    differing = 0
    for _ in range(20):
        results, _ = additive(rng, np.linspace(-0.3, 0.3, 6), balanced_deals(rng, 6, 3, 20), grid=0.7)
        games = as_games(results)
        names = [f"bot {number}" for number in range(6)]
        before = {line.name: line for line in table(games, names, 3, resamples=0).entrants}
        moved = rng.permutation(6)
        shuffled = [games[place] for place in rng.permutation(len(games))]
        renumbered = [structs.replace(game, seats=tuple(int(moved[seat]) for seat in game.seats)) for game in shuffled]
        placed = [""] * 6
        for old, new in enumerate(moved):
            placed[new] = names[old]
        after = {line.name: line for line in table(renumbered, placed, 3, resamples=0).entrants}
        for name, line in before.items():
            other = after[name]
            same = (line.rank, line.rank_range, line.group, line.mean_points, line.wins, line.mean_margin)
            differing += same != (
                other.rank,
                other.rank_range,
                other.group,
                other.mean_points,
                other.wins,
                other.mean_margin,
            )
    yield between("12 naming", "lines that change with numbers and input order, of 120", differing, high=0)


def speed(games: int = 100_000, seed: int = 13) -> Iterator[Measured]:
    """Measures how long the table of a large tournament takes."""
    rng = np.random.default_rng(seed)
    results, _ = additive(rng, np.linspace(-0.5, 0.5, 10), balanced_deals(rng, 10, 4, games // 4), grid=0.2)
    played = as_games(results)
    names = [f"bot {number}" for number in range(10)]
    for ladder, bound in ((False, 20.0), (True, 60.0)):
        start = time.process_time()
        table(played, names, 4, ladder=ladder)
        what = f"{games:,} games of 10, seconds of computing" + (", with the openskill column" if ladder else "")
        yield between("speed", what, time.process_time() - start, high=bound)


CHECKS: dict[str, Callable[[], Iterator[Measured]]] = {
    "duplicates": duplicate_deals,
    "recovery": recovery,
    "seats": seat_effects,
    "choix": second_opinion,
    "coverage": coverage,
    "sequential": sequential_test,
    "twins": twins,
    "null": science_null.null_tournaments,
    "power": science_null.power,
    "points": tie_patterns,
    "naming": naming,
    "speed": speed,
    "games": science_games.real_games,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.science", description=__doc__)
    parser.add_argument("--only", default=",".join(CHECKS), help="the checks to run, by name")
    wanted = parser.parse_args().only.split(",")
    for name in wanted:
        if name not in CHECKS:
            parser.error(f"--only: {name!r} is not possible; expected some of {','.join(CHECKS)}")
    drawn = Table(
        "check", "what", "expected", "measured", "verdict", box=box.ROUNDED if sys.stdout.isatty() else box.MARKDOWN
    )
    failed = 0
    times = []
    for name in wanted:
        start = time.perf_counter()
        for line in CHECKS[name]():
            drawn.add_row(line.check, line.what, line.expected, f"{line.value:.4g}", "holds" if line.holds else "FAILS")
            failed += not line.holds
        times.append(f"{name} {time.perf_counter() - start:.0f} s")
        print(times[-1], file=sys.stderr)
    Console(width=None if sys.stdout.isatty() else 132, highlight=False).print(drawn)
    print(f"{failed} failed. Run times: {', '.join(times)}.")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
