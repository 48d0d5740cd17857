"""The gRPC status of each error of tournaments and ladders, in the same form of table that the service uses."""

from typing import Final

from grpc import StatusCode

from orchestrator.book import UnknownTournament
from orchestrator.book.ladder_reading import UnknownLadder
from orchestrator.client import ServiceError
from orchestrator.errors import (
    BadField,
    BadSeason,
    BookAway,
    LadderSeason,
    NameTaken,
    NoService,
    NotAllowed,
    NotReady,
    NotRemote,
    QuotaReached,
    SignupRefused,
    TournamentOver,
    UnknownEntrant,
    UnknownName,
)
from orchestrator.ladder.file import BadLadder
from orchestrator.roster import BadRoster
from service.rpc.errors import Row

TABLE: Final = (
    Row(BadLadder, StatusCode.INVALID_ARGUMENT, "BAD_LADDER"),
    Row(BadRoster, StatusCode.INVALID_ARGUMENT, "BAD_ROSTER"),
    Row(BadField, StatusCode.INVALID_ARGUMENT),
    Row(UnknownTournament, StatusCode.NOT_FOUND),
    Row(UnknownLadder, StatusCode.NOT_FOUND),
    Row(UnknownEntrant, StatusCode.NOT_FOUND),
    Row(UnknownName, StatusCode.NOT_FOUND),
    Row(NameTaken, StatusCode.ALREADY_EXISTS),
    Row(SignupRefused, StatusCode.PERMISSION_DENIED),
    Row(NotAllowed, StatusCode.PERMISSION_DENIED),
    Row(QuotaReached, StatusCode.RESOURCE_EXHAUSTED),
    Row(BadSeason, StatusCode.FAILED_PRECONDITION),
    Row(NotReady, StatusCode.FAILED_PRECONDITION),
    Row(LadderSeason, StatusCode.FAILED_PRECONDITION),
    Row(TournamentOver, StatusCode.FAILED_PRECONDITION),
    Row(NotRemote, StatusCode.FAILED_PRECONDITION),
    Row(NoService, StatusCode.FAILED_PRECONDITION),
    Row(BookAway, StatusCode.UNAVAILABLE, retry_ms=1000),
    Row(ServiceError, StatusCode.UNAVAILABLE, "SERVICE_UNAVAILABLE", 1000, lambda error: error.is_passing),
    Row(ServiceError, StatusCode.FAILED_PRECONDITION, "SERVICE_REFUSES"),
)
