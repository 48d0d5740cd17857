"""Calls the service as an operator, a bot or a spectator, and reads its errors."""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final

import grpc
from google.protobuf.message import Message
from google.rpc import error_details_pb2  # type: ignore[import-untyped]  # it has no type hints
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from rubble.v1 import bot_pb2, bot_pb2_grpc, display_pb2, game_pb2, session_pb2, session_pb2_grpc, simulation_pb2
from tests.harness.waiting import PATIENCE_S

#: The gRPC services that a copy serves.
NAMES: Final = tuple(
    module.DESCRIPTOR.services_by_name[name].full_name
    for module, name in (
        (game_pb2, "GameService"),
        (session_pb2, "SessionService"),
        (bot_pb2, "BotService"),
        (simulation_pb2, "SimulationService"),
        (display_pb2, "DisplayService"),
    )
)


@dataclass(frozen=True)
class Refusal:
    """An error as a caller sees it."""

    code: grpc.StatusCode
    reason: str
    facts: Mapping[str, str]
    message: str
    retry_s: float | None
    domain: str

    @classmethod
    def of(cls, error: Any) -> "Refusal":
        """Read an error of grpc or grpc.aio; the reason is empty if the error has no ErrorInfo."""
        info, retry_s = error_details_pb2.ErrorInfo(), None
        # This also checks that the details have the same code and message as the call.
        status = rpc_status.from_call(error)
        for detail in status.details if status is not None else ():
            retry = error_details_pb2.RetryInfo()
            if detail.Unpack(retry):
                retry_s = retry.retry_delay.ToMilliseconds() / 1000
            else:
                detail.Unpack(info)
        return cls(error.code(), info.reason, dict(info.metadata), error.details() or "", retry_s, info.domain)


async def refusal(call: Awaitable[Any]) -> Refusal:
    """Return the error of a call, which must fail."""
    try:
        answer = await call
    except grpc.aio.AioRpcError as error:
        return Refusal.of(error)
    raise AssertionError(f"this should have been refused, and was answered with {answer}")


#: Request type -> path and response type, for all unary calls.
UNARY: Final[dict[str, tuple[str, Any, Any]]] = {
    method.input_type.name: (
        f"/{service.full_name}/{method.name}",
        getattr(module, method.input_type.name),
        getattr(module, method.output_type.name),
    )
    for module in (game_pb2, session_pb2, bot_pb2, simulation_pb2, display_pb2)
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
    if not method.server_streaming and not method.client_streaming
}


class Client:
    """A channel to one copy, with a token. The type of a request selects the method."""

    def __init__(self, address: str, token: str = "", *, deaf: bool = False) -> None:
        self.address = address
        self.metadata = (("authorization", f"Bearer {token}"),) if token else ()
        # Every client has its own connection, so that two streams of one bot can break independently.
        self.channel = grpc.aio.insecure_channel(
            address,
            options=[
                ("grpc.use_local_subchannel_pool", 1),
                ("grpc.initial_reconnect_backoff_ms", 50),
                ("grpc.max_reconnect_backoff_ms", 200),
                ("grpc.enable_retries", 0),  # they have no pause, and can fill the memory while a copy stops
                # Small buffers, so that the server soon notices a client that does not read.
                *((("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 1024)) if deaf else ()),
            ],
        )

    async def ask(self, request: Message, patience_s: float = PATIENCE_S) -> Any:
        """Make one unary call."""
        path, _, answer = UNARY[type(request).__name__]
        call: Any = self.channel.unary_unary(
            path, request_serializer=type(request).SerializeToString, response_deserializer=answer.FromString
        )
        return await call(request, metadata=self.metadata, timeout=patience_s)

    async def session(self, session_id: str) -> session_pb2.Session:
        """Return the current state of a session."""
        found: session_pb2.Session = (await self.ask(session_pb2.GetSessionRequest(session=session_id))).session
        return found

    async def look(self, session_id: str) -> session_pb2.GetViewResponse:
        """Return the view that this client's token allows."""
        view: session_pb2.GetViewResponse = await self.ask(session_pb2.GetViewRequest(session=session_id))
        return view

    async def act(self, session_id: str, turn: int, choice: int | str, note: str = "") -> session_pb2.ActResponse:
        """Answer a question."""
        request = session_pb2.ActRequest(session=session_id, turn=turn, note=note)
        if isinstance(choice, str):
            request.text = choice
        else:
            request.index = choice
        done: session_pb2.ActResponse = await self.ask(request)
        return done

    def watch(self, session_id: str, from_revision: int = 0, after_mark: int = 0) -> Any:
        """Open a stream that watches a session."""
        request = session_pb2.WatchRequest(session=session_id, from_revision=from_revision, after_mark=after_mark)
        return session_pb2_grpc.SessionServiceStub(self.channel).Watch(
            request, metadata=self.metadata, timeout=PATIENCE_S
        )

    def play(self) -> Any:
        """Open a bot's stream, without sending Hello."""
        return bot_pb2_grpc.BotServiceStub(self.channel).Play(metadata=self.metadata)

    async def is_serving(self, service: str = "") -> bool:
        """Whether grpc.health.v1 reports the service as SERVING."""
        health: Any = health_pb2_grpc.HealthStub(self.channel)
        answer = await health.Check(health_pb2.HealthCheckRequest(service=service), timeout=PATIENCE_S)
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.channel.close()
