"""A session in sentences: what each kind of entry says, and to whom."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service import games
from service.games import words
from service.games.core import AnyGame, Line, Outcome, Result
from service.sessions.entries import Acted, AnswerRefused, AutomatonActed, Ended, Entry, Fault, Forfeited, Status
from service.sessions.log_view import HIDDEN, readable, without_reason
from service.sessions.narration import ALL, Eye, Narrator, Told, choice_sentence, names_of
from tests.lasting_game import CELLAR
from tests.sessions.scripted_sessions import START, ScriptedSession

TABLES = [(game.id, seats) for game in games.all_games().values() for seats in game.seats]
NAMES = ["Ada", "Ben", "Eve", "Zoe"]


@pytest.fixture(autouse=True)
def _cellar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the game with a lasting secret, so that it is found like any other."""
    found = {**games.all_games(), CELLAR.id: CELLAR}
    monkeypatch.setattr(games, "all_games", lambda: found)


def _narrator(table: ScriptedSession, eye: Eye = None, game: AnyGame | None = None) -> Narrator:
    header = table.session.header
    game = game or table.session.game
    return Narrator(game, game.new(header.seats, header.options, header.seeds), eye, NAMES[: header.seats])


def _told(table: ScriptedSession, eye: Eye = None, game: AnyGame | None = None) -> list[Told]:
    """Tell the log of a session as far as this eye may read it."""
    narrator = _narrator(table, eye, game)
    viewer = eye if isinstance(eye, int) else None
    shown: Sequence[Entry] = table.entries
    if eye != ALL:
        shown = [without_reason(entry, viewer) for entry in readable(table.session, table.entries, viewer)]
    outcome = table.session.outcome
    return [narrator.tell(entry, visible, outcome) for entry, visible in zip(table.entries, shown, strict=False)]


def _seated(game: str = "relief", seats: int = 2, **changes: Any) -> ScriptedSession:
    table = ScriptedSession(game, seats, **changes)
    table.seat_all()
    return table


# ------------------------------------------------------------------------------------------------- one entry, one sentence
def test_every_action_is_told_with_its_notation_its_seat_and_its_time() -> None:
    table = _seated("sf1906-2e")
    seat = table.open[0]
    table.answer(seat, after=250, note="I know what I do")
    entry = table.last(Acted)
    told = _told(table)[table.entries.index(entry)]
    assert (told.revision, told.kind, told.seat) == (table.entries.index(entry) + 1, "act", seat)
    assert (told.notation, told.think_ms, told.note) == (entry.action, 250, "I know what I do")
    assert told.sentence.startswith(f"{NAMES[seat]} ")
    assert "{" not in told.sentence


def test_a_seat_that_connects_is_told() -> None:
    assert [told.sentence for told in _told(_seated())] == ["Ada takes seat 0", "Ben takes seat 1"]


def test_a_refused_answer_is_told_with_its_reason_to_its_seat_only() -> None:
    """The reason may depend on cards that only the seat has; all may know it when the seeds are revealed."""
    table = _seated("sf1906-2e")
    seat = table.open[0]
    reason = table.answer_wrongly(seat, "no such action")
    said = f"{NAMES[seat]} gives an answer that is refused"
    for eye, sentence in ((seat, f"{said}: {reason}"), (1 - seat, said), (None, said), (ALL, f"{said}: {reason}")):
        told = _told(table, eye)[-1]
        assert (told.kind, told.notation, told.events, told.parts) == ("refused", "", (), ())
        assert told.sentence == sentence
        assert "no such action" not in repr(told)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault.TIMEOUT, "ran out of time"),
        (Fault.DISCONNECTED, "was disconnected"),
        (Fault.REFUSED_ACTIONS, "the rules refuse"),
        (Fault.RESIGNED, "resigned"),
        (Fault.NO_SHOW, "did not come"),
        (Fault.MATCH_LIMIT, "the match had lasted too long"),
    ],
)
def test_a_fault_is_told_in_words(fault: Fault, said: str) -> None:
    told = _narrator(_seated()).tell(entry := Forfeited(START, 1, 3, fault, "Redis was away"), entry)
    assert (told.kind, told.seat, told.note) == ("fault", 1, "Redis was away")
    assert told.sentence.startswith("Ben ")
    assert said in told.sentence
    assert fault not in told.sentence, "a word of the program, not of a person"


