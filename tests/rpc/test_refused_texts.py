"""Only the bot itself is sent the text of its refused answer, as in a unary call: no secret in it becomes public."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from rubble.v1 import bot_pb2, session_pb2
from service import games
from service.embedded import EmbeddedRedis
from tests.harness.client import Client, refusal
from tests.harness.in_process import OPERATOR, Running, running
from tests.harness.waiting import run
from tests.lasting_game import CELLAR
from tests.rpc.access.test_logs import captured

PASSWORD = "the-password-of-the-store-0001"


class _Playing:
    """A bot's stream, read event by event."""

    def __init__(self, call: Any) -> None:
        self._call = call
        self._events: list[bot_pb2.PlayEvent] = []

    async def next(self, kind: str) -> Any:
        """The next event of a kind; others are kept until they are requested."""
        while True:
            for place, event in enumerate(self._events):
                if event.WhichOneof("event") == kind:
                    return getattr(self._events.pop(place), kind)
            message = await self._call.read()
            assert message is not grpc.aio.EOF, await self._call.details()
            self._events += message.events

    async def say(self, turn: bot_pb2.Turn, text: str) -> None:
        choice = bot_pb2.Choice(session=turn.session, turn=turn.turn, text=text)
        await self._call.write(bot_pb2.PlayRequest(choices=[choice]))


@asynccontextmanager
async def _bot(service: Running, operator: Client, name: str) -> AsyncIterator[tuple[str, _Playing]]:
    """A connected bot, and its key."""
    key = (await operator.ask(bot_pb2.IssueKeyRequest(bot=name))).bot_key
    async with service.client(key) as client:
        call = client.play()
        await call.write(bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key=key)))
        playing = _Playing(call)
        try:
            await playing.next("welcome")
            yield key, playing
        finally:
            call.cancel()


def test_a_secret_pasted_as_an_answer_is_not_repeated(tmp_path: Path) -> None:
    """Keys and seat tokens are not repeated even to their sender; secrets that only the log knows, to the sender alone."""

    async def scenario() -> None:
        with EmbeddedRedis(tmp_path / "valkey") as server, captured(hidden=(PASSWORD,)) as log:
            async with (
                running(tmp_path, server) as service,
                service.client(OPERATOR) as operator,
                service.client() as anybody,
                _bot(service, operator, "ada") as (key, bot),
            ):
                seats = [session_pb2.SeatRequest(bot="ada"), session_pb2.SeatRequest()]
                request = session_pb2.CreateSessionRequest(session="s", game="relief", seats=seats)
                token = (await operator.ask(request)).seat_tokens[1]
                turn = await bot.next("turn")
                async with service.client(token) as seat:
                    question = (await seat.look("s")).question
                    for text in (key, token):
                        said = await refusal(seat.act("s", question.turn, text))
                        assert (said.reason, key in str(said), token in str(said)) == ("UNREADABLE", False, False)
                    await seat.act("s", question.turn, 0, note=f"my key is {key}")
                for text in (key, token, PASSWORD):
                    await bot.say(turn, text)
                    told = await bot.next("refused")
                    assert (told.reason, key in told.message, token in told.message) == ("UNREADABLE", False, False)
                    assert "expected" in told.message
                assert (await bot.next("game_over")).fault
                watched = [event async for response in anybody.watch("s") for event in response.events]
                replay = (await anybody.ask(session_pb2.GetReplayRequest(session="s"))).jsonl
                public = str(watched) + replay + str(await anybody.session("s")) + log.getvalue()
                assert not [secret for secret in (key, token, PASSWORD) if secret in public]
                assert replay.count('"reason":"UNREADABLE"') == 5
                assert '"note":"my key is rb1.[hidden]' in replay
                assert replay.count('"note":"this is no action; expected ') == 5

    run(scenario)


def test_a_refusal_on_a_stream_equals_that_of_a_unary_call(tmp_path: Path) -> None:
    async def scenario() -> None:
        with EmbeddedRedis(tmp_path / "valkey") as server:
            async with (
                running(tmp_path, server) as service,
                service.client(OPERATOR) as operator,
                _bot(service, operator, "ada") as (_, bot),
            ):
                seats = [session_pb2.SeatRequest(bot="ada"), session_pb2.SeatRequest()]
                request = session_pb2.CreateSessionRequest(session="s", game="relief", seats=seats)
                token = (await operator.ask(request)).seat_tokens[1]
                turn = await bot.next("turn")
                async with service.client(token) as seat:
                    question = (await seat.look("s")).question
                    for text in ("sing", "é" * 500):
                        await bot.say(turn, text)
                        told = await bot.next("refused")
                        said = await refusal(seat.act("s", question.turn, text))
                        assert (told.reason, told.message) == (said.reason, said.message)

    run(scenario)


def test_a_bug_in_the_service_is_reported_as_one_and_the_question_stays_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(text: str) -> Any:
        raise ZeroDivisionError(f"cannot cope with {text}")

    found = {CELLAR.id: replace(CELLAR, read=read)}
    monkeypatch.setattr(games, "all_games", lambda: found)

    async def scenario() -> None:
        with EmbeddedRedis(tmp_path / "valkey") as server, captured() as log:
            async with (
                running(tmp_path, server) as service,
                service.client(OPERATOR) as operator,
                _bot(service, operator, "ada") as (key, bot),
            ):
                seats = [session_pb2.SeatRequest(bot="ada"), session_pb2.SeatRequest()]
                await operator.ask(session_pb2.CreateSessionRequest(session="s", game="cellar", seats=seats))
                await bot.say(await bot.next("turn"), key)
                told = await bot.next("refused")
                assert (told.reason, told.open, "cope" in told.message) == ("INTERNAL", True, False)
                assert told.message.split(" as ")[1].split(",")[0] in log.getvalue()
                assert key not in log.getvalue()

    run(scenario)
