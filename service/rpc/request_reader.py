"""Reads requests: reserves memory first, checks the bytes before they are parsed, and treats invalid messages as bad requests (gRPC
would report an unknown error).
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
#: A request this small cannot take much memory, so its fields are not checked.
_SMALL: Final = 1024
#: The first message of a stream identifies the caller, and contains little else.
FIRST_BYTES: Final = 16 << 10
#: How long to wait for the first message of a call, in seconds, while memory is reserved for it.
_READ_S: Final = 15.0
#: Streams with their own limits, which also check their first message.
_HAVE_OWN_LIMITS: Final = ("/rubble.v1.BotService/Play", "/rubble.v1.SessionService/Watch")
_HEALTH: Final = "/grpc.health.v1.Health/Check"


class _MessageParser:
    """Parses the bytes of a request."""

    def __init__(self, method: str, parse: Any) -> None:
        self._method = method
        self._parse = parse
        descriptor = getattr(getattr(parse, "__self__", None), "DESCRIPTOR", None)
        self._shape = None if descriptor is None else Shape.of(descriptor)

    def read(self, data: bytes) -> Any:
        """Return the request; raises BadRequest."""
        if self._parse is None:
            return data
        try:
            if self._shape is not None and len(data) > _SMALL:
                self._shape.check(data)
            return self._parse(data)
        except (DecodeError, IndexError):
            expected = f"the request of {self._method} in protobuf's binary format"
            raise BadRequest("message", f"{len(data)} bytes", expected) from None

    async def read_first(self, context: Any, held: Reservation | None, most: int = 0) -> Any:
        """Return the first request of a call, which must arrive soon; EOF if there is none."""
        # Not read from gRPC's iterator, which keeps the last request until garbage collection.
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
    """Reads requests where errors get their status. It comes after the interceptors that handle errors and identify the caller."""

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
            return self._anonymous(handler, reader, method)
        return await self._single(handler, reader, method)

    def _hold_limit(self, method: str, context: Any) -> AbstractContextManager[None]:
        """Hold the place of a long call without its own limits. A long call keeps no request memory."""
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
            # The call's own task, which also ends if the caller leaves before its request arrives.
            task.add_done_callback(lambda _: held.release())
            # A request that does not arrive must not hold memory; the caller gets no message about it from grpc.aio.
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
                return error  # raised where it gets its status

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

    def _anonymous(self, handler: Any, reader: _MessageParser, method: str) -> Handler:
        """One request of an unauthenticated caller. Only a stream handler knows its address before anything is read."""
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
        """Several requests. Memory is reserved for the first; the others are read one at a time."""
        answer = handler.stream_stream
        request_memory = self._request_memory

        async def reserve(kept: ExitStack) -> Reservation | None:
            """Reserve memory for the first message of a known caller. Others are limited in ``read_anonymous``."""
            if request_memory is None or current_caller().kind is Kind.ANONYMOUS:
                return None
            held = await request_memory.reserve(caller_name(current_caller()), current_caller().kind)
            kept.callback(held.release)
            return held

        async def read_anonymous(context: Any) -> Any:
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
                request = await read_anonymous(context)
            else:
                request = await reader.read_first(context, held, FIRST_BYTES)
            if request is grpc.aio.EOF:
                return
            kept.enter_context(self._hold_limit(method, context))
            yield request
            if held is not None:
                held.release()  # the handler continues to read, so it has identified the caller
            while (data := await context.read()) is not grpc.aio.EOF:
                request = reader.read(data)
                del data  # the next one may take long to arrive
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
