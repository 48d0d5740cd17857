"""A finished game at any revision, through any eye, from its replay file alone."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any, Final
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubble.v1 import display_pb2
from service import games
from service.rpc.display_replays import ShownReplay
from service.rpc.display_sessions import SeenSession, ShownSession, session_response
from service.rpc.recent import Recent
from service.sessions.clock import TimeControl
from service.sessions.entries import Ended
from service.sessions.errors import BadRequest
from service.sessions.narration import ALL, Eye
from service.sessions.replay import BadReplay, chain, write_replay
from tests.lasting_game import CELLAR
from tests.sessions.scripted_sessions import ScriptedSession

TABLES: Final = [(game.id, seats) for game in games.all_games().values() for seats in game.seats]
#: Names that try to control a page, a terminal or the direction of a line.
HOSTILE: Final = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "]]></title></svg>&amp;{0}{move}",
    "\x1b[2J\x07\x00\x85",
    "\u202egnitluoc\u2066\u200f\ufeff",
    "two\nlines\u2028more",
    "x" * 5000,
    " \t ",
]


@pytest.fixture(autouse=True)
def _cellar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the game with a lasting secret, so that it is found like any other."""
    found = {**games.all_games(), CELLAR.id: CELLAR}
    monkeypatch.setattr(games, "all_games", lambda: found)


def _file(table: ScriptedSession) -> str:
    return write_replay(table.session, table.entries)


@cache
def finished(game: str = "relief", seats: int = 2, number: int = 1) -> str:
    """The file of a whole game; its seats connect, one answer is refused, and one has a note."""
    table = ScriptedSession(game, seats, number)
    table.seat_all()
    table.answer_wrongly(table.open[0])
    table.answer(note="a note")
    return _file(table.finish())


def _lines(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.splitlines()]


def _chained(lines: list[dict[str, Any]]) -> str:
    """A file with these lines whose hashes are right."""
    return chain([{name: value for name, value in line.items() if name != "hash"} for line in lines])


def _refused(file: str, eye: Eye = None) -> BadReplay:
    with pytest.raises(BadReplay) as refused:
        ShownReplay(file, eye)
    return refused.value


def _is_svg(text: str) -> bool:
    """Whether this is one well-formed <svg> element that runs nothing and loads nothing."""
    root = ElementTree.fromstring(text)
    for element in root.iter():
        assert element.tag.rpartition("}")[2] not in ("script", "image", "foreignObject", "a", "style")
        for name in element.attrib:
            assert not name.lower().startswith("on"), name
            assert "href" not in name or element.attrib[name].startswith("#"), "only its own symbols"
    return root.tag.rpartition("}")[2] == "svg"


# ------------------------------------------------------------------------------------------------------- whole games
@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_every_revision_is_shown_through_every_eye(game: str, seats: int) -> None:
    file = finished(game, seats)
    last = sum("revision" in line for line in _lines(file)) - 1  # the line of the seeds is not one of them
    for eye in (None, ALL, *range(seats)):
        shown = ShownReplay(file, eye)
        for revision in (*range(0, last, 7 if eye is None else 31), last):
            response = shown.at(revision)
            assert (response.position.revision, response.revisions) == (revision, last)
            assert response.position.picture
            assert len(response.lines) <= revision
            assert [line.revision for line in response.lines] == list(range(1, len(response.lines) + 1))
            assert response.HasField("outcome") == (revision == last)
            if revision % 16 == 0 or revision == last:
                assert _is_svg(response.position.svg)
        assert len(response.lines) == last
        assert not response.position.to_act


