"""Which callers may call which methods: every method and every kind of caller, on a real server."""

import asyncio
from typing import Any

import grpc
import pytest
from grpc import StatusCode
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2, reflection_pb2_grpc

from service.rpc.auth import MAY_CALL, Authorizer, Kind, current_caller
from service.rpc.errors import ErrorInterceptor
from tests.harness.client import refusal
from tests.harness.in_process import OPERATOR
from tests.rpc.access.stub_server import Stubs, call, make_interceptors, methods, serving

ALL = methods()

#: The table a second time, from the contract, so that a mistake in the code is found.
OPERATOR_ONLY = {
    "CreateSession",
    "Adjudicate",
    "CancelSession",
    "RevealSeeds",
    "ForgetSession",
    "WaitForEnd",
    "IssueKey",
    "RevokeKey",
    "ListConnected",
}
PLAYERS_ONLY = {"Act"}
PLAYERS_AND_OPERATOR = {"Resign", "SampleWorlds", "Simulate"}


def may(kind: Kind, method: str) -> bool:
    name = method.rsplit("/", 1)[1]
    if name in OPERATOR_ONLY:
        return kind is Kind.OPERATOR
    if name in PLAYERS_ONLY:
        return kind in (Kind.SEAT, Kind.BOT)
    if name in PLAYERS_AND_OPERATOR:
        return kind is not Kind.ANONYMOUS
    return True


def stubs() -> Stubs:
    """Servicers that answer with the caller."""

    async def unary(_request: Any, _context: Any) -> bytes:
        return current_caller().id.encode()

    async def stream(_request: Any, _context: Any) -> Any:
        yield current_caller().id.encode()

    return Stubs(ALL, unary, stream)


def test_the_table_names_every_method_and_no_other() -> None:
    assert set(MAY_CALL) == set(ALL)
    assert len(ALL) >= 23


@pytest.mark.parametrize("kind", Kind)
def test_every_method_is_open_to_the_callers_in_the_table(kind: Kind) -> None:
    async def play() -> None:
        interceptors, signer, _ = make_interceptors()
        token, caller = {
            Kind.ANONYMOUS: (None, b"anonymous"),
            Kind.SEAT: (signer.seat_token("s1", "b1", 2, signer.expires_in(60)), b"seat:s1:2:b1"),
            Kind.BOT: (signer.bot_key("ada", 1), b"bot:ada"),
            Kind.OPERATOR: (OPERATOR, b"operator"),
        }[kind]
        async with serving(stubs(), interceptors=interceptors) as channel:
            for method, shape in ALL.items():
                if may(kind, method):
                    assert await call(channel, method, shape, token) == [caller], method
                    continue
                error = await refusal(call(channel, method, shape, token))
                if kind is Kind.ANONYMOUS:
                    assert (error.code, error.reason) == (StatusCode.UNAUTHENTICATED, "NO_TOKEN"), method
                else:
                    assert (error.code, error.reason) == (StatusCode.PERMISSION_DENIED, "NOT_ALLOWED"), method
                    assert error.facts["method"] == method
                    assert error.facts["caller"] == kind.value

    asyncio.run(play())


def test_a_method_that_is_not_in_the_table_is_closed_even_to_the_operator() -> None:
    async def play() -> None:
        _, signer, ring = make_interceptors()
        forgotten = {name: kinds for name, kinds in MAY_CALL.items() if not name.endswith("/ListGames")}
        interceptors = (ErrorInterceptor(), Authorizer(signer, ring, OPERATOR, forgotten))
        async with serving(stubs(), interceptors=interceptors) as channel:
            method = "/rubble.v1.GameService/ListGames"
            error = await refusal(call(channel, method, ALL[method], OPERATOR))
            assert error.code == StatusCode.PERMISSION_DENIED
            error = await refusal(call(channel, "/rubble.v1.GameService/Nothing", (False, False), OPERATOR))
            assert error.code == StatusCode.UNIMPLEMENTED

    asyncio.run(play())


def test_a_caller_is_known_only_to_its_own_call() -> None:
    async def play() -> None:
        interceptors, signer, _ = make_interceptors()
        async with serving(stubs(), interceptors=interceptors) as channel:
            method = "/rubble.v1.SessionService/GetView"
            for _ in range(3):
                assert await call(channel, method, ALL[method], OPERATOR) == [b"operator"]
                assert await call(channel, method, ALL[method]) == [b"anonymous"]
                assert await call(channel, method, ALL[method], signer.bot_key("ada", 1)) == [b"bot:ada"]
        assert current_caller().kind is Kind.ANONYMOUS

    asyncio.run(play())


def test_health_and_reflection_answer_anybody() -> None:
    """With the real servicers: both stream, in different styles."""

    def prepare(server: grpc.aio.Server) -> None:
        servicer = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
        reflection.enable_server_reflection([reflection.SERVICE_NAME, health.SERVICE_NAME], server)

    async def play() -> None:
        interceptors, _, _ = make_interceptors()
        async with serving(interceptors=interceptors, prepare=prepare) as channel:
            stub: Any = health_pb2_grpc.HealthStub(channel)
            assert (await stub.Check(health_pb2.HealthCheckRequest())).status == health_pb2.HealthCheckResponse.SERVING
            watching = stub.Watch(health_pb2.HealthCheckRequest())
            assert (await watching.read()).status == health_pb2.HealthCheckResponse.SERVING
            watching.cancel()
            error = await refusal(stub.Check(health_pb2.HealthCheckRequest(service="nothing")))
            assert error.code == StatusCode.NOT_FOUND
            client: Any = channel  # the stubs are typed for synchronous channels only
            mirror: Any = reflection_pb2_grpc.ServerReflectionStub(client)
            asked = reflection_pb2.ServerReflectionRequest(list_services="")
            answers = [answer async for answer in mirror.ServerReflectionInfo(iter([asked]))]
            assert len(answers[0].list_services_response.service) == 2

    asyncio.run(play())
