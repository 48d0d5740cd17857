"""Memory for requests: limited per caller and in total, shared in turns, and always released."""

import asyncio
import random
from typing import Any

import pytest

from service.rpc import request_reader
from service.rpc.limits import LimitReached
from service.rpc.request_memory import LEAST_BYTES, HalfOpen, RequestBytes, RequestMemory, Reservation, peer_of
from tests.harness.in_process import OPERATOR
from tests.rpc.access import stub_server
from tests.rpc.access.stub_server import Stubs, make_interceptors, serving

_MIB = 1 << 20


class Peer:
    """A caller's address in gRPC's notation."""

    def __init__(self, address: str) -> None:
        self._address = address

    def peer(self) -> str:
        return self._address


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("ipv4:192.0.2.7:50312", "192.0.2.7"),
        ("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:50312", "2001:db8:1:2::"),
        ("ipv6:[2001:db8:1:2:ffff::9]:1", "2001:db8:1:2::"),
        ("ipv6:[::ffff:192.0.2.7]:1", "192.0.2.7"),
        ("ipv6:[fe80::1%25eth0]:1", "fe80::"),
        ("unix:/run/rubble.sock", "unix"),
        ("unix:", "unix"),
    ],
)
def test_a_stranger_is_known_by_its_address_without_the_port(address: str, name: str) -> None:
    assert peer_of(Peer(address)) == name


def test_a_caller_at_its_limit_does_not_block_the_others() -> None:
    async def scenario() -> None:
        pool = RequestBytes(_MIB, 2 * _MIB, 4 * _MIB)
        first, second = await pool.reserve("ada"), await pool.reserve("ada")
        third = asyncio.create_task(pool.reserve("ada"))
        eve = await pool.reserve("eve")
        await asyncio.sleep(0)
        assert not third.done()
        first.shrink(10)
        await asyncio.sleep(0)
        assert not third.done(), "the first caller's remaining memory is not enough"
        second.release()
        held = await third
        for each in (first, second, second, eve, held):
            each.release()
        assert pool.used == 0

    asyncio.run(scenario())


def test_waiting_callers_take_turns_however_much_each_has_sent() -> None:
    async def scenario() -> None:
        pool = RequestBytes(_MIB, 2 * _MIB, 2 * _MIB)
        order: list[str] = []

        async def ask(caller: str) -> None:
            held = await pool.reserve(caller)
            order.append(caller)
            await asyncio.sleep(0)
            held.release()

        block = [await pool.reserve("block"), await pool.reserve("block")]
        calls = [asyncio.create_task(ask("greedy")) for _ in range(50)]
        await asyncio.sleep(0)
        calls.append(asyncio.create_task(ask("modest")))
        await asyncio.sleep(0)
        for held in block:
            held.release()
        await asyncio.gather(*calls)
        assert order.index("modest") <= 2
        assert pool.used == 0

    asyncio.run(scenario())


def test_too_many_waiting_calls_are_refused() -> None:
    async def scenario() -> None:
        pool = RequestBytes(_MIB, _MIB, 2 * _MIB)
        held = await pool.reserve("ada")
        calls = [asyncio.create_task(pool.reserve("ada")) for _ in range(600)]
        await asyncio.sleep(0)
        refused = [call for call in calls if call.done()]
        assert len(refused) == 600 - 512
        with pytest.raises(LimitReached) as caught:
            refused[0].result()
        assert caught.value.retry_after_ms > 0
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        held.release()
        assert pool.used == 0
        (await pool.reserve("ada")).release()

    asyncio.run(scenario())


def test_all_memory_is_released_whichever_calls_are_cancelled() -> None:
    async def scenario(seed: int) -> None:
        chance = random.Random(seed)
        pool = RequestBytes(_MIB, 3 * _MIB, 7 * _MIB)

        async def ask(caller: str) -> None:
            held: Reservation = await pool.reserve(caller)
            try:
                assert pool.used <= 7 * _MIB
                await asyncio.sleep(chance.random() / 1000)
                held.shrink(chance.randrange(2 * LEAST_BYTES))
                await asyncio.sleep(chance.random() / 1000)
            finally:
                held.release()

        calls = [asyncio.create_task(ask(f"caller {chance.randrange(5)}")) for _ in range(300)]
        while not all(call.done() for call in calls):
            chance.choice(calls).cancel()
            await asyncio.sleep(0)
        assert pool.used == 0
        assert not pool._waiting
        assert not pool._used

    for seed in range(5):
        asyncio.run(scenario(seed))


def test_too_many_half_open_streams_end_the_oldest_of_the_address_with_the_most() -> None:
    async def scenario() -> None:
        half_open = HalfOpen(per_address=2, total=3)
        ended: list[str] = []
        never = asyncio.Event()

        async def stream(name: str, address: str) -> None:
            try:
                async with half_open.wait(address):
                    await never.wait()
            except LimitReached:
                ended.append(name)

        async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
            opened = []
            for name, address in (("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b"), ("c1", "c")):
                opened.append(tasks.create_task(stream(name, address)))
                while len(ended) < {"a3": 1, "c1": 2}.get(name, 0):
                    await asyncio.sleep(0)
            assert ended == ["a1", "a2"], "first for a stream of its own address, then for one of another"
            assert [task.done() for task in opened] == [True, True, False, False, False]
            never.set()
        assert ended == ["a1", "a2"]

    asyncio.run(scenario())


def test_a_request_that_is_announced_and_never_sent_does_not_keep_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """All players share one memory: a few keys with such calls would block everybody's answers."""
    monkeypatch.setattr(request_reader, "_READ_S", 0.2)
    method = "/rubble.v1.SessionService/Resign"

    async def unary(request: bytes, _context: object) -> bytes:
        return request

    async def scenario() -> None:
        interceptors, _, _ = make_interceptors()
        request_memory = RequestMemory(largest=_MIB, per_caller=_MIB, total=_MIB)
        stubs = Stubs({method: (False, False)}, unary, unary)
        async with serving(
            stubs, interceptors=(*interceptors, request_reader.RequestReader(request_memory))
        ) as channel:
            silent: Any = channel.stream_unary(method)(metadata=[("authorization", f"Bearer {OPERATOR}")])
            await silent.wait_for_connection()
            assert await stub_server.call(channel, method, (False, False), OPERATOR, b"at last") == [b"at last"]
            silent.cancel()

    asyncio.run(scenario())