@pytest.mark.parametrize(
    ("game", "seats"),
    [("relief", 2), ("sf1906-1e", 3), ("sf1906-2e", 1), ("sf1906-2e", 4), ("cellar", 2), ("cellar", 3)],
)
def test_a_replay_shows_each_eye_what_the_session_showed_it_at_that_revision(game: str, seats: int) -> None:
    """Position, marks, points, log and names are equal byte for byte; only notes are added."""
    table = ScriptedSession(game, seats, 2, hold_seeds=True)
    live: dict[tuple[int | None, int], display_pb2.ShowSessionResponse] = {}
    telling = {viewer: ShownSession() for viewer in (None, *range(seats))}

    def look() -> None:
        for viewer, shown in telling.items():
            seen = SeenSession.of(table.session, list(table.entries), viewer, is_operator=False)
            response = session_response(table.session, seen, table.now, is_operator=False)
            shown.fill(response, seen, 0)
            live[viewer, table.session.revision] = response

    look()
    table.seat_all()
    while not table.is_over:
        if table.session.game.is_secret(table.session.state) or table.session.revision % 50 == 0:
            look()
        table.answer(note="secret plans")
    look()
    table.wrote(table.session.reveal(table.now))
    file = _file(table)
    for viewer in telling:
        replay = ShownReplay(file, viewer)
        for (eye, revision), session in live.items():
            if eye != viewer:
                continue
            response = replay.at(revision)
            for line in response.lines:
                line.ClearField("note")
            assert list(response.lines) == list(session.lines), (viewer, revision)
            assert response.position.SerializeToString() == session.position.SerializeToString(), (viewer, revision)
            assert response.names == session.names


def test_all_eyes_together_see_what_each_of_them_sees() -> None:
    file = finished("cellar", 2)
    buried = {line["action"] for line in _lines(file) if line["kind"] == "act" and line["action"].startswith("bury")}

    def told(eye: Eye) -> set[str]:
        return {line.notation for line in ShownReplay(file, eye).at(99).lines if line.notation.startswith("bury")}

    assert told(ALL) == buried == told(0) | told(1)
    assert told(None) == set()


def test_all_see_secret_choices_as_they_are_made() -> None:
    file = finished("relief", 3)
    everything, public = ShownReplay(file, ALL), ShownReplay(file, None)
    secret = [line["revision"] for line in _lines(file) if line.get("secret")]
    assert secret
    assert all(len(everything.at(revision).lines) == revision for revision in secret)
    assert any(len(public.at(revision).lines) < revision for revision in secret)


def test_a_revision_beyond_the_end_shows_the_end() -> None:
    shown = ShownReplay(finished(), 0)
    last = shown.at(shown.at(0).revisions)
    assert shown.at(10**6) == last == shown.at(2**64 - 1)
    assert last.outcome.seats


def test_the_file_is_described() -> None:
    file = finished("sf1906-2e", 3)
    header, *entries, outcome, seeds = _lines(file)
    response = ShownReplay(file, None).at(0)
    assert (response.session, response.game, response.created_at_ms) == (
        header["session"],
        header["game"],
        header["created_ms"],
    )
    assert list(response.bots) == list(response.names) == header["bots"]
    assert response.commitments.table.hex() == header["commitments"]["table"]
    assert response.commitments.deck.hex() == header["commitments"]["deck"]
    assert response.hash == seeds["hash"]
    assert set(response.options) == set(header["options"])
    stops = [line["revision"] for line in entries if line["kind"] not in ("seated", "refused")]
    assert list(response.stops) == [0, *stops]
    final = ShownReplay(file, None).at(10**6)
    assert [result.score for result in final.outcome.seats] == outcome["scores"]
    assert [line.note for line in final.lines if line.note][-1] == "a note"


def test_faults_and_the_automaton_are_shown() -> None:
    table = ScriptedSession("sf1906-2e", 3)
    table.seat_all()
    table.resign(table.open[0])
    table.answer_wrongly(table.open[0])
    file = _file(table.finish())
    kinds = {line.kind for line in ShownReplay(file, None).at(10**6).lines}
    assert kinds == {
        display_pb2.LOG_LINE_KIND_ACTION,
        display_pb2.LOG_LINE_KIND_AUTOMATON,
        display_pb2.LOG_LINE_KIND_REFUSED,
        display_pb2.LOG_LINE_KIND_SEATED,
        display_pb2.LOG_LINE_KIND_FAULT,
        display_pb2.LOG_LINE_KIND_END,
    }


def _resigned(game: str, seats: int) -> tuple[ScriptedSession, int]:
    """A game in which the automaton has won from a seat that resigned: random players are no match for it."""
    for number in range(1, 20):
        table = ScriptedSession(game, seats, number)
        table.seat_all()
        table.play(seats)
        forfeited = table.open[0]
        table.resign(forfeited)
        table.finish()
        played = table.session.game.outcome(table.session.state)
        assert played is not None
        if played.ranks[forfeited] == 1:
            return table, forfeited
    raise AssertionError("the automaton has never won")


