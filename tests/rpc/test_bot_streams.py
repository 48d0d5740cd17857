"""Bot streams on a real Valkey: what a bot is sent when things happen in an unusual order."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from redis.asyncio import Redis

from rubble.v1 import bot_pb2
from service.embedded import EmbeddedRedis
from service.rpc import events, pacing
from service.rpc.bot_streams import BotStream, BotStreams
from service.sessions import keys
from service.sessions.deadlines import DeadlineEnforcer
from service.sessions.entries import Acted
from service.sessions.live_sessions import LiveSessions
from service.sessions.notifications import Notifications
from service.sessions.presence import Presence
from service.sessions.redis_client import RedisClient
from service.sessions.redis_store import LATE_MS, RedisStore
from tests.harness.waiting import until
from tests.sessions.scripted_sessions import START, accepted, header_of

PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedRedis]:
    with EmbeddedRedis(tmp_path_factory.mktemp("valkey")) as running:
        yield running


@asynccontextmanager
async def _bot_streams(server: EmbeddedRedis) -> AsyncIterator[BotStreams]:
    async with asyncio.timeout(2 * PATIENCE_S), Redis.from_url(server.url) as client:
        await client.flushall()
        presence = Presence(RedisClient(client))
        yield BotStreams(
            LiveSessions(RedisStore(RedisClient(client)), lambda: START, presence=presence),
            presence,
            Notifications(client),
        )


async def _started(stream: BotStream) -> str:
    """The next game start that the bot is sent."""
    while True:
        for event in bot_pb2.PlayResponse.FromString(await stream.next_batch()).events:
            if event.HasField("game_start"):
                return event.game_start.session


async def _ended(stream: BotStream) -> str:
    """The next game of whose end the bot is told."""
    while True:
        for event in bot_pb2.PlayResponse.FromString(await stream.next_batch()).events:
            if event.HasField("game_over"):
                return event.game_over.session


async def _turn(stream: BotStream) -> bot_pb2.Turn:
    """The bot's next question among its unread events; the events after it are put back."""
    while True:
        batch = bot_pb2.PlayResponse.FromString(await stream.next_batch()).events
        for game, event in enumerate(batch):
            if event.HasField("turn"):
                for rest in batch[game + 1 :]:
                    stream.send(bot_pb2.PlayResponse(events=[rest]).SerializeToString())
                return event.turn


def test_a_waiting_game_that_expired_does_not_block_those_behind_it(server: EmbeddedRedis) -> None:
    """A bot that plays one game at a time has two more waiting, and the first of these expires."""

    async def scenario() -> None:
        async with _bot_streams(server) as bot_streams:
            live_sessions = bot_streams.live_sessions
            for number in (1, 2, 3):
                await live_sessions.create(header_of("relief", 2, number, bots=("ada", f"rival-{number}")))
            stream = await bot_streams.connect("ada", "test", 1)
            assert await _started(stream) == "relief-1"
            await until(lambda: len(stream.session_ids()) >= 3, "the stream knows its games")
            await live_sessions.store.forget("relief-2")
            live_sessions.forget("relief-2")
            await live_sessions.change("relief-1", lambda session: (None, session.cancel("tea", START)))
            await bot_streams._resync(stream)
            assert await _started(stream) == "relief-3"
            await bot_streams.disconnect(stream)

    asyncio.run(scenario())


def test_a_bot_that_reconnects_is_sent_its_running_game_before_a_waiting_one(server: EmbeddedRedis) -> None:
    """It plays one game at a time. If the waiting game took the place, the clock of the running one would run out."""

    async def scenario() -> None:
        async with _bot_streams(server) as bot_streams:
            live_sessions = bot_streams.live_sessions
            await live_sessions.create(header_of("relief", 2, 2, bots=("ada", "rival-2")))
            stream = await bot_streams.connect("ada", "test", 1)
            assert await _started(stream) == "relief-2"
            await _turn(stream)
            await live_sessions.create(header_of("relief", 2, 1, bots=("ada", "rival-1")))
            await until(lambda: len(stream.session_ids()) >= 2, "the stream knows its games")
            await bot_streams.disconnect(stream)

            stream = await bot_streams.connect("ada", "test", 1)
            assert (await _turn(stream)).session == "relief-2"
            await bot_streams._resync(stream)
            assert stream.games == 1
            assert stream.session_ids() == ["relief-2", "relief-1"]
            await bot_streams.disconnect(stream)

    asyncio.run(scenario())


def test_games_that_have_started_are_sent_even_beyond_the_limit_of_the_bot(server: EmbeddedRedis) -> None:
    async def scenario() -> None:
        async with _bot_streams(server) as bot_streams:
            for number in (1, 2, 3):
                await bot_streams.live_sessions.create(header_of("relief", 2, number, bots=("ada", f"rival-{number}")))
            stream = await bot_streams.connect("ada", "test", 2)
            begun = {(await _turn(stream)).session, (await _turn(stream)).session}
            await bot_streams.disconnect(stream)

            stream = await bot_streams.connect("ada", "test", 1)
            assert {(await _turn(stream)).session, (await _turn(stream)).session} == begun
            await bot_streams._resync(stream)
            assert stream.games == 2
            await bot_streams.disconnect(stream)

    asyncio.run(scenario())


