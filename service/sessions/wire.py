"""One connection to Redis for nothing but moves: what is sent together is packed once and read in one go.

It is a connection of the client's own pool, so that addresses, passwords, TLS and Sentinel are the client's business. What is
left out is what the client does around every pipeline: a connection taken and given back, a health check, a callback for each
answer. That was a third of the price of a trip.
"""

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import hiredis
from redis.asyncio import Redis
from redis.exceptions import ReadOnlyError, ResponseError

from service.sessions.link import TIMEOUT_S


class Wire:
    """Sends commands and reads their answers; one trip at a time."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._connection: Any = None
        self._patience_s: float | None = None

    async def trip(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The answers, in order; a refused command has its error as answer. Raises if the connection fails."""
        try:
            if self._connection is None:
                pool: Any = self._redis.connection_pool  # half typed by redis-py
                self._connection = await pool.get_connection()
                # One timeout a trip, below: the client's own begins anew with every answer, and costs a task at every sending.
                self._patience_s, self._connection.socket_timeout = self._connection.socket_timeout, None
            connection = self._connection
            async with asyncio.timeout(TIMEOUT_S):
                await connection.send_packed_command(b"".join(map(hiredis.pack_command, commands)), check_health=False)
                answers = [await _answer(connection) for _ in commands]
        except BaseException:  # half a trip: the next one must not read the answers of this one
            await self._drop()
            raise
        if any(isinstance(answer, ReadOnlyError) for answer in answers):
            await self._drop()  # it is a master no more; the pool may know a better address
        return answers

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.socket_timeout = self._patience_s
            await connection.disconnect(nowait=True)
            await self._redis.connection_pool.release(connection)


async def _answer(connection: Any) -> Any:
    try:
        return await connection.read_response(disable_decoding=True, timeout=math.inf)
    except ResponseError as error:
        return error
