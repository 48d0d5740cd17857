"""A LadderService with fixed answers, to look at what the commands print."""
# ruff: noqa: N802  # the contract names the methods

import math
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, cast

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]  # the package has no types
from grpc_status import rpc_status

from cli.ladder_words import now_ms
from rubble.v1 import ladder_pb2 as ladder
from rubble.v1 import ladder_pb2_grpc, tournament_pb2

MINUTE = 60_000
HOUR = 60 * MINUTE
NOW = now_ms()
OPERATOR, OWNER = "t" * 40, "owner-key-of-anna"

QUOTAS = ladder.LadderQuotas(builds=5, entries_a_day=10, challenges_a_day=50, signups_a_day=200)
SEASON = ladder.Season(
    ladder="spring",
    number=2,
    state=ladder.SEASON_STATE_OPEN,
    opened_at_ms=NOW - 75 * HOUR,
    closing_at_ms=NOW + 100 * HOUR,
    blocks=4117,
    games=12351,
    open_matches=16,
    builds=[
        ladder.BuildCount(state=ladder.BUILD_STATE_ACTIVE, count=5),
        ladder.BuildCount(state=ladder.BUILD_STATE_PARKED, count=1),
        ladder.BuildCount(state=ladder.BUILD_STATE_BUNDLED, count=3),
    ],
    games_per_second=3.24,
    commitment="ab" * 32,
)
CLOSED = ladder.Season(
    ladder="spring",
    number=1,
    state=ladder.SEASON_STATE_CLOSED,
    opened_at_ms=NOW - 900 * HOUR,
    closing_at_ms=NOW - 200 * HOUR,
    finals_at_ms=NOW - 150 * HOUR,
    closed_at_ms=NOW - 100 * HOUR,
    blocks=9000,
    games=27000,
    finals="1a2b3c4d5e6f",
)
SPRING = ladder.Ladder(
    name="spring",
    game="sf1906-2e",
    players=3,
    signup=ladder.SIGNUP_POLICY_INVITE,
    season=SEASON,
    file='name = "spring"\n',
    created_at_ms=NOW - 900 * HOUR,
    qualification_games=4,
    quotas=QUOTAS,
    game_version=1,
)


def line(
    build: str, owner: str, rank: int, ranks: tuple[int, int], elo: float | None, half: float, games: int, **more: Any
) -> ladder.LadderLine:
    """One line of the table; without an owner it is a bundled bot."""
    state = more.pop("state", ladder.BUILD_STATE_ACTIVE if owner else ladder.BUILD_STATE_BUNDLED)
    return ladder.LadderLine(
        build=build,
        owner=owner,
        bundled=not owner,
        rank=rank,
        rank_low=ranks[0],
        rank_high=ranks[1],
        elo=elo,
        elo_half_width=None if elo is None else half,
        games=games,
        blocks=games // 3,
        state=state,
        seen_at_ms=more.pop("seen_at_ms", NOW),
        **more,
    )


LINES = (
    line("deepdig/2026-05-03-c0ffee1", "team-north", 1, (1, 1), 412.4, 18.2, 3120),
    line("mybot/v2", "anna", 2, (2, 5), 203.0, 31.0, 1204, seen_at_ms=NOW - 3 * HOUR),
    line("mcts-400", "", 3, (2, 5), 188.9, 12.0, 8000),
    line("weathervane/0.9.1", "bob", 4, (2, 6), 150.2, 88.0, 45, provisional=True),
    line("kraken/main-41", "carla", 5, (2, 6), 121.7, 22.0, 2210, fault_share=0.034),
    line(
        "sleepy/v1",
        "dora-of-the-long-name",
        6,
        (5, 6),
        77.0,
        25.0,
        990,
        state=ladder.BUILD_STATE_PARKED,
        seen_at_ms=NOW - 40 * HOUR,
        fault_share=0.002,
    ),
    line("greedy", "", 7, (7, 7), -12.4, 11.0, 8200),
    line("random", "", 8, (8, 8), -176.5, 14.0, 8100),
    line("mybot/v3", "anna", 0, (0, 0), 190.0, 60.0, 120, provisional=True),
    line(
        "kraken/main-42",
        "carla",
        0,
        (0, 0),
        None,
        0.0,
        0,
        state=ladder.BUILD_STATE_QUALIFYING,
    ),
)
STANDINGS = ladder.LadderStandings(
    ladder="spring",
    season=2,
    lines=LINES,
    games=12351,
    blocks=4117,
    fitted_at_ms=NOW - 20_000,
    provisional_games=100,
    provisional_share=0.25,
    quantile=3.1,
    seat_elo=[4.0, 0.0, -4.0],
    notes=["Seat 1 is worth 4 ± 6 Elo."],
)
LAST_TABLE = ladder.LadderStandings()
LAST_TABLE.CopyFrom(STANDINGS)
LAST_TABLE.season = 1
for place, _last in enumerate(LAST_TABLE.lines[:7]):
    _last.blocks_to_swap = 1000 // (place + 1)
