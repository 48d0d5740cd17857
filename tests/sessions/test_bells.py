"""Doorbells when one of several servers is away: the next one is listened to."""

import asyncio
import socket
from pathlib import Path

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from service.embedded import EmbeddedRedis
from service.sessions.bells import Bells


def test_a_server_that_is_away_is_passed_over(tmp_path: Path) -> None:
    async def scenario() -> None:
        with socket.socket() as holder, EmbeddedRedis(tmp_path) as store:
            holder.bind(("127.0.0.1", 0))  # held and never listened at: nobody answers there
            away: Redis = Redis(port=holder.getsockname()[1], retry=Retry(NoBackoff(), 0))
            there: Redis = Redis.from_url(store.url)
            heard: list[str] = []
            bells = Bells(away, there)
            await bells.start()
            await bells.add("bell", heard.append)
            try:
                async with asyncio.timeout(60):
                    while not heard:
                        await there.publish("bell", "ding")
                        await asyncio.sleep(0.02)  # until it is listened to, nobody hears it
            finally:
                await bells.stop()
                await away.aclose()
                await there.aclose()
            assert heard[0] == "ding"

    asyncio.run(scenario())