def test_every_fault_has_its_words() -> None:
    for fault in Fault:
        if fault:
            sentence = _narrator(_seated()).tell(entry := Forfeited(START, 0, 1, fault), entry).sentence
            assert fault.value not in sentence


def test_the_automaton_is_told_as_such_and_the_board_follows_it() -> None:
    table = _seated("sf1906-2e", 3)
    table.resign(table.open[0])
    table.finish()
    by_automaton = [told for told in _told(table) if told.kind == "house"]
    assert by_automaton
    assert [told.notation for told in by_automaton] == [
        entry.action for entry in table.entries if isinstance(entry, AutomatonActed)
    ]
    assert all(told.think_ms == 0 and not told.note for told in by_automaton)


@pytest.mark.parametrize(
    ("status", "sentence"), [(Status.FINISHED, "The game is over"), (Status.CANCELLED, "The game was cancelled")]
)
def test_the_end_has_no_seat(status: Status, sentence: str) -> None:
    told = _narrator(_seated()).tell(entry := Ended(START, status, "why"), entry)
    assert (told.kind, told.seat, told.sentence, told.note) == ("end", None, sentence, "why")


def _end(table: ScriptedSession, eye: Eye = None) -> tuple[str, tuple[str, ...]]:
    """What the line of the end says."""
    [told] = [told for told in _told(table, eye) if told.kind == "end"]
    return told.sentence, told.events


def _with_sheet(table: ScriptedSession, *rows: tuple[int, int], house: tuple[int, int] | None = None) -> None:
    """Give an ended session another official outcome: rank and score of each seat, and of a player without a seat."""
    results = [Result(f"seat {seat}", *row, (Line("all", row[1]),)) for seat, row in enumerate(rows)]
    others = () if house is None else (Result("Committee of Fifty", *house, (Line("all", house[1]),)),)
    table.session.outcome = Outcome(tuple(results), "LAST", others)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (((2, 29), (1, 46)), "Ben wins with 46 points, and Ada has 29"),
        (((1, 46), (2, 46)), "Ada wins on the tie-break with 46 points, and Ben has 46"),
        (((1, 46), (1, 46)), "Ada and Ben share the win with 46 points"),
        (((3, 9), (1, 46), (1, 46)), "Ben and Eve share the win with 46 points, and Ada has 9"),
    ],
)
def test_the_end_tells_who_has_won(rows: tuple[tuple[int, int], ...], expected: str) -> None:
    table = ScriptedSession("cellar" if len(rows) == 2 else "relief", len(rows)).finish()
    _with_sheet(table, *rows)
    assert _end(table) == ("The game is over", (expected,))


@pytest.mark.parametrize(
    ("own", "house", "expected"),
    [
        ((1, 30), (2, 20), "Ada wins with 30 points, and the Committee of Fifty has 20"),
        ((2, 20), (1, 30), "The Committee of Fifty wins with 30 points, and Ada has 20"),
        ((2, 30), (1, 30), "The Committee of Fifty wins on the tie-break with 30 points, and Ada has 30"),
        ((1, 30), (1, 30), "Ada and the Committee of Fifty share the win with 30 points"),
    ],
)
def test_a_player_without_a_seat_wins_and_loses_like_others(
    own: tuple[int, int], house: tuple[int, int], expected: str
) -> None:
    table = ScriptedSession("sf1906-2e", 1).finish()
    _with_sheet(table, own, house=house)
    assert _end(table) == ("The game is over", (expected,))


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_the_end_tells_the_official_outcome_to_every_eye(game: str, seats: int) -> None:
    table = ScriptedSession(game, seats, 3).finish()
    outcome = table.session.outcome
    assert outcome is not None
    for eye in (None, ALL, *range(seats)):
        _, (result,) = _end(table, eye)
        for seat, score in enumerate(outcome.scores):
            assert NAMES[seat] in result and str(score) in result


