"""The ladders of an arena over gRPC, for the command line."""

from collections.abc import Iterator, Sequence
from typing import Any

from orchestrator.api.client import LONG_S, ApiClient
from orchestrator.client import ServiceAccess
from rubble.v1 import ladder_pb2, ladder_pb2_grpc

#: The largest page that the API sends.
_PAGE = 1000


class LadderClient(ApiClient):
    """LadderService. The token is that of the operator or the key of an owner; without one, it can read."""

    def __init__(self, access: ServiceAccess, token: str = "") -> None:
        super().__init__(access, token)
        self._stub = ladder_pb2_grpc.LadderServiceStub(self._channel)

    def _pages(self, method: Any, request: Any, field: str, most: int | None = None) -> Iterator[Any]:
        """The entries of a list, page by page; ``most`` of them if given."""
        left = most
        while left is None or left > 0:
            request.page_size = _PAGE if left is None else min(left, _PAGE)
            page = self._ask(method, request)
            found = list(getattr(page, field))[:left]
            yield from found
            left = None if left is None else left - len(found)
            request.page_token = page.next_page_token
            if not request.page_token:
                return

    # -------------------------------------------------------------------------------------------------------------- ladders
    def create(self, file: str) -> ladder_pb2.Ladder:
        """Create a ladder from the text of its file."""
        made: ladder_pb2.Ladder = self._ask(self._stub.CreateLadder, ladder_pb2.CreateLadderRequest(file=file)).ladder
        return made

    def ladders(self) -> Iterator[ladder_pb2.Ladder]:
        """All ladders, the latest first."""
        yield from self._pages(self._stub.ListLadders, ladder_pb2.ListLaddersRequest(), "ladders")

    def ladder(self, ladder: str) -> ladder_pb2.Ladder:
        """A ladder and its current season."""
        found: ladder_pb2.Ladder = self._ask(self._stub.GetLadder, ladder_pb2.GetLadderRequest(ladder=ladder)).ladder
        return found

    def watch(self, ladder: str) -> Iterator[ladder_pb2.WatchLadderResponse]:
        """Every change of a ladder."""
        yield from self._follow(self._stub.WatchLadder, ladder_pb2.WatchLadderRequest(ladder=ladder), None)

    def events(self, ladder: str, most: int) -> Iterator[ladder_pb2.LadderEvent]:
        """What happened in a ladder, the latest first."""
        yield from self._pages(self._stub.ListEvents, ladder_pb2.ListEventsRequest(ladder=ladder), "events", most)

    def decide(self, ladder: str, build: str, words: str) -> ladder_pb2.LadderEvent:
        """Record a decision of the operator."""
        request = ladder_pb2.RecordDecisionRequest(ladder=ladder, build=build, words=words)
        event: ladder_pb2.LadderEvent = self._ask(self._stub.RecordDecision, request).event
        return event

    # --------------------------------------------------------------------------------------------------------------- owners
    def sign_up(self, ladder: str, owner: str, invitation: str) -> ladder_pb2.SignUpResponse:
        """Make an owner; without a name, admit the owner whose key is sent."""
        request = ladder_pb2.SignUpRequest(ladder=ladder, owner=owner, invitation=invitation)
        made: ladder_pb2.SignUpResponse = self._ask(self._stub.SignUp, request)
        return made

    def invite(self, ladder: str, count: int) -> list[str]:
        """Make invitations."""
        request = ladder_pb2.CreateInvitationsRequest(ladder=ladder, count=count)
        return list(self._ask(self._stub.CreateInvitations, request).invitations)

    def rotate(self, owner: str) -> ladder_pb2.RotateOwnerKeyResponse:
        """Replace the key of an owner; without a name, that of the owner whose key is sent."""
        made: ladder_pb2.RotateOwnerKeyResponse = self._ask(
            self._stub.RotateOwnerKey, ladder_pb2.RotateOwnerKeyRequest(owner=owner)
        )
        return made

    def revoke(self, owner: str, reason: str) -> int:
        """End all keys of an owner, and return how many builds were retired."""
        return int(self._ask(self._stub.RevokeOwner, ladder_pb2.RevokeOwnerRequest(owner=owner, reason=reason)).retired)

    def owners(self, ladder: str) -> Iterator[ladder_pb2.Owner]:
        """The owners of a ladder by name."""
        yield from self._pages(self._stub.ListOwners, ladder_pb2.ListOwnersRequest(ladder=ladder), "owners")

    # --------------------------------------------------------------------------------------------------------------- builds
    def enter(self, ladder: str, bot: str, label: str, *, parent: str, accepts_challenges: bool) -> ladder_pb2.BuildKey:
        """Enter a build of a bot."""
        request = ladder_pb2.EnterBuildRequest(
            ladder=ladder, bot=bot, label=label, parent=parent, accepts_challenges=accepts_challenges
        )
        key: ladder_pb2.BuildKey = self._ask(self._stub.EnterBuild, request).key
        return key

    def issue_key(self, ladder: str, build: str) -> ladder_pb2.BuildKey:
        """Issue another key of a build; earlier ones end."""
        request = ladder_pb2.IssueBuildKeyRequest(ladder=ladder, build=build)
        key: ladder_pb2.BuildKey = self._ask(self._stub.IssueBuildKey, request).key
        return key

    def retire(self, ladder: str, build: str, reason: str) -> ladder_pb2.Build:
        """Take a build out of the ladder."""
        request = ladder_pb2.RetireBuildRequest(ladder=ladder, build=build, reason=reason)
        found: ladder_pb2.Build = self._ask(self._stub.RetireBuild, request).build
        return found

    def builds(self, ladder: str, owner: str = "") -> Iterator[ladder_pb2.Build]:
        """The builds of a ladder by name."""
        request = ladder_pb2.ListBuildsRequest(ladder=ladder, owner=owner)
        yield from self._pages(self._stub.ListBuilds, request, "builds")

    # -------------------------------------------------------------------------------------------------------------- ratings
    def standings(self, ladder: str, season: int = 0) -> ladder_pb2.LadderStandings:
        """The table of a season; 0 is the current one."""
        request = ladder_pb2.GetLadderStandingsRequest(ladder=ladder, season=season)
        found: ladder_pb2.LadderStandings = self._ask(self._stub.GetLadderStandings, request).standings
        return found

    def history(self, ladder: str, build: str, season: int = 0) -> list[ladder_pb2.RatingPoint]:
        """The rating of a build over time."""
        request = ladder_pb2.GetHistoryRequest(ladder=ladder, build=build, season=season)
        return list(self._ask(self._stub.GetHistory, request).points)

    def verdict(self, ladder: str, build: str) -> ladder_pb2.BuildVerdict:
        """Whether a build is better than its parent."""
        request = ladder_pb2.GetVerdictRequest(ladder=ladder, build=build)
        found: ladder_pb2.BuildVerdict = self._ask(self._stub.GetVerdict, request).verdict
        return found

    def pairs(self, ladder: str, season: int = 0, *, flagged: bool = False) -> ladder_pb2.GetPairsResponse:
        """Who gains when who is at the table."""
        request = ladder_pb2.GetPairsRequest(ladder=ladder, season=season, flagged=flagged)
        found: ladder_pb2.GetPairsResponse = self._ask(self._stub.GetPairs, request)
        return found

    # -------------------------------------------------------------------------------------------------------------- matches
    def matches(self, ladder: str, season: int, build: str, most: int) -> Iterator[ladder_pb2.LadderMatch]:
        """Matches of a season, the latest first."""
        request = ladder_pb2.ListLadderMatchesRequest(ladder=ladder, season=season, build=build)
        yield from self._pages(self._stub.ListLadderMatches, request, "matches", most)

    def replay(self, ladder: str, match: str) -> str:
        """The replay of a match, as JSON lines."""
        request = ladder_pb2.GetMatchReplayRequest(ladder=ladder, match=match)
        return str(self._ask(self._stub.GetMatchReplay, request).jsonl)

    def challenge(self, ladder: str, build: str, opponents: Sequence[str], deals: int) -> ladder_pb2.Challenge:
        """Ask for unrated games."""
        request = ladder_pb2.CreateChallengeRequest(ladder=ladder, build=build, opponents=opponents, deals=deals)
        made: ladder_pb2.Challenge = self._ask(self._stub.CreateChallenge, request).challenge
        return made

    def challenge_of(self, challenge: str) -> ladder_pb2.Challenge:
        """A challenge and its games."""
        request = ladder_pb2.GetChallengeRequest(challenge=challenge)
        found: ladder_pb2.Challenge = self._ask(self._stub.GetChallenge, request).challenge
        return found

    # -------------------------------------------------------------------------------------------------------------- seasons
    def move_season(self, ladder: str, to: "ladder_pb2.SeasonState.ValueType") -> ladder_pb2.Season:
        """Move a season on. Closing one computes its last table."""
        season: ladder_pb2.Season = self._ask(
            self._stub.MoveSeason, ladder_pb2.MoveSeasonRequest(ladder=ladder, to=to), LONG_S
        ).season
        return season

    def seasons(self, ladder: str) -> list[ladder_pb2.Season]:
        """The seasons of a ladder, the latest first."""
        return list(self._ask(self._stub.ListSeasons, ladder_pb2.ListSeasonsRequest(ladder=ladder)).seasons)

    def export(self, ladder: str, season: int, *, without_replays: bool) -> Iterator[tuple[str, bytes]]:
        """A closed season as files, one by one; 0 is the latest that is closed."""
        request = ladder_pb2.ExportSeasonRequest(ladder=ladder, season=season, without_replays=without_replays)
        yield from self._files(self._stub.ExportSeason, request)
