"""Metrics of calls and sessions: how long calls take, how they end, and what happens in sessions."""

import time
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, Final

import grpc
from prometheus_client import Counter, Histogram

from service import metrics
from service.sessions.entries import Acted, AnswerRefused, AutomatonActed, Ended, Forfeited, Status
from service.sessions.live_sessions import Change

#: Long streams are not requests: their duration says nothing about the service.
_CONVERSATIONS: Final = ("/Play", "/Watch", "/WaitForEnd", "/ServerReflectionInfo")


class CallMetrics(grpc.aio.ServerInterceptor):
    """Times unary calls by method and status."""

    def __init__(self, seconds: Histogram = metrics.RPC_SECONDS) -> None:
        self._seconds = seconds

    async def intercept_service(
        self,
        continuation: "Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]]",
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "grpc.RpcMethodHandler[Any, Any] | None":
        handler = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or method.endswith(_CONVERSATIONS):
            return handler
        # A call that an interceptor refuses has a stream handler; it is counted too.
        behaviour: Any = handler.unary_unary or handler.stream_stream
        if behaviour is None:
            return handler

        async def timed(request: Any, context: Any) -> Any:
            begin = time.perf_counter()
            try:
                return await behaviour(request, context)
            finally:
                code = context.code()
                status = code.name if isinstance(code, grpc.StatusCode) else "OK"
                self._seconds.labels(method, status).observe(time.perf_counter() - begin)

        wrap: Any = (
            grpc.unary_unary_rpc_method_handler if handler.unary_unary else grpc.stream_stream_rpc_method_handler
        )
        timed_handler: grpc.RpcMethodHandler[Any, Any] = wrap(
            timed,
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )
        return timed_handler


@cache
def _of_moves(game: str) -> tuple[Counter, Histogram]:
    """Cached, because moves are by far the most frequent event."""
    return metrics.MOVES.labels(game, "seat"), metrics.THINK_SECONDS.labels(game)


def count_changes(change: Change) -> None:
    """Add a saved change to the counters."""
    session = change.session
    game = session.header.game
    if not change.entries:
        metrics.SESSIONS_CREATED.labels(game).inc()
    for entry in change.entries:
        if isinstance(entry, Acted):
            moves, think_seconds = _of_moves(game)
            moves.inc()
            think_seconds.observe(entry.think_ms / 1000)
        elif isinstance(entry, AutomatonActed):
            metrics.MOVES.labels(game, "house").inc()
        elif isinstance(entry, AnswerRefused):
            metrics.REFUSALS.labels(game).inc()
        elif isinstance(entry, Forfeited):
            metrics.FAULTS.labels(game, entry.fault).inc()
        elif isinstance(entry, Ended):
            outcome = session.outcome
            ending = "CANCELLED" if session.status is Status.CANCELLED or outcome is None else outcome.ending
            metrics.SESSIONS_ENDED.labels(game, ending).inc()


def count_answer(seconds: float) -> None:
    """Count one request to Redis."""
    metrics.STORE_SECONDS.labels("ask").observe(seconds)


def count_save(seconds: float, moves: int) -> None:
    """Count one round trip to Redis, and the moves it saved."""
    metrics.STORE_SECONDS.labels("save").observe(seconds)
    metrics.BATCH_MOVES.observe(moves)
