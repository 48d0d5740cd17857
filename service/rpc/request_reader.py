"""Reading requests: memory is reserved before, their bytes are bounded before they are parsed, and what is no message is a bad
request like any other (gRPC would call it an unknown error of ours).
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, ExitStack, aclosing, nullcontext
from typing import Any, Final, TypeAlias

import grpc
from google.protobuf.message import DecodeError

from service.rpc.auth import Kind, current_caller
from service.rpc.bounds import Shape
from service.rpc.request_memory import FIRST_S, RequestMemory, Reservation, caller_name, peer_of
from service.rpc.stream_writing import PATIENCE_S, write_message
from service.sessions.errors import BadRequest

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"  # generic for the type checker only
#: So few bytes cannot take much memory, so their fields are not checked.
_SMALL: Final = 1024
#: The first message of a conversation says who comes, and little else.
FIRST_BYTES: Final = 16 << 10
#: How long to wait for the first message of a call, in seconds, while memory is reserved for it.
_READ_S: Final = 15.0
#: Long calls with limits of their own, which also know the field that must come first.
_HAVE_OWN_LIMITS: Final = ("/rubble.v1.BotService/Play", "/rubble.v1.SessionService/Watch")
_HEALTH: Final = "/grpc.health.v1.Health/Check"


class _MessageParser:
    """Makes a request of its bytes."""

    def __init__(self, method: str, parse: Any) -> None:
        self._method = method
        self._parse = parse
        descriptor = getattr(getattr(parse, "__self__", None), "DESCRIPTOR", None)
        self._shape = None if descriptor is None else Shape.of(descriptor)

    def read(self, data: bytes) -> Any:
        """The request, or BadRequest."""
        if self._parse is None:
            return data
        try:
            if self._shape is not None and len(data) > _SMALL:
                self._shape.check(data)
            return self._parse(data)
        except (DecodeError, IndexError):
            expected = f"the request of {self._method} as protobuf writes it"
            raise BadRequest("message", f"{len(data)} bytes", expected) from None

    async def read_first(self, context: Any, held: Reservation | None, most: int = 0) -> Any:
        """The first request of a call, which must come soon; EOF: there is none."""
        # Not from gRPC's iterator of requests: that keeps the last one until the garbage is collected.
        try:
            async with asyncio.timeout(_READ_S):
                data = await context.read()
        except TimeoutError:
            raise BadRequest("message", "nothing", f"a request within {_READ_S:.0f} seconds") from None
        if data is grpc.aio.EOF:
            return data
        if held is not None:
            held.shrink(len(data))
        if most and len(data) > most:
            raise BadRequest("message", f"{len(data)} bytes", f"at most {most} in the first message of a stream")
        return self.read(data)


class RequestReader(grpc.aio.ServerInterceptor):
    """Reads requests where errors are given their status. It goes after the interceptors that do so and that know the caller."""

    def __init__(self, request_memory: RequestMemory | None = None) -> None:
        self._request_memory = request_memory

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable["Handler | None"]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "Handler | None":
        handler: Any = await continuation(handler_call_details)
        if handler is None:
            return None
        method = handler_call_details.method
        reader = _MessageParser(method, handler.request_deserializer)
        if handler.request_streaming:
            return self._conversation(handler, reader, method)
        if self._request_memory is not None and current_caller().kind is Kind.ANONYMOUS:
            return self._stranger(handler, reader, method)
        return await self._single(handler, reader, method)

    def _hold_limit(self, method: str, context: Any) -> AbstractContextManager[None]:
        """What a long call without limits of its own takes while it is open. A long call keeps no memory for requests."""
        if self._request_memory is None or method in _HAVE_OWN_LIMITS:
            return nullcontext()
        return self._request_memory.long_calls.hold(caller_name(current_caller(), context))

    async def _single(self, handler: Any, reader: _MessageParser, method: str) -> Handler:
        """One request of a known caller. Memory is reserved here, before gRPC reads it."""
        held: Reservation | None = None
        late: asyncio.TimerHandle | None = None
        if self._request_memory is not None:
            held = await self._request_memory.reserve(caller_name(current_caller()), current_caller().kind)
            task = asyncio.current_task()
            assert task is not None
            # The call's own task: it also ends where the caller leaves before its request has come.
            task.add_done_callback(lambda _: held.release())
            # A request that does not come must not keep memory that others need; grpc.aio tells the caller nothing of it.
            late = asyncio.get_running_loop().call_later(_READ_S, task.cancel)
        answer = handler.unary_stream if handler.response_streaming else handler.unary_unary

        def read(data: bytes) -> Any:
            if late is not None:
                late.cancel()
            if held is not None:
                held.shrink(len(data))
            try:
                return reader.read(data)
            except BadRequest as error:
                return error  # raised where it is given its status

        async def call(request: Any, context: Any) -> Any:
            if isinstance(request, BadRequest):
                raise request
            return await answer(request, context)

        async def call_long(request: Any, context: Any) -> Any:
            if held is not None:
                held.release()
            with self._hold_limit(method, context):
                return await call(request, context)

        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(call_long, read, handler.response_serializer)
        return grpc.unary_unary_rpc_method_handler(call, read, handler.response_serializer)

    def _stranger(self, handler: Any, reader: _MessageParser, method: str) -> Handler:
        """One request of somebody we know by address only, which a handler of streams learns before anything is read."""
        answer = handler.unary_stream if handler.response_streaming else handler.unary_unary
        request_memory = self._request_memory
        assert request_memory is not None

        async def call(_: Any, context: Any) -> None:
            held = await request_memory.reserve(peer_of(context), Kind.ANONYMOUS, is_health=method == _HEALTH)
            try:
                request = await reader.read_first(context, held)
                if request is grpc.aio.EOF:
                    return  # the caller left
                if not handler.response_streaming:
                    await write_message(context, await answer(request, context), asyncio.timeout(PATIENCE_S))
                    return
                held.release()
                with self._hold_limit(method, context):
                    await answer(request, context)
            finally:
                held.release()

        return grpc.stream_stream_rpc_method_handler(call, None, handler.response_serializer)

    def _conversation(self, handler: Any, reader: _MessageParser, method: str) -> Handler:
        """Many requests. Memory is reserved for the first; of the others one at a time is read."""
        answer = handler.stream_stream
        request_memory = self._request_memory

        async def reserve(kept: ExitStack) -> Reservation | None:
            """Memory for the first message of a known caller. A stranger's is bounded apart, in ``read_strangers``."""
            if request_memory is None or current_caller().kind is Kind.ANONYMOUS:
                return None
            held = await request_memory.reserve(caller_name(current_caller()), current_caller().kind)
            kept.callback(held.release)
            return held

        async def read_strangers(context: Any) -> Any:
            assert request_memory is not None
            try:
                async with request_memory.half_open(context):
                    return await reader.read_first(context, None, FIRST_BYTES)
            except TimeoutError:
                expected = f"a first message within {FIRST_S:.0f} seconds"
                field = "hello" if method in _HAVE_OWN_LIMITS else "message"
                raise BadRequest(field, "nothing", expected) from None

        async def opened(context: Any, held: Reservation | None, kept: ExitStack) -> AsyncIterator[Any]:
            if held is None and request_memory is not None:
                request = await read_strangers(context)
            else:
                request = await reader.read_first(context, held, FIRST_BYTES)
            if request is grpc.aio.EOF:
                return
            kept.enter_context(self._hold_limit(method, context))
            yield request
            if held is not None:
                held.release()  # the handler reads on, so it knows who comes
            while (data := await context.read()) is not grpc.aio.EOF:
                request = reader.read(data)
                del data  # the next one may be long in coming
                yield request

        async def converse(_: Any, context: Any) -> None:
            with ExitStack() as kept:
                held = await reserve(kept)
                await answer(opened(context, held, kept), context)

        async def generate(_: Any, context: Any) -> AsyncIterator[Any]:
            with ExitStack() as kept:
                held = await reserve(kept)
                async with aclosing(answer(opened(context, held, kept), context)) as responses:
                    async for response in responses:
                        yield response

        behaviour = generate if inspect.isasyncgenfunction(answer) else converse
        return grpc.stream_stream_rpc_method_handler(behaviour, None, handler.response_serializer)
