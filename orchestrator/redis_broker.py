"""Celery's Redis transport, with one Redis client per channel.

kombu makes a new client for every command, and making one takes longer than the command: a fifth of a worker's CPU time.
"""

from typing import Any, Final

from kombu.transport import TRANSPORT_ALIASES
from kombu.transport import redis as kombu_redis

_NAME: Final = f"{__name__}:Transport"


class Channel(kombu_redis.Channel):
    """A channel that keeps its client as long as its pool of connections. The client may be used by several threads."""

    _kept: Any = None

    def _create_client(self, asynchronous: bool = False) -> Any:
        make: Any = super()._create_client  # type: ignore[misc]  # not in kombu's types
        if asynchronous:
            return make(asynchronous=True)  # kombu keeps this one itself
        if self._kept is None or self._kept.connection_pool is not self.pool:
            self._kept = make()
        return self._kept

    def close(self) -> None:
        """Close the channel, also a second time after the first failed because Redis was away.

        kombu has forgotten the address of Redis by then, and would end the worker with an AttributeError. What was not
        acknowledged is handed out again from the book.
        """
        if not self.closed and self.connection.client is None:
            self.closed = True
        super().close()


class Transport(kombu_redis.Transport):
    """The transport of addresses that begin with redis:// or rediss://."""

    Channel = Channel


def register() -> None:
    """Let kombu use this transport in this process."""
    TRANSPORT_ALIASES.update({"redis": _NAME, "rediss": _NAME})
