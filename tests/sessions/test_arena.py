"""The arena between callers and a store: who is told what, and whom a clock is held against."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from service.sessions.arena import Arena
from service.sessions.errors import SessionEnded
from service.sessions.session import DISCONNECTED, NO_FAULT, TIMEOUT, Session
from service.sessions.store import MemoryStore
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
