"""Servers inside the process of the test, for tests that inspect or replace their parts."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import grpc

from service.config import read_settings
from service.embedded import EmbeddedRedis
from service.rpc.server import Service
from tests.harness.client import Client

OPERATOR: Final = "the-operator-of-the-tests-0001"


class Running:
    """A complete service that is listening at an address."""

    def __init__(self, service: Service, address: str) -> None:
        self.service = service
        self.address = address

    def client(self, token: str = "") -> Client:
        """Return a client with this token, or without a token."""
        return Client(self.address, token)


@asynccontextmanager
async def running(folder: Path, server: EmbeddedRedis) -> AsyncIterator[Running]:
    """Run a complete service during the block."""
    settings = read_settings({"RUBBLE_STATE_DIR": str(folder), "RUBBLE_OPERATOR_TOKEN": OPERATOR})
    service = Service(settings, server.url)
    try:
        yield Running(service, await service.start("127.0.0.1:0"))
    finally:
        await service.stop()


@asynccontextmanager
async def grpc_server(
    *prepare: Callable[[grpc.aio.Server], Any],
    interceptors: Sequence[grpc.aio.ServerInterceptor] = (),
    options: Sequence[tuple[str, Any]] = (),
    credentials: grpc.ServerCredentials | None = None,
) -> AsyncIterator[int]:
    """Run a gRPC server during the block; ``prepare`` adds its services. Yields the port."""
    server = grpc.aio.server(interceptors=list(interceptors), options=list(options))
    for add in prepare:
        add(server)
    address = "127.0.0.1:0"
    port = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
    await server.start()
    try:
        yield port
    finally:
        await server.stop(0)
