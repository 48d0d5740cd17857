"""A Redis connection used only for moves: commands sent together are packed once, and all their answers are read together.

The connection comes from the client's own pool, so the client handles addresses, passwords, TLS and Sentinel. What is skipped
is the client's work around every pipeline: taking and returning a connection, a health check, and coroutines and a callback
for each answer.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import hiredis
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import InvalidResponse, ReadOnlyError

from service.sessions.redis_client import TIMEOUT_S

_NOT_ENOUGH: Final = object()


class _Answers(asyncio.Protocol):
    """Collects what arrives on a connection: the answers to one round trip at a time."""

    def __init__(self, parse_error: Any, before: asyncio.BaseProtocol) -> None:
        """``parse_error`` makes the exception for an error that Redis sends; ``before`` is notified when the connection closes."""
        self._before = before
        self._reader = hiredis.Reader(protocolError=InvalidResponse, replyError=parse_error, notEnoughData=_NOT_ENOUGH)
        self._count = 0
        self._answers: list[Any] = []
        self._waiting: asyncio.Future[list[Any]] | None = None
        self._ended: Exception | None = None

    def expect(self, count: int) -> "asyncio.Future[list[Any]]":
        """Return the next answers once all have arrived. Raises what ended the connection, if it has ended since the last ones."""
        if self._ended is not None:
            raise self._ended
        self._count, self._answers = count, []
        self._waiting = asyncio.get_running_loop().create_future()
        return self._waiting

    def data_received(self, data: bytes) -> None:
        try:
            self._reader.feed(data)
            while (answer := self._reader.gets(False)) is not _NOT_ENOUGH:
                if isinstance(answer, RedisConnectionError):
                    raise answer
                if not isinstance(answer, hiredis.PushNotification):  # push messages belong to no request
                    self._answers.append(answer)
        except Exception as error:  # ends the round trip and the connection
            self._fail(error)
            return
        if len(self._answers) == self._count and self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(self._answers)

    def connection_lost(self, error: Exception | None) -> None:
        self._fail(error or RedisConnectionError("Connection closed by server."))
        self._before.connection_lost(error)

    def _fail(self, error: Exception) -> None:
        self._ended = error
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)


class RedisPipeline:
    """Sends commands and reads their answers, one round trip at a time."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._connection: Any = None
        self._answers: _Answers

    async def round_trip(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the answers in order; the answer to a refused command is its error. Raises if the connection fails."""
        try:
            if self._connection is None:
                await self._connect()
            async with asyncio.timeout(TIMEOUT_S):
                answers = self._answers.expect(len(commands))
                self._connection._writer.transport.write(b"".join(map(hiredis.pack_command, commands)))
                found = await answers
        except BaseException:  # incomplete: the next round trip must not read these answers
            await self._drop()
            raise
        if any(isinstance(answer, ReadOnlyError) for answer in found):
            await self._drop()  # no longer a master; the pool may know the new address
        return found

    async def _connect(self) -> None:
        pool: Any = self._redis.connection_pool  # partly typed by redis-py
        self._connection = await pool.get_connection()
        # The client has connected and authenticated; from now on this class reads and writes. redis-py has no public API for it.
        transport = self._connection._writer.transport
        self._answers = _Answers(self._connection._parser.parse_error, transport.get_protocol())
        transport.set_protocol(self._answers)

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.disconnect(nowait=True)
            await self._redis.connection_pool.release(connection)
