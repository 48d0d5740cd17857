"""The table of all errors and their status. No other file mentions a status code.

One interceptor applies it to calls; the Refused events of a bot stream use the same ``error_status``.

An answer carries google.rpc.ErrorInfo: a reason that programs can branch on, and the facts (field, value, what was expected,
revision, rule …). If waiting helps, RetryInfo says how long. A bug in the service is logged completely, once, under an id; the
caller gets only the id.
"""

import asyncio
import inspect
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]  # it carries none
from grpc import StatusCode
from grpc_status import rpc_status

from service.games.core import BadSetup, Refused, Unreadable
from service.rpc.auth import BadHandle, Forbidden, Unauthenticated, redact
from service.rpc.limits import LimitReached
from service.rpc.stream_writing import PATIENCE_S, end_quietly, end_with_status, write_message
from service.sessions.errors import (
    ActionRefused,
    BadRequest,
    Conflict,
    HistoryChanged,
    NotReading,
    NotYourTurn,
    SeatForfeited,
    SessionEnded,
    SessionError,
    SessionExists,
    SessionRunning,
    SessionSealed,
    StaleTurn,
    StoreUnavailable,
    TakenOver,
    UnknownSession,
    UnreadableSession,
)
from service.sessions.replay import BadReplay

DOMAIN: Final = "rubble"
INTERNAL: Final = "INTERNAL"

