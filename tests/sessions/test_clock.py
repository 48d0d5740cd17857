"""The clock of a seat as a value."""

from hypothesis import given
from hypothesis import strategies as st

from service.sessions.clock import LAG_MS, Clock, TimeControl

CONTROL = TimeControl(move_ms=1_000, bank_ms=5_000, increment_ms=30, seating_ms=20_000)
FRESH = Clock(CONTROL, CONTROL.bank_ms)
_times = st.integers(0, 10_000)


def test_until_a_seat_connects_only_the_seating_time_runs() -> None:
    asked = FRESH.ask(100)
    assert asked.deadline_ms == 100 + CONTROL.seating_ms + LAG_MS
    assert (asked.left(9_000), asked.used(9_000)) == ((CONTROL.move_ms, CONTROL.bank_ms), 0)
    seated = asked.take_seat(9_000)
    assert seated.deadline_ms == 9_000 + CONTROL.move_ms + CONTROL.bank_ms + LAG_MS
    assert FRESH.take_seat(9_000).deadline_ms == 0, "nothing is asked"


def test_time_beyond_the_time_per_move_is_taken_from_the_bank() -> None:
    asked = FRESH.take_seat(1).ask(100)
    assert asked.left(100 + 1_400) == (0, CONTROL.bank_ms - 400)
    answered = asked.spend(1_400)
    assert (answered.bank_ms, answered.asked_ms, answered.used_ms) == (CONTROL.bank_ms - 400 + 30, 0, 1_400)
    assert asked.spend(99).bank_ms == CONTROL.bank_ms + 30


def test_an_answer_is_late_after_bank_lag_and_lost_time() -> None:
    asked = FRESH.take_seat(1).ask(100)
    end = 100 + CONTROL.move_ms + CONTROL.bank_ms + LAG_MS
    assert [asked.is_late(end), asked.is_late(end + 1), asked.is_late(end + 1, 1), asked.is_late(end + 2, 1)] == [
        False,
        True,
        False,
        True,
    ]
    assert [asked.is_past(100 + CONTROL.move_ms), asked.is_past(101 + CONTROL.move_ms)] == [False, True]


@given(_times, _times, _times)
def test_the_bank_pays_once_and_never_more_than_it_has(asked_ms: int, used: int, later: int) -> None:
    asked = FRESH.take_seat(1).ask(1 + asked_ms)
    move, bank = asked.left(1 + asked_ms + used)
    assert move + bank == max(0, CONTROL.move_ms + CONTROL.bank_ms - used)
    assert asked.spend(used).bank_ms == bank + CONTROL.increment_ms
    assert asked.used(1 + asked_ms + used) == used
    assert asked.stop().used(later) == 0
