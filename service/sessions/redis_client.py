"""The link to Redis: one address, four kinds of servers.

| address | server |
|---|---|
| ``redis://host:6379/0``, ``rediss://…`` (TLS) | one server |
| ``unix:///path/to/socket`` | one server on this machine |
| ``redis+sentinel://host:26379,host:26379/NAME`` | whichever server the sentinels call master of NAME |
| ``redis+cluster://host:7000,host:7001`` | a Redis Cluster |
"""

import asyncio
import contextlib
import re
import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from redis.asyncio import BlockingConnectionPool, Connection, Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel, SentinelManagedConnection
from redis.backoff import ExponentialBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import (
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    ResponseError,
)

from service.sessions.errors import StoreUnavailable

#: A server that says nothing for so long is given up: one that died without a word never closes its connections.
TIMEOUT_S = 5.0
#: To one server: when a crowd of bots comes at once, whoever finds all of them in use waits for one instead of being turned away.
_CONNECTIONS = 64
#: To servers whose clients cannot wait: more than a crowd will ever use at once.
_MANY_CONNECTIONS = 2000
#: Questions under way at once. Each takes a connection, and one too many would be an error.
_QUESTIONS = 64
#: A task that was cancelled and goes on is cancelled again after so long.
_AGAIN_S = 0.1
#: What is raised when Redis is away, of whatever kind it is; redis-py gives a Cluster's troubles a family of their own.
AWAY = (RedisError, RedisClusterException, OSError)
#: What Redis calls a refusal, such as MISCONF (it cannot write its file) or NOREPLICAS.
_CODE = re.compile(r"\b[A-Z]{4,}\b")


def describe_failure(error: Exception) -> str:
    """Why the store takes no writes, in a few words."""
    match error:
        case OutOfMemoryError():
            return "the store takes no writes: OOM, it has reached its maxmemory"
        case ReadOnlyError():
            return "the store takes no writes: READONLY, it is a replica"
        case ResponseError():
            code = _CODE.search(str(error))
            return f"the store takes no writes: {code[0] if code else type(error).__name__}"
        case TimeoutError():
            return "the store does not answer: TimeoutError"
        case _:
            return f"the store does not answer: {type(error).__name__}"


class RedisClient:
    """The one way to put questions to Redis: so many at once, each counted, and a Redis that is away is StoreUnavailable.

    How long an answer may take is the connection's business: see ``connect``. Saves of moves have a connection of their own, in
    ``redis_store``.
    """

    def __init__(self, redis: "Redis | RedisCluster") -> None:
        self.redis = redis
        self._slots = asyncio.Semaphore(_QUESTIONS)
        self._shas: dict[str, str] = {}
        #: Called after every answer with the seconds it took.
        self.on_answer: Callable[[float], None] = lambda seconds: None

    async def ask(self, call: Any) -> Any:
        """The answer to one command, or to one pipeline."""
        try:
            async with self._slots:
                begin = time.perf_counter()
                answer = await call
        except AWAY as error:
            raise StoreUnavailable(describe_failure(error)) from error
        self.on_answer(time.perf_counter() - begin)
        return answer

    async def run(self, script: str, key_count: int, *arguments: Any) -> Any:
        """The answer of a script, which Redis is sent once and then knows by its hash."""
        try:
            if script not in self._shas:
                self._shas[script] = await self.load(script)
            return await self.ask(self.redis.evalsha(self._shas[script], key_count, *arguments))
        except StoreUnavailable as error:
            if not isinstance(error.__cause__, NoScriptError):
                raise
        self._shas[script] = await self.load(script)  # Redis was restarted or told to forget
        return await self.ask(self.redis.evalsha(self._shas[script], key_count, *arguments))

    async def load(self, script: str) -> str:
        """The hash by which Redis knows a script."""
        return str(await self.ask(self.redis.script_load(script)))