LAST_TABLE.lines.append(line("early/v1", "bob", 0, (0, 0), None, 0.0, 0, state=ladder.BUILD_STATE_RETIRED))

RUNNING = ladder.BuildVerdict(
    verdict=tournament_pb2.COMPARISON_VERDICT_RUNNING,
    trials=40,
    lead=0.02,
    half_width=0.05,
    llr=0.4,
    lower=-2.94,
    upper=2.94,
    sentence="Whether mybot/v3 is better than mybot/v2 is still tested: +0.020 ± 0.050 points a game on 40 common deals.",
)
BETTER = ladder.BuildVerdict(
    verdict=tournament_pb2.COMPARISON_VERDICT_BETTER,
    trials=310,
    sentence="mybot/v3 is better than mybot/v2: +0.041 ± 0.020 points a game on 310 common deals.",
)
VERDICTS = {
    "mybot/better": BETTER,
    "mybot/worse": ladder.BuildVerdict(verdict=tournament_pb2.COMPARISON_VERDICT_NOT_BETTER, sentence="It is not."),
    "mybot/close": ladder.BuildVerdict(verdict=tournament_pb2.COMPARISON_VERDICT_UNDECIDED, sentence="Undecided."),
    "mybot/v3": RUNNING,
}
BUILDS = (
    ladder.Build(name="greedy", bot="greedy", state=ladder.BUILD_STATE_BUNDLED, counted=True, games=8200),
    ladder.Build(
        name="kraken/main-42",
        bot="kraken",
        label="main-42",
        owner="carla",
        state=ladder.BUILD_STATE_FAILED,
        reason="it forfeited a game of its qualification: ILLEGAL_ACTION, action 'load glass' in game 2",
        entered_at_ms=NOW - 5 * HOUR,
        seen_at_ms=NOW - 4 * HOUR,
    ),
    ladder.Build(
        name="mybot/v2",
        bot="mybot",
        label="v2",
        owner="anna",
        parent="v1",
        state=ladder.BUILD_STATE_ACTIVE,
        entered_at_ms=NOW - 70 * HOUR,
        seen_at_ms=NOW,
        accepts_challenges=True,
        counted=True,
        verdict=BETTER,
        arena_name="spring.mybot.v2",
        games=1204,
    ),
    ladder.Build(
        name="mybot/v3",
        bot="mybot",
        label="v3",
        owner="anna",
        parent="v2",
        state=ladder.BUILD_STATE_ACTIVE,
        entered_at_ms=NOW - HOUR,
        seen_at_ms=NOW - 20 * MINUTE,
        verdict=RUNNING,
        arena_name="spring.mybot.v3",
        games=120,
    ),
)
EVENTS = (
    ladder.LadderEvent(
        at_ms=NOW - 30_000,
        kind=ladder.LADDER_EVENT_KIND_FAILED,
        build="kraken/main-42",
        owner="carla",
        words="It forfeited a game of its qualification: ILLEGAL_ACTION, action 'load glass' in game 2.",
    ),
    ladder.LadderEvent(
        at_ms=NOW - 12 * MINUTE,
        kind=ladder.LADDER_EVENT_KIND_VERDICT,
        build="mybot/v2",
        owner="anna",
        words="mybot/v2 is better than mybot/v1: +0.041 ± 0.020 points a game on 310 common deals.",
    ),
    ladder.LadderEvent(
        at_ms=NOW - 40 * HOUR,
        kind=ladder.LADDER_EVENT_KIND_PARKED,
        build="sleepy/v1",
        owner="dora-of-the-long-name",
        words="sleepy/v1 is parked: it forfeited 3 games in a row.",
    ),
    ladder.LadderEvent(at_ms=NOW - 75 * HOUR, kind=ladder.LADDER_EVENT_KIND_SEASON, words="Season 2 is open."),
)
PAIRS = ladder.GetPairsResponse(
    builds=[
        ladder.PairGain(
            one="weathervane/0.9.1",
            other="kraken/main-41",
            blocks_with=120,
            blocks_without=311,
            gain=0.143,
            low=0.051,
            high=0.235,
            flagged=True,
            rank=4,
            rank_without=6,
        ),
        ladder.PairGain(
            one="mybot/v2", other="greedy", blocks_with=600, blocks_without=604, gain=-0.012, low=-0.08, high=0.056
        ),
    ],
    owners=[
        ladder.PairGain(
            one="bob", other="carla", blocks_with=150, blocks_without=290, gain=0.12, low=0.04, high=0.2, flagged=True
        )
    ],
    blocks=4117,
    computed_at_ms=NOW - 4 * MINUTE,
    least_blocks=40,
)


