"""The deadline enforcer: clocks are enforced even if the copy of the service that asked the question has died.

Every running session stands in one sorted set with a time at which somebody should look at it. Any copy takes what is due,
puts it back a little later, and looks. So no session is ever out of sight, and if two copies look at once, saving decides
who forfeits the seat.
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
#: Ended sessions stay on the list for so long; then Redis has dropped them too.
_LISTED_MS: Final = 48 * 3600 * 1000

#: KEYS: the set. ARGV: now, how many, when to look again.
_CLAIM: Final = """
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
for _, id in ipairs(due) do redis.call('ZADD', KEYS[1], 'XX', ARGV[3], id) end
return due
"""


class DeadlineEnforcer:
    """Looks after sessions whose clocks may have run out unseen."""

    def __init__(self, client: RedisClient, live_sessions: LiveSessions, presence: Presence) -> None:
        self._client = client
        self._redis = client.redis
        self._live_sessions = live_sessions
        self._presence = presence
        self._unreadable: deque[str] = deque(maxlen=_AT_ONCE)

    async def once(self) -> int:
        """Look at everything that is due; how many sessions that were."""
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
        """One session that this copy cannot read must not keep it from all the others; it stays due, for a copy that can."""
        try:
            await self._look(session_id)
        except SessionError:
            raise
        except Exception:
            if session_id not in self._unreadable:  # said once, not every time it is due
                _LOG.exception("the clocks of session %s cannot be looked at", session_id)
                self._unreadable.append(session_id)

    async def _look(self, session_id: str) -> None:
        session = await self._live_sessions.enforce(session_id)
        if session is None or session.status != ACTIVE:
            await self._client.ask(self._redis.zrem(keys.DUE, session_id))
            for bot in session.header.bots if session is not None else ():
                if bot:
                    await self._presence.drop_game(bot, session_id)

    async def remove_ended(self) -> int:
        """Take long-ended sessions off the list; how many sessions are being played."""
        now = self._live_sessions.now_ms()
        await self._client.ask(self._redis.zremrangebyscore(keys.SESSIONS, "-inf", now - _LISTED_MS))
        return int(await self._client.ask(self._redis.zcard(keys.DUE)))