@pytest.mark.parametrize("table", [table for table in TABLES if table[1] > 2])
def test_forfeited_seats_are_told_as_such_with_their_official_ranks(table: tuple[str, int]) -> None:
    """The earliest fault is ranked last. The seats that still play are told as if the others were not there."""
    game, seats = table
    played = ScriptedSession(game, seats)
    played.seat_all()
    forfeited = list(range(seats))[-1:1:-1]
    for seat in forfeited:
        played.resign(seat)
    played.finish()
    outcome = played.session.outcome
    assert outcome is not None
    scores = [words.counted(score, "point") for score in outcome.scores]
    sentence, (won, *others) = _end(played)
    assert sentence == "The game is over"
    assert " wins " in won or " share the win " in won
    assert not any(NAMES[seat] in won for seat in forfeited)
    assert others == [
        f"{NAMES[seat]} is ranked {words.ordinal(rank)} with {scores[seat]}, because the seat was forfeited"
        for rank, seat in enumerate(forfeited[::-1], 3)
    ]


def test_the_last_seat_that_plays_wins_without_points() -> None:
    table = _seated("sf1906-2e", 3)
    table.resign(1)
    table.resign(0)
    assert _end(table) == (
        "The game is over",
        (
            "Eve wins, because no other seat still plays",
            "Ada is ranked 2nd, because the seat was forfeited",
            "Ben is ranked 3rd, because the seat was forfeited",
        ),
    )


def test_a_solo_player_that_resigns_loses() -> None:
    table = _seated("sf1906-2e", 1)
    table.resign(0)
    assert _end(table) == ("The game is over", ("Ada loses the game, because the seat was forfeited",))


def test_ranks_that_the_operator_gives_are_told_without_points() -> None:
    """They are the result also of a seat that was forfeited."""
    table = _seated("sf1906-2e", 3)
    table.resign(1)
    table.adjudicate(3, 1, 2)
    assert _end(table) == ("The operator has ended the game", ("Ben wins, and Eve is 2nd and Ada is 3rd",))


def test_a_game_that_the_automaton_ends_for_the_operator_is_told_with_points() -> None:
    table = _seated("sf1906-2e", 3)
    table.resign(1)
    table.adjudicate()
    sentence, (won, forfeited) = _end(table)
    assert sentence == "The operator has ended the game"
    assert " wins with " in won and "Ben" not in won
    assert forfeited.startswith("Ben is ranked 3rd with ")


def test_a_cancelled_game_has_no_winner() -> None:
    table = _seated("sf1906-2e", 3)
    table.resign(1)
    table.wrote(table.session.cancel("the power is off", table.now))
    assert _end(table) == ("The game was cancelled", ())


def test_the_seeds_are_told_last() -> None:
    table = ScriptedSession("relief").finish()
    end, seeds = _told(table)[-2:]
    assert (end.kind, end.sentence) == ("end", "The game is over")
    assert (seeds.kind, seeds.seat, seeds.sentence) == ("reveal", None, "The seeds are published")


def test_a_reason_from_a_strange_file_stays_on_one_line() -> None:
    entry = AnswerRefused(START, 0, 1, "A\nB\u202e" + "x" * 10_000)
    sentence = _narrator(_seated()).tell(entry, entry).sentence
    assert sentence.isprintable()
    assert len(sentence) < 200


