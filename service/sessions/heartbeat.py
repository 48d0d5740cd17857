"""The heartbeat of one copy: a write once a second, which shows problems of the store, of this copy and of other copies.

A read is not enough: a full Redis, or a replica, answers reads but accepts no moves.
"""

import asyncio
import logging
import secrets
from typing import Any, Final

import msgspec
from redis.asyncio import Redis, RedisCluster

from service.sessions import keys
from service.sessions.outages import KEPT, KEPT_MS, RETURN_MS, SILENCE_MS, SILENT_MS, Outage, Outages
from service.sessions.redis_client import AWAY, describe_failure
from service.sessions.steady_clock import SteadyClock

_LOG: Final = logging.getLogger(__name__)
_PATIENCE_S: Final = 2.0
#: The field for the time at which a copy last stopped on purpose.
_STOPPED: Final = "stopped"


class Heartbeat:
    """Writes the heartbeat, and maintains the copy's list of outages."""

    def __init__(self, redis: "Redis | RedisCluster", clock: SteadyClock, outages: Outages) -> None:
        self._redis = redis
        self._clock = clock
        self._outages = outages
        self._copy = secrets.token_hex(8)
        #: Outages that are not stored yet.
        self._unsaved: list[Outage] = []
        #: By copy: the last time it wrote, and when this copy saw the value change. Their clocks may differ.
        self._others: dict[str, tuple[int, int]] = {}
        self._is_first = True
        #: Whether the store answers reads, and why it accepts no writes (empty if it does).
        self.is_readable = False
        self.failure = "the store has not been asked yet"

    async def beat(self) -> None:
        """Write once and update the outages. Does not raise if the store is away or full: ``failure`` then gives the reason."""
        now = self._clock()
        step = self._clock.step_ms()
        if abs(step) > SILENCE_MS:
            _LOG.warning("the time of day was set by %.1f s; session clocks are not affected", step / 1000)
            # The machine slept or its clock was set: bots on other machines may have lost their connections.
            self._note(Outage(now - RETURN_MS, now, f"the time of day was set by {step / 1000:.0f} s"))
        self._end_failure(now)
        own = self._outages.own(now)
        written = [*self._unsaved, *([own] if own else [])]
        pipe: Any = self._redis.pipeline(transaction=False)
        for outage in written:
            pipe.zadd(keys.OUTAGES, {msgspec.msgpack.encode(outage): outage.end_ms})
        pipe.zremrangebyrank(keys.OUTAGES, 0, -KEPT - 1)
        pipe.hset(keys.COPIES, self._copy, now)
        pipe.hgetall(keys.COPIES)
        pipe.zrangebyscore(keys.OUTAGES, now - KEPT_MS, "+inf")
        try:
            async with asyncio.timeout(_PATIENCE_S):
                answers = await pipe.execute(raise_on_error=False)
        except (*AWAY, TimeoutError) as error:
            answers = [error]
        problem = next((answer for answer in answers if isinstance(answer, Exception)), None)
        self.is_readable = not isinstance(answers[-1], Exception)
        failure = describe_failure(problem) if problem is not None else ""
        if failure != self.failure and failure:
            _LOG.warning("%s", failure)
        self.failure = failure
        if problem is not None:
            self._outages.failure = failure
            return
        if own is not None:
            _LOG.warning("an outage of the service has ended: %s; clocks stood still meanwhile", own)
        self._unsaved = [outage for outage in self._unsaved if outage not in written]
        self._outages.add(written)
        self._outages.add(msgspec.msgpack.decode(raw, type=Outage) for raw in answers[-1])
        self._outages.wrote_ms, self._outages.failure = now, ""
        await self._look_at_others({_text(name): int(at) for name, at in answers[-2].items()}, now)

    def _note(self, outage: Outage) -> None:
        self._unsaved.append(outage)
        self._outages.add([outage])

    def failed(self, error: Exception) -> None:
        """Record a failed round trip. In a Cluster, the failed node may be another one than the node of the heartbeat."""
        now = self._clock()
        self._end_failure(now)
        last = self._outages.failing
        self._outages.failing = Outage(last.start_ms if last else now, now, describe_failure(error))

    def _end_failure(self, now: int) -> None:
        """Store a failure as an outage once no round trip has failed for a while."""
        last = self._outages.failing
        if last is not None and now - last.end_ms >= SILENCE_MS:
            self._outages.failing = None
            self._note(last)

    async def _look_at_others(self, copies: dict[str, int], now: int) -> None:
        """Record copies that stopped writing: their bots are cut off, and other copies must not forfeit them for that."""
        if self._is_first:
            self._is_first = False
            last = max((at for name, at in copies.items() if name != self._copy), default=now)
            if now - last > SILENCE_MS:
                self._note(Outage(last, now, "no copy of the service was running"))
                await self._remove([name for name, at in copies.items() if name != self._copy and now - at > SILENT_MS])
        silent: dict[str, Outage] = {}
        gone: list[str] = []
        for name, at in copies.items():
            if name in (self._copy, _STOPPED):
                continue
            seen, changed = self._others.get(name, (-1, now))
            if seen != at:
                self._others[name] = (at, now)
                continue
            outage = Outage(changed, now, "a copy of the service fell silent")
            if now - changed > SILENT_MS:
                self._note(outage)
                gone.append(name)
            elif now - changed > SILENCE_MS:
                silent[name] = outage
        self._outages.silent = silent
        for name in self._others.keys() - copies.keys():
            del self._others[name]
        await self._remove(gone)

    async def _remove(self, names: list[str]) -> None:
        if names:
            await self._quietly(self._redis.hdel(keys.COPIES, *names))

    async def stop(self) -> None:
        """Record that this copy was stopped on purpose: its bots were asked to reconnect elsewhere."""
        await self._quietly(self._redis.hset(keys.COPIES, _STOPPED, str(self._clock())))
        await self._remove([self._copy])

    @staticmethod
    async def _quietly(call: Any) -> None:
        try:
            await call
        except AWAY as error:
            _LOG.warning("%s", describe_failure(error))


def _text(name: object) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)
