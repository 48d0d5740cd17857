"""LadderService: translates requests into calls of ``Ladders``, which run in threads because they wait for the book."""
# ruff: noqa: N802  # the contract names the methods

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

from orchestrator import metrics
from orchestrator.api.auth import current_caller, is_operator
from orchestrator.api.ladders import Ladders
from orchestrator.api.servicer import PATIENCE_S, PIECE, in_thread
from orchestrator.errors import QuotaReached, SignupRefused
from rubble.v1 import ladder_pb2, ladder_pb2_grpc
from service.rpc.limits import ConcurrencyLimit
from service.rpc.stream_writing import write_message

P = ParamSpec("P")
T = TypeVar("T")

#: How often a watched ladder is read, in seconds.
_LOOK_S: Final = 1.0
_WATCHERS: Final = 100


class LadderServicer(ladder_pb2_grpc.LadderServiceServicer):
    """Ladders over gRPC."""

    def __init__(self, ladders: Ladders) -> None:
        self._ladders = ladders
        self._watchers = ConcurrencyLimit("watchers for each ladder", _WATCHERS)
        self._ending = asyncio.Event()
        #: The last state of each watched ladder and its time, so that many watchers cause one query.
        self._seen: dict[str, tuple[float, asyncio.Task[ladder_pb2.WatchLadderResponse]]] = {}

    def end(self) -> None:
        """End all watch streams: the callers may open a new one elsewhere."""
        self._ending.set()

    # -------------------------------------------------------------------------------------------------------- organisers
    async def CreateLadder(
        self, request: ladder_pb2.CreateLadderRequest, context: Any
    ) -> ladder_pb2.CreateLadderResponse:
        return await in_thread(self._ladders.create, request.file, check_only=request.check_only)

    async def CreateInvitations(
        self, request: ladder_pb2.CreateInvitationsRequest, context: Any
    ) -> ladder_pb2.CreateInvitationsResponse:
        made = await in_thread(self._ladders.invite, request.ladder, request.count)
        return ladder_pb2.CreateInvitationsResponse(invitations=made)

    async def RevokeOwner(self, request: ladder_pb2.RevokeOwnerRequest, context: Any) -> ladder_pb2.RevokeOwnerResponse:
        retired = await in_thread(self._ladders.revoke_owner, request.owner, request.reason)
        return ladder_pb2.RevokeOwnerResponse(retired=retired)

    async def RecordDecision(
        self, request: ladder_pb2.RecordDecisionRequest, context: Any
    ) -> ladder_pb2.RecordDecisionResponse:
        event = await in_thread(self._ladders.decide, request.ladder, request.words, request.build)
        return ladder_pb2.RecordDecisionResponse(event=event)

    async def MoveSeason(self, request: ladder_pb2.MoveSeasonRequest, context: Any) -> ladder_pb2.MoveSeasonResponse:
        season = await in_thread(self._ladders.move_season, request.ladder, request.to)
        return ladder_pb2.MoveSeasonResponse(season=season)

    # ------------------------------------------------------------------------------------------------------------ owners
    async def SignUp(self, request: ladder_pb2.SignUpRequest, context: Any) -> ladder_pb2.SignUpResponse:
        return await _counted(
            self._ladders.sign_up, request.ladder, request.owner, request.invitation, current_caller()
        )

    async def RotateOwnerKey(
        self, request: ladder_pb2.RotateOwnerKeyRequest, context: Any
    ) -> ladder_pb2.RotateOwnerKeyResponse:
        owner, key = await in_thread(self._ladders.rotate_key, request.owner, current_caller())
        return ladder_pb2.RotateOwnerKeyResponse(owner=owner, owner_key=key)

    async def EnterBuild(self, request: ladder_pb2.EnterBuildRequest, context: Any) -> ladder_pb2.EnterBuildResponse:
        key = await _counted(
            self._ladders.enter,
            request.ladder,
            request.bot,
            request.label,
            request.parent,
            current_caller(),
            accepts_challenges=request.accepts_challenges,
        )
        return ladder_pb2.EnterBuildResponse(key=key)

    async def IssueBuildKey(
        self, request: ladder_pb2.IssueBuildKeyRequest, context: Any
    ) -> ladder_pb2.IssueBuildKeyResponse:
        key = await in_thread(self._ladders.issue_build_key, request.ladder, request.build, current_caller())
        return ladder_pb2.IssueBuildKeyResponse(key=key)

    async def RetireBuild(self, request: ladder_pb2.RetireBuildRequest, context: Any) -> ladder_pb2.RetireBuildResponse:
        build = await in_thread(self._ladders.retire, request.ladder, request.build, request.reason, current_caller())
        return ladder_pb2.RetireBuildResponse(build=build)

    async def CreateChallenge(
        self, request: ladder_pb2.CreateChallengeRequest, context: Any
    ) -> ladder_pb2.CreateChallengeResponse:
        made = await _counted(
            self._ladders.create_challenge,
            request.ladder,
            request.build,
            list(request.opponents),
            request.deals,
            current_caller(),
        )
        return ladder_pb2.CreateChallengeResponse(challenge=made)

    # ----------------------------------------------------------------------------------------------------------- reading
    async def ListLadders(self, request: ladder_pb2.ListLaddersRequest, context: Any) -> ladder_pb2.ListLaddersResponse:
        return await in_thread(self._ladders.ladders, page_size=request.page_size, page_token=request.page_token)

    async def GetLadder(self, request: ladder_pb2.GetLadderRequest, context: Any) -> ladder_pb2.GetLadderResponse:
        return ladder_pb2.GetLadderResponse(ladder=await in_thread(self._ladders.ladder, request.ladder))

    async def ListOwners(self, request: ladder_pb2.ListOwnersRequest, context: Any) -> ladder_pb2.ListOwnersResponse:
        return await in_thread(
            self._ladders.owners, request.ladder, page_size=request.page_size, page_token=request.page_token
        )

    async def ListBuilds(self, request: ladder_pb2.ListBuildsRequest, context: Any) -> ladder_pb2.ListBuildsResponse:
        return await in_thread(
            self._ladders.builds,
            request.ladder,
            owner=request.owner,
            page_size=request.page_size,
            page_token=request.page_token,
        )

    async def GetLadderStandings(
        self, request: ladder_pb2.GetLadderStandingsRequest, context: Any
    ) -> ladder_pb2.GetLadderStandingsResponse:
        found = await in_thread(self._ladders.standings, request.ladder, request.season)
        return ladder_pb2.GetLadderStandingsResponse(standings=found)

    async def GetHistory(self, request: ladder_pb2.GetHistoryRequest, context: Any) -> ladder_pb2.GetHistoryResponse:
        return await in_thread(self._ladders.history, request.ladder, request.build, request.season)

    async def GetVerdict(self, request: ladder_pb2.GetVerdictRequest, context: Any) -> ladder_pb2.GetVerdictResponse:
        found = await in_thread(self._ladders.verdict, request.ladder, request.build)
        return ladder_pb2.GetVerdictResponse(verdict=found)

    async def GetPairs(self, request: ladder_pb2.GetPairsRequest, context: Any) -> ladder_pb2.GetPairsResponse:
        return await in_thread(self._ladders.pairs, request.ladder, request.season, flagged=request.flagged)

    async def ListLadderMatches(
        self, request: ladder_pb2.ListLadderMatchesRequest, context: Any
    ) -> ladder_pb2.ListLadderMatchesResponse:
        return await in_thread(
            self._ladders.matches,
            request.ladder,
            request.season,
            build=request.build,
            page_size=request.page_size,
            page_token=request.page_token,
            is_operator=is_operator(),
        )

    async def GetMatchReplay(
        self, request: ladder_pb2.GetMatchReplayRequest, context: Any
    ) -> ladder_pb2.GetMatchReplayResponse:
        found = await in_thread(self._ladders.replay, request.ladder, request.match, is_operator=is_operator())
        return ladder_pb2.GetMatchReplayResponse(jsonl=found)

    async def ListEvents(self, request: ladder_pb2.ListEventsRequest, context: Any) -> ladder_pb2.ListEventsResponse:
        return await in_thread(
            self._ladders.events, request.ladder, page_size=request.page_size, page_token=request.page_token
        )

    async def GetChallenge(
        self, request: ladder_pb2.GetChallengeRequest, context: Any
    ) -> ladder_pb2.GetChallengeResponse:
        return ladder_pb2.GetChallengeResponse(challenge=await in_thread(self._ladders.challenge, request.challenge))

    async def ListSeasons(self, request: ladder_pb2.ListSeasonsRequest, context: Any) -> ladder_pb2.ListSeasonsResponse:
        return await in_thread(self._ladders.seasons, request.ladder)

    # ----------------------------------------------------------------------------------------------------------- streams
    async def ExportSeason(  # type: ignore[override]  # it writes instead of yielding, so that it can time out
        self, request: ladder_pb2.ExportSeasonRequest, context: Any
    ) -> None:
        files = self._ladders.export(request.ladder, request.season, without_replays=request.without_replays)
        while (found := await in_thread(next, files, None)) is not None:
            path, data = found
            for start in range(0, len(data) or 1, PIECE):
                piece = ladder_pb2.ExportSeasonResponse(path=path, data=data[start : start + PIECE])
                await write_message(context, piece, asyncio.timeout(PATIENCE_S))

    async def WatchLadder(  # type: ignore[override]  # see ExportSeason
        self, request: ladder_pb2.WatchLadderRequest, context: Any
    ) -> None:
        await in_thread(self._ladders.ladder, request.ladder)  # raises the error if there is none
        with self._watchers.hold(request.ladder), metrics.LADDER_WATCHERS.track_inprogress():
            last = ladder_pb2.WatchLadderResponse()
            while not self._ending.is_set():
                now = await self._look(request.ladder)
                news = ladder_pb2.WatchLadderResponse(ladder=now.ladder)
                if now.standings != last.standings or not last.HasField("ladder"):
                    news.standings.CopyFrom(now.standings)
                if list(now.events) != list(last.events):
                    news.events.extend(now.events)
                if now != last:
                    last = now
                    await write_message(context, news, asyncio.timeout(PATIENCE_S))
                try:
                    await asyncio.wait_for(self._ending.wait(), _LOOK_S)
                except TimeoutError:
                    continue

    async def _look(self, ladder: str) -> ladder_pb2.WatchLadderResponse:
        """The state of a ladder, its table and its latest events, at most a second old."""
        asked, task = self._seen.get(ladder, (-_LOOK_S, None))
        if task is None or time.monotonic() - asked >= 0.8 * _LOOK_S:
            task = asyncio.create_task(in_thread(self._read, ladder))
            self._seen[ladder] = (time.monotonic(), task)
        try:
            return await asyncio.shield(task)
        finally:
            if not self._watchers.taken(ladder):
                self._seen.pop(ladder, None)

    def _read(self, ladder: str) -> ladder_pb2.WatchLadderResponse:
        return ladder_pb2.WatchLadderResponse(
            ladder=self._ladders.ladder(ladder),
            standings=self._ladders.standings(ladder),
            events=self._ladders.latest_events(ladder),
        )


async def _counted(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a call that quotas may refuse, and count refusals."""
    try:
        return await in_thread(work, *args, **kwargs)
    except QuotaReached as error:
        metrics.LADDER_REFUSALS.labels(error.quota).inc()
        raise
    except SignupRefused:
        metrics.LADDER_REFUSALS.labels("signup").inc()
        raise
