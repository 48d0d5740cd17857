"""Notifications: notices through Redis pub/sub that something was saved. A lost one costs a poll, never the truth."""

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Callable
from typing import Any, Final

from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import TimeoutError as RedisTimeoutError

from service.sessions.redis_client import AWAY, cancel_task

_LOG: Final = logging.getLogger(__name__)
_PAUSE_S: Final = 0.5
#: After so long a silence we ask whether anybody is there, and after as long again we believe that nobody is.
_QUIET_S: Final = 2.0
#: A channel nobody rings: it keeps the subscription alive while no other is wanted.
_IDLE: Final = "rubble:idle"

Listener = Callable[[str], None]


class Notifications:
    """One subscription for a whole process, shared by everybody who listens. It comes back by itself when Redis does.

    Of several servers that carry the same notices one is listened to, and the next one when that is away.
    """

    def __init__(self, *servers: Redis) -> None:
        self._servers = servers
        self._listeners: dict[str, list[Listener]] = {}
        self._pubsub: PubSub | None = None
        self._task: asyncio.Task[None] | None = None
        #: Called after a lost subscription is back: whatever was rung in between has not been heard.
        self.on_return: list[Callable[[], None]] = []

    async def start(self) -> None:
        """Begin to listen."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Listen no more."""
        if self._task is not None:
            await cancel_task(self._task)

    async def add(self, channel: str, listener: Listener) -> None:
        """Call the listener with every notice on the channel."""
        self._listeners.setdefault(channel, []).append(listener)
        if len(self._listeners[channel]) == 1:
            await self._tell_redis("subscribe", channel)

    async def remove(self, channel: str, listener: Listener) -> None:
        """Call it no more."""
        listeners = self._listeners.get(channel, [])
        if listener in listeners:
            listeners.remove(listener)
        if not listeners and self._listeners.pop(channel, None) is not None:
            await self._tell_redis("unsubscribe", channel)

    async def _tell_redis(self, verb: str, channel: str) -> None:
        if self._pubsub is not None:
            with contextlib.suppress(*AWAY):  # _run notices the lost connection and subscribes anew
                await getattr(self._pubsub, verb)(channel)

    async def _run(self) -> None:
        first = True
        for redis in itertools.cycle(self._servers):
            try:
                async with redis.pubsub() as pubsub:
                    wanted = set(self._listeners)
                    await pubsub.subscribe(_IDLE, *wanted)
                    self._pubsub = pubsub  # from here on whoever comes or goes tells Redis by itself
                    if came := set(self._listeners) - wanted:
                        await pubsub.subscribe(*came)
                    if left := wanted - set(self._listeners):
                        await pubsub.unsubscribe(*left)
                    if not first:
                        for back in self.on_return:
                            back()
                    first = False
                    await self._listen(pubsub)
            except AWAY as error:
                _LOG.warning("notifications are silent (%s); trying again", type(error).__name__)
            finally:
                self._pubsub = None
            await asyncio.sleep(_PAUSE_S)

    async def _listen(self, pubsub: PubSub) -> None:
        """Hear until the connection breaks. A server that died without a word never breaks it: after a silence we ask."""
        is_asked = False
        while True:
            message = await pubsub.get_message(timeout=_QUIET_S)
            if message is not None:
                is_asked = False
                self._hear(message)
            elif is_asked:
                raise RedisTimeoutError(f"nothing was heard for {2 * _QUIET_S:.0f} s")
            else:
                is_asked = True
                await pubsub.ping()

    def _hear(self, message: dict[str, Any]) -> None:
        if message["type"] != "message":
            return
        channel, data = _text(message["channel"]), _text(message["data"])
        for listener in list(self._listeners.get(channel, ())):
            try:
                listener(data)
            except Exception:  # one listener's mistake must not silence the others; it is logged whole
                _LOG.exception("a listener on %s failed", channel)


def _text(value: object) -> str:
    """What was said. Bytes that are no text are noise; the listener finds that out, and the others go on listening."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
