"""Authorization: anyone may read, only the operator may change. One table, one interceptor."""

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any, Final

import grpc

from service.rpc.auth import Forbidden, Unauthenticated

ANYBODY: Final = "anybody"
OPERATOR: Final = "operator"

_SERVICE: Final = "/rubble.v1.TournamentService"
#: A method that is not listed cannot be called. The report and the export show the roster, with its commands and environments.
MAY_CALL: Final[Mapping[str, str]] = {
    f"{_SERVICE}/CreateTournament": OPERATOR,
    f"{_SERVICE}/GetTournament": ANYBODY,
    f"{_SERVICE}/ListTournaments": ANYBODY,
    f"{_SERVICE}/WatchTournament": ANYBODY,
    f"{_SERVICE}/PauseTournament": OPERATOR,
    f"{_SERVICE}/ResumeTournament": OPERATOR,
    f"{_SERVICE}/CancelTournament": OPERATOR,
    f"{_SERVICE}/ListMatches": ANYBODY,
    f"{_SERVICE}/GetStandings": ANYBODY,
    f"{_SERVICE}/GetReport": OPERATOR,
    f"{_SERVICE}/ExportTournament": OPERATOR,
    f"{_SERVICE}/IssueEntrantKey": OPERATOR,
    "/grpc.health.v1.Health/Check": ANYBODY,
    "/grpc.health.v1.Health/List": ANYBODY,
    "/grpc.health.v1.Health/Watch": ANYBODY,
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": ANYBODY,
}

_is_operator: ContextVar[bool] = ContextVar("is_operator", default=False)


def is_operator() -> bool:
    """Whether the current call is made by the operator."""
    return _is_operator.get()


class AuthInterceptor(grpc.aio.ServerInterceptor):
    """Accepts the operator's token only: bots and seats have no access here."""

    def __init__(self, operator_token: str) -> None:
        self._operator = _digest(operator_token)

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable["grpc.RpcMethodHandler[Any, Any] | None"]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "grpc.RpcMethodHandler[Any, Any] | None":
        method = handler_call_details.method
        allowed = MAY_CALL.get(method)
        if allowed is None:
            if await continuation(handler_call_details) is not None:
                raise Forbidden(f"{method} cannot be called", method=method)
            return None
        token = _bearer(handler_call_details.invocation_metadata)
        # Equal digests mean equal tokens, and comparing them takes constant time.
        if token is not None and not hmac.compare_digest(_digest(token), self._operator):
            raise Unauthenticated(
                "BAD_TOKEN", "this is not the operator's token; expected the operator's token, or none to read"
            )
        if token is None and allowed == OPERATOR:
            raise Unauthenticated("NO_TOKEN", f"{method} wants `authorization: Bearer TOKEN` of: operator")
        # gRPC runs each call in its own task, so no other call sees this value.
        _is_operator.set(token is not None)
        return await continuation(handler_call_details)


def _bearer(metadata: Any) -> str | None:
    """The token of a call, or None if it has none. A malformed one is an error, never an anonymous caller."""
    given = [value for key, value in metadata or () if key == "authorization"]
    if not given:
        return None
    scheme, _, token = str(given[0]).partition(" ")
    if len(given) > 1 or scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("BAD_TOKEN", "expected one `authorization: Bearer TOKEN`")
    return token.strip()


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
