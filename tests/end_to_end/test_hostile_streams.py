"""Streams that behave badly: each is told why it ends, and nobody else's game notices."""

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
    """Meanwhile two bots play a game from beginning to end as if nothing happened."""
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


def test_garbage_no_hello_a_second_hello_and_a_bad_key(shared: Arena) -> None:
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
                told = await refusal(_drain(call))
                assert (told.code, told.reason) == (code, reason), (messages, told)
                assert key not in told.message
            call = client.play()
            await call.done_writing()
            told = await refusal(_drain(call))
            assert (told.code, told.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "BAD_REQUEST")
            assert told.facts["field"] == "hello"

    run(scenario)


def test_a_stream_that_never_says_hello_is_not_kept(shared: Arena) -> None:
    async def scenario() -> None:
        async with shared.client() as client:
            told = await refusal(_drain(client.play()))
            assert (told.code, told.facts["field"]) == (grpc.StatusCode.INVALID_ARGUMENT, "hello")

    run(scenario)


def test_floods_of_choices_for_games_that_are_not_there(shared: Arena) -> None:
    """A bot that reads what it is told may go on, more slowly; nobody else waits."""

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
            told = await refusal(_drain(call))
            assert (told.code, told.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "NOT_READING")
            await writer

    # As fast as it likes: by default it would be read so slowly that this takes a while.
    with arena(1, settings={"RUBBLE_REFUSALS_PER_SECOND": "100000"}) as opened:
        run(lambda: scenario(opened))


def test_huge_notes_huge_texts_and_huge_messages(shared: Arena) -> None:
    async def scenario() -> None:
        name, key = await _key(shared)
        async with _others_play(shared), shared.operator() as operator, shared.client() as client:
            session = fresh("huge")
            await create_session(operator, "sf1906-2e", [name], session)
            call = client.play()
            await call.write(bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key=key, sdk="s" * 10_000)))
            await _asked(call, 1)
            told = await _refused(call, bot_pb2.Choice(session=session, turn=1, index=0, note="n" * 1001))
            assert (told.reason, told.open) == ("BAD_REQUEST", True)
            told = await _refused(call, bot_pb2.Choice(session=session, turn=1, text="t" * 1000))
            assert (told.reason, told.open) == ("UNREADABLE", True)
            assert len(told.message) < 2000
            told = await _refused(call, bot_pb2.Choice(session="s" * 1000, turn=1, index=0))
            assert told.reason == "UNKNOWN_SESSION"
            assert told.ByteSize() < 2000
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
    """Wait for a question."""
    while turn not in [event.turn.turn for event in (await call.read()).events]:
        pass


async def _refused(call: Any, choice: bot_pb2.Choice) -> bot_pb2.Refused:
    await call.write(bot_pb2.PlayRequest(choices=[choice]))
    while True:
        for event in (await call.read()).events:
            if event.WhichOneof("event") == "refused":
                told: bot_pb2.Refused = event.refused
                return told


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
def test_a_bot_process_that_is_killed_or_frozen(shared: Arena, tmp_path: Path, how: signal.Signals) -> None:
    """Killed it is soon missed; frozen it can be taken over from by the bot's next stream."""

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


def test_calls_that_are_given_up_at_once(shared: Arena) -> None:
    """Half-said calls, cancelled in the middle, leave nothing behind."""

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
