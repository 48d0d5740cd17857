"""The maximum-likelihood ratings, compared with hand calculations, with choix, and with known strengths."""

import math
from itertools import chain, combinations

import choix
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import science, simulated
from orchestrator.ratings import davidson_luce
from orchestrator.ratings.curvature import Curvature
from orchestrator.ratings.davidson_luce import _Model, fit
from orchestrator.ratings.points import Floats
from orchestrator.ratings.results import Results, in_schedule_order, read, tables
from orchestrator.records import Game
from tests.orchestrator.ratings.drawn import results


def plain_likelihood(table: Results, theta: Floats, beta: Floats, delta: dict[int, float]) -> float:
    """The model as in its docstring: picks sets and sums over all subsets."""
    total = 0.0
    for row in range(len(table.block)):
        seats = [seat for seat in range(table.seated.shape[1]) if table.seated[row, seat]]
        eta = {seat: theta[table.entrant[row, seat]] + beta[seat] for seat in seats}
        left = list(seats)
        while len(left) > 1:
            best = min(table.places[row, seat] for seat in left)
            chosen = [seat for seat in left if table.places[row, seat] == best]
            subsets = chain.from_iterable(combinations(left, size) for size in range(1, len(left) + 1))
            weights = [
                delta.get(len(subset), 0.0) * math.exp(sum(eta[seat] for seat in subset) / len(subset))
                for subset in subsets
            ]
            picked = delta[len(chosen)] * math.exp(sum(eta[seat] for seat in chosen) / len(chosen))
            total += math.log(picked / sum(weights))
            left = [seat for seat in left if seat not in chosen]
    return total


