"""Authorization: anyone may read, owners manage their own builds, the operator may do everything. One table, one interceptor."""

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import grpc

from orchestrator.api import caller
from orchestrator.api.caller import Caller
from orchestrator.api.owner_keys import OwnerKeys
from service.rpc.auth import Forbidden, Unauthenticated

ANYBODY: Final = frozenset({"anybody", "owner", "operator"})
OPERATOR: Final = frozenset({"operator"})
OWNER: Final = frozenset({"owner"})
OWNER_OR_OPERATOR: Final = OWNER | OPERATOR

_TOURNAMENTS: Final = "/rubble.v1.TournamentService"
_LADDERS: Final = "/rubble.v1.LadderService"
#: A method that is not listed cannot be called. The report and the export show the roster, with its commands and environments.
MAY_CALL: Final[Mapping[str, frozenset[str]]] = {
    f"{_TOURNAMENTS}/CreateTournament": OPERATOR,
    f"{_TOURNAMENTS}/GetTournament": ANYBODY,
    f"{_TOURNAMENTS}/ListTournaments": ANYBODY,
    f"{_TOURNAMENTS}/WatchTournament": ANYBODY,
    f"{_TOURNAMENTS}/PauseTournament": OPERATOR,
    f"{_TOURNAMENTS}/ResumeTournament": OPERATOR,
    f"{_TOURNAMENTS}/CancelTournament": OPERATOR,
    f"{_TOURNAMENTS}/ListMatches": ANYBODY,
    f"{_TOURNAMENTS}/GetMatch": ANYBODY,
    f"{_TOURNAMENTS}/GetStandings": ANYBODY,
    f"{_TOURNAMENTS}/GetReport": OPERATOR,
    f"{_TOURNAMENTS}/ExportTournament": OPERATOR,
    f"{_TOURNAMENTS}/IssueEntrantKey": OPERATOR,
    f"{_LADDERS}/CreateLadder": OPERATOR,
    f"{_LADDERS}/ListLadders": ANYBODY,
    f"{_LADDERS}/GetLadder": ANYBODY,
    f"{_LADDERS}/WatchLadder": ANYBODY,
    f"{_LADDERS}/SignUp": ANYBODY,
    f"{_LADDERS}/CreateInvitations": OPERATOR,
    f"{_LADDERS}/RotateOwnerKey": OWNER_OR_OPERATOR,
    f"{_LADDERS}/RevokeOwner": OPERATOR,
    f"{_LADDERS}/ListOwners": ANYBODY,
    f"{_LADDERS}/EnterBuild": OWNER,
    f"{_LADDERS}/IssueBuildKey": OWNER,
    f"{_LADDERS}/RetireBuild": OWNER_OR_OPERATOR,
    f"{_LADDERS}/ListBuilds": ANYBODY,
    f"{_LADDERS}/GetLadderStandings": ANYBODY,
    f"{_LADDERS}/GetHistory": ANYBODY,
    f"{_LADDERS}/GetVerdict": ANYBODY,
    f"{_LADDERS}/GetPairs": ANYBODY,
    f"{_LADDERS}/ListLadderMatches": ANYBODY,
    f"{_LADDERS}/GetMatchReplay": ANYBODY,
    f"{_LADDERS}/ListEvents": ANYBODY,
    f"{_LADDERS}/RecordDecision": OPERATOR,
    f"{_LADDERS}/CreateChallenge": OWNER,
    f"{_LADDERS}/GetChallenge": ANYBODY,
    f"{_LADDERS}/MoveSeason": OPERATOR,
    f"{_LADDERS}/ListSeasons": ANYBODY,
    f"{_LADDERS}/ExportSeason": ANYBODY,
    "/grpc.health.v1.Health/Check": ANYBODY,
    "/grpc.health.v1.Health/List": ANYBODY,
    "/grpc.health.v1.Health/Watch": ANYBODY,
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": ANYBODY,
}


def current_caller() -> Caller:
    """Who makes the current call."""
    return caller.current.get()


def is_operator() -> bool:
    """Whether the current call is made by the operator."""
    return current_caller().is_operator


class AuthInterceptor(grpc.aio.ServerInterceptor):
    """Accepts the operator's token and the keys of owners: bots and seats have no access here."""

    def __init__(self, operator_token: str, keys: OwnerKeys) -> None:
        self._operator = _digest(operator_token)
        self._keys = keys

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
        found = self._caller(_bearer(handler_call_details.invocation_metadata))
        if found.kind not in allowed:
            wanted = " or ".join(sorted(allowed))
            if found == caller.ANYBODY:
                raise Unauthenticated("NO_TOKEN", f"{method} wants `authorization: Bearer TOKEN` of: {wanted}")
            raise Forbidden(
                f"only the {wanted} may call {method.rpartition('/')[2]}; this call was made by the {found.kind}",
                method=method,
                caller=found.kind,
            )
        caller.current.set(found)
        return await continuation(handler_call_details)

    def _caller(self, token: str | None) -> Caller:
        if token is None:
            return caller.ANYBODY
        # Equal digests mean equal tokens, and comparing them takes constant time.
        if hmac.compare_digest(_digest(token), self._operator):
            return Caller(is_operator=True)
        owner, generation = self._keys.read(token)
        return Caller(owner=owner, generation=generation)


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
