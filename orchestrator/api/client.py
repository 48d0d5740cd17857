"""Clients of an arena's API, and the tournaments of a remote arena: the interface of ``Tournaments`` over gRPC."""

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Final, Self

import grpc

from orchestrator.client import ServiceAccess, ServiceError, open_channel, raised
from rubble.v1 import tournament_pb2, tournament_pb2_grpc

_CALL_S: Final = 30.0
#: Within this time an arena accepts a connection; it may be restarting.
_CONNECT_S: Final = 10.0
#: Planning a hundred thousand matches, or making their report, takes long.
LONG_S: Final = 600.0


class ApiClient:
    """What the clients of the API's services share. Raises ServiceError with the API's message if a call fails."""

    def __init__(self, access: ServiceAccess, token: str = "") -> None:
        """``token`` is sent instead of the operator's."""
        self.access = access
        token = token or access.operator_token
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self._channel = open_channel(access)
        self._was_connected = False

    def close(self) -> None:
        """Close the channel."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _connect(self) -> None:
        """Wait for the first connection, not as long as for an answer: perhaps nothing listens at this address."""
        if self._was_connected:
            return
        try:
            grpc.channel_ready_future(self._channel).result(_CONNECT_S)
        except grpc.FutureTimeoutError:
            raise ServiceError(
                "UNAVAILABLE",
                f"no connection to {self.access.address} within {_CONNECT_S:g} s; is an arena's API running there, "
                f"{'with' if self.access.ca_file else 'without'} TLS?",
                is_passing=True,
            ) from None
        self._was_connected = True

    def _raised(self, error: grpc.RpcError) -> ServiceError:
        found = raised(error, self.access.address)
        if found.reason != grpc.StatusCode.UNIMPLEMENTED.name:
            return found
        words = (
            f"{self.access.address} is not the address of an arena's API, or that of an older one; bots have another"
        )
        return ServiceError(found.reason, words, is_passing=False)

    def _ask(self, method: Any, request: Any, timeout_s: float = _CALL_S) -> Any:
        self._connect()
        try:
            return method(request, timeout=timeout_s, metadata=self._metadata, wait_for_ready=True)
        except grpc.RpcError as error:
            raise self._raised(error) from None

    def _follow(self, method: Any, request: Any, timeout_s: float | None) -> Iterator[Any]:
        self._connect()
        try:
            yield from method(request, timeout=timeout_s, metadata=self._metadata)
        except grpc.RpcError as error:
            raise self._raised(error) from None

    def _files(self, method: Any, request: Any) -> Iterator[tuple[str, bytes]]:
        """The files of an export, one by one; the API sends them in pieces."""
        path, data = "", bytearray()
        for piece in self._follow(method, request, None):
            if piece.path != path and path:
                yield path, bytes(data)
                data.clear()
            path = piece.path
            data += piece.data
        if path:
            yield path, bytes(data)


class TournamentClient(ApiClient):
    """TournamentService, for the command line."""

    def __init__(self, access: ServiceAccess) -> None:
        super().__init__(access)
        self._stub = tournament_pb2_grpc.TournamentServiceStub(self._channel)

    def create(
        self, text: str, *, check_only: bool = False, folder: str = ""
    ) -> tournament_pb2.CreateTournamentResponse:
        """Plan a roster's tournament; ``folder`` is the folder of its file, if workers share our files."""
        request = tournament_pb2.CreateTournamentRequest(roster=text, check_only=check_only, folder=folder)
        found: tournament_pb2.CreateTournamentResponse = self._ask(self._stub.CreateTournament, request, LONG_S)
        return found

    def issue_key(self, name: str, entrant: str) -> tournament_pb2.EntrantKey:
        """Issue a key for a remote entrant."""
        request = tournament_pb2.IssueEntrantKeyRequest(tournament=name, entrant=entrant)
        key: tournament_pb2.EntrantKey = self._ask(self._stub.IssueEntrantKey, request).key
        return key

    def tournament(self, name: str) -> tournament_pb2.Tournament:
        """The state of a tournament."""
        request = tournament_pb2.GetTournamentRequest(tournament=name)
        found: tournament_pb2.Tournament = self._ask(self._stub.GetTournament, request).tournament
        return found

    def tournaments(self, *, page_token: str = "") -> tournament_pb2.ListTournamentsResponse:
        """A page of tournaments, the latest first."""
        request = tournament_pb2.ListTournamentsRequest(page_token=page_token)
        found: tournament_pb2.ListTournamentsResponse = self._ask(self._stub.ListTournaments, request)
        return found

    def matches(self, name: str, *, page_token: str = "") -> tournament_pb2.ListMatchesResponse:
        """Matches in schedule order."""
        request = tournament_pb2.ListMatchesRequest(tournament=name, page_token=page_token)
        found: tournament_pb2.ListMatchesResponse = self._ask(self._stub.ListMatches, request)
        return found

    def standings(self, name: str) -> tournament_pb2.Standings:
        """The table so far."""
        request = tournament_pb2.GetStandingsRequest(tournament=name)
        found: tournament_pb2.Standings = self._ask(self._stub.GetStandings, request, LONG_S).standings
        return found

    def report(self, name: str) -> str:
        """The report as one HTML page."""
        request = tournament_pb2.GetReportRequest(tournament=name)
        return b"".join(piece.data for piece in self._follow(self._stub.GetReport, request, LONG_S)).decode()

    def export(self, name: str, *, without_replays: bool = False) -> Iterator[tuple[str, bytes]]:
        """Everything as files, one by one."""
        request = tournament_pb2.ExportTournamentRequest(tournament=name, without_replays=without_replays)
        yield from self._files(self._stub.ExportTournament, request)

    def pause(self, name: str) -> tournament_pb2.Tournament:
        """Begin no more matches."""
        return self._changed(self._stub.PauseTournament, tournament_pb2.PauseTournamentRequest(tournament=name))

    def resume(self, name: str) -> tournament_pb2.Tournament:
        """Begin matches again."""
        return self._changed(self._stub.ResumeTournament, tournament_pb2.ResumeTournamentRequest(tournament=name))

    def cancel(self, name: str) -> tournament_pb2.Tournament:
        """Drop all matches that have not been played."""
        return self._changed(self._stub.CancelTournament, tournament_pb2.CancelTournamentRequest(tournament=name))

    def _changed(self, method: Callable[..., Any], request: Any) -> tournament_pb2.Tournament:
        found: tournament_pb2.Tournament = self._ask(method, request).tournament
        return found

    def watch(self, name: str, *, standings: bool) -> Iterator[tournament_pb2.WatchTournamentResponse]:
        """The state of a tournament, repeatedly, until it is over."""
        request = tournament_pb2.WatchTournamentRequest(tournament=name, standings=standings)
        yield from self._follow(self._stub.WatchTournament, request, None)
