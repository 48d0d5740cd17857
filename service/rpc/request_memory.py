"""Memory for requests: reserved before a request is read, by caller and in total, given back when it has been answered.

How long a request is can only be known once it has been read, so the largest possible one is reserved and the rest given back
then. What does not fit waits unread, which makes the sender wait too. Callers that wait have their turn one after another,
whatever each of them has sent. Strangers, players and the operator have memory of their own and cannot take each other's.
Streams of strangers are bounded apart from all these until their first message has come.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from ipaddress import IPv6Address, ip_address
from typing import Any, Final
from urllib.parse import unquote

from service.rpc.auth import Caller, Kind
from service.rpc.limits import ConcurrencyLimit, LimitReached

#: What a call counts as at least: its task, its buffers and its answer take memory too.
LEAST_BYTES: Final = 64 << 10
#: Calls of one caller that wait; more are told to come back. A crowd of bots may come at once from one address.
_WAITING: Final = 512
#: Strangers have this part of what players have.
_STRANGERS: Final = 4
#: How long the first message of a stranger's stream may take, in seconds.
FIRST_S: Final = 5.0
#: So many streams of one address may wait for their first message, however little memory there is.
_FEWEST_HALF_OPEN: Final = 16
#: Long calls of one caller that have no limit of their own.
_LONG_CALLS: Final = 32
#: An address that was made to leave for newer ones may come back so soon.
_COME_BACK_MS: Final = 100


def peer_of(context: Any) -> str:
    """The address of a caller without its port. Of IPv6 the first 64 bits, since one caller usually has all of these."""
    kind, _, rest = unquote(context.peer()).partition(":")
    if kind not in ("ipv4", "ipv6"):
        return kind
    address = ip_address(rest.rpartition(":")[0].strip("[]").partition("%")[0])
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))


def caller_name(caller: Caller, context: Any = None) -> str:
    """The name under which limits are counted; a stranger is known only by the address in its context."""
    return peer_of(context) if caller.kind is Kind.ANONYMOUS else caller.id


class Reservation:
    """Memory that one call has reserved."""

    __slots__ = ("_bytes", "_caller", "_pool")

    def __init__(self, pool: "RequestBytes", caller: str, size: int) -> None:
        self._pool = pool
        self._caller = caller
        self._bytes = size

    def shrink(self, size: int) -> None:
        """The request has been read and is so long."""
        size = min(self._bytes, max(size, LEAST_BYTES))
        self._pool.give_back(self._caller, self._bytes - size)
        self._bytes = size

    def release(self) -> None:
        """The call is over. May be said more than once."""
        size, self._bytes = self._bytes, 0
        self._pool.give_back(self._caller, size)


class RequestBytes:
    """Memory for the requests of many callers."""

    def __init__(self, largest: int, per_caller: int, total: int) -> None:
        self._largest = max(largest, LEAST_BYTES)
        self._per_caller = max(per_caller, self._largest)
        self._total = max(total, self._per_caller)
        self._used: dict[str, int] = {}
        self._used_in_total = 0
        #: Callers that wait, in the order of their turns, and their calls.
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @property
    def used(self) -> int:
        """Bytes that are reserved now."""
        return self._used_in_total

    async def reserve(self, caller: str) -> Reservation:
        """Memory for a request of any size, after a wait if need be. LimitReached if too many calls of the caller wait already."""
        if caller in self._waiting or not self._fits(caller):
            queue = self._waiting.setdefault(caller, deque())
            if len(queue) >= _WAITING:
                raise LimitReached("bytes of requests at once for each caller", self._per_caller)
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            queue.append(turn)
            try:
                await asyncio.shield(turn)  # so that it is not cancelled while it still stands in the queue
            except asyncio.CancelledError:
                self._leave(caller, turn)
                raise
        else:
            self._take(caller)
        return Reservation(self, caller, self._largest)

    def give_back(self, caller: str, size: int) -> None:
        """Memory is free again: for the callers that wait, each in its turn."""
        if not size:
            return
        self._used_in_total -= size
        left = self._used[caller] - size
        if left:
            self._used[caller] = left
        else:
            del self._used[caller]
        if self._waiting:
            self._serve()

    def _fits(self, caller: str) -> bool:
        return (
            self._used.get(caller, 0) + self._largest <= self._per_caller
            and self._used_in_total + self._largest <= self._total
        )

    def _take(self, caller: str) -> None:
        self._used[caller] = self._used.get(caller, 0) + self._largest
        self._used_in_total += self._largest

    def _serve(self) -> None:
        """One call of each caller that waits, until nothing fits."""
        for caller in list(self._waiting):
            if self._used_in_total + self._largest > self._total:
                return
            if not self._fits(caller):
                continue
            queue = self._waiting.pop(caller)
            turn = queue.popleft()
            if queue:
                self._waiting[caller] = queue  # behind the others
            self._take(caller)
            turn.set_result(None)

    def _leave(self, caller: str, turn: "asyncio.Future[None]") -> None:
        """A call that waited is given up. It may have been given its memory this very moment."""
        if turn.done():
            self.give_back(caller, self._largest)
            return
        queue = self._waiting[caller]
        queue.remove(turn)
        if not queue:
            del self._waiting[caller]


class HalfOpen:
    """Streams of strangers whose first message has not come yet; each may take the memory of the longest message.

    A new stream is never refused. Where there are too many, the oldest of its address is ended (in total: of the address that has
    the most), since a bot says Hello as soon as it has connected, and a stream that is meant to be in the way never does.
    """

    def __init__(self, per_address: int, total: int) -> None:
        self._per_address = per_address
        self._total = total
        #: The oldest first: what ends the wait of a stream, and its address.
        self._waiting: dict[asyncio.Timeout, str] = {}

    @asynccontextmanager
    async def wait(self, address: str) -> AsyncIterator[None]:
        """The block waits for a first message. TimeoutError: none came in time; LimitReached: newer streams needed the place."""
        self._end_oldest(address)
        timeout = asyncio.timeout(FIRST_S)
        self._waiting[timeout] = address
        try:
            async with timeout:
                yield
        except TimeoutError:
            if timeout in self._waiting:
                raise
            limit = "streams without a first message for each address"
            raise LimitReached(limit, self._per_address, _COME_BACK_MS) from None
        finally:
            self._waiting.pop(timeout, None)

    def _end_oldest(self, address: str) -> None:
        """End one stream if another of this address would be too many."""
        counts = Counter(self._waiting.values())
        if counts[address] >= self._per_address:
            crowded = address
        elif len(self._waiting) >= self._total:
            crowded = counts.most_common(1)[0][0]
        else:
            return
        oldest = next(timeout for timeout, waiting in self._waiting.items() if waiting == crowded)
        del self._waiting[oldest]
        if not oldest.expired():
            oldest.reschedule(asyncio.get_running_loop().time())


class RequestMemory:
    """The memory of all kinds of callers."""

    def __init__(self, *, largest: int, per_caller: int, total: int) -> None:
        half_open = max(total // largest, _FEWEST_HALF_OPEN)
        self._half_open = HalfOpen(half_open, 2 * half_open)
        strangers = RequestBytes(largest, per_caller // 2, total // _STRANGERS)
        players = RequestBytes(largest, per_caller, total)
        #: The operator is one caller with many programs.
        operator = RequestBytes(largest, total, total)
        self._health = RequestBytes(largest, per_caller // 2, total // _STRANGERS)
        #: Long calls that have no limit of their own: health watches and reflection.
        self.long_calls = ConcurrencyLimit("long calls for each caller", _LONG_CALLS)
        self._pools = {
            Kind.ANONYMOUS: strangers,
            Kind.SEAT: players,
            Kind.BOT: players,
            Kind.OPERATOR: operator,
        }

    async def reserve(self, name: str, kind: Kind, *, is_health: bool = False) -> Reservation:
        """Memory for one request of a caller. Questions about health have memory of their own: other strangers cannot take it."""
        return await (self._health if is_health else self._pools[kind]).reserve(name)

    def half_open(self, context: Any) -> AbstractAsyncContextManager[None]:
        """A block that waits for the first message of a stranger's stream: see ``HalfOpen.wait``."""
        return self._half_open.wait(peer_of(context))
