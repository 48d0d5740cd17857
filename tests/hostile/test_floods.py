"""Clients and bots flood the service: its memory stays bounded, and other games continue.

Memory is the peak of the process (VmHWM). The bounds are generous: without the limits each flood takes several times as
much.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from bench import flooders
from rubble.v1 import bot_pb2, session_pb2
from tests.harness.bots import Bot, bots, silent
from tests.harness.client import Refusal, refusal
from tests.harness.games import check_story, create_session, fresh
from tests.harness.service import Arena, arena
from tests.harness.waiting import run, until

_MIB = 1 << 20
#: How many streams without a first message one address may have, with default settings.
_HALF_OPEN = 64


@pytest.fixture(scope="module")
def flooded() -> Iterator[Arena]:
    """A service shared by the floods that leave nothing behind. Each is measured from the memory before it."""
    with arena(1) as opened:
        yield opened


def _peak(opened: Arena) -> int:
    """Return the peak memory of the service since the last reset, in bytes."""
    status = Path(f"/proc/{opened.copies[0].pid}/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


@contextlib.asynccontextmanager
async def _within(opened: Arena, most: int) -> AsyncIterator[None]:
    """Assert that the block adds at most this much memory, while two bots play a game without any fault."""
    async with bots(opened, 2) as players, opened.operator() as operator:
        # Writing 5 resets the peak: see proc(5), clear_refs.
        Path(f"/proc/{opened.copies[0].pid}/clear_refs").write_text("5")
        before = _peak(opened)
        session = fresh("beside")
        await create_session(operator, "relief", [bot.name for bot in players], session)
        yield
        for bot in players:
            await bot.finished([session])
            assert (bot.refusals, bot.endings) == ([], [])
        await check_story(operator, session, "relief", 2)
        grown = _peak(opened) - before
        assert grown < most, f"{grown / _MIB:.0f} MiB more than before the flood; at most {most / _MIB:.0f}"


async def _key(opened: Arena) -> str:
    async with opened.operator() as operator:
        key: str = (await operator.ask(bot_pb2.IssueKeyRequest(bot=fresh("hostile")))).bot_key
        return key


def test_a_client_without_a_token_cannot_make_us_parse_half_a_million_choices(flooded: Arena) -> None:
    """Without a token the first message of Play must be short, and few are read at once."""

    async def scenario() -> None:
        async with _within(flooded, 120 * _MIB):
            await flooders.tokenless_choices({"address": flooded.addresses[0], "at_once": 16, "rounds": 8})

    run(scenario)


def test_long_ids_are_refused_before_they_are_stored(flooded: Arena) -> None:
    async def scenario() -> None:
        async with _within(flooded, 120 * _MIB):
            await flooders.long_ids({"address": flooded.addresses[0], "at_once": 64, "rounds": 8})
        async with flooded.client() as stranger:
            error = await refusal(stranger.session("s" * 2000))
            assert (error.code, error.facts["field"]) == (grpc.StatusCode.INVALID_ARGUMENT, "session")
            assert len(error.message) < 500

    run(scenario)


def test_one_key_cannot_fill_the_memory_with_simulations(flooded: Arena) -> None:
    async def scenario() -> None:
        key = await _key(flooded)
        async with _within(flooded, 150 * _MIB):
            await flooders.large_simulations({"address": flooded.addresses[0], "key": key, "at_once": 300, "rounds": 1})

    run(scenario)


def test_requests_beyond_the_memory_limit_wait_or_are_refused() -> None:
    """By default 8 MiB of one key are read at once, 512 calls wait, and more are refused. Other callers are not affected."""

    async def scenario() -> None:
        with arena(1, settings={"RUBBLE_REQUEST_BYTES_PER_CALLER": str(_MIB)}) as opened:
            key = await _key(opened)
            async with opened.client(key) as greedy, opened.operator() as operator:
                # A request that is announced and never sent still reserves memory.
                open_calls: list[Any] = []
                for _ in range(514):
                    call: Any = greedy.channel.stream_unary("/rubble.v1.SimulationService/Simulate")(
                        metadata=greedy.metadata
                    )
                    open_calls.append(call)

                await until(lambda: any(call.done() for call in open_calls), "one call too many")
                (refused,) = [call for call in open_calls if call.done()]
                error = await refusal(refused)
                assert (error.code, error.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
                assert error.retry_s
                session = (await create_session(operator, "relief", ["", ""])).session.session
                async with opened.client() as stranger:
                    assert (await stranger.session(session)).session == session
                for call in open_calls:
                    call.cancel()
                request = bot_pb2.ListConnectedRequest()

                async def is_served() -> bool:
                    error = await refusal(greedy.ask(request))
                    return error.code is grpc.StatusCode.PERMISSION_DENIED

                await until(is_served, "the memory of the cancelled calls is free again")

    run(scenario)


def test_half_open_streams_do_not_lock_bots_out(flooded: Arena) -> None:
    """Bots on one machine share its address. The oldest streams without a Hello end, so that others can connect."""

    async def scenario() -> None:
        key = await _key(flooded)
        async with flooded.client() as stranger, flooded.operator() as operator:
            session = (await create_session(operator, "relief", ["", ""])).session.session
            half_open = [stranger.play() for _ in range(600)]
            await until(lambda: any(call.done() for call in half_open), "more streams than may wait")
            for token in (key, ""):
                async with flooded.client(token) as honest:
                    call = honest.play()
                    await call.write(bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key=key)))
                    (event,) = (await call.read()).events
                    assert event.HasField("welcome")
                    call.cancel()
            async with flooded.client() as other:
                assert (await other.session(session)).session == session
            # Streams may arrive in another order than they were opened, so two more are opened when all others have arrived.
            for _ in range(2):
                await until(lambda: sum(not call.done() for call in half_open) <= _HALF_OPEN, "the oldest ends")
                half_open.append(stranger.play())
            await until(lambda: sum(not call.done() for call in half_open) <= _HALF_OPEN, "the oldest ends")
            assert not any(call.done() for call in half_open[-2:]), "the oldest streams end, not the newest"
            endings = [await _ending(call) for call in half_open if call.done()]
            error = next(ending for ending in endings if ending.reason == "LIMIT_REACHED")
            assert error.code is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert error.retry_s
            for call in half_open:
                call.cancel()

    run(scenario)


def test_idle_streams_do_not_block_health_checks_from_the_same_address(flooded: Arena) -> None:
    """A balancer has the same address as the clients behind it; without an answer it would take the copy out of use."""

    async def scenario() -> None:
        async with flooded.client() as stranger, flooded.operator() as operator:
            session = (await create_session(operator, "relief", ["", ""])).session.session
            watch: Any = stranger.channel.unary_stream(
                "/grpc.health.v1.Health/Watch", request_serializer=health_pb2.HealthCheckRequest.SerializeToString
            )
            channel: Any = stranger.channel
            reflection: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
            ask = reflection_pb2.ServerReflectionRequest(list_services="")
            idle = []
            for _ in range(60):
                idle += [watch(health_pb2.HealthCheckRequest()), reflection.ServerReflectionInfo()]
                await idle[-1].write(ask)
            await until(lambda: sum(call.done() for call in idle) == 120 - 32, "the other calls are refused")
            refused = await _ending(next(call for call in idle if call.done()))
            assert (refused.code, refused.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
            async with flooded.client() as other:
                assert await other.is_serving()
                assert (await other.session(session)).session == session
            for call in idle:
                call.cancel()

    run(scenario)


def test_a_message_of_too_many_choices_ends_the_stream_with_a_reason(flooded: Arena) -> None:
    async def scenario() -> None:
        key = await _key(flooded)
        hello = bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key=key))
        for messages, field in (
            ([hello, bot_pb2.PlayRequest(choices=[bot_pb2.Choice()] * 1025)], "choices"),
            ([bot_pb2.PlayRequest(choices=[bot_pb2.Choice()] * 10_000)], "message"),
            ([bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key="k" * 2000))], "bot_key"),
        ):
            async with flooded.client() as client:
                call = client.play()
                for message in messages:
                    await call.write(message)
                with contextlib.suppress(grpc.aio.AioRpcError):
                    while await call.read() != grpc.aio.EOF:
                        pass
                error = await _ending(call)
                assert (error.code, error.facts["field"]) == (grpc.StatusCode.INVALID_ARGUMENT, field), error

    run(scenario)


async def _ending(call: Any) -> Refusal:
    return Refusal.of(
        grpc.aio.AioRpcError(
            await call.code(), await call.initial_metadata(), await call.trailing_metadata(), await call.details()
        )
    )


def test_watchers_that_never_read_do_not_lock_out_the_operator_or_the_public() -> None:
    """A hundred watchers come from one address, which has a limit; the public has more places, the operator its own."""

    async def scenario() -> None:
        settings = {"RUBBLE_WATCHERS_PER_SESSION": "30"}
        with arena(1, settings=settings) as opened:
            async with (
                bots(opened, 2) as players,
                bots(opened, 1, policy=silent) as (spectator,),
                opened.operator() as operator,
                opened.client(deaf=True) as stranger,
                opened.client(spectator.key) as other,
            ):
                session = fresh("watched")
                await create_session(operator, "sf1906-2e", ["", *(bot.name for bot in players)], session)
                deaf = [stranger.watch(session) for _ in range(100)]

                await until(lambda: sum(call.done() for call in deaf) == 80, "eighty watchers are refused")
                for call in deaf:
                    if call.done():
                        error = await _ending(call)
                        assert (error.code, error.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
                # The public has ten places left, then none; the referee's watch does not need one of them.
                more = [other.watch(session) for _ in range(11)]
                await until(lambda: any(call.done() for call in more), "the public places are taken")
                referee = operator.watch(session)
                await operator.ask(session_pb2.ResignRequest(session=session, seat=0))
                events = [event async for message in referee for event in message.events]
                assert events[-1].WhichOneof("event") == "end"
                for call in (*deaf, *more):
                    call.cancel()

    run(scenario)


@pytest.mark.slow
def test_watchers_that_never_read_lose_their_places_and_log_nothing() -> None:
    """They do not even read the first message, which is the only one of a game that has ended."""

    async def scenario() -> None:
        settings = {"RUBBLE_WATCHERS_PER_SESSION": "20"}
        with arena(1, settings=settings) as opened:
            async with bots(opened, 2) as players, opened.operator() as operator, opened.client(deaf=True) as stranger:
                session = fresh("ended")
                await create_session(operator, "sf1906-2e", [bot.name for bot in players], session)
                for bot in players:
                    await bot.finished([session])
                deaf = [stranger.watch(session) for _ in range(21)]
                await until(lambda: any(call.done() for call in deaf), "all places are taken")

                async def is_free() -> bool:
                    async with opened.client() as other:
                        with contextlib.suppress(grpc.aio.AioRpcError):
                            return bool((await other.watch(session).read()).events)
                    return False

                await until(is_free, "the places are free again")
                # Watchers that still have a place read to the end now; the order in which places were lost is not known.
                endings = [await _ending(call) for call in deaf if not await _was_read(call)]
                assert {reply.code for reply in endings} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
                assert sorted({reply.reason for reply in endings}) == ["LIMIT_REACHED", "NOT_READING"]

    run(scenario)


async def _was_read(call: Any) -> bool:
    """Read a stream to its end; return whether it ended without an error."""
    with contextlib.suppress(grpc.aio.AioRpcError):
        while await call.read() != grpc.aio.EOF:
            pass
    return await call.code() is grpc.StatusCode.OK


def test_a_client_that_disconnects_causes_no_error_in_the_log(flooded: Arena) -> None:
    """Reflection, health and Watch, each cancelled at once, after a request and in the middle of a reply."""

    async def scenario() -> None:
        ask = reflection_pb2.ServerReflectionRequest(file_containing_symbol="rubble.v1.SessionService")
        async with flooded.operator() as operator, flooded.client(deaf=True) as stranger:
            session = (await create_session(operator, "relief", ["", ""])).session.session
            channel: Any = stranger.channel
            reflection: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
            health: Any = stranger.channel.unary_stream(
                "/grpc.health.v1.Health/Watch", request_serializer=health_pb2.HealthCheckRequest.SerializeToString
            )
            for turn in range(60):
                call = reflection.ServerReflectionInfo()
                with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                    for _ in range(turn % 4):
                        await call.write(ask)
                    if turn % 4 and turn % 3 == 0:
                        await call.read()
                call.cancel()
                watched = (health(health_pb2.HealthCheckRequest()), stranger.watch(session))
                if turn % 2:
                    await watched[0].read()
                for stream in watched:
                    stream.cancel()
        async with flooded.client() as after:
            assert await after.is_serving()

    run(scenario)
    assert "error" not in flooded.logs().lower()


def test_a_stream_of_wrong_choices_is_read_slowly_and_delays_nobody() -> None:
    """With one refusal a second, another whole game ends long before the flood is answered."""

    async def scenario() -> None:
        with arena(1, settings={"RUBBLE_REFUSALS_PER_SECOND": "1"}) as opened:
            key = await _key(opened)
            async with bots(opened, 2) as players, opened.operator() as operator, opened.client() as client:
                session = fresh("beside")
                call = client.play()
                await call.write(bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key=key)))
                flood = [bot_pb2.Choice(session="nowhere", turn=1, index=number) for number in range(1000)]
                await call.write(bot_pb2.PlayRequest(choices=flood))
                refused = 0

                async def count() -> None:
                    nonlocal refused
                    while (message := await call.read()) != grpc.aio.EOF:
                        refused += sum(event.HasField("refused") for event in message.events)

                counting = asyncio.create_task(count())
                await until(lambda: refused > 0, "the flood is being answered")
                await create_session(operator, "relief", [bot.name for bot in players], session)
                for bot in players:
                    await bot.finished([session])
                    assert isinstance(bot, Bot)
                    assert bot.refusals == []
                assert refused < 1000
                counting.cancel()
                call.cancel()

    run(scenario)
