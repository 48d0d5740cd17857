"""Background work on a real Valkey: no notification is missed, and one bad session does not stop the deadline enforcer."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.asyncio.client import PubSub

from service.embedded import EmbeddedRedis
from service.sessions import keys
from service.sessions.deadlines import DeadlineEnforcer
from service.sessions.entries import Status
from service.sessions.live_sessions import LiveSessions
from service.sessions.notifications import Notifications
from service.sessions.presence import Connection, Presence
from service.sessions.redis_client import RedisClient
from service.sessions.redis_store import LATE_MS, RedisStore
from service.sessions.session import ACTIVE
from tests.sessions.scripted_sessions import START, header_of

PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedRedis]:
    with EmbeddedRedis(tmp_path_factory.mktemp("valkey")) as running:
        yield running


def _with(server: EmbeddedRedis, scenario: Callable[["Redis"], Awaitable[None]]) -> None:
    async def tell() -> None:
        async with asyncio.timeout(2 * PATIENCE_S), Redis.from_url(server.url) as client:
            await client.flushall()
            await scenario(client)

    asyncio.run(tell())


async def _heard(heard: list[str], ring: Callable[[], Awaitable[Any]]) -> bool:
    """Publish until it is received."""
    end = asyncio.get_running_loop().time() + 5
    while not heard and asyncio.get_running_loop().time() < end:
        await ring()
        await asyncio.sleep(0.05)
    return bool(heard)


# ------------------------------------------------------------------------------------------------------------------ notifications
def test_a_listener_added_while_the_subscription_is_being_made_is_notified(
    server: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many bots connect when a copy starts or returns: none of them may depend on polls alone."""

    async def scenario(client: "Redis") -> None:
        asked, go_on = asyncio.Event(), asyncio.Event()
        subscribe = PubSub.subscribe

        async def slowly(self: PubSub, *channels: Any, **handlers: Any) -> None:
            await subscribe(self, *channels, **handlers)
            if not asked.is_set():
                asked.set()
                await go_on.wait()

        monkeypatch.setattr(PubSub, "subscribe", slowly)
        notifications = Notifications(client)
        await notifications.start()
        await asked.wait()
        heard: list[str] = []
        await notifications.add("late", heard.append)
        go_on.set()
        try:
            assert await _heard(heard, lambda: client.publish("late", "ding"))
        finally:
            await notifications.stop()

    _with(server, scenario)


def test_noise_on_a_channel_does_not_stop_notifications(server: EmbeddedRedis) -> None:
    async def scenario(client: "Redis") -> None:
        notifications = Notifications(client)
        await notifications.start()
        heard: list[str] = []
        await notifications.add("front", heard.append)
        assert await _heard(heard, lambda: client.publish("front", "ding"))
        await client.publish("front", b"\xff\xfe")
        heard.clear()
        try:
            assert await _heard(heard, lambda: client.publish("front", "dong"))
        finally:
            await notifications.stop()

    _with(server, scenario)


# ------------------------------------------------------------------------------------------------------------ the deadline enforcer
def test_a_session_that_cannot_be_read_does_not_stop_the_deadline_enforcer(
    server: EmbeddedRedis, caplog: pytest.LogCaptureFixture
) -> None:
    """It may have been written by a newer copy, in a format or for a game that this one does not know."""

    async def scenario(client: "Redis") -> None:
        now = [START]
        live_sessions = LiveSessions(RedisStore(RedisClient(client)), lambda: now[0])
        enforcer = DeadlineEnforcer(RedisClient(client), live_sessions, Presence(RedisClient(client)))
        for number in (1, 2, 3):
            await live_sessions.create(header_of("relief", 2, number))
        await client.hset(keys.session("relief-1"), "h", b"\x91\xcd\x03\xe7")
        for number in (1, 2, 3):
            live_sessions.forget(f"relief-{number}")
        now[0] += 10 * 60_000
        await enforcer.once()
        assert (await live_sessions.read("relief-2")).status == Status.FINISHED
        assert (await live_sessions.read("relief-3")).status == Status.FINISHED
        assert (
            await client.zscore(keys.DUE, "relief-1") == now[0] + LATE_MS
        )  # not lost: another copy may be able to read it
        assert "relief-1" in caplog.text

    _with(server, scenario)


def test_a_clock_that_cannot_be_enforced_does_not_stop_the_timers_of_other_sessions(server: EmbeddedRedis) -> None:
    async def scenario(client: "Redis") -> None:
        now = [START]
        live_sessions = LiveSessions(RedisStore(RedisClient(client)), lambda: now[0])
        for number in (1, 2, 3):
            await live_sessions.create(header_of("relief", 2, number))
        for number in (1, 2, 3):
            assert (await live_sessions.read(f"relief-{number}")).status == ACTIVE
        await client.hset(keys.session("relief-2"), mapping={"h": b"\x91\xcd\x03\xe7", "r": "7"})
        now[0] += 10 * 60_000
        await live_sessions.expire_due()
        assert (await live_sessions.read("relief-1")).status == Status.FINISHED
        assert (await live_sessions.read("relief-3")).status == Status.FINISHED

    _with(server, scenario)


# --------------------------------------------------------------------------------------------------------------- presence
def test_a_store_that_went_back_to_an_older_stream_is_given_the_live_one(server: EmbeddedRedis) -> None:
    """The store lost its newest writes: a bot that has just reconnected must not be disconnected for a stream that is gone."""

    async def scenario(client: "Redis") -> None:
        presence = Presence(RedisClient(client))
        older, newer = Connection("ada", "older", "test", 1, START), Connection("ada", "newer", "test", 1, START + 1)
        await presence.enter(newer)
        await presence.enter(older)  # as if the store had lost the newer stream
        assert await presence.beat(newer)
        assert not await presence.beat(older)
        assert await presence.connected() == [newer]

    _with(server, scenario)


def test_a_stream_that_was_taken_over_cannot_renew_or_remove_the_newer_one(server: EmbeddedRedis) -> None:
    async def scenario(client: "Redis") -> None:
        presence = Presence(RedisClient(client))
        older, newer = (Connection("ada", name, "test", 1, START) for name in ("older", "newer"))
        await presence.enter(older)
        assert await presence.beat(older)
        await presence.enter(newer)
        assert not await presence.beat(older)
        assert await presence.connected() == [newer]
        await presence.leave(older)
        assert await presence.connected() == [newer]
        assert await presence.is_connected("ada")
        await presence.leave(newer)
        assert not await presence.is_connected("ada")
        assert await presence.connected() == []

    _with(server, scenario)
