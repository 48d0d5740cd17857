"""Sessions in Redis: one script call per move, sent together with all other moves that wait to be saved.

While one round trip is in progress the next batch collects, so that moves which arrive together share one. Each session still
has its own script call: in Redis Cluster sessions are in different slots, and one failure must not affect the others.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from redis.asyncio import Redis, RedisCluster
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError
from redis.exceptions import TimeoutError as RedisTimeoutError

from service.sessions import keys
from service.sessions.entries import Entry
from service.sessions.errors import StoreUnavailable, UnknownSession
from service.sessions.redis_client import AWAY, RedisClient, describe_failure
from service.sessions.redis_pipeline import RedisPipeline
from service.sessions.session import ACTIVE, Header, Session
from service.sessions.store import NO_RECIPIENTS, Marks, Recipients, Saved, changed_meanwhile
from service.sessions.stored import decode_entry, decode_header, decode_session, encode, encode_session

_LOG: Final = logging.getLogger(__name__)
#: Lifetime of a running session that is not used, and of an ended one, in seconds.
LIVE_TTL: Final = 24 * 3600
ENDED_TTL: Final = 3600
#: How late a deadline may be enforced if the copy responsible for it has died, in milliseconds.
LATE_MS: Final = 2000
_BATCH: Final = 128
#: How long an archived session stays, in seconds: bots on other copies may still need its result, and the deadline enforcer
#: removes it from their lists.
SOON_S: Final = 10

#: The fields that identify the stored position.
_MARK: Final = ["r", "w"]

#: Write only if the stored mark is the expected one. A missing session is a mismatch too; a session of an older version has no
#: mark. KEYS: session, log. ARGV: expected mark, new revision, blob, mark of this save, seconds to live, notice, number of
#: channels, channels …, entries …
SAVE: Final = """
local have = redis.call('HMGET', KEYS[1], 'r', 'w')
if not have[1] or (have[2] or '') ~= ARGV[1] then
  return {0, have[2] or ''}
end
redis.call('HSET', KEYS[1], 'r', ARGV[2], 'b', ARGV[3], 'w', ARGV[4])
local channels = tonumber(ARGV[7])
for i = 8 + channels, #ARGV do redis.call('RPUSH', KEYS[2], ARGV[i]) end
redis.call('EXPIRE', KEYS[1], ARGV[5])
redis.call('EXPIRE', KEYS[2], ARGV[5])
for i = 8, 7 + channels do redis.call('PUBLISH', ARGV[i], ARGV[6]) end
return {1}
"""

#: Store a new session unless the id is taken; delete the log of an earlier session with this id.
#: KEYS: session, log. ARGV: header, blob, mark, seconds to live, notice, channels …
CREATE: Final = """
if redis.call('HSETNX', KEYS[1], 'h', ARGV[1]) == 0 then
  return redis.call('HGET', KEYS[1], 'h')
end
redis.call('HSET', KEYS[1], 'r', '0', 'b', ARGV[2], 'w', ARGV[3])
redis.call('DEL', KEYS[2])
redis.call('EXPIRE', KEYS[1], ARGV[4])
for i = 6, #ARGV do redis.call('PUBLISH', ARGV[i], ARGV[5]) end
return false
"""

#: Read session and log in one step, because the store may lose its newest writes between two round trips. A session with the known
#: mark is left out. KEYS: session, log. ARGV: known mark, revisions to skip.
LOG: Final = """
local found = redis.call('HMGET', KEYS[1], 'h', 'b', 'w')
local mark = found[3] or ''
if not found[1] or not found[2] then return false end
local entries = redis.call('LRANGE', KEYS[2], ARGV[2], -1)
if mark ~= '' and mark == ARGV[1] then return {'', '', mark, entries} end
return {found[1], found[2], mark, entries}
"""


def notice(session_id: str, mark: str, at_ms: int) -> str:
    """Return the text of a notification: the session, the mark of its position, and when it was saved."""
    return f"{session_id} {mark} {at_ms}"


def read_notice(text: str) -> tuple[str, str, int]:
    """Return the session, the mark of its position, and when it was saved."""
    session_id, mark, at_ms = text.rsplit(" ", 2)
    return session_id, mark, int(at_ms)


class _Save:
    """A session that waits to be written."""

    __slots__ = ("arguments", "saved", "session_id")

    def __init__(self, session_id: str, arguments: list[Any], saved: Saved) -> None:
        self.session_id = session_id
        self.arguments = arguments
        self.saved = saved

    def end(self, error: Exception | None) -> None:
        """Call the callback. Its errors are logged, so that they do not affect other saves."""
        try:
            self.saved(error)
        except Exception:
            _LOG.exception("the callback of a save of session %s failed", self.session_id)

    def problem(self, answer: Any) -> Exception | None:
        """Return the error that the script's answer stands for; None if the session is saved."""
        # After a lost answer the command is sent again, and the stored mark may already be this one. Comparing states would prove
        # nothing: another copy may have made the same move in the same millisecond.
        if answer[0] == 1 or answer[1] == self.arguments[5].encode():
            return None
        return changed_meanwhile(self.session_id)


