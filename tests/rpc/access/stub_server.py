"""A real server with stubs behind its interceptors, and callers of every kind."""

import importlib
import logging
import pkgutil
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import ServiceDescriptor
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

import rubble.v1
from service.rpc.auth import Authorizer, KeyRing, Signer
from service.rpc.errors import ErrorInterceptor
from service.sessions.redis_client import RedisClient
from tests.harness.in_process import OPERATOR, grpc_server

Behaviour = Callable[[Any, Any], Any]

SECRET = "a-signing-secret-of-the-tests-only-0001"
#: grpc.aio's client reports this if a call is refused while its first request is being written: the real status is lost, and the
#: call must be repeated to see it.
_LOST_BY_THE_CLIENT = "Internal error from Core"
#: All event loops of a process share grpc.aio's poller. On a busy machine it may find events for the closed loop of an earlier
#: test, and log an error about that.
_LOUD_POLLER = "PollerCompletionQueue"
#: Services of the contract that other servers implement.
ELSEWHERE = {"rubble.v1.TournamentService", "rubble.v1.LadderService"}


def logged(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """Return the log records, except those of grpc's own poller."""
    return [record for record in caplog.records if _LOUD_POLLER not in record.getMessage()]


def services() -> Iterator[ServiceDescriptor]:
    """All services of this server, our own and the standard ones."""
    modules = [importlib.import_module(f"rubble.v1.{found.name}") for found in pkgutil.iter_modules(rubble.v1.__path__)]
    for module in [*modules, health_pb2, reflection_pb2]:
        if module.__name__.endswith("_grpc"):
            continue
        for service in module.DESCRIPTOR.services_by_name.values():
            if service.full_name not in ELSEWHERE:
                yield service


def methods() -> dict[str, tuple[bool, bool]]:
    """Every method by its full name: whether its request and its response are streams."""
    return {
        f"/{service.full_name}/{method.name}": (method.client_streaming, method.server_streaming)
        for service in services()
        for method in service.methods
    }


class Stubs(grpc.GenericRpcHandler):
    """Answers any of the given methods with the same behaviour, unary or streaming as the method requires."""

    def __init__(self, shapes: dict[str, tuple[bool, bool]], unary: Behaviour, stream: Behaviour) -> None:
        self._shapes = shapes
        self._unary = unary
        self._stream = stream

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        shape = self._shapes.get(handler_call_details.method)
        makers: dict[tuple[bool, bool], Any] = {
            (False, False): grpc.unary_unary_rpc_method_handler,
            (False, True): grpc.unary_stream_rpc_method_handler,
            (True, False): grpc.stream_unary_rpc_method_handler,
            (True, True): grpc.stream_stream_rpc_method_handler,
        }
        if shape is None:
            return None
        return makers[shape](self._stream if shape[1] else self._unary)


@asynccontextmanager
async def serving(
    *handlers: grpc.GenericRpcHandler,
    interceptors: tuple[grpc.aio.ServerInterceptor, ...],
    options: Sequence[tuple[str, Any]] = (),
    prepare: Callable[[grpc.aio.Server], None] = lambda _: None,
) -> AsyncIterator[grpc.aio.Channel]:
    """A channel to a server with these handlers, on its own port."""

    def add_handlers(server: grpc.aio.Server) -> None:
        server.add_generic_rpc_handlers(handlers)

    async with (
        grpc_server(add_handlers, prepare, interceptors=interceptors, options=options) as port,
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        yield channel


def nowhere() -> "Redis":
    """A Redis that is not available."""
    return Redis(host="127.0.0.1", port=1, socket_connect_timeout=0.2, retry=Retry(NoBackoff(), 0))


def make_interceptors(
    redis: "Redis | None" = None, secrets: tuple[str, ...] = (SECRET,)
) -> tuple[tuple[grpc.aio.ServerInterceptor, ...], Signer, KeyRing]:
    """The interceptors as a server uses them."""
    signer = Signer(secrets)
    ring = KeyRing(signer, RedisClient(redis if redis is not None else nowhere()))
    return (ErrorInterceptor(), Authorizer(signer, ring, OPERATOR)), signer, ring


async def call(
    channel: grpc.aio.Channel, method: str, shape: tuple[bool, bool], token: str | None = None, request: bytes = b""
) -> list[bytes]:
    """Call any method with one request, and collect the responses."""
    metadata = None if token is None else [("authorization", f"Bearer {token}")]

    async def requests() -> AsyncIterator[bytes]:
        yield request

    kinds: dict[tuple[bool, bool], Any] = {
        (False, False): channel.unary_unary,
        (False, True): channel.unary_stream,
        (True, False): channel.stream_unary,
        (True, True): channel.stream_stream,
    }
    while True:
        started: Any = kinds[shape](method)(requests() if shape[0] else request, metadata=metadata, timeout=10)
        try:
            if shape[1]:
                return [response async for response in started]
            return [await started]
        except grpc.aio.AioRpcError as error:
            if not (shape[0] and error.details() == _LOST_BY_THE_CLIENT):
                raise
