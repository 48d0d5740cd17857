"""Live sessions between callers and a store: replies, notifications and late answers."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from service.sessions.entries import Acted, Entry, Fault
from service.sessions.errors import BadRequest, SessionEnded, SessionError, StoreUnavailable, UnknownSession
from service.sessions.live_sessions import Answer, Change, LiveSessions
from service.sessions.session import Accepted, Late, Refused, Reply, Session, Stale
from service.sessions.store import MemoryStore, Recipients, Saved, Store
from tests.sessions.scripted_sessions import CONTROL, START, accepted, answer, header_of


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        return self.now


class Connected:
    """Every bot is connected to another copy, except those in ``away``."""

    def __init__(self, *away: str) -> None:
        self.away = set(away)

    def is_here(self, bot: str) -> bool:
        del bot
        return False

    async def is_connected(self, bot: str) -> bool:
        return bool(bot) and bot not in self.away


def _in_the_leader_phase(
    seats: int, scenario: Callable[[LiveSessions, Clock, str], Awaitable[None]], *, away: Sequence[str] = ()
) -> None:
    """Relief with all seats connected, in the phase in which all may act at once, each asked a second after the previous one."""

    async def tell() -> None:
        clock = Clock()
        live_sessions = LiveSessions(MemoryStore(), clock, presence=Connected(*away))
        session = await live_sessions.create(header_of("relief", seats))
        session_id = session.header.id
        for seat in range(seats):
            await live_sessions.take_seat(session_id, seat)
            clock.now += 1000
        session = await live_sessions.read(session_id)
        assert session.open_seats() == list(range(seats))
        await scenario(live_sessions, clock, session_id)

    asyncio.run(tell())


def _past(session: Session, seat: int) -> int:
    return session.seats[seat].clock.deadline_ms + 1


def test_a_seat_that_is_late_after_another_seat_has_won_and_gets_session_ended() -> None:
    """Both clocks have run out. The first fault ended the game, so the second seat was not forfeited."""

    async def scenario(live_sessions: LiveSessions, clock: Clock, session_id: str) -> None:
        session = await live_sessions.read(session_id)
        clock.now = _past(session, 1)
        reply = await answer(live_sessions, session_id, 1, session.seats[1].turn)
        assert isinstance(reply, Stale)
        assert isinstance(reply.error, SessionEnded)
        ended = await live_sessions.read(session_id)
        assert [seat.fault for seat in ended.seats] == [Fault.TIMEOUT, Fault.NONE]

    _in_the_leader_phase(2, scenario)


def test_a_late_answer_does_not_make_the_other_seats_count_as_connected() -> None:
    async def scenario(live_sessions: LiveSessions, clock: Clock, session_id: str) -> None:
        session = await live_sessions.read(session_id)
        clock.now = _past(session, 1)
        assert isinstance(await answer(live_sessions, session_id, 1, session.seats[1].turn), Stale)
        assert (await live_sessions.read(session_id)).seats[0].fault == Fault.DISCONNECTED

    _in_the_leader_phase(2, scenario, away=["bot-0"])


def test_a_clock_has_run_out_only_after_the_lag() -> None:
    async def scenario(live_sessions: LiveSessions, clock: Clock, session_id: str) -> None:
        session = await live_sessions.read(session_id)
        assert session.seats[0].clock.deadline_ms - session.seats[0].clock.asked_ms > CONTROL.move_ms + CONTROL.bank_ms
        clock.now = session.seats[0].clock.deadline_ms
        assert not (await accepted(live_sessions, session_id, 0, session.seats[0].turn)).repeated

    _in_the_leader_phase(2, scenario)


class SlowStore(MemoryStore):
    """A save stays pending until the test ends it; it may fail then."""

    def __init__(self, sessions: Store) -> None:
        super().__init__()
        self.__dict__ |= sessions.__dict__
        self.under_way: list[Callable[[], None]] = []
        self.failure: Exception | None = None

    def save(self, session: Session, entries: Sequence[Entry], recipients: Recipients, saved: Saved) -> None:
        if self.failure is not None:
            saved(self.failure)
        else:
            self.under_way.append(lambda: super(SlowStore, self).save(session, entries, recipients, saved))


def test_an_answer_that_came_in_time_is_not_late_because_it_waited() -> None:
    """The move of another seat is being saved, and the store is slow: that must not count against the bot."""

    async def scenario(live_sessions: LiveSessions, clock: Clock, session_id: str) -> None:
        store = live_sessions.store = SlowStore(live_sessions.store)
        session = await live_sessions.read(session_id)
        turns = [seat.turn for seat in session.seats]
        clock.now = heard = session.seats[0].clock.deadline_ms
        late = _past(session, 1) + 60_000
        await asyncio.sleep(0)
        replies: list[Reply | Exception] = []
        live_sessions.answer(session_id, Answer(0, turns[0], 0, "", heard), replies.append)
        assert len(store.under_way) == 1
        live_sessions.answer(session_id, Answer(1, turns[1], 0, "", heard + 500), replies.append)
        assert (len(store.under_way), replies) == (1, []), "the second waits for the first"
        clock.now = late
        store.under_way.pop()()
        store.under_way.pop()()
        assert [type(reply) for reply in replies] == [Accepted, Accepted]
        said = [entry for entry in (await store.log(session_id, 0))[1] if isinstance(entry, Acted)]
        assert [(entry.seat, entry.think_ms) for entry in said] == [
            (0, heard - session.header.created_ms),
            (1, heard + 500 - session.header.created_ms - 1000),
        ]

    _in_the_leader_phase(2, scenario)


def test_a_move_that_was_not_saved_does_not_count() -> None:
    """The store fails. The cached session is then a move ahead of the stored one, and must not be used."""

    async def scenario(live_sessions: LiveSessions, clock: Clock, session_id: str) -> None:
        turn = (await live_sessions.read(session_id)).seats[0].turn
        working, broken = live_sessions.store, SlowStore(live_sessions.store)
        before = (await working.load(session_id)).revision
        live_sessions.store, broken.failure = broken, StoreUnavailable("away")
        with pytest.raises(StoreUnavailable):
            await answer(live_sessions, session_id, 0, turn)
        live_sessions.store = working
        again = await accepted(
            live_sessions, session_id, 0, turn
        )  # the same answer again: a cached move would make it a repeat
        assert not again.repeated
        assert (await working.load(session_id)).revision == before + 1

    _in_the_leader_phase(2, scenario)


def test_a_move_on_an_outdated_session_is_repeated_on_the_stored_one() -> None:
    """Two copies have the same session cached. Each takes an answer, and both answers count."""

    async def scenario(live_sessions: LiveSessions, clock: Clock, session_id: str) -> None:
        other = LiveSessions(live_sessions.store, clock)
        session = await other.read(session_id)
        turns = [seat.turn for seat in session.seats]
        for copy, seat in ((live_sessions, 0), (other, 1)):
            assert not (await accepted(copy, session_id, seat, turns[seat])).repeated
        said = [entry.seat for entry in (await live_sessions.store.log(session_id, 0))[1] if isinstance(entry, Acted)]
        assert said == [0, 1]
        assert other.conflicts == 1

    _in_the_leader_phase(2, scenario)


def test_a_refusal_based_on_an_outdated_session_is_checked() -> None:
    """In the cached session it is not the seat's turn, but another copy has saved a move since."""

    async def scenario() -> None:
        store, clock = MemoryStore(), Clock()
        live_sessions, other = LiveSessions(store, clock), LiveSessions(store, clock)
        session_id = (await live_sessions.create(header_of("sf1906-2e", 2))).header.id
        (first,) = (await other.read(session_id)).open_seats()
        while (session := await live_sessions.read(session_id)).open_seats() == [first]:
            await accepted(live_sessions, session_id, first, session.seats[first].turn)
        (second,) = session.open_seats()
        turn = session.seats[second].turn
        assert not (await accepted(other, session_id, second, turn)).repeated

    asyncio.run(scenario())


