"""Ended sessions that somebody has archived: they go now, not when they would expire."""

from typing import TYPE_CHECKING, Any, Final

from service.sessions import keys
from service.sessions.errors import StoreUnavailable
from service.sessions.link import AWAY, trouble_of

if TYPE_CHECKING:
    from redis.asyncio import Redis, RedisCluster

#: Bots at other copies may still have to hear how the game ended, and the sweep takes it off their lists.
FADE_S: Final = 10


async def fade(redis: "Redis | RedisCluster", session_id: str) -> None:
    """Let a session and its log disappear after FADE_S; until then they can be read as before."""
    pipe: Any = redis.pipeline(transaction=False)
    pipe.expire(keys.session(session_id), FADE_S)
    pipe.expire(keys.log(session_id), FADE_S)
    pipe.zrem(keys.SESSIONS, session_id)
    try:
        await pipe.execute()
    except AWAY as error:
        raise StoreUnavailable(trouble_of(error)) from error
