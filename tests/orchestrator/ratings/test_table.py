"""The whole table: its contents, and what must not change it."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from scipy import stats

from bench import simulated
from orchestrator.ratings.table import Standing, standings
from orchestrator.records import Game
from tests.orchestrator.ratings.drawn import drawn

NAMES = ["ann", "bob", "cyd", "dan", "eve", "fay"]


def tournament(seed: int = 1, blocks: int = 20) -> list[Game]:
    rng = np.random.default_rng(seed)
    table, _ = simulated.additive(
        rng, np.linspace(-0.4, 0.4, 6), simulated.balanced_deals(rng, 6, 3, blocks), grid=0.7
    )  # fmt: skip
    games = simulated.as_games(table)
    return [
        structs.replace(game, faults=("", "timeout", "")) if game.order % 17 == 0 else game
        for game in (structs.replace(game, scores=tuple(30 - rank for rank in game.ranks)) for game in games)
    ]


def exact(line: Standing) -> tuple[object, ...]:
    """The values that must be exactly equal."""
    return (
        line.name, line.rank, line.rank_range, line.group, line.games, line.blocks,
        line.mean_points, line.wins, line.mean_score, line.mean_margin, tuple(line.faults.items()),
        line.clean_mean_points, line.clean_rank,
    )  # fmt: skip


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.permutations(range(6)))
def test_neither_names_nor_numbers_nor_input_order_matter(seed: int, moved: list[int]) -> None:
    games = tournament(seed)
    shuffled = [games[place] for place in np.random.default_rng(seed).permutation(len(games))]
    renumbered = [structs.replace(game, seats=tuple(moved[seat] for seat in game.seats)) for game in shuffled]
    placed = [NAMES[moved.index(number)] for number in range(6)]
    before = {line.name: line for line in standings(games, NAMES, 3, resamples=40).entrants}
    after = {line.name: line for line in standings(renumbered, placed, 3, resamples=40).entrants}

    for name, line in before.items():
        assert exact(after[name]) == exact(line)
        assert after[name].ci95 == pytest.approx(line.ci95, abs=1e-9)
        assert after[name].elo == pytest.approx(line.elo, abs=1e-3)
        assert after[name].elo_se == pytest.approx(line.elo_se, rel=1e-4)
        assert after[name].openskill_mu == pytest.approx(line.openskill_mu)


def test_the_same_games_give_the_same_table_in_any_order() -> None:
    games = tournament()

    assert standings(games[::-1], NAMES, 3, resamples=40) == standings(games, NAMES, 3, resamples=40)


def test_a_monotone_change_of_scores_changes_scores_only() -> None:
    games = tournament()
    stretched = [structs.replace(game, scores=tuple(score**3 + 7 for score in game.scores)) for game in games]
    for line, other in zip(
        standings(games, NAMES, 3, resamples=40).entrants,
        standings(stretched, NAMES, 3, resamples=40).entrants,
        strict=True,
    ):
        assert replace(other, mean_score=line.mean_score, mean_margin=line.mean_margin) == line


def test_the_digest_covers_results_and_not_times() -> None:
    games = tournament()
    digest = standings(games, NAMES, 3, resamples=5).digest

    def changed(**change: object) -> str:
        return standings([structs.replace(games[0], **change), *games[1:]], NAMES, 3, resamples=5).digest

    assert changed(think_ms=(9, 9, 9)) == digest
    assert standings(games[::-1], NAMES, 3, resamples=5).digest == digest
    assert len({digest, changed(scores=(1, 2, 3)), changed(ranks=(3, 3, 3)), changed(faults=("", "", "crash")),
                changed(seats=games[0].seats[::-1]), changed(order=-1), changed(block=10**6)}) == 7  # fmt: skip


def test_one_block_gives_a_table() -> None:
    table = standings(drawn("1: a>b\n1: b>a", "ab"), ["ann", "bob"], 2)

    assert table.notes[0].startswith("Entrants with fewer than 30 blocks of their own: 2 of 2, the fewest 1.")
    assert [line.rank_range for line in table.entrants] == [(1, 2), (1, 2)]
    assert [line.elo_half for line in table.entrants] == [None, None]


def test_an_entrant_with_few_blocks_of_its_own_is_noted_in_a_long_tournament() -> None:
    games = "\n".join(f"{n}: {'a>b' if n % 2 else 'b>a'}" for n in range(100)) + "\n100: c>a\n101: b>c"
    table = standings(drawn(games, "abc"), ["ann", "bob", "cyd"], 2, resamples=0)

    assert table.blocks == 102
    assert table.notes[0].startswith("Entrants with fewer than 30 blocks of their own: 1 of 3, the fewest 2.")


def test_entrants_that_never_met_are_not_ordered() -> None:
    """a wins everything against b, c half of its games against d."""
    games = "\n".join(f"{2 * n}: a>b\n{2 * n + 1}: {'c>d' if n % 2 else 'd>c'}" for n in range(60))
    ranges = {line.name: line.rank_range for line in standings(drawn(games, "abcd"), list("abcd"), 2).entrants}

    assert ranges == {"a": (1, 3), "b": (2, 4), "c": (1, 4), "d": (1, 4)}


def test_elo_has_a_95_per_cent_interval_on_each_scale() -> None:
    among = ["a>b", "a>b", "b>a", "c>d", "d>c", "d>c"] * 10
    across = ["a>c", "a>d", "b>c", "b>d"] * 10
    games = drawn("\n".join(f"{n}: {game}" for n, game in enumerate(among + across)), "abcd")
    table = standings(games, list("abcd"), 2, resamples=0)

    assert {line.name: line.elo_scale for line in table.entrants} == {"a": 1, "b": 1, "d": 2, "c": 2}
    for line in table.entrants:
        assert line.elo_se is not None and line.elo_half == pytest.approx(stats.t.ppf(0.975, 49) * line.elo_se)
    assert any(note.startswith("Elo has 2 scales:") for note in table.notes)


def test_a_small_table_by_hand() -> None:
    table = standings(drawn("1: a>b>c\n1: a>c>b!crash\n2: b>a>c\n2: a>b=c", "abc"), ["ann", "bob", "cyd"], 3)
    ann, bob, cyd = table.entrants

    assert (table.games, table.blocks, table.players) == (4, 2, 3)
    assert [line.name for line in table.entrants] == ["ann", "bob", "cyd"]
    assert [line.rank for line in table.entrants] == [1, 2, 3]
    assert (ann.mean_points, bob.mean_points, cyd.mean_points) == pytest.approx((3.5 / 4, 1.75 / 4, 0.75 / 4))
    assert (ann.wins, bob.wins) == (3, 1)
    assert bob.faults == {"crash": 1}
    assert ann.faults == {}
    assert (ann.clean_mean_points, bob.clean_mean_points) == pytest.approx((0.75, 0.625))
    assert ann.mean_score == pytest.approx((9 + 9 + 8 + 9) / 4)
    assert bob.mean_score == pytest.approx((8 + 9 + 8) / 3)
    assert ann.mean_margin == pytest.approx((1 + 1 - 1 + 1) / 4)
    assert ann.mean_think_ms == 100
    assert [(pair.one, pair.other, pair.games) for pair in table.pairs] == [(0, 1, 4), (0, 2, 4), (1, 2, 4)]
    assert table.pairs[0].ahead == 0.75
    assert table.components == ((0, 1, 2),)
    assert any("3 of 3, the fewest 2." in note for note in table.notes)
    assert any("Forfeited seats: 1" in note for note in table.notes)


def test_the_table_is_plain_json() -> None:
    table = standings(tournament(), NAMES, 3, resamples=5)

    assert json.loads(json.dumps(asdict(table), allow_nan=False))["digest"] == table.digest


def test_there_is_a_table_before_the_first_game() -> None:
    table = standings([], NAMES, 4)

    assert [line.rank for line in table.entrants] == [1] * 6
    assert all(line.mean_points is None and line.ci95 is None and line.elo is None for line in table.entrants)
    json.dumps(asdict(table), allow_nan=False)


def test_an_entrant_without_a_game_is_last_and_has_no_numbers() -> None:
    table = standings(drawn("1: a>b\n2: b>a", "ab"), ["ann", "bob", "new"], 2)

    assert table.entrants[2].name == "new"
    assert table.entrants[2].rank == 3
    assert table.entrants[2].mean_points is None
    assert len(table.components) == 2
    json.dumps(asdict(table), allow_nan=False)


def test_solo_games_make_a_table() -> None:
    games = [
        Game(3 * deal + bot, deal, (bot,), (1,), (10 * bot + deal * bot % 7,), ("",), (5,))
        for deal in range(40)
        for bot in range(3)
    ]
    table = standings(games, ["low", "mid", "top"], 1)

    assert [line.name for line in table.entrants] == ["top", "mid", "low"]
    assert [line.group for line in table.entrants] == [1, 2, 3]
    assert table.seats == ()
    assert table.blocks == 40
    assert table.games == 120


def test_copies_of_two_bots_make_a_table() -> None:
    """Two of each at a table of four, as a comparison plays them."""
    games = [
        Game(n, n // 2, (0, 1, 0, 1) if n % 2 else (1, 0, 1, 0), (1, 2, 3, 4), (4, 3, 2, 1), ("",) * 4, (0,) * 4)
        for n in range(60)
    ]
    table = standings(games, ["one", "other"], 4)

    assert [line.rank for line in table.entrants] == [1, 1]
    assert [line.games for line in table.entrants] == [120, 120]
    assert table.pairs[0].games == 240


def test_a_large_tournament_has_a_table() -> None:
    """A smoke test without a clock: 20,000 games are computed as columns, not in Python loops."""
    rng = np.random.default_rng(5)
    table, _ = simulated.additive(rng, np.linspace(-1, 1, 10), simulated.balanced_deals(rng, 10, 4, 5000))
    made = standings(simulated.as_games(table), [str(n) for n in range(10)], 4, ladder=False, resamples=100)

    assert [line.name for line in made.entrants] == [str(n) for n in range(9, -1, -1)]
    assert made.entrants[0].openskill_mu is None
    assert made.notes == ()
