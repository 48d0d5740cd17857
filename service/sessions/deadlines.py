"""The deadline enforcer: enforces clocks even if the copy of the service that asked the question has died.

One sorted set holds every running session with the time of its next check. Any copy takes the sessions that are due, reschedules
them a little later, and checks them. So no session is lost, and if two copies check one at the same time, the save decides which
one forfeits the seat.
"""

import logging
from collections import deque
from typing import Final

from service.sessions import keys
from service.sessions.errors import SessionError
from service.sessions.live_sessions import LiveSessions
from service.sessions.presence import Presence
from service.sessions.redis_client import RedisClient
from service.sessions.redis_store import LATE_MS
from service.sessions.session import ACTIVE

_LOG: Final = logging.getLogger(__name__)
_AT_ONCE: Final = 200
#: How long ended sessions stay in the list; Redis drops their data earlier.
_LISTED_MS: Final = 48 * 3600 * 1000

#: KEYS: the set. ARGV: now, limit, time of the next check.
_CLAIM: Final = """
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
for _, id in ipairs(due) do redis.call('ZADD', KEYS[1], 'XX', ARGV[3], id) end
return due
"""


class DeadlineEnforcer:
    """Checks sessions whose clocks may have run out."""

    def __init__(self, client: RedisClient, live_sessions: LiveSessions, presence: Presence) -> None:
        self._client = client
        self._redis = client.redis
        self._live_sessions = live_sessions
        self._presence = presence
        self._unreadable: deque[str] = deque(maxlen=_AT_ONCE)

    async def once(self) -> int:
        """Check all sessions that are due; return their number."""
        now = self._live_sessions.now_ms()
        due = await self._client.run(_CLAIM, 1, keys.DUE, now, _AT_ONCE, now + LATE_MS)
        session_ids = [raw.decode() if isinstance(raw, bytes) else str(raw) for raw in due]
        as_stored = await self._live_sessions.read_unchanged(session_ids)
        for session_id in session_ids:
            session = as_stored.get(session_id)
            if session is None or session.status != ACTIVE or session.next_deadline_ms() < now:
                await self._look_if_possible(session_id)
        return len(due)

    async def _look_if_possible(self, session_id: str) -> None:
        """Check one session. If this copy cannot read it, it stays due for another copy."""
        try:
            await self._look(session_id)
        except SessionError:
            raise
        except Exception:
            if session_id not in self._unreadable:  # logged once, not at every check
                _LOG.exception("the clocks of session %s cannot be checked", session_id)
                self._unreadable.append(session_id)

    async def _look(self, session_id: str) -> None:
        session = await self._live_sessions.enforce(session_id)
        if session is None or session.status != ACTIVE:
            await self._client.ask(self._redis.zrem(keys.DUE, session_id))
            for bot in session.header.bots if session is not None else ():
                if bot:
                    await self._presence.drop_game(bot, session_id)

    async def remove_ended(self) -> int:
        """Remove sessions that ended long ago from the list; return the number of running sessions."""
        now = self._live_sessions.now_ms()
        await self._client.ask(self._redis.zremrangebyscore(keys.SESSIONS, "-inf", now - _LISTED_MS))
        return int(await self._client.ask(self._redis.zcard(keys.DUE)))
