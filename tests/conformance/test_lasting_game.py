"""A game may keep an action secret for ever; the checks catch it if its log or its view reveals the action."""

from dataclasses import replace
from typing import Any

import pytest

from service.games.chance import Draws
from service.games.core import AnyGame, Plain, Seat, Viewer, never_secret
from tests.conformance import broken
from tests.conformance.broken import QUESTIONS, Question
from tests.conformance.checks_hidden import check_secrets, check_steps
from tests.conformance.subjects import tables
from tests.conformance.test_broken_games import caught
from tests.conformance.walks import pool_of
from tests.lasting_game import CELLAR, Move, State


def _view_at_the_end(state: State, viewer: Viewer) -> Plain:
    """Shows all cellars when the game is over, as if they were counted then."""
    seen = CELLAR.view(state, viewer)
    return seen if any(state.hands) else {**seen, "cellars": state.buried}


def _redeal_that_keeps_cellars(state: State, viewer: Viewer, chance: Draws) -> State:
    held = {card for card in state.buried if card}
    other = CELLAR.redeal(state, viewer, chance)
    while not held.isdisjoint(card for hand in other.hands for card in hand):
        other = CELLAR.redeal(state, viewer, chance)
    other.buried = list(state.buried)
    return other


def _secret_if_high(state: State, seat: Seat, move: Move) -> bool:
    return move.verb == "bury" and move.card > 6


#: What leaks, and the checks that must find it.
LEAKS: tuple[tuple[str, tuple[Question, ...], dict[str, Any]], ...] = (
    ("published-after-the-phase", (broken.ask_steps, broken.ask_secrets), {"stays_secret": never_secret}),
    ("published-if-low", (broken.ask_steps, broken.ask_secrets), {"stays_secret": _secret_if_high}),
    ("published-after-the-game", (broken.ask_redeal,), {"view": _view_at_the_end}),
    ("kept-by-the-redeal", (broken.ask_secrets,), {"redeal": _redeal_that_keeps_cellars}),
)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.__name__)
def test_a_game_with_a_lasting_secret_passes(question: Question) -> None:
    for table in tables(CELLAR):
        question(table)


def _leaking(name: str, **changes: Any) -> AnyGame:
    return replace(CELLAR, id=f"cellar-{name}", **changes)


@pytest.mark.parametrize(
    ("name", "questions", "changes"), LEAKS, ids=lambda each: each if isinstance(each, str) else ""
)
def test_it_is_caught_when_it_leaks(name: str, questions: tuple[Question, ...], changes: dict[str, Any]) -> None:
    game = _leaking(name, **changes)
    assert all(caught(question, tables(game)[:2]) for question in questions)


def test_it_is_caught_where_seats_bury_one_after_the_other() -> None:
    game = _leaking("told-in-turn", stays_secret=never_secret)
    in_turn = [table for table in tables(game) if table.options]
    assert in_turn
    assert caught(broken.ask_steps, in_turn)


def test_the_comparisons_are_not_empty() -> None:
    for table in tables(CELLAR):
        secret, compared = check_secrets(table, 0, positions=4)
        assert bool(secret) == (not table.options)
        assert bool(compared) == (not table.options)
        assert check_steps(table, 0, pool_of(table), starts=4, limit=25) > 5
