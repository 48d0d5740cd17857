"""TournamentService: translates requests into calls of ``Tournaments``, which run in threads because they wait for the book."""
# ruff: noqa: N802  # the contract names the methods

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from orchestrator import metrics
from orchestrator.api.auth import is_operator
from orchestrator.errors import BookAway
from orchestrator.messages import is_over
from orchestrator.tournaments import Tournaments
from rubble.v1 import tournament_pb2, tournament_pb2_grpc
from service.rpc.limits import ConcurrencyLimit
from service.rpc.stream_writing import write_message

P = ParamSpec("P")
T = TypeVar("T")

#: How often a watched tournament is read, and how often its table is computed, in seconds.
_LOOK_S: Final = 1.0
_TABLE_S: Final = 5.0
#: A watcher that has not read a message for this long is disconnected.
PATIENCE_S: Final = 15.0
_WATCHERS: Final = 100
PIECE: Final = 64 << 10


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a call that uses the book in a thread. Raises BookAway if the book does not answer."""
    try:
        return await asyncio.to_thread(work, *args, **kwargs)
    except (OperationalError, InterfaceError, PoolTimeout) as error:
        # The original message contains the statement, and statements contain seeds.
        raise BookAway(f"the book does not answer ({type(error).__name__})") from error


class TournamentServicer(tournament_pb2_grpc.TournamentServiceServicer):
    """Tournaments over gRPC."""

    def __init__(self, tournaments: Tournaments) -> None:
        self._tournaments = tournaments
        self._watchers = ConcurrencyLimit("watchers for each tournament", _WATCHERS)
        self._ending = asyncio.Event()
        #: The last state of each watched tournament and its time, so that many watchers cause one query.
        self._seen: dict[str, tuple[float, asyncio.Task[tournament_pb2.Tournament]]] = {}

    def end(self) -> None:
        """End all watch streams: the callers may open a new one elsewhere."""
        self._ending.set()

    async def CreateTournament(
        self, request: tournament_pb2.CreateTournamentRequest, context: Any
    ) -> tournament_pb2.CreateTournamentResponse:
        return await in_thread(
            self._tournaments.create, request.roster, check_only=request.check_only, folder=request.folder
        )

    async def GetTournament(
        self, request: tournament_pb2.GetTournamentRequest, context: Any
    ) -> tournament_pb2.GetTournamentResponse:
        found = await in_thread(self._tournaments.tournament, request.tournament, with_roster=is_operator())
        return tournament_pb2.GetTournamentResponse(tournament=found)

    async def ListTournaments(
        self, request: tournament_pb2.ListTournamentsRequest, context: Any
    ) -> tournament_pb2.ListTournamentsResponse:
        return await in_thread(
            self._tournaments.tournaments,
            state=request.state,
            page_size=request.page_size,
            page_token=request.page_token,
        )

    async def PauseTournament(
        self, request: tournament_pb2.PauseTournamentRequest, context: Any
    ) -> tournament_pb2.PauseTournamentResponse:
        return tournament_pb2.PauseTournamentResponse(
            tournament=await in_thread(self._tournaments.pause, request.tournament)
        )

    async def ResumeTournament(
        self, request: tournament_pb2.ResumeTournamentRequest, context: Any
    ) -> tournament_pb2.ResumeTournamentResponse:
        return tournament_pb2.ResumeTournamentResponse(
            tournament=await in_thread(self._tournaments.resume, request.tournament)
        )

    async def CancelTournament(
        self, request: tournament_pb2.CancelTournamentRequest, context: Any
    ) -> tournament_pb2.CancelTournamentResponse:
        return tournament_pb2.CancelTournamentResponse(
            tournament=await in_thread(self._tournaments.cancel, request.tournament)
        )

    async def ListMatches(
        self, request: tournament_pb2.ListMatchesRequest, context: Any
    ) -> tournament_pb2.ListMatchesResponse:
        return await in_thread(
            self._tournaments.matches,
            request.tournament,
            state=request.state,
            page_size=request.page_size,
            page_token=request.page_token,
            entrant=request.entrant,
            is_operator=is_operator(),
        )

    async def GetMatch(self, request: tournament_pb2.GetMatchRequest, context: Any) -> tournament_pb2.GetMatchResponse:
        return await in_thread(self._tournaments.match, request.match, is_operator=is_operator())

    async def GetStandings(
        self, request: tournament_pb2.GetStandingsRequest, context: Any
    ) -> tournament_pb2.GetStandingsResponse:
        found = await in_thread(self._tournaments.standings, request.tournament, is_operator=is_operator())
        return tournament_pb2.GetStandingsResponse(standings=found)

    async def IssueEntrantKey(
        self, request: tournament_pb2.IssueEntrantKeyRequest, context: Any
    ) -> tournament_pb2.IssueEntrantKeyResponse:
        return tournament_pb2.IssueEntrantKeyResponse(
            key=await in_thread(self._tournaments.issue_key, request.tournament, request.entrant)
        )

    # ---------------------------------------------------------------------------------------------------------- streams
    async def GetReport(  # type: ignore[override]  # it writes instead of yielding, so that it can time out
        self, request: tournament_pb2.GetReportRequest, context: Any
    ) -> None:
        page = (await in_thread(self._tournaments.report, request.tournament)).encode()
        for start in range(0, len(page), PIECE):
            piece = tournament_pb2.GetReportResponse(data=page[start : start + PIECE])
            await write_message(context, piece, asyncio.timeout(PATIENCE_S))

    async def ExportTournament(  # type: ignore[override]  # see GetReport
        self, request: tournament_pb2.ExportTournamentRequest, context: Any
    ) -> None:
        files = self._tournaments.export(request.tournament, without_replays=request.without_replays)
        while (found := await in_thread(next, files, None)) is not None:
            path, data = found
            for start in range(0, len(data) or 1, PIECE):
                piece = tournament_pb2.ExportTournamentResponse(path=path, data=data[start : start + PIECE])
                await write_message(context, piece, asyncio.timeout(PATIENCE_S))

    async def _look(self, tournament: str) -> tournament_pb2.Tournament:
        """The state of a tournament, at most a second old."""
        asked, task = self._seen.get(tournament, (-_LOOK_S, None))
        if task is None or time.monotonic() - asked >= 0.8 * _LOOK_S:
            task = asyncio.create_task(in_thread(self._tournaments.tournament, tournament, with_connected=False))
            self._seen[tournament] = (time.monotonic(), task)
        try:
            return await asyncio.shield(task)
        finally:
            if not self._watchers.taken(tournament):
                self._seen.pop(tournament, None)

    async def WatchTournament(  # type: ignore[override]  # see GetReport
        self, request: tournament_pb2.WatchTournamentRequest, context: Any
    ) -> None:
        first = await in_thread(self._tournaments.tournament, request.tournament, with_connected=False)
        with self._watchers.hold(first.id), metrics.TOURNAMENT_WATCHERS.track_inprogress():
            last_sent = tournament_pb2.Tournament()
            table, computed, over = "", -_TABLE_S, (-1, -1)
            while not self._ending.is_set():
                now = await self._look(first.id)
                response = tournament_pb2.WatchTournamentResponse(tournament=now)
                is_due = is_over(now) or time.monotonic() - computed >= _TABLE_S
                counts = (now.progress.played, now.progress.dropped)
                if request.standings and is_due and counts != over:
                    standings = await in_thread(self._tournaments.standings, first.id, is_operator=is_operator())
                    computed, over = time.monotonic(), counts
                    if standings.digest != table:
                        table = standings.digest
                        response.standings.CopyFrom(standings)
                if now != last_sent or response.HasField("standings"):
                    last_sent = now
                    await write_message(context, response, asyncio.timeout(PATIENCE_S))
                if is_over(now):
                    return
                try:
                    await asyncio.wait_for(self._ending.wait(), _LOOK_S)
                except TimeoutError:
                    continue
