"""The figures of the ladder, from its real matchmaker, ratings, verdicts and pairs: ``make ladder-figures``.

Builds have known strengths, and games are drawn at random. Every check has fixed seeds, a bound and a measured value.
``docs/ladder.md`` keeps the last table; ``--write`` puts it there.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy import stats

from bench.ladder_field import Ladder, Matchmaker, blocks_of, play, real_matchmaker
from bench.ladder_information import informed_matchmaker
from bench.ladder_tick import tick_seconds
from bench.measured import Measured, between
from orchestrator.ladder.draws import Draws
from orchestrator.ladder.matchmaking import PLACEMENT_GAMES, draw_table, pair
from orchestrator.ladder.pairs import gains
from orchestrator.ladder.ratings import rate, standings
from orchestrator.ladder.season_games import SeasonGames
from orchestrator.ladder.season_table import Entrant, season_table
from orchestrator.ladder.verdicts import SETTINGS, judge, trial_values
from orchestrator.ratings.points import Floats, Ints
from orchestrator.ratings.results import tables
from orchestrator.ratings.verdict import Verdict
from orchestrator.records import Game

PAGE = Path(__file__).parents[1] / "docs" / "ladder.md"
BEGIN, END = "<!-- figures: make ladder-figures ARGS=--write -->", "<!-- end of figures -->"
#: Strengths of the bundled bots.
BUNDLED = np.array([-0.8, 0.0, 0.8])


def new_ladder(
    seed: list[int], strength: Floats, owners: int, matchmaker: Matchmaker = real_matchmaker, refit: int = 25
) -> Ladder:
    """Three bundled bots, then builds of these strengths, the owners in turn."""
    owner = [None, None, None, *(f"owner {at % owners}" for at in range(len(strength)))]
    rng = np.random.default_rng(seed)
    return Ladder(np.concatenate([BUNDLED, strength]), owner, 4, rng, matchmaker=matchmaker, refit=refit)


# Who plays whom.


def busy_ladder(blocks: int = 20_000, seed: int = 1) -> Iterator[Measured]:
    """200 builds of 60 owners come and go at one game a second: owners, fairness, newcomers and meetings."""
    check = "matchmaking"
    rng = np.random.default_rng([seed, 1])
    ladder = new_ladder([seed], rng.normal(scale=0.7, size=200), 60, refit=200)
    always = set(range(3, 83))  # the first 80 never leave; 80 others come and go; 40 arrive later, ten of them at once
    ladder.present = set(range(163))
    arrivals = {
        int(at): [build] for at, build in zip(rng.integers(500, blocks - 100, 30), range(163, 193), strict=True)
    }
    arrivals[blocks // 2] = list(range(193, 203))
    arrived: dict[int, int] = {}
    waited: list[int] = []
    shared = 0
    expected = np.zeros((203, 203))
    owner = np.array([-1 - at if of is None else int(of.split()[1]) for at, of in enumerate(ladder.owner)])
    for at in range(blocks):
        for build in arrivals.get(at, []):
            ladder.present.add(build)
            arrived[build] = at
        if at % 5 == 0:
            ladder.present ^= {int(rng.integers(83, 163))}
        free = np.array([build.number for build in ladder.free()])
        sitting = ladder.step()
        if not sitting:
            continue
        shared += len(set(owner[list(sitting)].tolist())) < 4
        waited += [at - arrived.pop(build) for build in sitting if build in arrived]
        eligible = owner[free][:, None] != owner[free]
        expected[np.ix_(free, free)] += 12 * eligible / eligible.sum()
    yield between(check, f"tables with two of one owner, of {blocks:,}", shared, high=0)
    games = ladder.games[sorted(always)]
    ratio = max(games.max() / games.mean(), games.mean() / games.min())
    yield between(check, "games of a build that is always there / their mean, the furthest", float(ratio), high=1.3)
    yield between(
        check,
        "seconds until a newcomer's first rated table, the longest of 40 (10 came at once)",
        4 * max(waited),
        high=60,
    )
    met = [
        ladder.met[pair(one, other)] / expected[one, other]
        for one, other in np.argwhere(np.triu(expected, 1) >= 5).tolist()
    ]
    yield between(
        check,
        f"a pair's meetings / expectation, the most of {len(met):,} pairs with 5 or more expected",
        max(met),
        high=3,
    )
    top = float(np.quantile(met, 0.99))
    yield between(check, "the same: 99 of 100 pairs are below (no bound)", top, low=0)


# What the ratings are worth.


def _agreement(run: int, matchmaker: Matchmaker, builds: int, blocks: int) -> float:
    strength = np.linspace(0.0, 0.06 * 39, builds)  # 40 builds are 10 Elo apart
    ladder = new_ladder(
        [2, run], np.random.default_rng([3, run]).permutation(strength) - strength.mean(), 25, matchmaker
    )
    while len(ladder.rows) < blocks:
        ladder.step()
    return float(stats.kendalltau(ladder.rate().strength[3:], ladder.strength[3:]).statistic)


def agreement(runs: int = 60) -> Iterator[Measured]:
    """The true order is found; a share of tables chosen by information would not find it sooner."""
    check = "agreement"
    real = np.array([_agreement(run, real_matchmaker, 40, 750) for run in range(runs)])
    yield between(
        check, f"Kendall with the true order, 40 builds, 3,000 games, mean of {runs}", float(real.mean()), 0.92
    )
    yield between(check, "the same, the worst run (no bound)", float(real.min()), 0)
    informed = np.array([_agreement(run, informed_matchmaker, 40, 750) for run in range(runs)])
    # What is missing to full agreement shrinks with the square root of the games.
    saved = 1 - ((1 - informed.mean()) / (1 - real.mean())) ** 2
    yield between(
        check, "games saved if 20 % of tables were chosen by information: kept if >= 0.1", float(saved), high=0.1
    )
    large = float(np.mean([_agreement(100 + run, real_matchmaker, 200, 3750) for run in range(3)]))
    yield between(check, "Kendall, 200 builds over the same range, 15,000 games, mean of 3 (no bound)", large, 0)


def entrants(runs: int = 60, seed: int = 4) -> Iterator[Measured]:
    """A new build finds its place within its first 20 games."""
    strength = np.linspace(-1.17, 1.17, 40)
    ladder = new_ladder([seed], strength, 25)
    while len(ladder.rows) < 750:
        ladder.step()
    before = ladder.rate()
    off = []
    for run in range(runs):
        new = (run * 7) % 40
        rng = np.random.default_rng([seed, run])
        around = new_ladder([seed, run], np.append(strength, strength[new]), 45)
        around.games[:43], around.games[43] = ladder.games, 0
        around.rows, around.ranks, around.ratings, around.refit = list(ladder.rows), list(ladder.ranks), before, 1
        for block in range(PLACEMENT_GAMES // 4):
            table = draw_table(around.free(), around.met, 4, Draws(b"entrants", f"{run} {block}"), first=43)
            assert table
            rows, ranks = play(rng, around.strength, np.array([table.builds]))
            around.rows.append(rows)
            around.ranks.append(ranks)
            around.rate()
        assert around.ratings is not None
        off.append(abs(int((around.ratings.strength[3:43] < around.ratings.strength[43]).sum()) - new))
    yield between(
        "agreement", f"a newcomer after 20 games: places off, of 40, mean of {runs}", float(np.mean(off)), high=4.5
    )


def copies(runs: int = 100) -> Iterator[Measured]:
    """One build under five owners; a field of equals."""
    overlap: list[bool] = []
    together: list[bool] = []
    for run in range(runs):
        rng = np.random.default_rng([5, run])
        strength = np.append(rng.normal(scale=0.6, size=20), [0.3] * 5)
        for builds, chosen, found in ((strength, range(23, 28), overlap), (np.zeros(25), range(3, 28), together)):
            ladder = new_ladder([5, run], builds, 25, refit=50)
            while len(ladder.rows) < 400:
                ladder.step()
            lines = standings(ladder.rate(), range(3, 28), rng)
            sets = [line.rank_set for line in lines if line.build in chosen]
            found.append(max(best for best, _ in sets) <= min(worst for _, worst in sets))
    yield between(
        "rank sets", f"one build entered five times: all sets overlap, of {runs} runs", float(np.mean(overlap)), 0.95
    )
    yield between("rank sets", f"25 equal builds: all sets overlap, of {runs} runs", float(np.mean(together)), 0.95)


# Collusion.

#: What the helper gives and loses, in units of strength; the blocks that the two play together; all other blocks.
SUBTLETY = (("open", 1.0, 60, 3000), ("half hidden", 0.5, 250, 3000), ("subtle", 0.25, 1000, 6000))


def _helped(rng: np.random.Generator, seats: int, help_: float, together: int, blocks: int) -> tuple[Ints, Ints]:
    """A field of 20 at random tables, in which build 1 helps build 0 whenever they meet."""
    sitting = np.array([rng.choice(20, seats, replace=False) for _ in range(blocks)])
    sitting = sitting[~((sitting == 0).any(axis=1) & (sitting == 1).any(axis=1))]
    both = np.array([rng.permutation([0, 1, *(2 + rng.choice(18, seats - 2, replace=False))]) for _ in range(together)])
    shift = help_ * ((both == 0) * 1.0 - (both == 1))
    shifts = np.concatenate([np.zeros(sitting.shape), shift])
    strength = rng.normal(scale=0.6, size=20)
    return play(rng, strength, np.concatenate([sitting, both]), shifts)


def collusion(runs: int = 40) -> Iterator[Measured]:
    """Planted helpers are found, honest pairs are not accused."""
    check = "collusion"
    accused, honest, gained = 0, 0, []
    for seats in (3, 4):
        for word, help_, together, blocks in SUBTLETY:
            found = []
            of_pair = []
            for run in range(runs):
                rng = np.random.default_rng([6, seats, together, run])
                results = blocks_of(20, *_helped(rng, seats, help_, together, blocks))
                pairs = gains(results, rate(results, []).fit)
                flagged = {(one.one, one.other) for one in pairs if one.is_flagged}
                found.append(bool(flagged & {(0, 1), (1, 0)}))
                of_pair += [one.gain for one in pairs if (one.one, one.other) == (0, 1)]
                accused += len({frozenset(one) for one in flagged} - {frozenset((0, 1))})
                honest += 189
            gained.append(float(np.mean(of_pair)))
            what = (
                f"{seats} seats, {word} (+{gained[-1]:.2f} points): flagged after {together} common blocks, of {runs}"
            )
            yield between(check, what, float(np.mean(found)), 0.95)
            print(f"  {what}", file=sys.stderr)
    yield between(check, "honest pairs flagged beside them", accused / honest, high=0.01)
    clean = []
    for run in range(5 * runs):
        rng = np.random.default_rng([7, run])
        results = blocks_of(20, *_helped(rng, 4, 0.0, 100, 1000))
        clean.append(any(one.is_flagged for one in gains(results, rate(results, []).fit)))
    yield between(check, f"honest fields with any pair flagged, of {5 * runs}", float(np.mean(clean)), high=0.05)


# Verdicts.


def _trials(rng: np.random.Generator, lead: float, trials: int) -> Floats:
    """Values of trials at four seats: a new build (0) and its parent (1) on the same deals against the same three."""
    field = rng.normal(scale=0.5, size=(trials, 3))
    deal = rng.normal(scale=np.sqrt(0.5), size=(trials, 1, 4))
    rows, ranks = [], []
    for build, strength in ((0, lead), (1, 0.0)):
        level = np.concatenate([np.full((trials, 1), strength), field], axis=1)
        turns = np.stack([np.roll(np.arange(4), turn) for turn in range(4)])
        rest = rng.normal(scale=np.sqrt(0.5), size=(trials, 4, 4))
        performance = np.floor((level[:, turns] + deal + np.linspace(0.3, -0.3, 4) + rest) / 0.3).reshape(-1, 4)
        ranks.append((performance[:, None, :] > performance[:, :, None]).sum(axis=2) + 1)
        rows.append(np.tile(np.where(turns == 0, build, turns + 1), (trials, 1)))
    number = np.tile(np.repeat(np.arange(trials), 4), 2)
    results = tables(5, np.concatenate(rows), np.concatenate(ranks), np.arange(8 * trials) // 4)
    return trial_values(results, number, 0, 1)


def _lead_of_effect(effect: float) -> float:
    """The strength at which the mean of a trial is this part of its standard deviation."""
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        values = _trials(np.random.default_rng(8), middle, 40_000)
        low, high = (middle, high) if values.mean() / values.std() < effect else (low, middle)
    return (low + high) / 2


def verdicts(runs: int = 400) -> Iterator[Measured]:
    """Equal builds are seldom called better, better ones seldom not better."""
    check = "verdicts"
    lead = _lead_of_effect(SETTINGS.t1)
    for word, strength, wrong in (
        ("equal", 0.0, Verdict.BETTER),
        ("worse", -lead, Verdict.BETTER),
        (f"better by {lead:.2f}", lead, Verdict.NOT_BETTER),
        (f"better by {2 * lead:.2f}", 2 * lead, Verdict.NOT_BETTER),
    ):
        found = [
            judge(
                "new", "parent", _trials(np.random.default_rng([9, int(1000 * strength) % 7919, run]), strength, 1000)
            )
            for run in range(runs)
        ]
        trials = float(np.mean([one.trials for one in found]))
        undecided = sum(one.verdict is Verdict.UNDECIDED for one in found)
        what = f'{word}: called "{wrong}", of {runs} (mean {trials:.0f} trials, {undecided} undecided)'
        yield between(check, what, float(np.mean([one.verdict is wrong for one in found])), high=0.05)


# Speed.


def speed(seed: int = 10) -> Iterator[Measured]:
    """Seconds of computing; the only figures that depend on the machine."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(scale=0.7, size=300)
    sitting = np.array([rng.choice(300, 4, replace=False) for _ in range(25_000)])
    results = blocks_of(300, *play(rng, strength, sitting))
    earlier = rate(results.only(results.block < 24_900), [0, 1, 2])
    cold = _seconds(lambda: rate(results, [0, 1, 2]))
    warm = _seconds(lambda: rate(results, [0, 1, 2], earlier))
    yield between("speed", "s: fit of 300 builds and 100,000 games of 4, from nothing", cold, high=1)
    yield between("speed", "s: the same, 400 games after an earlier fit", warm, high=1)
    ratings = rate(results, [0, 1, 2], earlier)
    sets = _seconds(lambda: standings(ratings, range(300), np.random.default_rng(1)))
    yield between("speed", "s: rank sets of 300 builds", sets, high=1)
    entrants = [Entrant(f"{at:03d}", None if at < 3 else f"owner {at % 100}") for at in range(300)]
    seats, ranks = results.entrant.tolist(), results.places.tolist()
    games = [
        Game(at, at // 4, tuple(seats[at]), tuple(ranks[at]), (0,) * 4, ("",) * 4, (0,) * 4) for at in range(100_000)
    ]
    kept = SeasonGames(4, games[:-400])
    yield between("speed", "s: 100,000 games read once", _seconds(lambda: SeasonGames(4, games)), high=1)
    kept.add(games[-400:])
    table = _seconds(lambda: season_table(entrants, range(300), kept, 4, b"speed", earlier))
    yield between(
        "speed", "s: the table of 300 builds, 400 games after an earlier one: fit, rank sets, rounding", table, high=1
    )
    start = time.process_time()
    season_table(entrants, range(300), kept, 4, b"speed", is_final=True)
    final = time.process_time() - start
    yield between("speed", "s: the final table, with the blocks to swap of 300 ranks", final, high=60)
    what = "ms: a tick at 300 builds and 1,000 open matches, with the book: 10 blocks settled, 10 tables drawn"
    yield between("speed", what, 1000 * float(np.median(tick_seconds())), high=50)


def _seconds(work: Callable[[], object]) -> float:
    """The median of five runs, in seconds of computing."""
    times = []
    for _ in range(5):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return float(np.median(times))


CHECKS: dict[str, Callable[[], Iterator[Measured]]] = {
    "matchmaking": busy_ladder,
    "agreement": agreement,
    "entrants": entrants,
    "copies": copies,
    "collusion": collusion,
    "verdicts": verdicts,
    "speed": speed,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.ladder", description=__doc__)
    parser.add_argument("--only", default=",".join(CHECKS), help="the checks to run, by name")
    parser.add_argument("--write", action="store_true", help="put the table into docs/ladder.md; only with all checks")
    asked = parser.parse_args()
    wanted = asked.only.split(",")
    if unknown := set(wanted) - set(CHECKS):
        parser.error(f"--only: {min(unknown)!r} is not possible; expected some of {','.join(CHECKS)}")
    if asked.write and len(wanted) < len(CHECKS):
        parser.error("--write needs all checks")
    lines = ["| check | what | bar | measured | |", "|---|---|---|---|---|"]
    times = []
    failed = 0
    for check in wanted:
        start = time.perf_counter()
        for line in CHECKS[check]():
            lines.append(
                f"| {line.check} | {line.what} | {line.expected} | {line.value:.3g} | {'holds' if line.holds else 'MISSED'} |"
            )
            failed += not line.holds
        times.append(f"{check} {time.perf_counter() - start:.0f} s")
        print(times[-1], file=sys.stderr)
    text = "\n".join([*lines, "", f"{failed} missed. Run times: {', '.join(times)}."])
    print(text)
    if asked.write:
        page = PAGE.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