async def cancel_task(task: "asyncio.Task[None]") -> None:
    """Cancel a task that may be talking to Redis, until it ends.

    redis-py connects and writes within ``asyncio.wait_for``, which in Python 3.11 swallows a cancellation that comes just when the
    inner work is done: asked once, the task may go on for ever.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=_AGAIN_S)
    with contextlib.suppress(asyncio.CancelledError):
        task.result()


class BadAddress(ValueError):
    """An address that is no Redis. A password in it is not shown."""

    def __init__(self, address: str, expected: str) -> None:
        super().__init__(f"redis: {_without_secrets(address)!r} is not possible; expected {expected}")


def _without_secrets(address: str) -> str:
    """The address as it may be shown: who connects, and what a query may say of it, is left out."""
    parts = urlsplit(address)
    who, at, where = parts.netloc.rpartition("@")
    return urlunsplit((parts.scheme, ("[hidden]" if who else "") + at + where, parts.path, "", ""))


class _ToMaster(SentinelManagedConnection):
    """Asks the sentinels again whenever it has to connect.

    redis-py does so only for a connection fresh from the pool: a command that is tried again goes back to the server it had,
    and if that one hangs, all its tries are spent there while the next master waits.
    """

    async def send_packed_command(self, command: bytes | str | Iterable[bytes], check_health: bool = True) -> None:
        if not self.is_connected:
            await self.connect()  # type: ignore[no-untyped-call]  # redis-py leaves it untyped
        await super().send_packed_command(command, check_health)


class _ToNode(Connection):
    """Fails with an error that redis-py retries when it was closed before it could write.

    After one failed command redis-py closes all connections to that node of a Cluster, also those that other commands have
    just taken. Up to 8.1.0 these commands then fail with an AttributeError (its issue 4287).
    """

    async def _send_packed_command(self, command: Iterable[bytes]) -> None:
        if self._writer is None:
            raise RedisConnectionError("the connection was closed before the command was sent")
        await super()._send_packed_command(command)


def _hosts(address: str, places: str, default_port: int) -> list[tuple[str, int]]:
    hosts = []
    for place in places.split(","):
        host, _, port = place.rpartition(":") if ":" in place else (place, "", str(default_port))
        if not host or not port.isdigit():
            raise BadAddress(address, f"host:port, and not {place!r}, between the commas")
        hosts.append((host.strip("[]"), int(port)))
    return hosts


def connect(address: str) -> "Redis | RedisCluster":
    """A client for the address; it connects when it is first used."""
    parts = urlsplit(address)
    where = parts.netloc.rpartition("@")[2]
    if parts.scheme in ("redis", "rediss", "unix"):
        try:
            pool = BlockingConnectionPool.from_url(
                address,
                max_connections=_CONNECTIONS,
                timeout=TIMEOUT_S,
                socket_connect_timeout=TIMEOUT_S,
                socket_timeout=TIMEOUT_S,
            )
        except ValueError as error:
            raise BadAddress(address, f"an address as in redis://localhost:6379/0 ({error})") from None
        return Redis.from_pool(pool)
    username = unquote(parts.username) if parts.username else None
    password = unquote(parts.password) if parts.password else None
    if parts.scheme == "redis+sentinel":
        name = parts.path.strip("/")
        if not name:
            raise BadAddress(address, "the name of the master at the end, as in redis+sentinel://host:26379/mymaster")
        sentinel = Sentinel(  # type: ignore[no-untyped-call]  # redis-py leaves it untyped
            _hosts(address, where, 26379), socket_timeout=TIMEOUT_S, password=password
        )
        retry = Retry(ExponentialBackoff(cap=1.0), 5)
        master: Redis = sentinel.master_for(
            name,
            Redis,
            username=username,
            password=password,
            retry=retry,
            max_connections=_MANY_CONNECTIONS,
            connection_class=_ToMaster,
        )
        return master
    if parts.scheme == "redis+cluster":
        nodes = [ClusterNode(host, port) for host, port in _hosts(address, where, 6379)]
        cluster = RedisCluster(
            startup_nodes=nodes,
            username=username,
            password=password,
            socket_connect_timeout=TIMEOUT_S,
            max_connections=_MANY_CONNECTIONS,
        )
        cluster.connection_kwargs["connection_class"] = _ToNode  # no argument sets it
        for node in cluster.startup_nodes:
            node.connection_class = _ToNode
        return cluster
    schemes = "redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://"
    raise BadAddress(address, f"an address that begins with {schemes}")


def connect_for_notifications(address: str) -> list[Redis]:
    """Clients for pub/sub, of which one is used at a time: in a Cluster any node carries every notice, and any may die."""
    client = connect(address)
    if isinstance(client, RedisCluster):
        who: dict[str, Any] = {name: client.connection_kwargs.get(name) for name in ("username", "password")}
        nodes = _hosts(address, urlsplit(address).netloc.rpartition("@")[2], 6379)
        return [Redis(host=host, port=port, **who, socket_connect_timeout=TIMEOUT_S) for host, port in nodes]
    return [client]
