"""Notifications when one of several servers is away: the next one is used."""

import asyncio
import os
import signal
import socket
from pathlib import Path

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from service.embedded import EmbeddedRedis
from service.sessions.notifications import Notifications
from service.sessions.redis_client import connect_for_notifications


def test_a_server_that_is_away_is_skipped(tmp_path: Path) -> None:
    async def scenario() -> None:
        with socket.socket() as holder, EmbeddedRedis(tmp_path) as store:
            holder.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
            away: Redis = Redis(port=holder.getsockname()[1], retry=Retry(NoBackoff(), 0))
            there: Redis = Redis.from_url(store.url)
            heard: list[str] = []
            notifications = Notifications(away, there)
            await notifications.start()
            await notifications.add("notification", heard.append)
            try:
                async with asyncio.timeout(60):
                    while not heard:
                        await there.publish("notification", "ding")
                        await asyncio.sleep(0.02)  # published again until the subscription exists
            finally:
                await notifications.stop()
                await away.aclose()
                await there.aclose()
            assert heard[0] == "ding"

    asyncio.run(scenario())


def test_a_server_that_hangs_is_replaced_by_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It neither closes nor refuses connections; only its silence shows that it hangs."""
    monkeypatch.setattr("service.sessions.notifications._QUIET_S", 0.2)

    async def scenario() -> None:
        with EmbeddedRedis(tmp_path / "first") as first, EmbeddedRedis(tmp_path / "second") as second:
            clients: list[Redis] = [Redis.from_url(store.url) for store in (first, second)]
            heard: list[str] = []
            notifications = Notifications(*clients)
            await notifications.start()
            await notifications.add("notification", heard.append)
            try:
                async with asyncio.timeout(60):
                    while "one" not in heard:
                        await clients[0].publish("notification", "one")
                        await asyncio.sleep(0.02)  # published again until the subscription exists
                    while heard[-1] != "late":  # a server that is only quiet is kept
                        await asyncio.sleep(0.7)
                        await clients[0].publish("notification", "late")
                    os.kill(first.pid, signal.SIGSTOP)
                    while "two" not in heard:
                        await clients[1].publish("notification", "two")
                        await asyncio.sleep(0.02)
            finally:
                os.kill(first.pid, signal.SIGCONT)
                await notifications.stop()
                for client in clients:
                    await client.aclose()

    asyncio.run(scenario())


def test_a_stop_during_connecting_takes_effect(tmp_path: Path) -> None:
    """redis-py may swallow a cancellation: copies of the service that were stopped right after their start never ended."""

    async def scenario() -> None:
        with EmbeddedRedis(tmp_path) as store:
            for ticks in range(40):
                (client,) = connect_for_notifications(store.url)
                notifications = Notifications(client)
                await notifications.start()
                for _ in range(ticks):
                    await asyncio.sleep(0)  # one step further into connecting
                stopping = asyncio.create_task(notifications.stop())
                await asyncio.wait([stopping], timeout=10)
                assert stopping.done(), f"stopped after {ticks} steps, but still running"
                await client.aclose()

    asyncio.run(scenario())
