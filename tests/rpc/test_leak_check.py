"""The leak check: silent for correct games, and sure to find a planted leak."""

import asyncio
import dataclasses
from typing import Any

import pytest
from prometheus_client import REGISTRY

from service import games
from service.games.core import Plain, Viewer
from service.rpc import leak_check
from service.sessions.live_sessions import Change
from service.sessions.session import ACTIVE
from tests.conformance import planted
from tests.conformance.walks import draws
from tests.sessions.scripted_sessions import ScriptedSession

TABLES = [("relief", 2), ("relief", 3), ("sf1906-1e", 2), ("sf1906-2e", 4)]
TRIES = 16


def counted(name: str, game: str) -> float:
    return REGISTRY.get_sample_value(name, {"game": game}) or 0.0


def viewers(table: ScriptedSession) -> list[Viewer]:
    return [*range(table.session.header.seats), None]


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_a_correct_game_passes_from_its_first_move_to_its_last(game: str, seats: int) -> None:
    table = ScriptedSession(game, seats)
    table.seat_all()
    checks, found = counted("rubble_leak_checks_total", game), counted("rubble_leaks_total", game)
    asked = 0
    while table.session.status == ACTIVE:
        for viewer in viewers(table):
            assert leak_check.check(table.session, viewer, draws("honest", asked))
            asked += 1
        table.answer()

    assert counted("rubble_leak_checks_total", game) == checks + asked
    assert counted("rubble_leaks_total", game) == found


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_a_view_that_shows_hidden_cards_is_counted(game: str, seats: int, caplog: pytest.LogCaptureFixture) -> None:
    """The view contains the whole state in its first text."""
    table = ScriptedSession(game, seats)
    table.seat_all()
    honest = table.session.game

    def tell_all(state: Any, viewer: Viewer) -> Plain:
        view = honest.view(state, viewer)
        field = next(name for name in view._fields if isinstance(getattr(view, name), str))
        return view._replace(**{field: repr(honest.to_plain(state))})

    table.session.game = dataclasses.replace(honest, view=tell_all)
    for viewer in viewers(table):
        found = counted("rubble_leaks_total", game)
        assert not all(leak_check.check(table.session, viewer, draws("shown", number)) for number in range(TRIES))
        assert counted("rubble_leaks_total", game) > found
    assert "LEAK" in caplog.text and "spectator" in caplog.text
    assert str(games.get(game).to_plain(table.session.state)) not in caplog.text, (
        "the log must not show the cards either"
    )


def test_legal_actions_that_reveal_hidden_cards_are_counted() -> None:
    table = ScriptedSession("relief", 2)
    table.seat_all()
    session = table.session
    while len(session.game.legal_actions(session.state, table.open[0])) < 2:
        table.answer()
    seat = table.open[0]
    place = planted.hidden_places(session.game, session.state, seat, draws("places"))[0]
    peek = planted.peek_at(session.game, place)
    session.game = planted.in_the_offer(session.game, peek, peek(session.state))

    assert not all(leak_check.check(session, seat, draws("offered", number)) for number in range(TRIES))


def test_the_session_that_changed_last_is_checked_once() -> None:
    table = ScriptedSession("relief", 2)
    table.seat_all()
    watch = leak_check.LeakCheck()
    before = counted("rubble_leak_checks_total", "relief")
    asyncio.run(watch.once())
    assert counted("rubble_leak_checks_total", "relief") == before, "nothing has moved"

    watch.hear(Change(table.session, [], []))
    asyncio.run(watch.once())
    asyncio.run(watch.once())
    assert counted("rubble_leak_checks_total", "relief") == before + 1
