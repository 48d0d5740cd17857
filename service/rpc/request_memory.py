"""Memory for requests: reserved per caller and in total before a request is read, released when it has been answered.

The length of a request is known only once it has been read, so the maximum is reserved first and the rest released then. A
request that does not fit waits unread, which makes the sender wait too. Waiting callers take turns, however much each has sent.
Unauthenticated callers, players and the operator have separate memory. Streams of unauthenticated callers have a separate limit
until their first message has arrived.
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

#: The minimum size of a call: its task, its buffers and its answer take memory too.
LEAST_BYTES: Final = 64 << 10
#: Waiting calls of one caller; more are refused. Many bots may connect at once from one address.
_WAITING: Final = 512
#: Unauthenticated callers have this fraction of the players' memory.
_ANONYMOUS_SHARE: Final = 4
#: How long the first message of an unauthenticated stream may take, in seconds.
FIRST_S: Final = 5.0
#: Streams of one address that may always wait for their first message, however little memory there is.
_FEWEST_HALF_OPEN: Final = 16
#: Long calls of one caller, for methods without a separate limit.
_LONG_CALLS: Final = 32
#: When an address may retry after its stream was ended for a newer one.
_COME_BACK_MS: Final = 100


def peer_of(context: Any) -> str:
    """Return the address of a caller without its port; for IPv6 the first 64 bits, which usually belong to one caller."""
    kind, _, rest = unquote(context.peer()).partition(":")
    if kind not in ("ipv4", "ipv6"):
        return kind
    address = ip_address(rest.rpartition(":")[0].strip("[]").partition("%")[0])
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))


def caller_name(caller: Caller, context: Any = None) -> str:
    """Return the name under which limits are counted; an unauthenticated caller is known only by its address."""
    return peer_of(context) if caller.kind is Kind.ANONYMOUS else caller.id


class Reservation:
    """Memory reserved by one call."""

    __slots__ = ("_bytes", "_caller", "_pool")

    def __init__(self, pool: "RequestBytes", caller: str, size: int) -> None:
        self._pool = pool
        self._caller = caller
        self._bytes = size

    def shrink(self, size: int) -> None:
        """Reduce the reservation to the size of the request, which has been read."""
        size = min(self._bytes, max(size, LEAST_BYTES))
        self._pool.give_back(self._caller, self._bytes - size)
        self._bytes = size

    def release(self) -> None:
        """Release the memory at the end of the call; may be called more than once."""
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
        #: Waiting callers in the order of their turns, and their calls.
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @property
    def used(self) -> int:
        """Return the number of reserved bytes."""
        return self._used_in_total

    async def reserve(self, caller: str) -> Reservation:
        """Reserve memory for a request of any size, or wait for it. Raises LimitReached if too many calls already wait."""
        if caller in self._waiting or not self._fits(caller):
            queue = self._waiting.setdefault(caller, deque())
            if len(queue) >= _WAITING:
                raise LimitReached("bytes of requests at once for each caller", self._per_caller)
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            queue.append(turn)
            try:
                await asyncio.shield(turn)  # shielded, so that it is not cancelled while it is in the queue
            except asyncio.CancelledError:
                self._leave(caller, turn)
                raise
        else:
            self._take(caller)
        return Reservation(self, caller, self._largest)

    def give_back(self, caller: str, size: int) -> None:
        """Release memory, and let waiting callers have it in turn."""
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
        """Serve one call of each waiting caller in turn, until nothing fits."""
        for caller in list(self._waiting):
            if self._used_in_total + self._largest > self._total:
                return
            if not self._fits(caller):
                continue
            queue = self._waiting.pop(caller)
            turn = queue.popleft()
            if queue:
                self._waiting[caller] = queue  # after the others
            self._take(caller)
            turn.set_result(None)

    def _leave(self, caller: str, turn: "asyncio.Future[None]") -> None:
        """Remove a call that no longer waits. It may have got its memory at the same moment."""
        if turn.done():
            self.give_back(caller, self._largest)
            return
        queue = self._waiting[caller]
        queue.remove(turn)
        if not queue:
            del self._waiting[caller]


class HalfOpen:
    """Unauthenticated streams whose first message has not arrived; each may take the memory of the longest message.

    A new stream is never refused. If there are too many, the oldest of its address is ended (in total: of the address with the
    most), because a bot sends Hello as soon as it has connected, and a stream meant to block others never does.
    """

    def __init__(self, per_address: int, total: int) -> None:
        self._per_address = per_address
        self._total = total
        #: Oldest first: the timeout of a stream, and its address.
        self._waiting: dict[asyncio.Timeout, str] = {}

    @asynccontextmanager
    async def wait(self, address: str) -> AsyncIterator[None]:
        """Limit a block that waits for a first message. Raises TimeoutError, or LimitReached if newer streams need the place."""
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
        """End one stream if another one of this address would be too many."""
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
        anonymous = RequestBytes(largest, per_caller // 2, total // _ANONYMOUS_SHARE)
        players = RequestBytes(largest, per_caller, total)
        #: The operator is one caller with many programs.
        operator = RequestBytes(largest, total, total)
        self._health = RequestBytes(largest, per_caller // 2, total // _ANONYMOUS_SHARE)
        #: Long calls without a separate limit: health watches and reflection.
        self.long_calls = ConcurrencyLimit("long calls for each caller", _LONG_CALLS)
        self._pools = {
            Kind.ANONYMOUS: anonymous,
            Kind.SEAT: players,
            Kind.BOT: players,
            Kind.OPERATOR: operator,
        }

    async def reserve(self, name: str, kind: Kind, *, is_health: bool = False) -> Reservation:
        """Reserve memory for one request of a caller. Health checks have separate memory."""
        return await (self._health if is_health else self._pools[kind]).reserve(name)

    def half_open(self, context: Any) -> AbstractAsyncContextManager[None]:
        """Return a block that waits for the first message of an unauthenticated stream: see ``HalfOpen.wait``."""
        return self._half_open.wait(peer_of(context))