def match(number: int, names: tuple[str, ...], *, is_over: bool = True) -> ladder.LadderMatch:
    """One match; without names while its block is played."""
    seats = [
        tournament_pb2.MatchSeat(entrant=name, rank=seat + 1, score=40 - 7 * seat, think_ms=900)
        if is_over
        else tournament_pb2.MatchSeat(entrant=name)
        for seat, name in enumerate(names)
    ]
    return ladder.LadderMatch(
        match=tournament_pb2.Match(
            id=f"9f{number:010x}",
            order=number,
            block=number // 3,
            state=tournament_pb2.MATCH_STATE_RECORDED if is_over else tournament_pb2.MATCH_STATE_PLAYING,
            seats=seats,
            ending="COMPLETE" if is_over else "",
        ),
        kind=ladder.LADDER_MATCH_KIND_RATED,
        rule=ladder.DRAW_RULE_LEAST_PLAYED,
    )


MATCHES = (
    match(12, ("", "", ""), is_over=False),
    match(11, ("mybot/v2", "mcts-400", "weathervane/0.9.1")),
    match(10, ("deepdig/2026-05-03-c0ffee1", "kraken/main-41", "greedy")),
)
MATCHES[2].match.seats[2].fault = "TIMEOUT"
CHALLENGE = ladder.Challenge(
    id="5f1c2a", ladder="spring", builds=["mybot/v2", "weathervane/0.9.1", "greedy"], created_at_ms=NOW, matches=MATCHES
)


def history(count: int = 90) -> list[ladder.RatingPoint]:
    """A rating that settles."""
    points = []
    for number in range(count):
        games = int(10 * 1.06**number)
        points.append(
            ladder.RatingPoint(
                at_ms=NOW - (count - number) * 50 * MINUTE,
                games=games,
                elo=180 + 90 * math.sin(number / 9) / (1 + number / 30),
                elo_half_width=600 / math.sqrt(games) + 8,
                rank_low=2,
                rank_high=5,
            )
        )
    return points