def test_a_seat_that_answers_late_counts_as_slow_and_not_as_away() -> None:
    """It has no stream: it answers with unary calls."""

    async def scenario(live_sessions: LiveSessions, clock: Clock, session_id: str) -> None:
        session = await live_sessions.read(session_id)
        clock.now = _past(session, 0)
        reply = await answer(live_sessions, session_id, 0, session.seats[0].turn)
        assert isinstance(reply, Late)
        assert reply.error.facts == {"seat": "0", "fault": "TIMEOUT"}
        assert (await live_sessions.read(session_id)).seats[0].fault == Fault.TIMEOUT

    _in_the_leader_phase(2, scenario, away=["bot-0", "bot-1"])


def test_a_session_and_its_log_are_read_at_the_same_revision() -> None:
    """Another copy has saved a move since: a watcher must not see a move without its view."""

    async def scenario(live_sessions: LiveSessions, clock: Clock, session_id: str) -> None:
        other = LiveSessions(live_sessions.store, clock)
        remembered = await live_sessions.read(session_id)
        assert (await live_sessions.read_log(session_id, 0))[0] is remembered
        await accepted(other, session_id, 0, (await other.read(session_id)).seats[0].turn)

        session, log = await live_sessions.read_log(session_id, 0)
        assert len(log) == session.revision == remembered.revision + 1

    _in_the_leader_phase(2, scenario)


