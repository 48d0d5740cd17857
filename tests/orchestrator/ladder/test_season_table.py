"""What is computed from the blocks of a season: the table, verdicts, pairs and history."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import msgspec
import numpy as np
import pytest

from bench.ladder_field import play
from orchestrator.ladder.model import DrawnTable, Kind
from orchestrator.ladder.pairs import LEAST_BLOCKS
from orchestrator.ladder.pairs_table import MOST_PAIRS, PairsDocument, pairs_document
from orchestrator.ladder.ratings import rate, standings
from orchestrator.ladder.season_games import SeasonGames
from orchestrator.ladder.season_table import (
    EXACT_LINES,
    Entrant,
    TableDocument,
    finalists,
    history_points,
    results_of,
    season_table,
    trial_verdict,
)
from orchestrator.ladder.seasons import blocks_to_swap
from orchestrator.ratings.points import Floats, Ints
from orchestrator.ratings.verdict import Verdict
from orchestrator.records import Game

SEED = b"the season's secret"


def field(count: int, bundled: int = 2) -> list[Entrant]:
    """Bundled bots, then builds of as many owners."""
    names = [f"bot{at}/1" for at in range(count)]
    return [Entrant(name, None if at < bundled else f"owner{at}") for at, name in enumerate(names)]


def games_of(rows: Ints, ranks: Ints, seats: int = 4) -> list[Game]:
    return [
        Game(at, at // seats, tuple(sitting), tuple(placed), (0,) * seats, ("",) * seats, (1,) * seats)
        for at, (sitting, placed) in enumerate(zip(rows.tolist(), ranks.tolist(), strict=True))
    ]


def played(strength: Floats, blocks: int, seed: int = 1, seats: int = 4) -> list[Game]:
    rng = np.random.default_rng(seed)
    sitting = np.array([rng.choice(len(strength), seats, replace=False) for _ in range(blocks)])
    return games_of(*play(rng, strength, sitting), seats)


def with_result(game: Game, ranks: Sequence[int], faults: Sequence[str] = ()) -> Game:
    return msgspec.structs.replace(game, ranks=tuple(ranks), faults=tuple(faults) or game.faults)


def test_the_table_is_that_of_the_ratings() -> None:
    games = played(np.linspace(-1, 1, 8), 150)
    document, ratings = season_table(field(8), range(8), games, 4, SEED)
    assert ratings is not None
    expected = standings(ratings, range(8), np.random.default_rng(1))

    assert [line.entrant for line in document.lines] == [line.build for line in expected]
    assert [line.elo for line in document.lines] == pytest.approx([line.elo for line in expected], abs=0.05)
    assert [line.rank for line in document.lines] == list(range(1, 9))
    assert all(line.rank_low <= line.rank <= line.rank_high for line in document.lines)
    errors = [1.96 * line.elo_error for line in expected]
    assert [line.half_width for line in document.lines] == pytest.approx(errors, abs=0.05)
    assert (document.games, document.blocks) == (600, 150)
    assert sum(document.seat_elo) == pytest.approx(0, abs=0.2) and document.seat_elo[0] > 0 > document.seat_elo[3]
    assert 2.5 < document.quantile < 4


def test_a_document_can_be_read_again() -> None:
    document, ratings = season_table(field(6), range(6), played(np.zeros(6), 30), 4, SEED, is_final=True)
    pairs = pairs_document(field(6), range(6), played(np.zeros(6), 100), 4, ratings)

    assert TableDocument.from_json(document.to_json()) == document
    assert PairsDocument.from_json(pairs.to_json()) == pairs


def test_what_follows_in_the_last_bits_does_not_show() -> None:
    """Blocks in another order are summed in another order, as on another machine."""
    games = played(np.linspace(-1, 1, 8), 150)
    mixed = np.random.default_rng(2).permutation(150).tolist()
    again = [
        msgspec.structs.replace(games[4 * block + turn], order=4 * at + turn, block=at)
        for at, block in enumerate(mixed)
        for turn in range(4)
    ]
    one, ratings = season_table(field(8), range(8), games, 4, SEED, is_final=True)
    other, again_ratings = season_table(field(8), range(8), again, 4, SEED, is_final=True)

    assert ratings is not None and again_ratings is not None
    assert (ratings.strength != again_ratings.strength).any()
    assert other.to_json() == one.to_json()
    assert pairs_document(field(8), range(8), again, 4, again_ratings) == pairs_document(
        field(8), range(8), games, 4, ratings
    )


def test_builds_with_the_same_results_share_a_rank() -> None:
    """Six of equal results, and one that lost against all of them: the strengths of the six differ in the last bits only."""
    pairs = [(at, (at + 1) % 6) for at in range(6)] + [(at, 6) for at in range(6)]
    games = [
        Game(2 * at + turn, at, pair[::-1] if turn else pair, (2, 1) if turn else (1, 2), (0, 0), ("", ""), (1, 1))
        for at, pair in enumerate(pairs * 7)
        for turn in range(2)
    ]
    document, ratings = season_table(field(7), range(7), games, 2, SEED, is_final=True)

    assert ratings is not None and len(set(ratings.strength[:6].tolist())) > 1
    assert [(line.entrant, line.rank, line.elo) for line in document.lines[:6]] == [(at, 1, 0.0) for at in range(6)]
    assert [line.blocks_to_swap for line in document.lines[:5]] == [0] * 5
    assert b"-0.0" not in document.to_json()


def test_a_warm_start_gives_the_same_table() -> None:
    games = played(np.linspace(-1, 1, 8), 150)
    _, earlier = season_table(field(7), range(7), played(np.linspace(-1, 1, 7), 50), 4, SEED)

    assert (
        season_table(field(8), range(8), games, 4, SEED, earlier)[0]
        == season_table(field(8), range(8), games, 4, SEED)[0]
    )


def test_builds_that_do_not_count_follow_without_a_rank() -> None:
    strength = np.array([0.0, 0.0, -0.5, 2.0, 1.0, 0.5])
    document, _ = season_table([*field(6), Entrant("new/1", "zoe")], [0, 1, 2, 4, 6], played(strength, 100), 4, SEED)
    ranked = [line for line in document.lines if line.rank]
    rest = document.lines[len(ranked) :]

    assert {line.entrant for line in ranked} == {0, 1, 2, 4}
    assert [line.rank for line in ranked] == [1, 2, 3, 4]
    assert [line.entrant for line in rest] == [3, 5, 6], "the strongest first, those without games last"
    assert rest[0].elo is not None and ranked[0].elo is not None and rest[0].elo > ranked[0].elo
    assert [(line.rank, line.rank_low, line.rank_high, line.is_provisional) for line in rest] == [(0, 0, 0, True)] * 3
    assert (rest[2].elo, rest[2].half_width, rest[2].games) == (None, None, 0)


def test_a_forfeit_is_last_whatever_the_automaton_did() -> None:
    games = [with_result(game, (1, 2, 3, 4), ("TIMEOUT", "", "", "")) for game in played(np.zeros(4), 30)]
    fair = [with_result(game, (4, 1, 2, 3)) for game in games]
    document, _ = season_table(field(4), range(4), games, 4, SEED)

    assert [line.elo for line in document.lines] == [
        line.elo for line in season_table(field(4), range(4), fair, 4, SEED)[0].lines
    ]
    assert sum(line.fault_share for line in document.lines) == pytest.approx(1.0)


@pytest.mark.parametrize("is_final", [False, True])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_season_without_games_has_a_table(count: int, is_final: bool) -> None:
    document, ratings = season_table(field(count), range(count), [], 4, SEED, is_final=is_final)

    assert ratings is None and document.is_final is is_final
    assert [(line.entrant, line.rank, line.elo) for line in document.lines] == [(at, 0, None) for at in range(count)]
    assert TableDocument.from_json(document.to_json()) == document
    assert pairs_document(field(count), range(count), [], 4, None).builds == ()


def test_nobody_counts_and_one_counts() -> None:
    games = played(np.zeros(4), 10)

    assert {line.rank for line in season_table(field(4), [], games, 4, SEED, is_final=True)[0].lines} == {0}
    document, _ = season_table(field(4), [3], games, 4, SEED, is_final=True)
    assert (document.lines[0].entrant, document.lines[0].rank, document.lines[0].rank_high) == (3, 1, 1)
    assert document.lines[0].blocks_to_swap is None and document.quantile == 0


def test_groups_that_never_met_are_noted() -> None:
    sitting = np.array([[0, 1], [2, 3]] * 20)
    games = games_of(*play(np.random.default_rng(1), np.zeros(4), sitting), 2)

    assert "2 groups that never met" in season_table(field(4), range(4), games, 2, SEED)[0].notes[0]
    assert season_table(field(5), range(5), played(np.zeros(5), 20), 4, SEED)[0].notes == ()


def test_a_final_table_says_how_firm_each_rank_is() -> None:
    games = played(np.linspace(-2, 2, 12), 200)
    entrants = field(12)
    document, ratings = season_table(entrants, range(12), games, 4, SEED, is_final=True)
    assert ratings is not None
    results = results_of(entrants, games, 4)
    order = [line.entrant for line in document.lines]

    for at, line in enumerate(document.lines[:-1]):
        is_exact = at < EXACT_LINES
        assert line.blocks_to_swap == blocks_to_swap(results, ratings, order[at], order[at + 1], is_exact=is_exact)
    assert document.lines[-1].blocks_to_swap is None


def test_the_estimate_is_near_where_few_blocks_decide() -> None:
    games = played(np.linspace(-0.5, 0.5, 10), 500)
    results = results_of(field(10), games, 4)
    ratings = rate(results, [])
    order = np.argsort(-ratings.strength).tolist()
    exact = [blocks_to_swap(results, ratings, *pair) or 0 for pair in pairwise(order)]
    estimates = [blocks_to_swap(results, ratings, *pair, is_exact=False) or 0 for pair in pairwise(order)]

    assert 5 < max(exact) < 60
    assert all(abs(one - other) <= 1 + one / 4 for one, other in zip(exact, estimates, strict=True))


def test_the_finals_take_the_best_of_the_table() -> None:
    entrants = [*field(8)[:6], Entrant("second/1", "owner5"), field(8)[7]]
    document, _ = season_table(entrants, range(8), played(np.linspace(-2, 2, 8), 400), 4, SEED)

    assert finalists(document, entrants, 3) == (7, 6, 4), "5 belongs to the owner of 6"


def test_a_point_of_the_history_needs_a_twentieth_more_games() -> None:
    document, _ = season_table([*field(4), Entrant("new/1", "zoe")], range(5), played(np.zeros(4), 21), 4, SEED)
    points = history_points(document, {0: 81, 1: 80, 2: 84}, 77)

    assert {line.games for line in document.lines if line.games} == {84}
    assert {(point.entrant, point.games, point.at_ms) for point in points} == {(1, 84, 77), (3, 84, 77)}
    line = next(line for line in document.lines if line.entrant == 3)
    point = next(point for point in points if point.entrant == 3)
    assert (point.elo, point.half_width, point.rank_low) == (line.elo, line.half_width, line.rank_low)


def test_blocks_can_be_added_later_in_any_order() -> None:
    games = played(np.linspace(-1, 1, 8), 150)
    kept = SeasonGames(4, games[200:])
    kept.add(games[:100])
    kept.add([])
    kept.add(games[100:200])

    assert kept.blocks == frozenset(range(150)) and len(kept) == 600
    assert season_table(field(8), range(8), kept, 4, SEED)[0] == season_table(field(8), range(8), games, 4, SEED)[0]
    with pytest.raises(ValueError, match="two games have place 7"):
        kept.add(games[7:9])
    with pytest.raises(ValueError, match="2 seats in a season for 4"):
        kept.add(played(np.zeros(4), 1, seats=2))
    with pytest.raises(ValueError, match="entrant 7 has a game, but there are 7 entrants"):
        kept.results(7)
    assert len(kept) == 600


# Verdicts.

NAMES = ["a/1", "b/1", "new/2", "new/1"]


def trial(deal: int, points: tuple[int, int], new: int = 2) -> tuple[list[DrawnTable], list[Game]]:
    """Two blocks against entrant 0: of the new build and of its parent, each with how many of its two games it wins."""
    tables, games = [], []
    for at, (build, wins) in enumerate(zip((2, 3), points, strict=True)):
        block = 2 * deal + at
        tables.append(DrawnTable(block, Kind.RATED, "trial", (build, 0), (), "", 0, 2 * deal, new))
        for turn in range(2):
            won = turn < wins
            seats, ranks = (
                ((build, 0), (1, 2) if won else (2, 1)) if turn == 0 else ((0, build), (2, 1) if won else (1, 2))
            )
            games.append(Game(2 * block + turn, block, seats, ranks, (0, 0), ("", ""), (1, 1)))
    return tables, games


def trials(*points: tuple[int, int]) -> tuple[list[DrawnTable], list[Game]]:
    found = [trial(deal, both) for deal, both in enumerate(points)]
    return [table for tables, _ in found for table in tables], [game for _, games in found for game in games]


def test_a_build_that_wins_its_trials_is_better() -> None:
    tables, games = trials(*[(2, 0), (2, 1), (1, 0)] * 20)
    found = trial_verdict(2, 3, tables, games, 2, NAMES)

    assert found.verdict is Verdict.BETTER and 16 <= found.trials < 60
    assert found.sentence.startswith("new/2 is better than new/1")
    assert trial_verdict(2, 3, *trials(*[(0, 2)] * 40), 2, NAMES).verdict is Verdict.NOT_BETTER


def test_only_whole_trials_count_in_the_order_of_their_deals() -> None:
    tables, games = trials((2, 0), (2, 0), (0, 0), (1, 0))
    partly = [game for game in games if game.order not in (5, 7)]  # one game of each block of the second trial
    found = trial_verdict(2, 3, tables, partly[::-1], 2, NAMES)

    assert found.trials == 3 and found.verdict is Verdict.RUNNING
    assert found.lead == pytest.approx((1.0 + 0.0 + 0.5) / 3)
    one, other = ((2, 0),) * 40, ((0, 2),) * 40
    assert trial_verdict(2, 3, *trials(*one, *other), 2, NAMES).verdict is Verdict.BETTER
    assert trial_verdict(2, 3, *trials(*other, *one), 2, NAMES).verdict is Verdict.NOT_BETTER


def test_other_games_and_other_trials_do_not_count() -> None:
    tables, games = trials((2, 0), (2, 0))
    others = [replace(table, trial=1) for table in trials((2, 0), (2, 0), (0, 2))[0][4:]]
    more = trials((2, 0), (2, 0), (0, 2))[1][8:]

    assert trial_verdict(2, 3, [*tables, *others], [*games, *more], 2, NAMES) == trial_verdict(
        2, 3, tables, games, 2, NAMES
    )
    assert (
        trial_verdict(2, 3, [], [], 2, NAMES).sentence == "There is no common deal of new/2 and its parent new/1 yet."
    )


# Pairs.


def helped() -> list[Game]:
    """Build 1 helps build 2 whenever they meet."""
    rng = np.random.default_rng(3)
    sitting = np.array([rng.choice(10, 3, replace=False) for _ in range(1500)])
    both = (sitting == 1).any(axis=1) & (sitting == 2).any(axis=1)
    shift = 1.5 * both[:, None] * ((sitting == 2) * 1.0 - (sitting == 1))
    return games_of(*play(rng, np.zeros(10), sitting, shift), 3)


def test_a_pair_that_helps_is_flagged_with_its_rank_without() -> None:
    games = helped()
    entrants = [Entrant(f"bot{at}/1", None if at == 0 else f"owner{at}") for at in range(10)]
    _, ratings = season_table(entrants, range(10), games, 3, SEED)
    document = pairs_document(entrants, range(10), games, 3, ratings)
    first = document.builds[0]

    assert (first.one, first.other, first.is_flagged) == ("bot2/1", "bot1/1", True)
    assert first.low > 0 and first.gain == round(first.gain, 4)
    assert first.rank == 1 and first.rank_without is not None and first.rank_without > 1
    assert first.blocks_with >= LEAST_BLOCKS and first.blocks_with + first.blocks_without > 300
    assert (document.owners[0].one, document.owners[0].other, document.owners[0].rank) == ("owner2", "owner1", None)
    assert len(document.builds) == 90 < MOST_PAIRS
    assert len(document.owners) == 72, "the bundled bot belongs to nobody"
    rest = [pair.gain for pair in document.builds if not pair.is_flagged]
    assert rest == sorted(rest, reverse=True)


def test_a_pair_of_builds_without_a_rank_has_none() -> None:
    games = helped()
    entrants = field(10)
    _, ratings = season_table(entrants, range(3, 10), games, 3, SEED)
    document = pairs_document(entrants, range(3, 10), games, 3, ratings)

    assert document.builds[0].is_flagged and document.builds[0].rank is None