def test_what_is_ready_within_a_beat_is_sent_in_one_message_to_a_bot_with_several_games(
    server: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with _bot_streams(server) as bot_streams:
            for number in (1, 2):
                await bot_streams.live_sessions.create(header_of("relief", 2, number, bots=("ada", f"rival-{number}")))
            stream = await bot_streams.connect("ada", "test", 2)
            assert {(await _turn(stream)).session, (await _turn(stream)).session} == {"relief-1", "relief-2"}
            monkeypatch.setattr(pacing, "BEAT_S", 0.1)
            stream.send(events.welcome("first", START))
            await stream.next_batch()
            stream.send(events.welcome("second", START))
            reading = asyncio.create_task(stream.next_batch())
            await asyncio.sleep(0)  # the writer would take the event now
            stream.send(events.welcome("third", START))
            assert [event.welcome.bot for event in bot_pb2.PlayResponse.FromString(await reading).events] == [
                "second",
                "third",
            ]
            await bot_streams.disconnect(stream)

    asyncio.run(scenario())


def test_a_question_whose_answer_the_store_has_lost_is_asked_again(server: EmbeddedRedis) -> None:
    """A failover may lose the newest saves. The bot takes its answer for accepted, and would wait until its clock runs out."""

    async def scenario() -> None:
        async with _bot_streams(server) as bot_streams, Redis.from_url(server.url) as client:
            await bot_streams.live_sessions.create(header_of("relief", 2, 1, bots=("ada", "bob")))
            stream = await bot_streams.connect("ada", "test", 1)
            games = (keys.session("relief-1"), keys.log("relief-1"))
            asked_ms = 1
            while asked_ms:  # until it is the other seat's turn: from then on nothing new is asked
                asked = await _turn(stream)
                before = [await client.dump(game) for game in games]
                stream.choose(bot_pb2.Choice(session="relief-1", turn=asked.turn, index=0), START)
                await stream.all_settled()
                asked_ms = (await bot_streams.live_sessions.read("relief-1")).seats[0].clock.asked_ms
            await bot_streams._resync(stream)
            assert not stream._queue

            for game, value in zip(games, before, strict=True):
                await client.restore(game, 0, value or b"", replace=True)
            await bot_streams._resync(stream)
            again = await _turn(stream)
            assert (again.session, again.turn) == ("relief-1", asked.turn)
            await bot_streams._resync(stream)
            assert not stream._queue, "it is asked only once more"
            await bot_streams.disconnect(stream)

    asyncio.run(scenario())


def test_an_answer_saved_after_one_of_another_copy_is_applied_again(server: EmbeddedRedis) -> None:
    """Both seats may act at once; the other copy saved first, and this one does not know of it."""

    async def scenario() -> None:
        async with _bot_streams(server) as bot_streams, Redis.from_url(server.url) as client:
            other = LiveSessions(RedisStore(RedisClient(client)), lambda: START)
            session = await bot_streams.live_sessions.create(header_of("relief", 2, bots=("ada", "rival")))
            session_id = session.header.id
            for seat in range(2):
                await bot_streams.live_sessions.take_seat(session_id, seat)
            stream = await bot_streams.connect("ada", "test", 1)
            assert await _started(stream) == session_id
            while not stream.knows(session := await bot_streams.live_sessions.read(session_id)):
                await asyncio.sleep(0.01)
            await accepted(other, session_id, 1, session.seats[1].turn)

            stream.choose(bot_pb2.Choice(session=session_id, turn=session.seats[0].turn, index=0), START)

            await stream.all_settled()
            assert bot_streams.live_sessions.conflicts == 1
            assert [entry.seat for entry in (await other.store.log(session_id, 0))[1] if isinstance(entry, Acted)] == [
                1,
                0,
            ]
            await bot_streams.disconnect(stream)

    asyncio.run(scenario())


def test_the_end_of_a_game_is_told_though_another_copy_took_it_off_the_list_of_the_bot(server: EmbeddedRedis) -> None:
    """The notification is lost, and the deadline enforcer of another copy is quicker than the next poll of this one."""

    async def scenario() -> None:
        async with _bot_streams(server) as bot_streams, Redis.from_url(server.url) as client:
            await bot_streams.live_sessions.create(header_of("relief", 2, bots=("ada", "rival")))
            stream = await bot_streams.connect("ada", "test", 1)
            await _turn(stream)
            presence = Presence(RedisClient(client))
            other = LiveSessions(RedisStore(RedisClient(client)), lambda: START + LATE_MS)
            await other.change("relief-1", lambda session: (None, session.cancel("tea", START)))
            assert await DeadlineEnforcer(RedisClient(client), other, presence).once() == 1
            assert await presence.games("ada") == []

            await bot_streams._resync(stream)

            assert await _ended(stream) == "relief-1"
            await bot_streams.disconnect(stream)

    asyncio.run(scenario())


def test_a_game_that_the_store_has_lost_makes_room_for_the_next_one(server: EmbeddedRedis) -> None:
    async def scenario() -> None:
        async with _bot_streams(server) as bot_streams, Redis.from_url(server.url) as client:
            live_sessions = bot_streams.live_sessions
            for number in (1, 2):
                await live_sessions.create(header_of("relief", 2, number, bots=("ada", f"rival-{number}")))
            stream = await bot_streams.connect("ada", "test", 1)
            assert await _started(stream) == "relief-1"
            await until(lambda: len(stream.session_ids()) >= 2, "the stream knows its games")
            await live_sessions.store.forget("relief-1")
            await client.srem(keys.games_of("ada"), "relief-1")

            await bot_streams._resync(stream)
            assert stream.session_ids() == ["relief-1", "relief-2"], "it may be a session that is just being made"
            live_sessions.now_ms = lambda: START + 60_000
            await bot_streams._resync(stream)

            assert await _started(stream) == "relief-2"
            await bot_streams.disconnect(stream)

    asyncio.run(scenario())
