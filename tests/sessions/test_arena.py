"""The arena between callers and a store: who is told what, and whom a clock is held against."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from service.sessions.arena import Arena, Change
from service.sessions.errors import Conflict, SeatForfeited, SessionEnded, StoreUnavailable
from service.sessions.session import ACT, DISCONNECTED, NO_FAULT, TIMEOUT, Entry, Session
from service.sessions.store import Bells, MemoryStore, Saved
from tests.sessions.tables import CONTROL, START, header_of


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        return self.now


async def _everybody(bot: str) -> bool:
    return bool(bot)


def _in_the_leader_phase(seats: int, scenario: Callable[[Arena, Clock, str], Awaitable[None]]) -> None:
    """Relief with everybody seated, in the phase in which all may speak at once, each asked a second after the one before."""

    async def tell() -> None:
        clock = Clock()
        arena = Arena(MemoryStore(), clock)
        arena.is_connected = _everybody
        session = await arena.create(header_of("relief", seats))
        session_id = session.header.id
        for seat in range(seats):
            await arena.take_seat(session_id, seat)
            clock.now += 1000
        session = await arena.read(session_id)
        assert session.open_seats() == list(range(seats))
        await scenario(arena, clock, session_id)

    asyncio.run(tell())


def _past(session: Session, seat: int) -> int:
    return session.deadline_ms(seat) + 1


def test_who_is_late_after_the_other_was_has_won_and_is_told_that_it_is_over() -> None:
    """Both clocks have run out. The first one's fault ended the game, so the second seat was never forfeited."""

    async def scenario(arena: Arena, clock: Clock, session_id: str) -> None:
        session = await arena.read(session_id)
        clock.now = _past(session, 1)
        with pytest.raises(SessionEnded):
            await arena.answer(session_id, 1, session.clocks[1].turn, 0, "")
        ended = await arena.read(session_id)
        assert [seat.fault for seat in ended.clocks] == [TIMEOUT, NO_FAULT]

    _in_the_leader_phase(2, scenario)


def test_a_late_answer_says_nothing_about_whether_the_others_are_connected() -> None:
    async def scenario(arena: Arena, clock: Clock, session_id: str) -> None:
        async def is_connected(bot: str) -> bool:
            return bot != "bot-0"

        arena.is_connected = is_connected
        session = await arena.read(session_id)
        clock.now = _past(session, 1)
        with pytest.raises(SessionEnded):
            await arena.answer(session_id, 1, session.clocks[1].turn, 0, "")
        assert (await arena.read(session_id)).clocks[0].fault == DISCONNECTED

    _in_the_leader_phase(2, scenario)


def test_a_clock_has_run_out_only_after_the_lag() -> None:
    async def scenario(arena: Arena, clock: Clock, session_id: str) -> None:
        session = await arena.read(session_id)
        assert session.deadline_ms(0) - session.clocks[0].asked_ms > CONTROL.move_ms + CONTROL.bank_ms
        clock.now = session.deadline_ms(0)
        accepted = await arena.answer(session_id, 0, session.clocks[0].turn, 0, "")
        assert not accepted.repeated

    _in_the_leader_phase(2, scenario)


