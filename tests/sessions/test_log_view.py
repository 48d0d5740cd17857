"""Which entries of a log a viewer may read; replays follow it."""

import pytest
from msgspec.structs import replace

from service import games
from service.sessions.entries import ACTIONS, Acted, AutomatonActed, Entry
from service.sessions.log_view import is_hidden, readable
from service.sessions.replay import read_replay, write_replay
from service.sessions.replay_verify import verify_replay
from service.sessions.stored import entry_mark
from tests.lasting_game import CELLAR
from tests.sessions.scripted_sessions import START, ScriptedSession


@pytest.fixture(autouse=True)
def _cellar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the game with a lasting secret, so that it is found like any other."""
    found = {**games.all_games(), CELLAR.id: CELLAR}
    monkeypatch.setattr(games, "all_games", lambda: found)


def _texts(entries: list[Entry]) -> list[tuple[int, str]]:
    return [(entry.seat, entry.action) for entry in entries if isinstance(entry, ACTIONS)]


def test_a_secret_action_is_shown_when_all_seats_have_acted() -> None:
    table = ScriptedSession("relief", 2)
    table.seat_all()
    table.answer()
    while not table.actions[-1].secret:
        table.answer()
    assert readable(table.session, table.entries, None) == table.entries[:-1]
    assert readable(table.session, table.entries, table.actions[-1].seat) == table.entries
    table.play_until(lambda session: not session.game.is_secret(session.state))
    assert readable(table.session, table.entries, None) == table.entries


def test_a_lasting_secret_is_shown_without_its_text_until_the_seeds_are_revealed() -> None:
    table = ScriptedSession("cellar", 2, hold_seeds=True)
    table.answer(0, 0, note="the least")
    first = table.entries[-1]
    assert readable(table.session, table.entries, None) == []
    table.answer(1, 0)
    table.answer(0, 1)
    said = _texts(table.entries)
    for viewer in (None, 0, 1):
        expected = [(seat, text if seat == viewer or text.startswith("lay") else "") for seat, text in said]
        assert _texts(readable(table.session, table.entries, viewer)) == expected
    shown = readable(table.session, table.entries, None)[0]
    assert isinstance(shown, Acted)
    assert (shown.note, is_hidden(shown), shown.at_ms) == ("", True, first.at_ms)
    table.finish()
    assert is_hidden(readable(table.session, table.entries, None)[0])
    table.wrote(table.session.reveal(table.now))
    assert readable(table.session, table.entries, None) == table.entries


def test_a_secret_that_lasts_does_not_hide_again_what_an_earlier_phase_has_revealed() -> None:
    """An action in turn says nothing about whether an earlier secret phase is over."""
    table = ScriptedSession("cellar", 2)
    table.answer(0, 0)
    revealed = Acted(START, 1, 1, "lay 1", 1, secret=True)
    buried = Acted(START, 0, 1, "bury 2", 1, lasting=True)
    pending = Acted(START, 0, 2, "lay 2", 1, secret=True)
    assert readable(table.session, [revealed, buried, pending], None) == [revealed, replace(buried, action="")]


def test_the_automaton_keeps_the_secret_of_a_seat_it_plays() -> None:
    table = ScriptedSession("cellar", 3, number=3, options={"burying": "in turn"})
    table.resign(0)
    assert table.last(AutomatonActed).lasting
    assert is_hidden(readable(table.session, table.entries, None)[-1])


def test_the_mark_of_a_secret_reveals_nothing_and_stays_when_it_is_revealed() -> None:
    table = ScriptedSession("cellar", 2)
    table.answer(0, 0)
    entry = table.last(Acted)
    others = [replace(entry, action=text, note="x") for text in ("bury 1", "bury 2", "")]
    assert {entry_mark(table.session.header, other) for other in others} == {entry_mark(table.session.header, entry)}
    assert entry_mark(table.session.header, replace(entry, at_ms=1)) != entry_mark(table.session.header, entry)


@pytest.mark.parametrize("burying", ["together", "in turn"])
def test_a_replay_stops_before_a_lasting_secret_until_the_game_is_over(burying: str) -> None:
    table = ScriptedSession("cellar", 2, options={"burying": burying}, hold_seeds=True)
    table.seat_all()
    before = write_replay(table.session, table.entries)
    table.play(3)
    assert write_replay(table.session, table.entries) == before
    table.finish()
    whole = write_replay(table.session, table.entries)
    table.wrote(table.session.reveal(table.now))
    revealed = write_replay(table.session, table.entries)

    assert whole.startswith(before)
    assert revealed.startswith(whole)
    assert verify_replay(revealed).is_replayed
    assert read_replay(revealed).entries == tuple(table.entries[:-1])
    assert revealed.count('"lasting":true') == 2


def test_a_replay_whose_secrets_are_not_marked_is_bad() -> None:
    table = ScriptedSession("cellar", 2).finish()
    open_ = [replace(entry, lasting=False) if isinstance(entry, ACTIONS) else entry for entry in table.entries]
    verification = verify_replay(write_replay(table.session, open_))
    assert (verification.ok, verification.line, verification.reason) == (
        False,
        2,
        "lasting is False; the game gives True",
    )