def test_an_answer_is_confirmed_and_shown_only_when_it_is_saved() -> None:
    async def scenario(live_sessions: LiveSessions, clock: Clock, session_id: str) -> None:
        store = live_sessions.store = SlowStore(live_sessions.store)
        told: list[Change] = []
        replies: list[Reply | Exception] = []
        live_sessions.listen(told.append)
        session = await live_sessions.read(session_id)
        since, turn = session.revision, session.seats[1].turn
        await asyncio.sleep(0)

        live_sessions.answer(session_id, Answer(1, turn, 0, "", clock.now), replies.append)

        looking = asyncio.create_task(live_sessions.read(session_id))
        await asyncio.sleep(0)
        assert (told, replies, looking.done()) == ([], [], False)
        assert (await store.load(session_id)).revision == since
        store.under_way.pop()()
        assert [type(reply) for reply in replies] == [Accepted]
        assert [entry.seat for change in told for entry in change.entries[:1] if isinstance(entry, Acted)] == [1]
        assert (await looking).revision == (await store.load(session_id)).revision > since

    _in_the_leader_phase(2, scenario)


def test_answers_are_taken_in_order_of_arrival() -> None:
    """Two answers to one question in one message: the first counts, and the error of the second names it."""

    async def scenario(live_sessions: LiveSessions, clock: Clock, session_id: str) -> None:
        turn = (await live_sessions.read(session_id)).seats[1].turn
        live_sessions.forget(session_id)  # so that the first has to wait for the store
        first, second = await asyncio.gather(
            answer(live_sessions, session_id, 1, turn, 0), answer(live_sessions, session_id, 1, turn, 1)
        )
        assert isinstance(first, Accepted)
        assert isinstance(second, Stale)
        assert second.error.facts["stands"] == first.text

    _in_the_leader_phase(2, scenario)


@pytest.mark.parametrize("case", ["another turn", "no such index", "no such seat", "unknown", "said before"])
def test_an_answer_that_is_not_accepted_changes_only_the_count_of_refusals(case: str) -> None:
    async def scenario(live_sessions: LiveSessions, clock: Clock, session_id: str) -> None:
        session = await live_sessions.read(session_id)
        seat, turn, index, of = 1, session.seats[1].turn, 0, session_id
        if case == "another turn":
            turn += 1
        elif case == "no such index":
            index = 1000
        elif case == "no such seat":
            seat = 7
        elif case == "unknown":
            of = "nobody"
        elif case == "said before":
            await accepted(live_sessions, session_id, seat, turn, index)
        since = (await live_sessions.store.load(session_id)).revision
        try:
            reply: Reply | Exception = await answer(live_sessions, of, seat, turn, index)
        except SessionError as error:
            reply = error
        kinds: dict[str, type] = {
            "another turn": Stale,
            "no such index": Refused,
            "no such seat": BadRequest,
            "unknown": UnknownSession,
            "said before": Accepted,
        }
        assert isinstance(reply, kinds[case])
        after = await live_sessions.read(session_id)
        refusals = int(case == "no such index")
        assert (after.revision, after.seats[1].refusals) == (since + refusals, refusals)

    _in_the_leader_phase(2, scenario)


