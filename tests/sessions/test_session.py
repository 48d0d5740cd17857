"""The life of a session: questions, answers, clocks, faults, the end."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from service.games import all_games
from service.sessions.clock import LAG_MS, TimeControl
from service.sessions.entries import (
    ACTIONS,
    Acted,
    AnswerRefused,
    AutomatonActed,
    Ended,
    Entry,
    Fault,
    Forfeited,
    Revealed,
    Seated,
    Status,
)
from service.sessions.errors import (
    ActionRefused,
    BadRequest,
    NotYourTurn,
    SeatForfeited,
    SessionEnded,
    SessionError,
    SessionRunning,
    StaleTurn,
    UnreadableSession,
)
from service.sessions.session import ACTIVE, NOTE_LIMIT, Accepted, Late, Refused, Session, Stale, new_session
from service.sessions.stored import decode_entry, decode_header, decode_session, encode, encode_session
from tests.sessions.scripted_sessions import CONTROL, START, ScriptedSession, header_of

WHOLE_BANK = CONTROL.move_ms + CONTROL.bank_ms + LAG_MS


def is_together(session: Session) -> bool:
    """All seats of the session have an open question."""
    return len(session.open_seats()) == session.header.seats


def together(seats: int = 3, number: int = 1) -> ScriptedSession:
    """A session of relief in which all seats have been asked at once, for the leader."""
    table = ScriptedSession("relief", seats, number)
    table.seat_all()
    table.play_until(is_together)
    return table


def ordinary(game: str = "sf1906-2e", seats: int = 2, **changes: Any) -> ScriptedSession:
    """A session in which one seat at a time is asked, with all seats connected."""
    table = ScriptedSession(game, seats, **changes)
    table.seat_all()
    return table


# ----------------------------------------------------------------------------------------------------- turns and repeats
@pytest.mark.parametrize("game", list(all_games()))
def test_a_game_is_played_to_its_end(game: str) -> None:
    table = ScriptedSession(game, 2).finish()

    assert table.session.status == Status.FINISHED
    assert table.ended_well()
    assert table.session.outcome == table.session.game.outcome(table.session.state)
    assert table.session.revealed


def test_the_first_question_is_asked_when_the_session_is_created() -> None:
    table = ScriptedSession("sf1906-2e", 3)

    assert len(table.open) == 1
    assert table.turn(table.open[0]) == 1
    assert table.session.revision == 0


def _stale(table: ScriptedSession, seat: int, turn: int, choice: int | str) -> SessionError:
    """Why an answer has no open question; nothing is written then."""
    reply, entries = table.session.answer(seat, turn, choice, "", table.now)
    assert isinstance(reply, Stale)
    assert entries == []
    return reply.error


def test_a_question_is_answered_by_index_or_by_text() -> None:
    by_index, by_text = ordinary(), ordinary()
    seat = by_index.open[0]
    text = by_text.session.legal_texts(seat)[1]

    assert by_index.answer(seat, 1).text == by_text.answer(seat, f"  {text} ").text == text
    assert by_index.entries == by_text.entries


def test_a_repeat_gets_the_first_reply() -> None:
    table = ordinary()
    seat = table.open[0]
    while seat in table.open:
        turn, first = table.turn(seat), table.answer(seat, 0)
    table.play(1)
    revision = table.session.revision

    for choice in (0, first.text, f" {first.text}"):
        again = table.session.answer(seat, turn, choice, "", table.now)
        assert again == (Accepted(first.revision, first.text, repeated=True), [])
    assert table.session.revision == revision


@pytest.mark.parametrize("other", [1, "no such words"])
def test_another_answer_to_an_answered_turn_is_stale_and_its_error_names_the_accepted_one(other: int | str) -> None:
    table = ordinary()
    seat = table.open[0]
    first = table.answer(seat, 0)

    stale = _stale(table, seat, 1, other)
    assert isinstance(stale, StaleTurn)
    assert stale.facts["stands"] == first.text
    assert stale.facts["revision"] == str(first.revision)


def test_the_answer_that_ended_the_game_may_be_repeated_too() -> None:
    """Its reply is the one most easily lost, because the stream ends after it."""
    table = ordinary().finish()
    last = table.last(Acted)

    again, entries = table.session.answer(last.seat, last.turn, last.action, "", table.now + 1)
    assert isinstance(again, Accepted)
    assert again.repeated
    assert again.text == last.action
    assert table.entries[again.revision - 1] == last
    assert entries == []


def test_a_seat_forfeited_later_still_gets_its_first_reply() -> None:
    table = ordinary(seats=3)
    seat = table.open[0]
    first = table.answer(seat, 0)
    table.resign(seat)

    assert table.session.answer(seat, 1, 0, "", table.now)[0] == Accepted(first.revision, first.text, True)
    assert isinstance(_stale(table, seat, 2, 0), SeatForfeited)


@pytest.mark.parametrize("turn", [0, 2, 99])
def test_a_wrong_turn_is_stale(turn: int) -> None:
    table = ordinary()

    stale = _stale(table, table.open[0], turn, 0)
    assert isinstance(stale, StaleTurn)
    assert stale.facts["expected"] == "1"


def test_an_answer_of_a_seat_without_a_question_is_refused() -> None:
    table = ordinary()
    other = 1 - table.open[0]

    assert isinstance(_stale(table, other, 1, 0), NotYourTurn)


@pytest.mark.parametrize("seat", [-1, 2])
def test_a_seat_that_does_not_exist_is_refused(seat: int) -> None:
    table = ordinary()

    with pytest.raises(BadRequest):
        table.session.answer(seat, 1, 0, "", table.now)
    with pytest.raises(BadRequest):
        table.session.resign(seat, table.now)


def test_nothing_has_changed_after_a_wrong_answer() -> None:
    table = ordinary()
    before = encode_session(table.session)
    seat = table.open[0]

    assert isinstance(_stale(table, seat, 7, 0), StaleTurn)
    with pytest.raises(BadRequest):
        table.session.answer(seat, 1, 0, "x" * (NOTE_LIMIT + 1), table.now)
    assert encode_session(table.session) == before


@pytest.mark.parametrize("choice", [-1, 999, "sing"])
def test_a_refused_answer_changes_only_the_count_of_refusals(choice: int | str) -> None:
    table = ordinary()
    seat = table.open[0]
    before = table.session.game.to_plain(table.session.state)

    reply, entries = table.session.answer(seat, 1, choice, "", table.now)
    assert isinstance(reply, Refused)
    assert [type(entry) for entry in entries] == [AnswerRefused]
    assert (table.session.game.to_plain(table.session.state), table.open, table.session.seats[seat].refusals) == (
        before,
        [seat],
        1,
    )


def test_an_answer_received_after_the_clock_ran_out_is_late_and_changes_nothing() -> None:
    table = ordinary()
    seat = table.open[0]
    before = encode_session(table.session)
    deadline = table.session.seats[seat].clock.deadline_ms

    reply, entries = table.session.answer(seat, 1, 0, "", deadline + 500, heard_ms=deadline + 1)
    assert (type(reply), entries, encode_session(table.session)) == (Late, [], before)
    excused, _ = table.session.answer(seat, 1, 0, "", deadline + 500, heard_ms=deadline + 1, lost_ms=lambda *_: 1)
    assert isinstance(excused, Accepted)


def test_every_question_has_the_mark_of_the_save_that_asked_it() -> None:
    table = ordinary()
    seat = table.open[0]
    table.session.stamp("first")
    table.session.stamp("another seat was told something")
    assert table.session.seats[seat].question == "first"
    table.answer(seat)
    assert table.session.seats[seat].question == ""
    table.play_until(lambda session: seat in session.open_seats())
    table.session.stamp("second")
    assert table.session.seats[seat].question == "second"


def test_a_note_is_kept_up_to_its_limit() -> None:
    table = ordinary()
    table.answer(note="é" * NOTE_LIMIT)

    assert table.last(Acted).note == "é" * NOTE_LIMIT


def test_nothing_can_be_done_after_the_end() -> None:
    table = ordinary().finish()

    for seat in range(2):
        assert isinstance(_stale(table, seat, table.turn(seat) + 1, 0), SessionEnded)
        with pytest.raises(SessionEnded):
            table.session.resign(seat, table.now)
    with pytest.raises(SessionEnded):
        table.session.cancel("", table.now)
    with pytest.raises(SessionEnded):
        table.session.adjudicate([], table.now)
    assert table.session.take_seat(0, table.now) == []
    assert table.session.expire(table.now + 10**9, lambda _: True) == []


# --------------------------------------------------------------------------------------------------- speaking in secret
def test_several_seats_answer_in_any_order() -> None:
    table = together()
    turns = [table.turn(seat) for seat in range(3)]

    for seat in (2, 0):
        while seat in table.open:
            table.answer(seat)
            assert table.actions[-1].secret
    assert table.open == [1]
    assert table.turn(1) == turns[1]
    while table.session.game.is_secret(table.session.state):
        table.answer(1)
    assert {entry.seat for entry in table.actions if entry.secret} == {0, 1, 2}


def test_the_answer_of_one_seat_does_not_make_that_of_another_stale() -> None:
    table = together()
    turn = table.turn(0)
    table.answer(1)
    table.answer(2)

    accepted, _ = table.session.answer(0, turn, 0, "", table.now)
    assert isinstance(accepted, Accepted)
    assert not accepted.repeated


def test_a_repeat_in_secret_gets_the_first_reply() -> None:
    table = together()
    turn, first = table.turn(1), table.answer(1, 0)

    assert table.session.answer(1, turn, 0, "", table.now)[0] == Accepted(first.revision, first.text, True)
    assert isinstance(_stale(table, 1, turn, 1), StaleTurn)


def test_the_automaton_acts_secretly_for_a_forfeited_seat() -> None:
    table = together()
    table.resign(1)

    said = table.entries[table.kinds.index(Forfeited) + 1 :]
    assert said
    assert all(isinstance(entry, AutomatonActed) and (entry.seat, entry.secret) == (1, True) for entry in said)
    assert table.open == [0, 2]


# --------------------------------------------------------------------------------------------------------------- clocks
def test_a_seat_that_has_not_connected_has_the_seating_time() -> None:
    table = ScriptedSession("sf1906-2e", 2)
    seat = table.open[0]

    assert table.session.seats[seat].clock.deadline_ms == START + CONTROL.seating_ms + LAG_MS
    assert table.session.next_deadline_ms() == table.session.seats[seat].clock.deadline_ms
    assert table.session.seats[1 - seat].clock.deadline_ms == 0


def test_the_clock_starts_when_the_seat_connects() -> None:
    table = ScriptedSession("sf1906-2e", 2)
    seat = table.open[0]
    table.now += 15_000
    table.seat_all()

    assert table.kinds == [Seated, Seated]
    assert table.session.seats[seat].clock.deadline_ms == START + 15_000 + WHOLE_BANK
    assert table.session.seats[seat].clock.left(table.now + 400) == (600, 5_000)
    assert table.session.take_seat(seat, table.now + 1) == []


def test_a_seat_that_answers_counts_as_connected() -> None:
    table = ScriptedSession("sf1906-2e", 2)
    seat = table.open[0]
    table.answer(seat, after=19_000)

    assert table.session.seats[seat].clock.is_seated
    assert table.session.seats[seat].clock.bank_ms == CONTROL.bank_ms
    assert table.session.take_seat(seat, table.now) == []


def test_a_move_in_time_costs_nothing() -> None:
    table = ordinary()
    seat = table.open[0]
    table.answer(after=1_000)

    assert table.session.seats[seat].clock.bank_ms == CONTROL.bank_ms
    assert table.last(Acted).think_ms == 1_000


def test_a_late_move_is_paid_from_the_bank() -> None:
    table = ordinary()
    seat = table.open[0]
    assert table.session.seats[seat].clock.left(table.now + 3_500) == (0, 2_500)
    table.answer(after=3_500)

    assert table.session.seats[seat].clock.bank_ms == 2_500


def test_the_bank_is_never_overdrawn_and_the_increment_comes_after() -> None:
    control = TimeControl(move_ms=1_000, bank_ms=100, increment_ms=30, seating_ms=1)
    table = ordinary(time_control=control)
    seat = table.open[0]
    table.answer(after=1_000 + 100 + LAG_MS)

    assert table.session.seats[seat].clock.bank_ms == 30


def test_the_measured_thinking_time_counts() -> None:
    table = ordinary()
    seat = table.open[0]
    _, entries = table.session.answer(seat, 1, 0, "", START + 5_000, think_ms=1_200)

    assert isinstance(entries[0], Acted)
    assert entries[0].think_ms == 1_200
    assert table.session.seats[seat].clock.bank_ms == CONTROL.bank_ms - 200


def test_the_clock_runs_out_after_the_lag_and_not_before() -> None:
    table = ordinary(seats=3)
    seat = table.open[0]

    assert table.expire(WHOLE_BANK, seat) == []
    assert isinstance(table.expire(1, seat)[0], Forfeited)
    assert table.fault(seat) == Fault.TIMEOUT


@pytest.mark.parametrize(("is_there", "fault"), [(True, Fault.TIMEOUT), (False, Fault.DISCONNECTED)])
def test_the_fault_of_an_empty_bank_depends_on_the_connection(is_there: bool, fault: Fault) -> None:
    table = ordinary(seats=3)
    seat = table.open[0]
    table.expire(WHOLE_BANK + 1, *([seat] if is_there else []))

    assert table.fault(seat) == fault


def test_a_seat_that_never_connected_is_a_no_show() -> None:
    table = ScriptedSession("sf1906-2e", 3)
    seat = table.open[0]

    assert table.expire(CONTROL.seating_ms + LAG_MS) == []
    table.expire(1)
    assert table.fault(seat) == Fault.NO_SHOW
    assert table.entries[0] == Forfeited(table.now, seat, 1, Fault.NO_SHOW)


def test_only_a_seat_that_was_asked_can_be_late() -> None:
    table = ordinary(seats=3)
    seat = table.open[0]
    table.expire(10**6)

    assert [table.fault(other) for other in range(3) if other != seat] == [Fault.NONE, Fault.NONE]
    assert table.expire(WHOLE_BANK) == []  # the next seat has just been asked


def test_clocks_fault_in_the_order_in_which_they_ran_out() -> None:
    """The earlier fault ranks lower, whatever the seat numbers are."""
    table = together(2)
    first = table.session.seats[0]
    first.clock = msgspec.structs.replace(first.clock, bank_ms=first.clock.bank_ms + 500)
    table.expire(10**6, 0, 1)

    assert table.last(Forfeited).seat == 1
    assert table.ranks == (1, 2)


def test_two_of_three_seats_that_are_late_together_end_the_game() -> None:
    table = together(3)
    table.answer(1)
    table.expire(10**6, 0)

    assert [table.fault(seat) for seat in range(3)] == [Fault.TIMEOUT, Fault.NONE, Fault.DISCONNECTED]
    assert table.ranks == (3, 1, 2)
    assert table.ended_well()


# --------------------------------------------------------------------------------------------------------------- faults
def test_the_third_refusal_forfeits_the_seat() -> None:
    table = ordinary(seats=3)
    seat = table.open[0]

    assert table.answer_wrongly(seat) == "NO_SUCH_INDEX"
    assert table.answer_wrongly(seat, "sing") == "UNREADABLE"
    assert table.session.seats[seat].refusals == 2
    assert table.open == [seat]
    table.answer_wrongly(seat)
    assert table.kinds[3:7] == [AnswerRefused, AnswerRefused, AnswerRefused, Forfeited]
    assert table.fault(seat) == Fault.REFUSED_ACTIONS


def test_refusals_are_counted_over_the_whole_game() -> None:
    table = ordinary(seats=3)
    seat = table.open[0]
    table.answer_wrongly(seat)
    table.answer(seat)
    table.play_until(lambda session: seat in session.open_seats())
    table.answer_wrongly(seat)
    table.answer_wrongly(seat)

    assert table.fault(seat) == Fault.REFUSED_ACTIONS


def test_an_action_of_the_game_that_is_not_allowed_now_is_refused_with_its_rule() -> None:
    table = ordinary()
    seat = table.open[0]
    legal = set(table.session.legal_texts(seat))
    other = ordinary(number=2)
    said: list[str] = []
    while not other.is_over:
        said += other.session.legal_texts(other.open[0])
        other.answer()
    wrong = next(text for text in said if text not in legal)

    refused, _ = table.session.answer(seat, 1, wrong, "", table.now)
    assert isinstance(refused, Refused)
    assert refused.error.readable
    assert refused.error.facts["rule"]


def test_a_refusal_of_a_closed_question_is_not_counted() -> None:
    table = ordinary()
    seat = table.open[0]
    refused = ActionRefused("NO", "", "no", readable=True)
    table.answer(seat)

    assert table.session.refuse(seat, 1, refused, table.now) == []
    assert table.session.seats[seat].refusals == 0


def test_a_seat_may_resign_out_of_turn() -> None:
    table = ordinary(seats=3)
    idle = next(seat for seat in range(3) if seat not in table.open)
    asked = table.open
    table.resign(idle)

    assert table.fault(idle) == Fault.RESIGNED
    assert table.kinds[-1] is Forfeited
    assert table.open == asked
    with pytest.raises(SeatForfeited):
        table.session.resign(idle, table.now)


@pytest.mark.parametrize(("game", "seats"), [("relief", 3), ("sf1906-1e", 3), ("sf1906-2e", 4)])
def test_the_automaton_plays_a_forfeited_seat_to_the_end(game: str, seats: int) -> None:
    table = ordinary(game, seats)
    table.play(5)
    table.resign(1)
    table.finish()

    later = table.entries[table.kinds.index(Forfeited) :]
    assert {isinstance(entry, AutomatonActed) for entry in later if isinstance(entry, ACTIONS) and entry.seat == 1} == {
        True
    }
    assert {entry.seat for entry in later if isinstance(entry, AutomatonActed)} == {1}
    assert table.ranks[1] == seats
    played = table.session.game.outcome(table.session.state)
    assert played is not None
    assert table.session.outcome is not None
    assert table.session.outcome.scores == played.scores
    others = [seat for seat in range(seats) if seat != 1]
    assert sorted(others, key=lambda seat: played.ranks[seat]) == sorted(others, key=lambda seat: table.ranks[seat])
    assert min(table.ranks) == 1


def test_the_automaton_repeats_its_choices() -> None:
    """Its random numbers are keyed by the deck seed and the revision."""

    def played() -> list[Entry]:
        table = ordinary("relief", 3)
        table.play(7)
        table.resign(2)
        return table.finish().entries

    assert played() == played()


@pytest.mark.parametrize("seats", [3, 4])
def test_the_game_ends_at_once_when_one_seat_is_left(seats: int) -> None:
    table = ordinary("sf1906-2e", seats)
    table.play(3)
    order = list(range(1, seats))
    for seat in order[:-1]:
        table.resign(seat)
        assert not table.is_over
    table.resign(order[-1])

    assert table.is_over
    assert table.ending == "FORFEIT"
    assert table.ranks == (1, *range(seats, 1, -1))  # an earlier fault ranks lower
    assert table.ended_well()


def test_a_game_of_two_ends_with_the_first_fault() -> None:
    table = ordinary()
    table.resign(0)

    assert table.kinds[-3:] == [Forfeited, Ended, Revealed]
    assert AutomatonActed not in table.kinds
    assert table.ranks == (2, 1)
    assert table.session.outcome is not None
    assert table.session.outcome.scores == (0, 0)


def test_a_solo_game_ends_with_its_player() -> None:
    table = ScriptedSession("sf1906-2e", 1)
    table.play(2)
    table.resign(0)

    assert table.ending == "FORFEIT"
    assert table.ended_well()


def test_forfeited_seats_rank_below_the_others_and_earlier_faults_lower() -> None:
    table = ordinary("sf1906-2e", 4)
    table.play(2)
    table.resign(3)
    table.play(2)
    table.resign(0)
    table.finish()

    assert (table.ranks[3], table.ranks[0]) == (4, 3)
    assert sorted((table.ranks[1], table.ranks[2])) in ([1, 1], [1, 2])


# -------------------------------------------------------------------------------------------------------------- the end
def test_adjudicated_with_ranks() -> None:
    table = ordinary(seats=3)
    table.play(2)
    table.adjudicate(2, 1, 2)

    assert (table.ranks, table.ending) == ((2, 1, 2), "ADJUDICATED")
    assert AutomatonActed not in table.kinds
    assert table.ended_well()


@pytest.mark.parametrize("ranks", [[1], [1, 2, 3, 4], [0, 1, 2], [1, 1, 2], [2, 2, 3], [1, 3, 3]])
def test_ranks_must_be_ranks(ranks: list[int]) -> None:
    table = ordinary(seats=3)

    with pytest.raises(BadRequest):
        table.session.adjudicate(ranks, table.now)
    assert table.session.status == ACTIVE


def test_adjudicated_without_ranks_the_automaton_plays_every_seat_to_the_end() -> None:
    table = together(3)
    table.answer(0)
    table.adjudicate()

    assert table.ending == "ADJUDICATED"
    assert set(table.kinds[-10:-2]) == {AutomatonActed}
    played = table.session.game.outcome(table.session.state)
    assert played is not None
    assert table.ranks == played.ranks
    assert table.ended_well()


def test_adjudication_keeps_the_faults() -> None:
    table = ordinary("relief", 3)
    table.resign(0)
    table.adjudicate()

    assert table.ranks[0] == 3


def test_a_cancelled_session_has_no_outcome() -> None:
    table = ordinary()
    table.wrote(table.session.cancel("the room is on fire", table.now))

    assert table.session.status == Status.CANCELLED
    assert table.session.outcome is None
    assert table.last(Ended).note == "the room is on fire"
    assert table.ended_well()


def test_seeds_are_not_revealed_while_the_game_runs() -> None:
    table = ordinary()

    with pytest.raises(SessionRunning):
        table.session.reveal(table.now)


def test_held_seeds_are_revealed_when_asked_for_and_once() -> None:
    table = ordinary(hold_seeds=True).finish()

    assert table.kinds[-1] is Ended
    assert not through_the_wire(table.session).revealed
    assert [type(entry) for entry in table.wrote(table.session.reveal(table.now))] == [Revealed]
    assert table.session.revealed
    assert table.session.reveal(table.now) == []


# ----------------------------------------------------------------------------------------------------------- plain data
def through_the_wire(session: Session) -> Session:
    """Header and live part as a store keeps them."""
    return decode_session(decode_header(encode(session.header)), encode_session(session))


@pytest.mark.parametrize(("game", "seats"), [("relief", 2), ("relief", 3), ("sf1906-1e", 2), ("sf1906-2e", 4)])
def test_a_session_continues_identically_from_its_stored_form(game: str, seats: int) -> None:
    kept, sent = ScriptedSession(game, seats), ScriptedSession(game, seats)
    for table in (kept, sent):
        table.seat_all()
    step = 0
    while not kept.is_over:
        if step == 6 and seats > 2:
            for table in (kept, sent):
                table.resign(1)
        sent.session = through_the_wire(sent.session)
        assert encode_session(sent.session) == encode_session(kept.session)
        for table in (kept, sent):
            table.answer(after=900 + step)
        step += 1
    assert sent.entries == kept.entries
    assert through_the_wire(sent.session).outcome == kept.session.outcome
    assert through_the_wire(sent.session).revealed


def test_a_header_survives_the_wire() -> None:
    header = header_of("relief", 3, options={"objectives": "own"}, bots=("a", "", "ü"), hold_seeds=True)

    assert decode_header(encode(header)) == header


def test_a_game_started_under_other_rules_is_not_continued() -> None:
    """It can still be read when it is over."""
    header = header_of()
    older = replace(header, version=header.version - 1)
    running, over = new_session(header, START), new_session(header, START)
    over.cancel("", START)
    with pytest.raises(UnreadableSession, match=f"begun by version {older.version} of relief"):
        decode_session(older, encode_session(running))
    assert decode_session(older, encode_session(over)).status == Status.CANCELLED


def test_a_header_of_an_older_version_is_read_correctly() -> None:
    """The first version wrote nothing after the time of creation; each later one added a field."""
    header = encode(header_of(hold_seeds=True, sealed=True, creation_id="b1", nameless=True))
    added = []
    for format_ in (1, 2):
        whole = [format_, *msgspec.msgpack.decode(header)[1:]]
        for length in (11, 12, 13, 14):
            found = decode_header(msgspec.msgpack.encode(whole[:length]))
            added.append((found.sealed, found.creation_id, found.nameless))
    assert added == [(False, "", False), (True, "", False), (True, "b1", False), (True, "b1", True)] * 2


def test_entries_survive_the_wire() -> None:
    table = together()
    table.answer(note="eine Brücke?")
    table.finish()

    for entry in table.entries:
        assert decode_entry(encode(entry)) == entry


def test_outcomes_survive_the_wire() -> None:
    solo = ScriptedSession("sf1906-2e", 1).finish().session

    assert solo.outcome is not None
    assert solo.outcome.house
    assert through_the_wire(solo).outcome == solo.outcome


def test_the_state_is_only_a_cache_of_the_actions() -> None:
    table = together()
    table.play(4)
    table.resign(2)
    table.finish()
    again = new_session(table.session.header, START)

    for entry in table.entries:
        if isinstance(entry, ACTIONS):
            again.game.apply(again.state, entry.seat, again.game.read(entry.action))
    assert again.game.to_plain(again.state) == table.session.game.to_plain(table.session.state)
