"""The gRPC status of each tournament error, in the same form of table that the service uses."""

from typing import Final

from grpc import StatusCode

from orchestrator.book import UnknownTournament
from orchestrator.client import ServiceError
from orchestrator.errors import BadField, BookAway, NoService, NotRemote, TournamentOver, UnknownEntrant
from orchestrator.roster import BadRoster
from service.rpc.errors import Row

TABLE: Final = (
    Row(BadRoster, StatusCode.INVALID_ARGUMENT, "BAD_ROSTER"),
    Row(BadField, StatusCode.INVALID_ARGUMENT),
    Row(UnknownTournament, StatusCode.NOT_FOUND),
    Row(UnknownEntrant, StatusCode.NOT_FOUND),
    Row(TournamentOver, StatusCode.FAILED_PRECONDITION),
    Row(NotRemote, StatusCode.FAILED_PRECONDITION),
    Row(NoService, StatusCode.FAILED_PRECONDITION),
    Row(BookAway, StatusCode.UNAVAILABLE, retry_ms=1000),
    Row(ServiceError, StatusCode.UNAVAILABLE, "SERVICE_UNAVAILABLE", 1000, lambda error: error.is_passing),
    Row(ServiceError, StatusCode.FAILED_PRECONDITION, "SERVICE_REFUSES"),
)