@pytest.mark.parametrize(("game", "seats"), [table for table in TABLES if table[1] > 2])
def test_a_forfeited_seat_is_ranked_last_whatever_its_score(game: str, seats: int) -> None:
    """The game alone would name it as the winner; live, in a replay, and for every eye the official result is told."""
    table, forfeited = _resigned(game, seats)
    outcome = table.session.outcome
    assert outcome is not None and outcome.ranks[forfeited] == seats
    winner = outcome.ranks.index(1)
    file = _file(table)
    for eye in (None, 0, forfeited, ALL):
        told = [list(ShownReplay(file, eye).at(10**6).lines)]
        if eye != ALL:
            viewer = eye if isinstance(eye, int) else None
            seen = SeenSession.of(table.session, table.entries, viewer, is_operator=False)
            response = session_response(table.session, seen, table.now, is_operator=False)
            ShownSession().fill(response, seen, 0)
            told.append(list(response.lines))
        for lines in told:
            said = [sentence for line in lines for sentence in (line.sentence, *line.events)]
            wins = [sentence for sentence in said if " wins " in sentence or " share the win " in sentence]
            assert len(wins) == 1, wins
            assert wins[0].startswith(f"bot-{winner} wins ") and f"bot-{forfeited}" not in wins[0]
            assert all(str(outcome.scores[seat]) in wins[0] for seat in range(seats) if seat != forfeited)
            place, score = {3: "3rd", 4: "4th"}[seats], outcome.scores[forfeited]
            assert f"bot-{forfeited} is ranked {place} with {score} points, because the seat was forfeited" in said


def test_a_cancelled_game_is_shown_without_an_outcome_and_nobody_is_to_act_at_its_end() -> None:
    table = ScriptedSession("relief")
    table.play(4)
    assert table.open
    table.wrote(table.session.cancel("the power is off", table.now))
    shown = ShownReplay(_file(table), None)
    end = shown.at(10**6)
    assert not end.HasField("outcome")
    assert (end.lines[-1].sentence, list(end.position.to_act)) == ("The game was cancelled", [])
    assert list(shown.at(end.revisions - 1).position.to_act)
    assert isinstance(table.last(Ended), Ended)


# ------------------------------------------------------------------------------------------------------------ names
def test_other_names_are_used_everywhere() -> None:
    file = finished("sf1906-2e", 2)
    response = ShownReplay(file, 0, ["Ada", "Ben"]).at(10**6)
    assert list(response.names) == ["Ada", "Ben"]
    assert list(response.bots) == ["bot-0", "bot-1"]
    shown = response.position.svg + "".join(line.sentence + " ".join(line.events) for line in response.lines)
    assert "Ada" in shown
    assert "bot-0" not in shown


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize(("game", "seats"), [("relief", 2), ("sf1906-2e", 1), ("sf1906-1e", 2)])
def test_a_hostile_name_controls_nothing(game: str, seats: int, name: str) -> None:
    shown = ShownReplay(finished(game, seats), ALL, [name] * seats)
    for revision in (0, 20, 10**6):
        response = shown.at(revision)
        assert _is_svg(response.position.svg)
        told = [*response.names, *(text for line in response.lines for text in (line.sentence, *line.events))]
        assert all(text.isprintable() and text.strip() for text in told)
        assert max(map(len, response.names)) <= 64


def test_names_in_the_file_itself_are_as_harmless() -> None:
    """Anybody can write a file whose game and hashes are right, and whose names are not."""
    lines = _lines(finished("relief", 2))
    lines[0] |= {"bots": [HOSTILE[3], HOSTILE[6]], "session": HOSTILE[4]}
    refusals = [line for line in lines if line["kind"] == "refused"]
    refusals[0]["reason"] = HOSTILE[5]
    response = ShownReplay(_chained(lines), None).at(10**6)
    told = [*response.names, *response.bots, response.session, *(line.sentence for line in response.lines)]
    assert all(text.isprintable() and len(text) < 200 for text in told)
    assert _is_svg(response.position.svg)


@pytest.mark.parametrize("names", [["a"], ["a", "b", "c"]])
def test_the_number_of_names_must_fit(names: list[str]) -> None:
    with pytest.raises(BadRequest) as refused:
        ShownReplay(finished(), None, names)
    assert refused.value.facts["field"] == "names"


