"""Checks of the end: when there is an outcome, and whether it adds up."""

import re

from service.games.core import Outcome
from tests.conformance.subjects import Setup
from tests.conformance.walks import Walk

ENDING = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*|[a-z][a-z0-9_-]{0,31}")


def check_when(table: Setup, walk: Walk) -> None:
    """There is an outcome exactly at the end, and it is the end exactly if no seat is to act."""
    game = table.game
    for ply, state in enumerate(walk.states):
        assert list(game.to_act(state)), f"{table}: nobody is to act at ply {ply}"
        assert game.outcome(state) is None, f"{table}: there is an outcome at ply {ply}, and the game goes on"
    assert not list(game.to_act(walk.end)), f"{table}: the game is over, and somebody is to act"
    assert not game.is_secret(walk.end), f"{table}: the game is over, and something is still secret"
    outcome = game.outcome(walk.end)
    assert outcome is not None, f"{table}: nobody is to act, and there is no outcome"
    assert game.outcome(walk.end) == outcome, f"{table}: asked twice, the outcome differs"
    names = [result.name for result in outcome.seats]
    assert names == game.names(table.seats), f"{table}: the score sheets are of {names}"
    check_sums(table, outcome)


def check_sums(table: Setup, outcome: Outcome) -> None:
    """Lines add up to scores, and ranks follow the scores."""
    assert len(outcome.seats) == table.seats, f"{table}: {len(outcome.seats)} results for {table.seats} seats"
    assert ENDING.fullmatch(outcome.ending), f"{table}: the ending {outcome.ending!r} is no short word"
    everybody = [*outcome.seats, *outcome.house]
    for result in everybody:
        assert result.name.strip(), f"{table}: a result without a name"
        assert result.lines, f"{table}: {result.name} has a score and no lines"
        assert all(line.label.strip() for line in result.lines), f"{table}: {result.name} has a line without a label"
        total = sum(line.points for line in result.lines)
        assert total == result.score, f"{table}: the lines of {result.name} add up to {total}, not {result.score}"
    for one in everybody:
        better = sum(other.rank < one.rank for other in everybody)
        assert one.rank == 1 + better, f"{table}: {one.name} has rank {one.rank}, and {better} rank better"
        for other in everybody:
            if one.rank == other.rank:
                assert one.score == other.score, f"{table}: {one.name} and {other.name} share a rank, not the score"
            if one.score > other.score:
                assert one.rank < other.rank, f"{table}: {one.name} scored more than {other.name} and ranks no better"
    assert outcome.scores == tuple(result.score for result in outcome.seats)
    assert outcome.ranks == tuple(result.rank for result in outcome.seats)