def test_an_answer_that_came_in_time_is_not_late_because_it_had_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another seat's move is being saved, and the store takes its time: that is ours, not the bot's."""

    async def scenario(arena: Arena, clock: Clock, session_id: str) -> None:
        session = await arena.read(session_id)
        turns = [seat.turn for seat in session.clocks]
        clock.now = session.deadline_ms(0)
        heard = clock.now
        is_stuck, may_go_on = asyncio.Event(), asyncio.Event()

        save = arena.store.save

        async def slow(*arguments: Any) -> None:
            is_stuck.set()
            await may_go_on.wait()
            await save(*arguments)

        monkeypatch.setattr(arena.store, "save", slow)  # a store that takes its time
        first = asyncio.create_task(arena.answer(session_id, 0, turns[0], 0, ""))
        await is_stuck.wait()
        clock.now += 500
        second = asyncio.create_task(arena.answer(session_id, 1, turns[1], 0, ""))
        await asyncio.sleep(0)
        clock.now = _past(session, 1) + 60_000
        may_go_on.set()
        assert not (await first).repeated
        assert not (await second).repeated
        said = [entry for entry in (await arena.store.log(session_id, 0))[1] if entry.kind == ACT]
        assert [(entry.seat, entry.think_ms) for entry in said] == [
            (0, heard - session.header.created_ms),
            (1, heard + 500 - session.header.created_ms - 1000),
        ]

    _in_the_leader_phase(2, scenario)


def test_a_move_that_was_not_saved_was_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store fails. What this copy has in hand is then a move ahead of what is stored, and must not be believed."""

    async def scenario(arena: Arena, clock: Clock, session_id: str) -> None:
        turn = (await arena.read(session_id)).clocks[0].turn
        before = (await arena.store.load(session_id)).revision

        async def fail(*arguments: Any) -> None:
            raise StoreUnavailable("away")

        with monkeypatch.context() as broken:
            broken.setattr(arena.store, "save", fail)
            with pytest.raises(StoreUnavailable):
                await arena.answer(session_id, 0, turn, 0, "")
        accepted = await arena.answer(session_id, 0, turn, 0, "")  # the very same: a repeat would be taken for granted
        assert not accepted.repeated
        assert (await arena.store.load(session_id)).revision == before + 1

    _in_the_leader_phase(2, scenario)


def test_a_move_made_on_an_old_guess_is_made_again_on_what_is_stored() -> None:
    """Two copies; both know the same. Each takes an answer, and both answers stand."""

    async def scenario(arena: Arena, clock: Clock, session_id: str) -> None:
        other = Arena(arena.store, clock)
        session = await other.read(session_id)
        turns = [seat.turn for seat in session.clocks]
        for copy, seat in ((arena, 0), (other, 1)):
            accepted = await copy.answer(session_id, seat, turns[seat], 0, "")
            assert not accepted.repeated
        said = [entry.seat for entry in (await arena.store.log(session_id, 0))[1] if entry.kind == ACT]
        assert said == [0, 1]
        assert other.conflicts == 1

    _in_the_leader_phase(2, scenario)


def test_a_refusal_based_on_an_old_guess_is_not_believed() -> None:
    """This copy remembers that it is not the seat's turn. Meanwhile it is, thanks to another copy."""

    async def scenario() -> None:
        store, clock = MemoryStore(), Clock()
        arena, other = Arena(store, clock), Arena(store, clock)
        session_id = (await arena.create(header_of("sf1906-2e", 2))).header.id
        (first,) = (await other.read(session_id)).open_seats()
        while (session := await arena.read(session_id)).open_seats() == [first]:
            await arena.answer(session_id, first, session.clocks[first].turn, 0, "")
        (second,) = session.open_seats()
        turn = session.clocks[second].turn
        assert not (await other.answer(session_id, second, turn, 0, "")).repeated

    asyncio.run(scenario())


def test_whom_we_hear_is_slow_and_not_away() -> None:
    """It has no stream: it answers call by call."""

    async def scenario(arena: Arena, clock: Clock, session_id: str) -> None:
        async def nobody(bot: str) -> bool:
            del bot
            return False

        arena.is_connected = nobody
        session = await arena.read(session_id)
        clock.now = _past(session, 0)
        with pytest.raises(SeatForfeited):
            await arena.answer(session_id, 0, session.clocks[0].turn, 0, "")
        assert (await arena.read(session_id)).clocks[0].fault == TIMEOUT

    _in_the_leader_phase(2, scenario)


def test_a_session_and_its_log_are_of_the_same_moment() -> None:
    """Another copy has saved a move since this one looked: a watcher must not see a move without its view."""

    async def scenario(arena: Arena, clock: Clock, session_id: str) -> None:
        other = Arena(arena.store, clock)
        remembered = await arena.read(session_id)
        assert (await arena.read_log(session_id, 0))[0] is remembered
        await other.answer(session_id, 0, (await other.read(session_id)).clocks[0].turn, 0, "")

        session, log = await arena.read_log(session_id, 0)
        assert len(log) == session.revision == remembered.revision + 1

    _in_the_leader_phase(2, scenario)


