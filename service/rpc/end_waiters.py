"""Callers that wait only for the end of a session; they cost nothing while the game is played."""

import asyncio
from typing import Final

from service.sessions.live_sessions import Change, LiveSessions
from service.sessions.redis_store import read_notice
from service.sessions.session import ACTIVE, Session

#: How often a session is polled in case its notification was lost, in seconds.
_POLL_S: Final = 5.0


class EndWaiters:
    """Wakes waiting callers when a session ends: directly if this copy saved the end, else through a notification."""

    def __init__(self, live_sessions: LiveSessions) -> None:
        self._live_sessions = live_sessions
        #: By session: one event per waiting caller, set when the session may have ended.
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._is_closing = False
        live_sessions.listen(self._hear_change)

    async def wait(self, session_id: str, wait_s: float) -> Session:
        """Return the session when it has ended, or its current state when the time is over or this copy stops."""
        loop = asyncio.get_running_loop()
        end = loop.time() + wait_s
        woken = asyncio.Event()
        self._waiting.setdefault(session_id, set()).add(woken)
        try:
            while True:
                woken.clear()  # before reading, so that an end in between is not missed
                session = await self._live_sessions.read(session_id)
                left = end - loop.time()
                if session.status != ACTIVE or left <= 0 or self._is_closing:
                    return session
                try:
                    async with asyncio.timeout(min(left, _POLL_S)):
                        await woken.wait()
                except TimeoutError:
                    continue
        finally:
            others = self._waiting[session_id]
            others.remove(woken)
            if not others:
                del self._waiting[session_id]

    def hear(self, notice: str) -> None:
        """Handle a notification that a session has ended, on any copy."""
        self._wake(read_notice(notice)[0])

    def close(self) -> None:
        """Answer all waiting callers because this copy stops; they ask another copy."""
        self._is_closing = True
        for session_id in self._waiting:
            self._wake(session_id)

    def _hear_change(self, change: Change) -> None:
        if change.session.status != ACTIVE:
            self._wake(change.session.header.id)

    def _wake(self, session_id: str) -> None:
        for woken in self._waiting.get(session_id, ()):
            woken.set()