@pytest.mark.parametrize("seat", [2, 2**32 - 1])
def test_a_seat_must_exist(seat: int) -> None:
    with pytest.raises(BadRequest) as refused:
        ShownReplay(finished(), seat)
    assert refused.value.facts["field"] == "seat"
    assert "0 to 1" in refused.value.facts["expected"]


# ---------------------------------------------------------------------------------------------------------- bad files
def test_a_running_game_is_no_replay() -> None:
    table = ScriptedSession("relief")
    table.play(5)
    assert "before the outcome" in _refused(_file(table)).reason


def test_a_replay_without_its_seeds_cannot_be_shown() -> None:
    file = _file(ScriptedSession("relief", hold_seeds=True).finish())
    bad = _refused(file)
    assert (bad.line, "held back" in bad.reason) == (len(file.splitlines()), True)


@given(st.data())
@settings(max_examples=40)
def test_a_changed_file_is_refused_and_the_line_is_named(data: st.DataObject) -> None:
    file = finished()
    at = data.draw(st.integers(0, len(file) - 1))
    change: Callable[[], str] = data.draw(
        st.sampled_from(
            [
                lambda: file[:at],
                lambda: file[:at] + chr(ord(file[at]) ^ 1) + file[at + 1 :],
                lambda: file[:at] + file[at + 1 :],
            ]
        )
    )
    changed = change()
    bad = _refused(changed)
    assert 1 <= bad.line <= len(changed.splitlines()) + 1


_VALUES: Final[st.SearchStrategy[Any]] = st.one_of(
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, 1, 2**31, 2**32, 2**53, 2**63 - 1, "", "x", None, True, [], {}, [0], "\ud800", 1.5]),
)


def _fields(lines: list[dict[str, Any]]) -> list[tuple[int, tuple[str, ...]]]:
    found: list[tuple[int, tuple[str, ...]]] = []
    for number, line in enumerate(lines):
        for name, value in line.items():
            found.append((number, (name,)))
            if isinstance(value, dict):
                found += [(number, (name, inner)) for inner in value]
    return found


@given(st.data())
@settings(max_examples=150)
def test_whatever_a_well_chained_file_says_it_is_shown_or_refused_as_a_bad_replay(data: st.DataObject) -> None:
    lines = _lines(finished("cellar"))
    place, (*path, name) = data.draw(st.sampled_from(_fields(lines)))
    target: dict[str, Any] = lines[place]
    for step in path:
        target = target[step]
    target[name] = data.draw(_VALUES)
    try:
        file = _chained(lines)
    except (UnicodeEncodeError, OverflowError, TypeError):
        return  # cannot be written by this program
    try:
        ShownReplay(file, ALL).at(10**6)
    except BadReplay as bad:
        assert bad.line


@pytest.mark.parametrize("name", ["move_ms", "bank_ms", "increment_ms", "seating_ms"])
def test_a_clock_that_no_message_can_hold_is_a_bad_replay(name: str) -> None:
    clock = TimeControl(**{name: 2**40})
    bad = _refused(_file(ScriptedSession("relief", time_control=clock).finish()))
    assert (bad.line, name in bad.reason) == (1, True)


# --------------------------------------------------------------------------------------------------------------- cache
def test_the_values_used_last_are_kept_up_to_a_number_and_a_size() -> None:
    made: list[str] = []

    def value(key: str) -> Callable[[], str]:
        def make() -> str:
            made.append(key)
            return key.upper()

        return make

    recent: Recent[str, str] = Recent(3, 100)
    for key, size in (("a", 40), ("b", 40), ("a", 40), ("c", 40)):
        assert recent.get(key, value(key), size) == key.upper()
    assert made == ["a", "b", "c"]
    for key in ("a", "c"):  # b was used longest ago
        recent.get(key, value(key), 40)
    assert made == ["a", "b", "c"]
    assert recent.get("huge", value("huge"), 101) == "HUGE"
    assert len(recent) == 2
    for key in "defg":
        recent.get(key, value(key), 1)
    assert len(recent) == 3


def test_what_cannot_be_made_is_not_kept() -> None:
    recent: Recent[str, str] = Recent(3)

    def fail() -> str:
        raise BadReplay(1, "bad")

    with pytest.raises(BadReplay):
        recent.get("a", fail)
    assert (len(recent), recent.get("a", lambda: "good")) == (0, "good")