@st.composite
def tournaments(draw: st.DrawFn) -> Results:
    """Small tournaments with 2 to 5 at a table and every kind of tie."""
    players = draw(st.integers(2, 5))
    entrants = draw(st.integers(players, 6))
    games = draw(st.integers(1, 6))
    seats = [draw(st.permutations(range(entrants)))[:players] for _ in range(games)]
    ranks = [draw(st.lists(st.integers(1, players), min_size=players, max_size=players)) for _ in range(games)]
    return tables(entrants, np.array(seats), np.array(ranks), np.arange(games) // 2)


@given(tournaments(), st.integers(0, 2**31))
def test_likelihood_and_gradient_are_those_of_the_plain_model(table: Results, seed: int) -> None:
    model = _Model(table, seat_effect=True)
    at = np.random.default_rng(seed).normal(size=model.size)
    theta, beta, log_delta = model.parts(at)
    delta = {1: 1.0} | dict(zip(model.sizes[1:], np.exp(log_delta).tolist(), strict=True))
    value, gradient = model.likelihood(at)

    assert value == pytest.approx(plain_likelihood(table, theta, beta, delta), abs=1e-9)
    for index, step in enumerate(np.eye(model.size) * 1e-6):
        rise = model.likelihood(at + step)[0] - model.likelihood(at - step)[0]
        assert gradient[index] == pytest.approx(rise / 2e-6, abs=1e-4)
    assert model.block_scores(at).sum(axis=0) == pytest.approx(gradient, abs=1e-9)


@given(tournaments(), st.integers(0, 2**31), st.booleans())
def test_the_exact_curvature_is_that_of_the_gradient(table: Results, seed: int, seats: bool) -> None:
    model = _Model(table, seat_effect=seats)
    at = np.random.default_rng(seed).normal(size=model.size)
    exact = Curvature(model.cell, model.columns, model.entrants, model.seats, model.sizes, model.picks)
    matrix = exact.at(*model.parts(at))

    for row, step in zip(matrix, np.eye(model.size) * 1e-5, strict=True):
        rise = model.likelihood(at + step)[1] - model.likelihood(at - step)[1]
        assert row == pytest.approx(-rise / 2e-5, abs=1e-6)


def test_a_fit_does_not_depend_on_where_it_starts() -> None:
    rng = np.random.default_rng(4)
    table = simulated.gumbel(rng, np.linspace(-1, 1, 8), simulated.random_tables(rng, 8, 4, 200), grid=0.3)
    few = table.only(table.entrant.max(axis=1) < 6)
    earlier = fit(Results(6, 4, few.entrant, few.places, few.scores, few.faulted, few.seated, few.block))
    cold, warm = fit(table), fit(table, start=earlier)

    assert len(earlier.theta) == 6
    assert warm.theta == pytest.approx(cold.theta, abs=1e-12)
    assert warm.sandwich == pytest.approx(cold.sandwich, abs=1e-6)


def test_empty_seats_of_an_unfinished_solo_deal_do_not_count() -> None:
    """Three bots on deal 1, two on deal 2: the same as a table of three and a table of two."""
    scores = {1: (30, 20, 10), 2: (5, 7)}
    games = [
        Game(10 * deal + bot, deal, (bot,), (1,), (score,), ("",), (0,))
        for deal, column in scores.items()
        for bot, score in enumerate(column)
    ]
    table = read(in_schedule_order(games, 3, 1), 3, 1)
    model = _Model(table, seat_effect=False)
    theta = np.array([0.3, -0.2, 0.1])

    assert model.size == 3
    assert model.likelihood(theta)[0] == pytest.approx(plain_likelihood(table, theta, np.zeros(3), {1: 1.0}))


def test_without_ties_and_seats_it_equals_plackett_luce_of_choix() -> None:
    rng = np.random.default_rng(8)
    theta = np.linspace(-1, 1, 8)
    table = simulated.gumbel(rng, theta, simulated.random_tables(rng, 8, 4, 100))
    order = np.argsort(table.places, axis=1)
    rankings = [tuple(row) for row in np.take_along_axis(table.entrant, order, axis=1).tolist()]
    theirs = choix.opt_rankings(8, rankings, alpha=davidson_luce.RIDGE / 2)
    ours = fit(table, seat_effect=False)

    assert ours.theta == pytest.approx(theirs - theirs.mean(), abs=1e-4)
    assert fit(table).theta == pytest.approx(
        theirs - theirs.mean(), abs=0.2
    )  # the true model has no seat effect: nearly the same


def test_two_bots_without_ties_follow_the_elo_formula() -> None:
    """Three wins of four mean a difference of ln 3, 191 Elo; both had either seat equally often."""
    games = "\n".join(["1: a>b", "2: a>b", "3: b>a", "4: a>b", "5: a>b", "6: a>b", "7: a>b", "8: b>a"])
    found = fit(results(games, "ab"), ridge=1e-9, seat_effect=False)

    assert found.elo[0] - found.elo[1] == pytest.approx(400 * math.log10(3), abs=0.01)
    # Eight games, each its own block: variance of the logit = 1 / (8 * 3/4 * 1/4), times 8/7 for few blocks
    spread = found.sandwich[0, 0] + found.sandwich[1, 1] - 2 * found.sandwich[0, 1]
    assert math.sqrt(spread) == pytest.approx(math.sqrt(8 / 7 / (8 * 3 / 16)), rel=1e-3)


def test_seat_effects_and_ties_are_estimated() -> None:
    rng = np.random.default_rng(3)
    seat = np.array([0.5, 0.0, -0.1, -0.4])
    theta = np.linspace(-0.8, 0.8, 8)
    delta = (0.5, 0.2, 0.05)
    tables_ = simulated.random_tables(rng, 8, 4, 4000)
    found = fit(simulated.davidson_luce_games(rng, theta, tables_, seat, delta))

    assert (np.abs(found.seat - seat) < 3 * found.seat_se).all()
    assert (np.abs(found.theta - theta) * davidson_luce.ELO < 4 * found.elo_se).all()
    assert found.tie_sizes == (2, 3, 4)
    ties_se = np.sqrt(np.diag(found.sandwich))[-3:]
    assert (np.abs(found.log_delta - np.log(delta)) < 3 * ties_se).all()
    assert ties_se[0] < 0.1
    assert found.seat_se.max() < 0.05


def test_a_bot_that_always_wins_has_a_finite_rating_without_error() -> None:
    games = "\n".join(f"{n}: {game}" for n, game in enumerate(["a>b>c", "a>c>b", "a>b=c", "a>c>b"] * 5))
    found = fit(results(games, "abc"))

    assert np.isfinite(found.elo).all()
    assert found.elo[0] > 400 + max(found.elo[1:])
    assert found.scale[0] != found.scale[1] == found.scale[2]
    assert np.isnan(found.elo_se[0])
    assert (found.elo_se[1:] > 0).all()
    assert found.elo[1:].mean() == pytest.approx(0)
    assert found.converged


def test_a_tie_bounds_the_likelihood() -> None:
    assert (fit(results("1: a>b\n2: a>b\n3: a=b", "ab")).members == 2).all()


def test_the_errors_of_strong_bots_survive_that_they_never_lose_to_weak_ones() -> None:
    """a and b beat each other, as do c and d; nobody of the first two ever loses to the others, nor ties with them."""
    among = ["a>b", "a>b", "b>a", "c>d", "d>c", "d>c"] * 10
    across = ["a>c", "a>d", "b>c", "b>d"] * 10
    whole, strong = (
        fit(results("\n".join(f"{n}: {game}" for n, game in enumerate(games)), names), seat_effect=False)
        for games, names in ((among + across, "abcd"), ([game for game in among if "a" in game], "ab"))
    )

    assert whole.scale[0] == whole.scale[1] != whole.scale[2] == whole.scale[3]
    assert whole.elo_se[:2] == pytest.approx(strong.elo_se, rel=0.03), "games against the weak say nothing about them"
    assert whole.elo[0] - whole.elo[1] == pytest.approx(400 * math.log10(2), abs=1)
    assert min(whole.elo[:2]) > max(whole.elo[2:]) + 400


def test_if_one_of_two_always_wins_each_has_its_own_scale() -> None:
    found = fit(results("1: a>b\n2: a>b", "ab"))

    assert found.members.tolist() == [1, 1]
    assert np.isnan(found.elo_se).all()
    assert np.isfinite(found.elo).all()


def test_components_that_never_met_are_reported() -> None:
    found = fit(results("1: a>b\n2: b>a\n3: c>d\n4: d>c", "abcd"))

    assert found.component.tolist() == [0, 0, 1, 1]
    assert not found.is_connected
    assert fit(results("1: a>b\n2: b>c", "abc")).is_connected


def test_the_sandwich_uses_the_scores_of_blocks() -> None:
    rng = np.random.default_rng(7)
    table = simulated.gumbel(rng, np.linspace(-0.5, 0.5, 4), simulated.random_tables(rng, 4, 3, 12))
    found = fit(table)
    at_the_peak = np.concatenate([found.theta, found.seat, found.log_delta])
    scores = []
    for block in range(table.blocks):
        model = _Model(table.only(table.block == block), seat_effect=True)
        scores.append(model.likelihood(at_the_peak)[1])
    meat = sum(np.outer(score, score) for score in scores) * 12 / 11

    assert found.sandwich == pytest.approx(found.fisher @ meat @ found.fisher, rel=1e-6, abs=1e-9)


def test_repeating_the_games_of_a_block_does_not_reduce_the_error() -> None:
    rng = np.random.default_rng(4)
    table = simulated.gumbel(rng, np.linspace(-0.5, 0.5, 5), simulated.random_tables(rng, 5, 3, 60))
    twice = tables(
        5, np.repeat(table.entrant, 2, axis=0), np.repeat(table.places, 2, axis=0), np.repeat(table.block, 2)
    )

    once, doubled = fit(table), fit(twice)
    assert doubled.elo_se == pytest.approx(once.elo_se, rel=0.01)
    naive = doubled.standard_errors(doubled.fisher) / once.standard_errors(once.fisher)
    assert naive == pytest.approx(np.full(5, math.sqrt(0.5)), rel=0.01)


@settings(max_examples=25)
@given(tournaments())
def test_numbers_of_entrants_do_not_matter(table: Results) -> None:
    moved = np.random.default_rng(table.entrants).permutation(table.entrants)
    renumbered = tables(table.entrants, moved[table.entrant], table.places, table.block)

    assert fit(renumbered).theta[moved] == pytest.approx(fit(table).theta, abs=1e-5)


def test_coverage_of_a_reduced_run() -> None:
    """60 tournaments of 140 games: 95 per cent intervals contain the true values, those of split pairs do not."""
    lines = {line.what: line.value for line in science.coverage(runs=60, large=2100)}

    def found(*words: str) -> float:
        return next(value for what, value in lines.items() if all(word in what for word in words))

    assert found("split") < 0.92
    assert found("duplicate", "Fisher") > 0.965
    for what, value in lines.items():
        if "split" not in what and "too wide" not in what:
            assert 0.91 <= value <= 0.985, what


def test_recovery_of_a_reduced_run() -> None:
    for line in science.recovery(runs=4, sizes=(600,)):
        assert line.value > float(line.expected[3:]) - 0.02, line
