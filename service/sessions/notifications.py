"""Notifications through Redis pub/sub that something was saved. A lost one only causes a delay: clients also poll."""

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
#: After this silence a ping is sent; after the same time again the connection counts as lost.
_QUIET_S: Final = 2.0
#: A channel without messages: it keeps the subscription alive while there is no other.
_IDLE: Final = "rubble:idle"

Listener = Callable[[str], None]


class Notifications:
    """One subscription per process, shared by all listeners. It reconnects by itself.

    If several servers carry the same messages, one is used, and the next one when it fails.
    """

    def __init__(self, *servers: Redis) -> None:
        self._servers = servers
        self._listeners: dict[str, list[Listener]] = {}
        self._pubsub: PubSub | None = None
        self._task: asyncio.Task[None] | None = None
        #: Called when a lost subscription is restored: messages sent in between were missed.
        self.on_return: list[Callable[[], None]] = []

    async def start(self) -> None:
        """Start listening."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop listening."""
        if self._task is not None:
            await cancel_task(self._task)

    async def add(self, channel: str, listener: Listener) -> None:
        """Call the listener with every message on the channel."""
        self._listeners.setdefault(channel, []).append(listener)
        if len(self._listeners[channel]) == 1:
            await self._tell_redis("subscribe", channel)

    async def remove(self, channel: str, listener: Listener) -> None:
        """Stop calling the listener."""
        listeners = self._listeners.get(channel, [])
        if listener in listeners:
            listeners.remove(listener)
        if not listeners and self._listeners.pop(channel, None) is not None:
            await self._tell_redis("unsubscribe", channel)

    async def _tell_redis(self, verb: str, channel: str) -> None:
        if self._pubsub is not None:
            with contextlib.suppress(*AWAY):  # _run detects the lost connection and subscribes again
                await getattr(self._pubsub, verb)(channel)

    async def _run(self) -> None:
        first = True
        for redis in itertools.cycle(self._servers):
            try:
                async with redis.pubsub() as pubsub:
                    wanted = set(self._listeners)
                    await pubsub.subscribe(_IDLE, *wanted)
                    self._pubsub = pubsub  # from now on add and remove subscribe directly
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
                _LOG.warning("the connection for notifications failed (%s); trying again", type(error).__name__)
            finally:
                self._pubsub = None
            await asyncio.sleep(_PAUSE_S)

    async def _listen(self, pubsub: PubSub) -> None:
        """Receive messages until the connection breaks. A dead server may not close it, so a ping is sent after a silence."""
        is_asked = False
        while True:
            message = await pubsub.get_message(timeout=_QUIET_S)
            if message is not None:
                is_asked = False
                self._hear(message)
            elif is_asked:
                raise RedisTimeoutError(f"nothing was received for {2 * _QUIET_S:.0f} s")
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
            except Exception:  # an error in one listener must not stop the others
                _LOG.exception("a listener on %s failed", channel)


def _text(value: object) -> str:
    """Decode a message. Invalid bytes are replaced; the listener rejects such a message."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
