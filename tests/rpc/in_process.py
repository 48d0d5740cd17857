"""A whole service in the process of the test, with a Valkey of its own: for what a test must be able to reach into."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from service.config import read_settings
from service.embedded import EmbeddedRedis
from service.rpc.server import Service
from tests.end_to_end.arena import Door

OPERATOR = "the-operator-of-the-tests-0001"


class Running:
    """A service that answers at an address."""

    def __init__(self, service: Service, address: str) -> None:
        self.service = service
        self.address = address

    def door(self, token: str = "") -> Door:
        """A channel with somebody's token; without one, anybody's."""
        return Door(self.address, token)


@asynccontextmanager
async def running(folder: Path, server: EmbeddedRedis) -> AsyncIterator[Running]:
    """The service, while it runs."""
    settings = read_settings({"RUBBLE_STATE_DIR": str(folder), "RUBBLE_OPERATOR_TOKEN": OPERATOR})
    service = Service(settings, server.url)
    try:
        yield Running(service, await service.start("127.0.0.1:0"))
    finally:
        await service.stop()