class SlowStore(MemoryStore):
    """What is submitted is under way until somebody says so."""

    def __init__(self) -> None:
        super().__init__()
        self.under_way: list[Callable[[], None]] = []

    def submit(self, session: Session, entries: Sequence[Entry], bells: Bells, saved: Saved) -> None:
        self.under_way.append(lambda: super(SlowStore, self).submit(session, entries, bells, saved))


def test_an_answer_is_told_and_shown_only_when_it_is_saved() -> None:
    async def scenario(arena: Arena, clock: Clock, session_id: str) -> None:
        store = SlowStore()
        store.__dict__ |= arena.store.__dict__
        arena.store = store
        told: list[Change] = []
        ended: list[Exception | None] = []
        arena.listen(told.append)
        session = await arena.read(session_id)
        since, turn = session.revision, session.clocks[1].turn

        assert arena.answer_now(session_id, 1, turn, 0, "", None, arena.now_ms(), ended.append)

        looking = asyncio.create_task(arena.read(session_id))
        await asyncio.sleep(0)
        assert (told, ended, looking.done(), arena.is_changing(session_id)) == ([], [], False, True)
        assert (await store.load(session_id)).revision == since
        store.under_way.pop()()
        assert ended == [None]
        assert [change.entries[0].seat for change in told] == [1]
        assert (await looking).revision == (await store.load(session_id)).revision > since
        assert not arena.is_changing(session_id)

    _in_the_leader_phase(2, scenario)


@pytest.mark.parametrize(
    "case", ["another turn", "no such index", "no such seat", "late", "under way", "unknown", "said before"]
)
def test_whatever_needs_a_closer_look_changes_nothing(case: str) -> None:
    async def scenario(arena: Arena, clock: Clock, session_id: str) -> None:
        ended: list[Exception | None] = []
        session = await arena.read(session_id)
        seat, turn, index = 1, session.clocks[1].turn, 0
        if case == "another turn":
            turn += 1
        elif case == "no such index":
            index = 1000
        elif case == "no such seat":
            seat = 7
        elif case == "late":
            clock.now = _past(session, 1)
        elif case == "unknown":
            arena.forget(session_id)
        elif case == "said before":
            await arena.answer(session_id, seat, turn, index, "")
        since = (await arena.store.load(session_id)).revision
        lock = arena._lock(session_id)
        if case == "under way":
            await lock.acquire()

        assert not arena.answer_now(session_id, seat, turn, index, "", None, arena.now_ms(), ended.append)

        assert lock.locked() == (case == "under way")
        if case == "under way":
            lock.release()
        assert (ended, (await arena.store.load(session_id)).revision) == ([], since)
        after = await arena.read(session_id)
        assert (after.revision, [clock.refusals for clock in after.clocks]) == (since, [0, 0])

    _in_the_leader_phase(2, scenario)


def test_an_answer_on_an_old_guess_is_a_conflict_and_the_guess_is_forgotten() -> None:
    async def scenario(arena: Arena, clock: Clock, session_id: str) -> None:
        other = Arena(arena.store, clock)
        turns = [clock.turn for clock in (await other.read(session_id)).clocks]
        await arena.answer(session_id, 0, turns[0], 0, "")
        ended: list[Exception | None] = []
        told: list[Change] = []
        other.listen(told.append)

        assert other.answer_now(session_id, 1, turns[1], 0, "", None, arena.now_ms(), ended.append)

        assert [type(error) for error in ended] == [Conflict]
        assert (told, other.conflicts, other.is_changing(session_id)) == ([], 1, False)
        assert not (await other.answer(session_id, 1, turns[1], 0, "")).repeated

    _in_the_leader_phase(2, scenario)