def test_a_change_continues_when_its_caller_has_left() -> None:
    """A caller disconnects while its answer is being saved: the next seat is still asked."""

    async def scenario(live_sessions: LiveSessions, clock: Clock, session_id: str) -> None:
        store = live_sessions.store = SlowStore(live_sessions.store)
        told: list[Change] = []
        live_sessions.listen(told.append)
        turn = (await live_sessions.read(session_id)).seats[1].turn
        caller = asyncio.create_task(answer(live_sessions, session_id, 1, turn))
        while not store.under_way:
            await asyncio.sleep(0)
        caller.cancel()
        await asyncio.wait([caller])
        store.under_way.pop()()
        assert [entry.seat for change in told for entry in change.entries[:1] if isinstance(entry, Acted)] == [1]
        assert (await live_sessions.read(session_id)).seats[1].answered_turn == turn

    _in_the_leader_phase(2, scenario)


def test_a_cancelled_reader_does_not_block_those_behind_it() -> None:
    async def scenario(live_sessions: LiveSessions, clock: Clock, session_id: str) -> None:
        store = live_sessions.store = SlowStore(live_sessions.store)
        session = await live_sessions.read(session_id)
        turns = [clock.turn for clock in session.seats]
        await asyncio.sleep(0)
        replies: list[Reply | Exception] = []
        live_sessions.answer(session_id, Answer(0, turns[0], 0, "", clock.now), replies.append)
        reader = asyncio.create_task(live_sessions.read(session_id))
        await asyncio.sleep(0)
        live_sessions.answer(session_id, Answer(1, turns[1], 0, "", clock.now), replies.append)
        reader.cancel()
        await asyncio.wait([reader])
        store.under_way.pop()()
        store.under_way.pop()()
        assert [type(reply) for reply in replies] == [Accepted, Accepted]

    _in_the_leader_phase(2, scenario)


def test_a_listener_that_fails_does_not_block_the_session(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(live_sessions: LiveSessions, clock: Clock, session_id: str) -> None:
        def fail(change: Change) -> None:
            raise KeyError("a mistake")

        live_sessions.listen(fail)
        for seat in range(2):
            turn = (await live_sessions.read(session_id)).seats[seat].turn
            assert not (await accepted(live_sessions, session_id, seat, turn)).repeated
        assert "a mistake" in caplog.text

    _in_the_leader_phase(2, scenario)


def test_the_log_of_a_watched_session_is_read_from_memory_and_complete() -> None:
    """Also when another copy has saved a move in between, so that the entries of this copy do not follow its cached log."""

    class Counting(MemoryStore):
        trips = 0

        async def log(self, *arguments: Any) -> tuple[Session, list[Entry]]:
            self.trips += 1
            return await super().log(*arguments)

    async def scenario() -> None:
        store, clock = Counting(), Clock()
        live_sessions, other = LiveSessions(store, clock), LiveSessions(store, clock)
        session_id = (await live_sessions.create(header_of("sf1906-2e", 2))).header.id
        live_sessions.keep_log(session_id)

        async def move(copy: LiveSessions) -> None:
            session = await copy.read(session_id)
            seat = session.open_seats()[0]
            await accepted(copy, session_id, seat, session.seats[seat].turn)

        async def looks_whole() -> None:
            session, log = await live_sessions.read_log(session_id, 1, fresh=False)
            assert log == store._logs[session_id][1:]
            assert len(log) == session.revision - 1

        await move(other)
        assert len((await live_sessions.read_log(session_id, 0))[1]) == 1
        for _ in range(3):
            await move(live_sessions)
            await looks_whole()
        assert store.trips == 1
        await move(other)
        await move(live_sessions)
        await looks_whole()
        assert store.trips == 2
        await move(live_sessions)
        await looks_whole()
        assert store.trips == 2
        live_sessions.drop_log(session_id)
        await looks_whole()
        assert store.trips == 3, "it is no longer watched"

    asyncio.run(scenario())


def test_ended_sessions_leave_no_timers_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their deadlines may be hours away, and many short games end until then."""
    monkeypatch.setattr("service.sessions.live_sessions._DEAD_TIMERS", 8)

    async def scenario() -> None:
        live_sessions = LiveSessions(MemoryStore(), Clock(), presence=Connected())
        running = await live_sessions.create(header_of("relief", 2, 1))
        for number in range(2, 102):
            session_id = (await live_sessions.create(header_of("relief", 2, number))).header.id
            await live_sessions.change(session_id, lambda session: (None, session.cancel("", START)))
        assert len(live_sessions._timers) <= 2 + 8 + 1
        assert (running.next_deadline_ms(), running.header.id) in live_sessions._timers

    asyncio.run(scenario())
