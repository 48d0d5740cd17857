"""Misbehaving streams: each ends with a reason, and other games are not affected."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from rubble.v1 import bot_pb2, session_pb2
from tests.harness.bots import Bot, bots
from tests.harness.client import Client, Refusal, refusal
from tests.harness.games import check_story, create_session, fresh
from tests.harness.processes import PYTHON, Process
from tests.harness.service import Arena, arena
from tests.harness.waiting import run, until

_PLAY = "/rubble.v1.BotService/Play"


@contextlib.asynccontextmanager
async def _others_play(shared: Arena) -> AsyncIterator[None]:
    """During the block two other bots play a whole game without any fault."""
    async with bots(shared, 2, apart=True) as players, shared.operator() as operator:
        session = fresh("bystanders")
        await create_session(operator, "relief", [bot.name for bot in players], session)
        yield
        for bot in players:
            await bot.finished([session])
            assert bot.refusals == []
            assert bot.endings == []
        await check_story(operator, session, "relief", 2)


async def _key(shared: Arena) -> tuple[str, str]:
    async with shared.operator() as operator:
        name = fresh("hostile")
        return name, (await operator.ask(bot_pb2.IssueKeyRequest(bot=name))).bot_key


async def _drain(call: Any) -> None:
    while await call.read() != grpc.aio.EOF:
        pass
    code = await call.code()
    if code is not grpc.StatusCode.OK:
        raise grpc.aio.AioRpcError(
            code, await call.initial_metadata(), await call.trailing_metadata(), await call.details()
        )


def _hello(key: str) -> bytes:
    return bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key=key)).SerializeToString()


def test_a_stream_with_a_bad_hello_or_garbage_ends_with_a_reason(shared: Arena) -> None:
    async def scenario() -> None:
        _, key = await _key(shared)
        hello = _hello(key)
        cases: list[tuple[list[bytes], grpc.StatusCode, str]] = [
            ([b"\xff" * 100], grpc.StatusCode.INVALID_ARGUMENT, "BAD_REQUEST"),
            ([hello, b"\xff" * 100], grpc.StatusCode.INVALID_ARGUMENT, "BAD_REQUEST"),
            ([hello, hello], grpc.StatusCode.INVALID_ARGUMENT, "BAD_REQUEST"),
            ([b""], grpc.StatusCode.UNAUTHENTICATED, "NO_TOKEN"),
            ([_hello("rb1.x")], grpc.StatusCode.UNAUTHENTICATED, "BAD_TOKEN"),
            ([_hello(shared.copies[0].token)], grpc.StatusCode.UNAUTHENTICATED, "BAD_TOKEN"),
        ]  # fmt: skip
        async with _others_play(shared), shared.client() as client:
            for messages, code, reason in cases:
                play: Any = client.channel.stream_stream(_PLAY)
                call = play()
                for message in messages:
                    await call.write(message)
                error = await refusal(_drain(call))
                assert (error.code, error.reason) == (code, reason), (messages, error)
                assert key not in error.message
            call = client.play()
            await call.done_writing()
            error = await refusal(_drain(call))
            assert (error.code, error.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "BAD_REQUEST")
            assert error.facts["field"] == "hello"

    run(scenario)


def test_a_stream_without_a_hello_is_closed(shared: Arena) -> None:
    async def scenario() -> None:
        async with shared.client() as client:
            error = await refusal(_drain(client.play()))
            assert (error.code, error.facts["field"]) == (grpc.StatusCode.INVALID_ARGUMENT, "hello")

    run(scenario)


def test_a_flood_of_choices_for_unknown_sessions_is_refused(shared: Arena) -> None:
    """A bot that reads its refusals keeps its stream, but is read more slowly; others do not wait."""

    async def scenario() -> None:
        _, key = await _key(shared)
        async with _others_play(shared), shared.client() as client:
            call = client.play()
            await call.write(bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key=key)))
            refusals = 0
            flood = bot_pb2.PlayRequest(
                choices=[bot_pb2.Choice(session=f"nowhere-{n}", turn=n, index=n) for n in range(500)]
            )
            for _ in range(3):
                await call.write(flood)
                seen = 0
                while seen < 500:
                    for event in (await call.read()).events:
                        if event.WhichOneof("event") == "refused":
                            assert event.refused.reason == "UNKNOWN_SESSION"
                            assert not event.refused.open
                            seen += 1
                refusals += seen
            assert refusals == 1500
            call.cancel()

    run(scenario)


def test_a_bot_that_floods_and_never_reads_loses_its_stream() -> None:
    async def scenario(opened: Arena) -> None:
        name, key = await _key(opened)
        async with _others_play(opened), opened.operator() as operator, opened.client(deaf=True) as client:
            call = client.play()
            await call.write(bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key=key)))
            flood = bot_pb2.PlayRequest(
                choices=[bot_pb2.Choice(session=f"nowhere-{n}", turn=n, index=n) for n in range(1000)]
            )

            async def write() -> None:
                with contextlib.suppress(asyncio.InvalidStateError, grpc.aio.AioRpcError, asyncio.CancelledError):
                    for _ in range(40):
                        await call.write(flood)

            async def is_connected() -> bool:
                return name in {bot.bot for bot in (await operator.ask(bot_pb2.ListConnectedRequest())).bots}

            async def is_gone() -> bool:
                return not await is_connected()

            await until(is_connected, "the stream is open")
            writer = asyncio.create_task(write())
            await until(is_gone, "the stream is given up")
            error = await refusal(_drain(call))
            assert (error.code, error.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "NOT_READING")
            await writer

    # Without a limit on refusals: at the default the bot is read too slowly for this test.
    with arena(1, settings={"RUBBLE_REFUSALS_PER_SECOND": "100000"}) as opened:
        run(lambda: scenario(opened))


def test_huge_notes_texts_and_messages_are_refused(shared: Arena) -> None:
    async def scenario() -> None:
        name, key = await _key(shared)
        async with _others_play(shared), shared.operator() as operator, shared.client() as client:
            session = fresh("huge")
            await create_session(operator, "sf1906-2e", [name], session)
            call = client.play()
            await call.write(bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key=key, sdk="s" * 10_000)))
            await _asked(call, 1)
            error = await _refused(call, bot_pb2.Choice(session=session, turn=1, index=0, note="n" * 1001))
            assert (error.reason, error.open) == ("BAD_REQUEST", True)
            error = await _refused(call, bot_pb2.Choice(session=session, turn=1, text="t" * 1000))
            assert (error.reason, error.open) == ("UNREADABLE", True)
            assert len(error.message) < 2000
            error = await _refused(call, bot_pb2.Choice(session="s" * 1000, turn=1, index=0))
            assert error.reason == "UNKNOWN_SESSION"
            assert error.ByteSize() < 2000
            await call.write(
                bot_pb2.PlayRequest(choices=[bot_pb2.Choice(session=session, turn=1, index=0, note="é" * 1000)])
            )
            await _asked(call, 2)
            await call.write(
                bot_pb2.PlayRequest(choices=[bot_pb2.Choice(session=session, turn=2, index=0, note="n" * 2_000_000)])
            )
            told_end = await refusal(_drain(call))
            assert told_end.code is grpc.StatusCode.RESOURCE_EXHAUSTED
            status = await operator.session(session)
            assert status.seats[0].refusals == 1, "only the text was an answer"
            told_end = await refusal(
                operator.ask(session_pb2.CancelSessionRequest(session=session, reason="r" * 2_000_000))
            )
            assert told_end.code is grpc.StatusCode.RESOURCE_EXHAUSTED
            await operator.ask(session_pb2.CancelSessionRequest(session=session, reason="r" * 10_000))
            (first, *_) = (await operator.ask(bot_pb2.ListConnectedRequest())).bots
            assert len(first.sdk) <= 100

    run(scenario)


async def _asked(call: Any, turn: int) -> None:
    """Read the stream until a question comes."""
    while turn not in [event.turn.turn for event in (await call.read()).events]:
        pass


async def _refused(call: Any, choice: bot_pb2.Choice) -> bot_pb2.Refused:
    await call.write(bot_pb2.PlayRequest(choices=[choice]))
    while True:
        for event in (await call.read()).events:
            if event.WhichOneof("event") == "refused":
                error: bot_pb2.Refused = event.refused
                return error


_GHOST = """
import asyncio, sys
from rubble.v1 import bot_pb2
from tests.harness.bots import Bot, silent
async def main():
    async with Bot("ghost", sys.argv[2], [sys.argv[1]], policy=silent) as bot:
        await bot.welcomed()
        print("here", flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_killed_bot_is_noticed_and_a_frozen_one_can_be_replaced(
    shared: Arena, tmp_path: Path, how: signal.Signals
) -> None:
    """The service soon notices a killed bot; a new stream of the same bot replaces a frozen one."""

    async def scenario() -> None:
        name, key = await _key(shared)
        async with _others_play(shared), shared.operator() as operator:
            with Process(PYTHON, "-c", _GHOST, shared.addresses[0], key, log=tmp_path / "ghost.log") as ghost:
                await asyncio.to_thread(ghost.wait_for, "here")
                session = fresh("ghost")
                await create_session(operator, "sf1906-2e", [name], session)

                async def is_seated() -> bool:
                    return (await operator.session(session)).seats[0].seated

                await until(is_seated, "the ghost has its seat")
                ghost.send_signal(how)
                if how is signal.SIGKILL:

                    async def is_gone() -> bool:
                        listed = (await operator.ask(bot_pb2.ListConnectedRequest())).bots
                        return name not in {bot.bot for bot in listed}

                    await until(is_gone, "the dead bot is missed")
                async with Bot(name, key, shared.addresses) as heir:
                    await heir.finished([session])
                await check_story(operator, session, "sf1906-2e", 1)

    run(scenario)


def test_cancelled_calls_leave_nothing_behind(shared: Arena) -> None:
    """Streams are cancelled right after their Hello."""

    async def scenario() -> None:
        _, key = await _key(shared)
        async with _others_play(shared), shared.client() as client:

            async def give_up(client: Client) -> Refusal | None:
                call = client.play()
                await call.write(bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key=key)))
                call.cancel()
                return None

            for _ in range(10):
                await asyncio.gather(*(give_up(client) for _ in range(20)), return_exceptions=True)

    run(scenario)