#: Status and facts are sent in the trailers, and a client drops a call whose trailers exceed 8 KiB. In bytes of UTF-8; encoding
#: may make text three times as long.
_LONGEST_MESSAGE: Final = 600
_LONGEST_FACT: Final = 400
_LONGEST_FACTS: Final = 2000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table. An empty reason means that the exception has its own."""

    exception: type[Exception]
    status: StatusCode
    reason: str = ""
    retry_ms: int = 0
    when: Callable[[Any], bool] = lambda _: True


#: The first row that matches is used.
_TABLE: Final = (
    Row(BadSetup, StatusCode.NOT_FOUND, "UNKNOWN_GAME", when=lambda error: error.field == "game"),
    Row(BadSetup, StatusCode.INVALID_ARGUMENT, "BAD_SETUP"),
    Row(Unreadable, StatusCode.INVALID_ARGUMENT, "UNREADABLE"),
    Row(Refused, StatusCode.FAILED_PRECONDITION),
    Row(BadRequest, StatusCode.INVALID_ARGUMENT),
    Row(BadReplay, StatusCode.INVALID_ARGUMENT, "BAD_REPLAY"),
    Row(UnknownSession, StatusCode.NOT_FOUND),
    Row(UnreadableSession, StatusCode.DATA_LOSS),
    Row(SessionExists, StatusCode.ALREADY_EXISTS),
    Row(SessionEnded, StatusCode.FAILED_PRECONDITION),
    Row(SessionRunning, StatusCode.FAILED_PRECONDITION),
    Row(SessionSealed, StatusCode.FAILED_PRECONDITION),
    Row(NotYourTurn, StatusCode.FAILED_PRECONDITION),
    Row(SeatForfeited, StatusCode.FAILED_PRECONDITION),
    Row(ActionRefused, StatusCode.FAILED_PRECONDITION, when=lambda error: error.readable),
    Row(ActionRefused, StatusCode.INVALID_ARGUMENT),
    Row(StaleTurn, StatusCode.ABORTED),
    Row(TakenOver, StatusCode.ABORTED),
    Row(HistoryChanged, StatusCode.ABORTED),
    Row(Conflict, StatusCode.ABORTED, retry_ms=50),
    Row(Unauthenticated, StatusCode.UNAUTHENTICATED),
    Row(Forbidden, StatusCode.PERMISSION_DENIED),
    Row(BadHandle, StatusCode.INVALID_ARGUMENT),
    Row(LimitReached, StatusCode.RESOURCE_EXHAUSTED, retry_ms=1000),
    Row(NotReading, StatusCode.RESOURCE_EXHAUSTED),
    Row(StoreUnavailable, StatusCode.UNAVAILABLE, retry_ms=1000),
)


@dataclass(frozen=True, slots=True)
class ErrorStatus:
    """The error that a caller gets."""

    status: StatusCode
    reason: str
    message: str
    facts: Mapping[str, str]
    #: When a retry makes sense; 0: never, or at any time.
    retry_ms: int = 0


def error_status(exception: Exception, more: Sequence[Row] = ()) -> ErrorStatus:
    """Return the status of an exception. An exception that is not in the table is a bug, and is logged here.

    ``more``: rows of another server that uses the same interceptors.
    """
    for row in (*more, *_TABLE):
        if isinstance(exception, row.exception) and row.when(exception):
            return ErrorStatus(
                row.status,
                row.reason or str(getattr(exception, "reason", INTERNAL)),
                _short(redact(str(exception)), _LONGEST_MESSAGE),
                _bounded(_facts(exception)),
                int(getattr(exception, "retry_after_ms", row.retry_ms)),
            )
    error_id = uuid.uuid4().hex[:12]
    _log.error(
        "a bug in the service, reported to the caller as %s", error_id, exc_info=exception, extra={"error_id": error_id}
    )
    message = f"an internal error of the service; it is in the service's log as {error_id}, please report it"
    return ErrorStatus(StatusCode.INTERNAL, INTERNAL, message, {"error_id": error_id})


def rich_status(error: ErrorStatus) -> status_pb2.Status:
    """Return the error as google.rpc.Status."""
    details = [_packed(error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=dict(error.facts)))]
    if error.retry_ms:
        delay = duration_pb2.Duration(seconds=error.retry_ms // 1000, nanos=error.retry_ms % 1000 * 1_000_000)
        details.append(_packed(error_details_pb2.RetryInfo(retry_delay=delay)))
    code: int = error.status.value[0]
    return status_pb2.Status(code=code, message=error.message, details=details)


def _packed(message: Any) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed


def _facts(exception: Exception) -> dict[str, str]:
    match exception:
        case SessionError():
            return dict(exception.facts)
        case BadSetup():
            return {"field": exception.field, "value": repr(exception.value), "expected": exception.expected}
        case Unreadable():
            return {"field": "text", "value": repr(exception.text), "expected": exception.expected}
        case Refused():
            return {"rule": exception.rule}
        case _:
            return dict(getattr(exception, "facts", {}))


def _bounded(facts: Mapping[str, str]) -> dict[str, str]:
    """Shorten the facts: a value may be as long as a whole message."""
    kept: dict[str, str] = {}
    left = _LONGEST_FACTS
    for name, value in facts.items():
        short = _short(redact(value), min(_LONGEST_FACT, left))
        left -= len(short.encode())
        if value and not short:
            break
        kept[name] = short
    return kept


def _short(text: str, limit: int) -> str:
    """Return at most this many bytes of the text, cut between characters. Invalid characters are escaped."""
    data = text.encode("utf-8", "backslashreplace")
    if len(data) <= limit:
        return data.decode()
    if limit < 3:
        return ""
    return data[: limit - 3].decode("utf-8", "ignore") + "…"


# ---------------------------------------------------------------------------------------------------------------- interceptors
Behaviour = Callable[[Any, Any], Any]
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"  # generic for the type checker only


class ErrorInterceptor(grpc.aio.ServerInterceptor):
    """Gives every exception its status, for all types of calls. It comes before all interceptors that may refuse."""

    def __init__(self, more: Sequence[Row] = ()) -> None:
        self._more = tuple(more)

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable["Handler | None"]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "Handler | None":
        try:
            handler = await continuation(handler_call_details)
        except grpc.aio.AbortError:
            raise
        except Exception as refusal:
            return _refusing(refusal, self._more)
        return None if handler is None else _guarded(handler, self._more)  # None: no service has the method


def _refusing(refusal: Exception, more: tuple[Row, ...]) -> Handler:
    """Return a handler that refuses any call. A bidirectional stream fits all types: it reads no request and sends no response."""

    async def refuse(_requests: Any, context: Any) -> None:
        await _abort(context, refusal, more)

    return grpc.stream_stream_rpc_method_handler(refuse)


def _guarded(handler: Handler, more: tuple[Row, ...]) -> Handler:
    """Return the same handler, with every exception translated."""
    if handler.request_streaming:
        behaviour = handler.stream_stream if handler.response_streaming else handler.stream_unary
        wrap: Any = (
            grpc.stream_stream_rpc_method_handler
            if handler.response_streaming
            else grpc.stream_unary_rpc_method_handler
        )
    else:
        behaviour = handler.unary_stream if handler.response_streaming else handler.unary_unary
        wrap = (
            grpc.unary_stream_rpc_method_handler if handler.response_streaming else grpc.unary_unary_rpc_method_handler
        )
    guarded: Handler = wrap(_translated(behaviour, more), handler.request_deserializer, handler.response_serializer)
    return guarded


def _translated(behaviour: Any, more: tuple[Row, ...]) -> Behaviour:
    if inspect.isasyncgenfunction(behaviour):
        # Iterated here: when the caller leaves, the generator and what it holds are closed at once, not at garbage collection.
        async def drive(request: Any, context: Any) -> None:
            try:
                async with aclosing(behaviour(request, context)) as responses:
                    async for response in responses:
                        await write_message(context, response, asyncio.timeout(PATIENCE_S))
            except grpc.aio.AbortError:
                raise
            except Exception as error:
                await _abort(context, error, more)

        return drive
    if inspect.iscoroutinefunction(behaviour):

        async def call(request: Any, context: Any) -> Any:
            try:
                return await behaviour(request, context)
            except grpc.aio.AbortError:
                raise
            except Exception as error:
                await _abort(context, error, more)

        return call

    async def refuse(_request: Any, context: Any) -> None:
        # gRPC would run it in a thread, without the caller and the error handling.
        await _abort(context, TypeError(f"{behaviour!r} is not async"), more)

    return refuse


async def _abort(context: Any, error: Exception, more: tuple[Row, ...]) -> None:
    if context.done() and isinstance(error, grpc.aio.UsageError):
        return  # the caller left during the write, which is not an error
    if isinstance(error, grpc.aio.InternalError):
        end_quietly()  # what gRPC raises for a call whose caller has left
    status = rpc_status.to_status(rich_status(error_status(error, more)))
    if not context.done():
        await end_with_status(context, status)