# -------------------------------------------------------------------------------------------------------- what an eye may know
def test_what_a_game_keeps_secret_is_told_without_its_action_until_the_seeds_are_revealed() -> None:
    table = ScriptedSession("cellar", 2, hold_seeds=True)
    for seat in (0, 1):
        table.answer(seat, 0, note="in confidence")
    table.finish()
    for eye, hidden in ((None, [0, 1]), (0, [1]), (1, [0])):
        buried = _told(table, eye)[:2]
        assert [told.seat for told in buried if told.notation == HIDDEN] == hidden
        for told in buried:
            if told.notation == HIDDEN:
                assert told.sentence == f"{NAMES[told.seat or 0]} acts in secret"
                assert (told.events, told.parts, told.note) == ((), (), "")
    assert all(told.notation for told in _told(table, ALL)[:2])
    table.wrote(table.session.reveal(table.now))
    assert all(told.notation and told.note for told in _told(table)[:2])


def test_secret_choices_are_not_told_before_all_have_chosen() -> None:
    table = _seated("relief", 3)
    table.answer()
    while not table.actions[-1].secret:
        table.answer()
    assert len(_told(table)) < len(table.entries)
    table.play_until(lambda session: not session.game.is_secret(session.state))
    assert len(_told(table)) == len(table.entries)


@pytest.mark.parametrize(("game", "seats"), TABLES)
@pytest.mark.parametrize("number", [1, 2])
def test_every_game_can_be_told_to_its_end_through_every_eye(game: str, seats: int, number: int) -> None:
    table = ScriptedSession(game, seats, number).finish()
    for eye in (None, ALL, *range(seats)):
        lines = _told(table, eye)
        assert [told.revision for told in lines] == list(range(1, len(table.entries) + 1))
        for told in lines:
            for sentence in (told.sentence, *told.events):
                assert sentence == sentence.strip() and sentence.isprintable() and "{" not in sentence, sentence
            if told.kind == "act":
                assert told.sentence.startswith(NAMES[told.seat or 0])
            assert len(told.points) in (0, seats)


# --------------------------------------------------------------------------------------------------------------------- games
def test_a_game_without_sentences_is_told_by_its_notation() -> None:
    table = ScriptedSession("cellar")
    assert [choice_sentence(CELLAR, {}, 0, CELLAR.read("lay 7"), NAMES)] == ["Play lay 7"]
    table.finish()
    assert "plays lay" in _told(table)[-3].sentence


@pytest.mark.parametrize("name", ["{0}", "{move}", "{1} {be}", "\\1", "%s", "{}"])
def test_a_name_is_never_read_as_a_template(name: str) -> None:
    game = replace(
        games.get("cellar"),
        say=lambda view, seat, action: "{give} a card to {1}",
        tell=lambda before, after, seat, action: ["{0} {be} glad"],
    )
    table = ScriptedSession("cellar").finish()
    header = table.session.header
    narrator = Narrator(game, game.new(2, header.options, header.seeds), ALL, [name, name])
    told = narrator.tell(table.entries[0], table.entries[0])
    assert told.sentence == f"{name} gives a card to {name}"
    assert told.events == (f"{name} is glad",)


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_a_view_does_not_change_with_the_state_it_was_made_from(game: str, seats: int) -> None:
    """A board is drawn beside the event loop while the session goes on, and sentences compare a view with the next one."""
    table = _seated(game, seats)
    state, rules = table.session.state, table.session.game
    kept = [(rules.view(state, 0), repr(rules.view(state, 0)))]
    while not table.is_over:
        table.answer()
        view = rules.view(state, 0)
        kept.append((view, repr(view)))
    assert all(repr(view) == text for view, text in kept)


# --------------------------------------------------------------------------------------------------------------------- names
def test_a_seat_without_a_known_bot_is_called_by_its_number() -> None:
    assert names_of(["ada", "", " ", "\n"]) == ["ada", "Seat 1", "Seat 2", "Seat 3"]


@given(st.text(max_size=200))
def test_every_seat_has_a_name_in_one_line(name: str) -> None:
    [shown] = names_of([name])
    assert shown.strip() and shown.isprintable()
