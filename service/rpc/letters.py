"""Bytes that are no message: gRPC would call them an unknown error of ours; here they are a bad request like any other."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import grpc
from google.protobuf.message import DecodeError

from service.sessions.errors import BadRequest

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"  # generic for the type checker only
_OURS: Final = "/rubble."


@dataclass(frozen=True, slots=True)
class _Unreadable:
    size: int


def _read(request: Any, expected: str) -> Any:
    if isinstance(request, _Unreadable):
        raise BadRequest("message", f"{request.size} bytes", expected)
    return request


class Letters(grpc.aio.ServerInterceptor):
    """Opens requests where errors are given their status. It goes after the interceptor that does so."""

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable["Handler | None"]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "Handler | None":
        handler: Any = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or not method.startswith(_OURS):
            return handler  # type: ignore[no-any-return]  # whatever it was
        parse = handler.request_deserializer
        expected = f"the request of {method} as protobuf writes it"

        def open_letter(data: bytes) -> Any:
            try:
                return parse(data)
            except DecodeError:
                return _Unreadable(len(data))

        if handler.request_streaming:
            conversation = handler.stream_stream

            async def converse(requests: AsyncIterator[Any], context: Any) -> Any:
                async def opened() -> AsyncIterator[Any]:
                    async for request in requests:
                        yield _read(request, expected)

                return await conversation(opened(), context)

            return grpc.stream_stream_rpc_method_handler(converse, open_letter, handler.response_serializer)
        answer = handler.unary_stream if handler.response_streaming else handler.unary_unary

        async def call(request: Any, context: Any) -> Any:
            return await answer(_read(request, expected), context)

        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(call, open_letter, handler.response_serializer)
        return grpc.unary_unary_rpc_method_handler(call, open_letter, handler.response_serializer)
