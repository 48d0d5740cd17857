"""A session told step by step is told as if it were told at once, also if the store has lost moves or others asked before."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubble.v1 import display_pb2
from service.games.core import Plain, Seat
from service.rpc.display_sessions import SeenSession, ShownSession, session_response
from tests.sessions.scripted_sessions import ScriptedSession

_COMMON = 8
_PLAYED = 30


def _shown(shown: ShownSession, seen: SeenSession, after: int = 0) -> display_pb2.ShowSessionResponse:
    response = display_pb2.ShowSessionResponse(revision=len(seen.shown))
    shown.fill(response, seen, after)
    return response


@cache
def _history(viewer: int | None, branch: int) -> list[SeenSession]:
    """What a viewer may know after each change of a game. The games of two branches begin with the same entries."""
    table = ScriptedSession("relief", 2)
    table.seat_all()
    found: list[SeenSession] = []
    while not table.is_over and len(found) < _PLAYED:
        table.session.stamp(f"{branch}-{len(found)}")
        found.append(SeenSession.of(table.session, list(table.entries), viewer, is_operator=False))
        texts = table.session.legal_texts(table.open[0])
        table.answer(choice=0 if len(found) < _COMMON else branch % len(texts))
    return found


@given(
    st.sampled_from([None, 0, 1]),
    st.lists(st.tuples(st.sampled_from([0, 1]), st.integers(0, _PLAYED - 1), st.integers(0, 40)), max_size=12),
)
@settings(max_examples=60)
def test_a_session_is_told_alike_in_whatever_order_its_moments_are_asked_for(
    viewer: int | None, asked: list[tuple[int, int, int]]
) -> None:
    """The two branches are a history that the store has lost and the one that was played instead."""
    kept = ShownSession()
    for branch, at, after in asked:
        seen = _history(viewer, branch)[at]
        assert _shown(kept, seen, after) == _shown(ShownSession(), seen, after)


def test_the_two_histories_of_the_test_above_differ() -> None:
    lost, instead = (_history(0, branch)[-1].entries for branch in (0, 1))
    assert lost[:_COMMON] == instead[:_COMMON] and lost != instead
    assert any(len(seen.shown) < len(seen.entries) for seen in _history(0, 0)), "there are secret choices"


def test_lines_that_a_caller_knows_are_not_sent_again() -> None:
    seen = _history(None, 0)[-1]
    whole = _shown(ShownSession(), seen).lines
    for after in (0, 1, 5, len(whole), 2**64 - 1):
        assert list(_shown(ShownSession(), seen, after).lines) == list(whole[after:])


def test_a_sentence_that_fails_once_does_not_spoil_the_lines_after_it() -> None:
    table = ScriptedSession("sf1906-2e", 2)
    table.seat_all()
    table.play(3)
    seen = SeenSession.of(table.session, list(table.entries), None, is_operator=False)
    calls = [0]

    def say(view: Plain, seat: Seat, action: Any) -> str:
        calls[0] += 1
        if calls[0] == 2:
            raise ValueError("a bug in a sentence")
        return "{do} this"

    kept, broken = ShownSession(), replace(seen, game=replace(seen.game, say=say))
    with pytest.raises(ValueError, match="a bug"):
        _shown(kept, broken)
    assert list(_shown(kept, broken).lines) == list(_shown(ShownSession(), broken).lines)


def test_the_last_action_is_marked_on_the_board() -> None:
    marks: list[tuple[str, ...]] = []
    table = ScriptedSession("sf1906-2e", 2)
    table.seat_all()
    game = table.session.game
    board = game.board
    assert board is not None

    def draw(view: Plain, names: Sequence[str], marked: Collection[str]) -> str:
        marks.append(tuple(marked))
        return "<svg/>"

    drawn = replace(board, draw=draw)
    kept = ShownSession()
    for _ in range(12):
        seat = table.open[0]
        before = game.view(table.session.state, None)
        table.answer(seat)
        action = game.read(table.actions[-1].action)
        seen = SeenSession.of(table.session, list(table.entries), None, is_operator=False)
        _shown(kept, replace(seen, game=replace(game, board=drawn)))
        assert marks[-1] == tuple(board.parts(before, seat, action))
    assert any(marks)


def test_the_clock_is_that_of_the_moment_though_the_board_is_kept() -> None:
    table = ScriptedSession("sf1906-2e", 2)
    table.seat_all()
    table.session.stamp("mark")
    seat = table.open[0]
    seen = SeenSession.of(table.session, list(table.entries), seat, is_operator=False)
    kept, left = ShownSession(), []
    for later in (0, 700):
        response = session_response(table.session, seen, table.now + later, is_operator=False)
        kept.fill(response, seen, 0)
        left.append(response.question.clock.move_ms)
        assert len(response.question.choices) == len(table.session.legal_texts(seat))
    assert left[0] - left[1] == 700
