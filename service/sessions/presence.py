"""Presence: which bots have a live stream, and on which copy of the service. Kept in Redis while the copy renews it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import msgspec

from service.sessions import keys
from service.sessions.redis_client import RedisClient

#: Seconds after which a dead copy's streams expire; a running copy renews them three times as often.
LIFE_S: Final = 15
BEAT_S: Final = 5
TAKEOVER: Final = "takeover "
#: A prefix that no session id has: ids contain no exclamation mark.
LOSS: Final = "!loss "

#: Each script compares and writes in one step, so that a stream that was taken over cannot overwrite its successor.
#: If the stored stream is older than this one, the store has lost the takeover, and it is written again.
#: KEYS: the bot's stream. ARGV: this stream, seconds to live, start of this stream.
_BEAT: Final = """
local found = redis.call('GET', KEYS[1])
if found and found ~= ARGV[1] and cmsgpack.unpack(found).since_ms >= tonumber(ARGV[3]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1
"""
_LEAVE: Final = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
"""


@dataclass(frozen=True, slots=True)
class Connection:
    """One bot's live stream."""

    bot: str
    #: Unique among all streams of all copies.
    id: str
    sdk: str
    max_games: int
    since_ms: int


class Presence:
    """The list of live streams that all copies share."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client
        self._redis = client.redis
        #: Bots whose stream this copy holds.
        self.here: set[str] = set()

    def is_here(self, bot: str) -> bool:
        """Whether this copy holds the bot's stream."""
        return bot in self.here

    async def enter(self, stream: Connection) -> None:
        """Make this stream the bot's only one; an older stream is notified."""
        await self._client.ask(self._redis.set(keys.stream(stream.bot), _write(stream), ex=LIFE_S))
        await self._client.ask(self._redis.sadd(keys.CONNECTED, stream.bot))
        await self._client.ask(self._redis.publish(keys.bot_channel(stream.bot), TAKEOVER + stream.id))

    async def beat(self, stream: Connection) -> bool:
        """Renew the stream; return False if another one has taken over."""
        key, since = keys.stream(stream.bot), stream.since_ms
        if not await self._client.run(_BEAT, 1, key, _write(stream), LIFE_S, since):
            return False
        await self._client.ask(self._redis.sadd(keys.CONNECTED, stream.bot))
        return True

    async def leave(self, stream: Connection) -> None:
        """Remove the stream, unless another one has taken over."""
        if await self._client.run(_LEAVE, 1, keys.stream(stream.bot), _write(stream)):
            await self._client.ask(self._redis.srem(keys.CONNECTED, stream.bot))

    async def is_connected(self, bot: str) -> bool:
        """Whether the bot has a live stream anywhere."""
        return bool(await self._client.ask(self._redis.exists(keys.stream(bot))))

    async def connected(self) -> list[Connection]:
        """All live streams, by name of the bot."""
        names = sorted(_text(name) for name in await self._client.ask(self._redis.smembers(keys.CONNECTED)))
        pipe: Any = self._redis.pipeline(transaction=False)
        for name in names:
            pipe.get(keys.stream(name))
        found = dict(zip(names, await self._client.ask(pipe.execute()) if names else [], strict=True))
        gone = [name for name, stream in found.items() if stream is None]
        if gone:
            await self._client.ask(self._redis.srem(keys.CONNECTED, *gone))  # their copy died
        return [_read(stream) for stream in found.values() if stream is not None]

    async def games_of_all(self, bots: Sequence[str]) -> list[int]:
        """Return how many sessions each of the bots may still be playing."""
        if not bots:
            return []
        pipe: Any = self._redis.pipeline(transaction=False)
        for bot in bots:
            pipe.scard(keys.games_of(bot))
        return [int(count) for count in await self._client.ask(pipe.execute())]

    async def tell_loss(self, bot: str, session_id: str) -> None:
        """Notify the copy that holds the bot's stream that the store has lost moves of this session."""
        await self._client.ask(self._redis.publish(keys.bot_channel(bot), LOSS + session_id))

    async def games(self, bot: str) -> list[str]:
        """Return the sessions the bot may still be playing."""
        return sorted(_text(name) for name in await self._client.ask(self._redis.smembers(keys.games_of(bot))))

    async def drop_game(self, bot: str, session_id: str) -> None:
        """Remove a session that is over for the bot."""
        await self._client.ask(self._redis.srem(keys.games_of(bot), session_id))


def _write(stream: Connection) -> bytes:
    return msgspec.msgpack.encode(asdict(stream))


def _read(data: bytes) -> Connection:
    return Connection(**msgspec.msgpack.decode(data))


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