class StandIn(ladder_pb2_grpc.LadderServiceServicer):
    """Answers always the same. ``calls`` has every request with its token."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        #: A watched ladder is sent twice, and then it is gone.
        self.is_gone_after_watch = False
        #: An export ends after its first file.
        self.breaks_off = False
        self.refusal: tuple[grpc.StatusCode, str, str, dict[str, str]] | None = None

    def seen(self, request: Any, context: Any) -> None:
        token = dict(context.invocation_metadata()).get("authorization", "")
        self.calls.append((token.removeprefix("Bearer "), request))
        if self.refusal is not None:
            code, reason, message, facts = self.refusal
            info = any_pb2.Any()
            info.Pack(error_details_pb2.ErrorInfo(reason=reason, domain="rubble", metadata=facts))
            status = status_pb2.Status(code=code.value[0], message=message, details=[info])
            context.abort_with_status(rpc_status.to_status(status))

    def WatchLadder(self, request: Any, context: Any) -> Iterator[ladder.WatchLadderResponse]:
        self.seen(request, context)
        yield ladder.WatchLadderResponse(ladder=SPRING, standings=STANDINGS, events=EVENTS)
        if self.is_gone_after_watch:
            yield ladder.WatchLadderResponse(ladder=SPRING, standings=STANDINGS, events=EVENTS)
            context.abort(grpc.StatusCode.NOT_FOUND, "it is gone")
        ended = threading.Event()
        context.add_callback(ended.set)
        ended.wait()

    def ExportSeason(self, request: Any, context: Any) -> Iterator[ladder.ExportSeasonResponse]:
        self.seen(request, context)
        yield ladder.ExportSeasonResponse(path="manifest.json", data=b"{")
        yield ladder.ExportSeasonResponse(path="manifest.json", data=b"}")
        if self.breaks_off:
            yield ladder.ExportSeasonResponse(path="builds.json", data=b"[]")
            context.abort(grpc.StatusCode.UNAVAILABLE, "it stops")
        yield ladder.ExportSeasonResponse(path="replays/1f.jsonl", data=b"{}\n")


def _build(name: str) -> ladder.Build:
    bot, _, label = name.partition("/")
    return ladder.Build(
        name=name,
        bot=bot,
        label=label,
        owner="anna",
        state=ladder.BUILD_STATE_ENTERED,
        arena_name=f"spring.{bot}.{label}",
    )


def _key(name: str, parent: str = "") -> ladder.BuildKey:
    build = _build(name)
    build.parent = parent
    return ladder.BuildKey(build=build, bot_key="bot-key", address="127.0.0.1:50051")


def _retired(request: Any) -> ladder.RetireBuildResponse:
    build = _build(request.build)
    build.state = ladder.BUILD_STATE_RETIRED
    return ladder.RetireBuildResponse(build=build)


_ANSWERS: dict[str, Any] = {
    "CreateLadder": lambda request: ladder.CreateLadderResponse(ladder=SPRING),
    "ListLadders": lambda request: ladder.ListLaddersResponse(ladders=[SPRING]),
    "GetLadder": lambda request: ladder.GetLadderResponse(ladder=SPRING),
    "SignUp": lambda request: ladder.SignUpResponse(
        owner=request.owner or "anna", owner_key=OWNER if request.owner else ""
    ),
    "CreateInvitations": lambda request: ladder.CreateInvitationsResponse(invitations=["3kf0q2"] * request.count),
    "RotateOwnerKey": lambda request: ladder.RotateOwnerKeyResponse(owner=request.owner or "anna", owner_key="another"),
    "RevokeOwner": lambda request: ladder.RevokeOwnerResponse(retired=2),
    "ListOwners": lambda request: ladder.ListOwnersResponse(
        owners=[ladder.Owner(name="anna", since_ms=NOW - 70 * HOUR, builds=2), ladder.Owner(name="eve", revoked=True)]
    ),
    "EnterBuild": lambda request: ladder.EnterBuildResponse(key=_key(f"{request.bot}/{request.label}", request.parent)),
    "IssueBuildKey": lambda request: ladder.IssueBuildKeyResponse(key=_key(request.build)),
    "RetireBuild": _retired,
    "ListBuilds": lambda request: ladder.ListBuildsResponse(
        builds=[build for build in BUILDS if request.owner in ("", build.owner)]
    ),
    "GetLadderStandings": lambda request: ladder.GetLadderStandingsResponse(
        standings=LAST_TABLE if request.season == 1 else STANDINGS
    ),
    "GetHistory": lambda request: ladder.GetHistoryResponse(points=history(0 if request.build == "new/v1" else 90)),
    "GetVerdict": lambda request: ladder.GetVerdictResponse(verdict=VERDICTS[request.build]),
    "GetPairs": lambda request: PAIRS,
    "ListLadderMatches": lambda request: ladder.ListLadderMatchesResponse(matches=MATCHES),
    "GetMatchReplay": lambda request: ladder.GetMatchReplayResponse(jsonl='{"kind":"header"}\n'),
    "ListEvents": lambda request: ladder.ListEventsResponse(events=EVENTS),
    "RecordDecision": lambda request: ladder.RecordDecisionResponse(
        event=ladder.LadderEvent(at_ms=NOW, build=request.build, words=request.words)
    ),
    "CreateChallenge": lambda request: ladder.CreateChallengeResponse(challenge=CHALLENGE),
    "GetChallenge": lambda request: ladder.GetChallengeResponse(challenge=CHALLENGE),
    "MoveSeason": lambda request: ladder.MoveSeasonResponse(
        season=ladder.Season(ladder="spring", number=2, state=request.to)
    ),
    "ListSeasons": lambda request: ladder.ListSeasonsResponse(seasons=[SEASON, CLOSED]),
}


def _method(name: str) -> Any:
    def answer(self: StandIn, request: Any, context: Any) -> Any:
        self.seen(request, context)
        return _ANSWERS[name](request)

    return answer


for _name in _ANSWERS:
    setattr(StandIn, _name, _method(_name))


@contextmanager
def stand_in() -> Iterator[tuple[str, StandIn]]:
    """Serve it on a free port; yields its address."""
    servicer = cast(Any, StandIn)()  # its methods are set above, which the types do not express
    server = grpc.server(ThreadPoolExecutor(4))
    ladder_pb2_grpc.add_LadderServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}", servicer
    finally:
        server.stop(0).wait()
