"""Waiting for the end of a session: only the end wakes the caller."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from service.rpc import end_waiters
from service.rpc.end_waiters import EndWaiters
from service.sessions.entries import Status
from service.sessions.errors import UnknownSession
from service.sessions.live_sessions import LiveSessions
from service.sessions.redis_store import notice
from service.sessions.session import ACTIVE, Session
from service.sessions.store import MemoryStore
from tests.sessions.scripted_sessions import START, accepted, header_of

_LONG_S = 600.0


async def _cancel(live_sessions: LiveSessions, session_id: str) -> None:
    await live_sessions.change(session_id, lambda session: (None, session.cancel("", START)))


def _waiting(
    scenario: Callable[[LiveSessions, LiveSessions, EndWaiters, "asyncio.Task[Session]"], Awaitable[None]],
) -> None:
    """Two copies with one store; a caller waits at the first one."""

    async def tell() -> None:
        store = MemoryStore()
        here, there = LiveSessions(store, lambda: START), LiveSessions(store, lambda: START)
        session = await here.create(header_of("sf1906-2e", 2, id="game"))
        waiting_here = EndWaiters(here)
        waiting = asyncio.create_task(waiting_here.wait("game", _LONG_S))
        while "game" not in waiting_here._waiting:
            await asyncio.sleep(0)
        seat = session.open_seats()[0]
        await accepted(here, "game", seat, 1)
        async with asyncio.timeout(60):
            await scenario(here, there, waiting_here, waiting)
        assert waiting_here._waiting == {}

    asyncio.run(tell())


def test_a_caller_at_the_copy_that_saved_the_end_is_answered_at_once() -> None:
    async def scenario(
        here: LiveSessions, there: LiveSessions, waiting_here: EndWaiters, waiting: "asyncio.Task[Session]"
    ) -> None:
        assert not waiting.done()
        await _cancel(here, "game")
        assert (await waiting).status == Status.CANCELLED

    _waiting(scenario)


def test_an_end_saved_by_another_copy_comes_as_a_notification() -> None:
    async def scenario(
        here: LiveSessions, there: LiveSessions, waiting_here: EndWaiters, waiting: "asyncio.Task[Session]"
    ) -> None:
        await _cancel(there, "game")
        assert not waiting.done()
        waiting_here.hear(notice("game", "1", START))
        assert (await waiting).status == Status.CANCELLED

    _waiting(scenario)


def test_a_lost_notification_is_made_up_by_a_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(end_waiters, "_POLL_S", 0.01)

    async def scenario(
        here: LiveSessions, there: LiveSessions, waiting_here: EndWaiters, waiting: "asyncio.Task[Session]"
    ) -> None:
        await _cancel(there, "game")
        assert (await waiting).status == Status.CANCELLED

    _waiting(scenario)


def test_a_waiting_caller_is_answered_when_the_copy_stops() -> None:
    async def scenario(
        here: LiveSessions, there: LiveSessions, waiting_here: EndWaiters, waiting: "asyncio.Task[Session]"
    ) -> None:
        waiting_here.close()
        assert (await waiting).status == ACTIVE
        assert (await waiting_here.wait("game", _LONG_S)).status == ACTIVE

    _waiting(scenario)


def test_the_running_session_is_returned_when_the_time_is_over() -> None:
    async def scenario(
        here: LiveSessions, there: LiveSessions, waiting_here: EndWaiters, waiting: "asyncio.Task[Session]"
    ) -> None:
        assert (await waiting_here.wait("game", 0.01)).status == ACTIVE
        with pytest.raises(UnknownSession):
            await waiting_here.wait("nobody", _LONG_S)
        await _cancel(here, "game")
        await waiting

    _waiting(scenario)
