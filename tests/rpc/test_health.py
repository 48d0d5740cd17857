"""Health is reported even if some listeners do not read."""

import asyncio
from typing import Any

from grpc_health.v1 import health_pb2

from service.rpc.health import Health
from tests.harness.waiting import until

_STATES = health_pb2.HealthCheckResponse


class Context:
    """A caller that reads nothing until the test allows it."""

    def __init__(self) -> None:
        self.reads = asyncio.Event()
        self.asked = asyncio.Event()
        self.heard: list[int] = []

    async def write(self, response: Any) -> None:
        self.asked.set()
        await self.reads.wait()
        self.heard.append(response.status)


def test_a_listener_that_does_not_read_blocks_no_update() -> None:
    async def scenario() -> None:
        health = Health()
        await health.set("", _STATES.SERVING)
        context = Context()
        listening = asyncio.create_task(health.Watch(health_pb2.HealthCheckRequest(), context))
        await context.asked.wait()
        async with asyncio.timeout(10):
            await health.set("", _STATES.NOT_SERVING)
            context.reads.set()
            await until(lambda: context.heard == [_STATES.SERVING, _STATES.NOT_SERVING], "it has received both states")
        listening.cancel()

    asyncio.run(scenario())