class RedisStore:
    """A store in Redis or Valkey: a single server, Sentinel or Cluster."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client
        self.redis = client.redis
        self._is_cluster = isinstance(client.redis, RedisCluster)
        self._pipeline = RedisPipeline(cast(Redis, client.redis))
        self._waiting: list[_Save] = []
        self._writer: asyncio.Task[None] | None = None
        self._save_sha = ""
        self._marks = Marks()
        #: Called after every round trip that saved moves, with its seconds and the number of moves.
        self.on_save: Callable[[float, int], None] = lambda seconds, moves: None
        #: Called with the error when a move could not be saved.
        self.on_failure: Callable[[Exception], None] = lambda _: None

    # ------------------------------------------------------------------------------------------------------ store
    async def create(self, session: Session, recipients: Recipients = NO_RECIPIENTS) -> Header | None:
        header = session.header
        session.stamp(self._marks.draw())
        arguments = [
            keys.session(header.id),
            keys.log(header.id),
            encode(header),
            encode_session(session),
            session.mark,
            LIVE_TTL,
            notice(header.id, session.mark, header.created_ms),
            *(keys.bot_channel(bot) for bot in recipients.bots),
        ]
        # The indexes are written first: if the process stops in between, they hold an unknown id, which is removed later.
        for bot in {bot for bot in header.bots if bot}:
            await self._client.ask(self.redis.sadd(keys.games_of(bot), header.id))
        # An existing session keeps its time: a repeated request must not delay its clock check. A new one is checked soon, whatever
        # its first deadline: shorter deadlines start when its seats connect.
        await self._client.ask(self.redis.zadd(keys.DUE, {header.id: header.created_ms + LATE_MS}, nx=True))
        await self._client.ask(self.redis.zadd(keys.SESSIONS, {header.id: header.created_ms}, nx=True))
        found = await self._client.run(CREATE, 2, *arguments)
        return None if found is None else decode_header(found)

    async def load(self, session_id: str) -> Session:
        header, live, mark = await self._client.ask(self.redis.hmget(keys.session(session_id), ["h", "b", "w"]))
        if header is None or live is None:
            raise UnknownSession(session_id)
        return _session(header, live, mark)

    async def mark(self, session_id: str) -> str:
        mark = _mark(await self._client.ask(self.redis.hmget(keys.session(session_id), _MARK)))
        if mark is None:
            raise UnknownSession(session_id)
        return mark

    async def marks(self, session_ids: Sequence[str]) -> list[str | None]:
        if not session_ids:
            return []
        pipe = self.redis.pipeline(transaction=False)
        for session_id in session_ids:
            pipe.hmget(keys.session(session_id), _MARK)
        return [_mark(found) for found in await self._client.ask(pipe.execute())]

    def save(self, session: Session, entries: Sequence[Entry], recipients: Recipients, saved: Saved) -> None:
        session_id = session.header.id
        before = session.stamp(self._marks.draw())
        channels = [keys.watch(session_id), *(keys.bot_channel(bot) for bot in recipients.bots)]
        ttl = LIVE_TTL
        if session.status != ACTIVE:
            ttl = ENDED_TTL
            channels.append(keys.ENDED)
        arguments: list[Any] = [keys.session(session_id), keys.log(session_id)]
        arguments += [
            before.encode("latin-1"),
            str(session.revision),
            encode_session(session),
            session.mark,
            ttl,
            notice(session_id, session.mark, entries[-1].at_ms if entries else 0),
            len(channels),
            *channels,
        ]
        arguments += [encode(entry) for entry in entries]
        self._waiting.append(_Save(session_id, arguments, saved))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())

    async def log(self, session_id: str, after: int, known: Session | None = None) -> tuple[Session, list[Entry]]:
        mark = known.mark if known is not None else ""
        arguments = [keys.session(session_id), keys.log(session_id), mark.encode("latin-1"), after]
        found = await self._client.run(LOG, 2, *arguments)
        if found is None:
            raise UnknownSession(session_id)
        header, live, stored, entries = found
        session = known if known is not None and not header else _session(header, live, stored)
        return session, [decode_entry(entry) for entry in entries]

    async def live(self) -> int:
        return int(await self._client.ask(self.redis.zcard(keys.DUE)))

    async def session_ids(self, start: int, count: int) -> list[str]:
        found = await self._client.ask(self.redis.zrange(keys.SESSIONS, start, start + count - 1))
        return [name.decode() if isinstance(name, bytes) else str(name) for name in found]

    async def forget(self, session_id: str) -> None:
        await self._client.ask(self.redis.delete(keys.session(session_id), keys.log(session_id)))
        await self._client.ask(self.redis.zrem(keys.DUE, session_id))
        await self._client.ask(self.redis.zrem(keys.SESSIONS, session_id))

    async def expire_soon(self, session_id: str) -> None:
        pipe: Any = self.redis.pipeline(transaction=False)
        pipe.expire(keys.session(session_id), SOON_S)
        pipe.expire(keys.log(session_id), SOON_S)
        pipe.zrem(keys.SESSIONS, session_id)
        await self._client.ask(pipe.execute())

    # -------------------------------------------------------------------------------------------------- the trips
    async def _write(self) -> None:
        """Send batches until nothing is waiting."""
        while self._waiting:
            batch, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
            begin = time.perf_counter()
            try:
                answers = await self._send(batch)
                self.on_save(time.perf_counter() - begin, len(batch))
            except Exception as error:
                # Every waiting save must get the error; a bug is logged where the request is answered.
                failure = self._away(error) if isinstance(error, AWAY) else error
                for save in batch:
                    save.end(failure)
                continue
            for save, answer in zip(batch, answers, strict=True):
                save.end(self._away(answer) if isinstance(answer, Exception) else save.problem(answer))

    async def _send(self, batch: list[_Save]) -> list[Any]:
        """Send one script call per session; retry once after a lost connection or an unknown script."""
        if not self._save_sha:
            self._save_sha = await self._client.load(SAVE)
        answers = await self._round_trip(batch)
        again = [index for index, answer in enumerate(answers) if _is_worth_a_second_trip(answer)]
        if again:
            # The script compares before it writes: sent twice it is applied once, and ``problem`` recognises its own mark.
            self._save_sha = await self._client.load(SAVE)
            for index, answer in zip(again, await self._round_trip([batch[index] for index in again]), strict=True):
                answers[index] = answer
        return answers

    async def _round_trip(self, batch: list[_Save]) -> list[Any]:
        if self._is_cluster:
            calls = [self.redis.evalsha(self._save_sha, 2, *save.arguments) for save in batch]
            return list(await asyncio.gather(*calls, return_exceptions=True))
        try:
            return await self._pipeline.round_trip([("EVALSHA", self._save_sha, 2, *save.arguments) for save in batch])
        except (RedisConnectionError, RedisTimeoutError, OSError) as error:
            return [error] * len(batch)

    def _away(self, error: Exception) -> StoreUnavailable:
        self.on_failure(error)
        return StoreUnavailable(describe_failure(error))


def _session(header: bytes, live: bytes, mark: bytes | None) -> Session:
    session = decode_session(decode_header(header), live)
    session.mark = _text(mark)
    return session


def _mark(found: list[bytes | None]) -> str | None:
    """Return the mark from the fields ``_MARK``; empty for a session of an older version, None for an unknown one."""
    revision, mark = found
    return None if revision is None else _text(mark)


def _text(mark: bytes | None) -> str:
    """Decode a stored mark. Marks are digits; those of older versions may be any bytes, which Latin-1 can decode."""
    return (mark or b"").decode("latin-1")


def _is_worth_a_second_trip(answer: Any) -> bool:
    return isinstance(answer, (NoScriptError, RedisConnectionError, RedisTimeoutError, OSError))
