"""TournamentService on a real arena: a tournament from its roster to its files, and who may call what."""

import json
import random
import re
from typing import Any, Final

import grpc
import pytest
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from orchestrator.api.auth import MAY_CALL
from orchestrator.client import ServiceError
from orchestrator.messages import is_over
from rubble.v1 import tournament_pb2, tournament_pb2_grpc
from service.sessions.replay_verify import verify_replay
from tests.harness.client import Refusal
from tests.harness.metrics import scrape, total
from tests.harness.tournaments import Host, roster_text
from tests.harness.waiting import PATIENCE_S, wait_for

_SERVICE: Final = tournament_pb2.DESCRIPTOR.services_by_name["TournamentService"]
_STATES: Final = tournament_pb2.TournamentState


def _roster(name: str, **changes: Any) -> str:
    settings: dict[str, Any] = {"name": name, "game": "relief", "players": 2, "deals": 2, "seed": 7} | changes
    return roster_text({"greedy": "greedy", "random": "random"}, **settings)


def test_a_tournament_is_played_from_its_roster_to_its_files(shared: Host) -> None:
    with shared.caller() as operator, shared.caller(is_operator=False) as anybody:
        checked = operator.create(_roster("whole"), check_only=True)
        assert checked.matches == 4 and not checked.HasField("tournament")
        made = operator.create(_roster("whole"))
        assert made.matches == 4 and not made.existed and not made.keys
        again = operator.create(_roster("whole"))
        assert again.existed and again.tournament.id == made.tournament.id

        updates = list(anybody.watch("whole", standings=True))
        assert [is_over(update.tournament) for update in updates] == [False] * (len(updates) - 1) + [True]
        played = [update.tournament.progress.played for update in updates]
        assert played == sorted(played) and played[-1] == 4
        tables = [update.standings for update in updates if update.HasField("standings")]
        assert tables and tables[-1].games == 4

        found = anybody.tournament(made.tournament.id)
        assert found.state == _STATES.TOURNAMENT_STATE_DONE and found.ended_at_ms >= found.created_at_ms > 0
        assert found.roster == "", "only the operator sees commands and environments"
        assert operator.tournament("whole").roster == _roster("whole")
        assert made.tournament.id in [one.id for one in anybody.tournaments().tournaments]

        matches = anybody.matches("whole").matches
        assert [match.order for match in matches] == [0, 1, 2, 3]
        assert all(match.state == tournament_pb2.MATCH_STATE_RECORDED and match.ending for match in matches)
        assert {seat.entrant for match in matches for seat in match.seats} == {"greedy", "random"}
        for command in (("list",), ("show", "whole"), ("watch", "whole")):
            shown = shared.rubble_as_anybody("tournament", *command)
            assert "whole" in shown and "4/4" in shown.replace("4 of 4", "4/4"), "anybody may read without a token"
        assert "only the organiser" in shared.rubble_as_anybody("tournament", "pause", "whole", code=2)
        table = anybody.standings("whole")
        assert table == tables[-1] and {line.name for line in table.entrants} == {"greedy", "random"}
        assert all(
            line.games == 4 and 0 <= line.ci95_low <= line.mean_points <= line.ci95_high for line in table.entrants
        )

        files = dict(operator.export("whole"))
        assert json.loads(files["standings.json"])["digest"] == table.digest
        assert len(files["results.csv"].splitlines()) == 5 and files["roster.toml"].decode() == _roster("whole")
        replays = [data.decode() for name, data in files.items() if name.startswith("replays/")]
        assert len(replays) == 4 and all(verify_replay(text).ok for text in replays)
        without_replays = dict(operator.export("whole", without_replays=True))
        assert operator.report("whole").encode() == without_replays["report.html"] != files["report.html"]
        assert list(without_replays) == [name for name in files if not name.startswith("replays/")]


def test_a_tournament_is_paused_resumed_and_cancelled(shared: Host) -> None:
    with shared.caller() as operator:
        operator.create(_roster("stopped", deals=200))
        assert operator.pause("stopped").state == _STATES.TOURNAMENT_STATE_PAUSED

        def stands_still() -> bool:
            progress = operator.tournament("stopped").progress
            return progress.waiting == 0 and progress.playing == 0

        wait_for(stands_still, "running matches are played to their end", 2 * PATIENCE_S)
        assert operator.resume("stopped").state == _STATES.TOURNAMENT_STATE_RUNNING
        wait_for(lambda: operator.tournament("stopped").progress.playing > 0, "it goes on")
        cancelled = operator.cancel("stopped")
        assert cancelled.state == _STATES.TOURNAMENT_STATE_CANCELLED and cancelled.progress.ready == 0
        assert operator.cancel("stopped").state == _STATES.TOURNAMENT_STATE_CANCELLED, "cancelling twice succeeds"
        with pytest.raises(ServiceError, match="TOURNAMENT_OVER"):
            operator.resume("stopped")


@pytest.mark.parametrize(
    ("roster", "line", "word"),
    [
        (_roster("bad", game="relieff"), "2", "relief"),
        (_roster("bad", players=9), "3", "9"),
        ("name = \n", "1", "roster.toml:1"),
        (_roster("bad", budget=10), "4", "deals"),
    ],
)
def test_a_bad_roster_is_refused_with_its_line(shared: Host, roster: str, line: str, word: str) -> None:
    with shared.caller() as operator:
        with pytest.raises(ServiceError) as refused:
            operator.create(roster)
        assert refused.value.reason == "BAD_ROSTER"
        assert f"roster.toml:{line}" in str(refused.value) or word in str(refused.value)


def test_the_access_table_has_exactly_the_methods_of_the_contract() -> None:
    ours = {f"/{_SERVICE.full_name}/{method.name}" for method in _SERVICE.methods}
    assert {method for method in MAY_CALL if method.startswith(f"/{_SERVICE.full_name}/")} == ours


#: The access table again, as the contract has it, so that a mistake in the code is found.
_OPERATOR_ONLY: Final = {
    "CreateTournament",
    "PauseTournament",
    "ResumeTournament",
    "CancelTournament",
    "GetReport",
    "ExportTournament",
    "IssueEntrantKey",
}


def _call(shared: Host, method: Any, request: bytes, token: str | None) -> tuple[grpc.StatusCode, str]:
    """Call any method with any bytes; return OK, or status and reason."""
    metadata = None if token is None else [("authorization", f"Bearer {token}")]
    with grpc.insecure_channel(shared.arena_address()["api"]) as opened:
        channel: Any = opened  # its types know no bytes
        path = f"/{_SERVICE.full_name}/{method.name}"
        try:
            if method.server_streaming:
                stream = channel.unary_stream(path)(request, metadata=metadata, timeout=PATIENCE_S)
                next(iter(stream), None)
                stream.cancel()
            else:
                channel.unary_unary(path)(request, metadata=metadata, timeout=PATIENCE_S)
        except grpc.RpcError as error:
            refused = Refusal.of(error)
            return refused.code, refused.reason
    return grpc.StatusCode.OK, ""


@pytest.mark.parametrize("method", list(_SERVICE.methods), ids=lambda method: str(method.name))
def test_who_may_call_what(shared: Host, method: Any) -> None:
    """The tournament does not exist: a caller with access gets UNKNOWN_TOURNAMENT."""
    request = method.input_type._concrete_class()
    if hasattr(request, "tournament"):
        request.tournament = "nowhere"
    is_public = method.name not in _OPERATOR_ONLY
    for token, kind in ((None, "anybody"), (shared.token, "operator"), ("x" * 40, "stranger"), ("rb1.bot.a.b", "bot")):
        code, reason = _call(shared, method, request.SerializeToString(), token)
        if kind in ("stranger", "bot"):
            assert (code, reason) == (grpc.StatusCode.UNAUTHENTICATED, "BAD_TOKEN")
        elif kind == "anybody" and not is_public:
            assert (code, reason) == (grpc.StatusCode.UNAUTHENTICATED, "NO_TOKEN")
        else:
            expected = {"ListTournaments": "", "CreateTournament": "BAD_ROSTER", "GetMatch": "BAD_REQUEST"}
            assert reason == expected.get(method.name, "UNKNOWN_TOURNAMENT"), (method.name, code)


_STRINGS: Final = (
    "",
    "whole",
    "nowhere",
    "a" * 65,
    "../..",
    "\x00",
    "\n",
    "ünïcödé",
    "🏛",
    "rb1.bot.a.b",
    "%s",
    "{x}",
    "-1",
)
_NUMBERS: Final = (0, 1, 2, 3, 99, 1000, 1001, 2**31 - 1, 2**32 - 1)


def _fuzzed(kind: type[Message], draw: random.Random) -> bytes:
    made: Any = kind()
    for field in kind.DESCRIPTOR.fields:
        if draw.random() < 0.2:
            continue
        if field.cpp_type == field.CPPTYPE_STRING:
            words = (*_STRINGS, _roster("fuzz", deals=draw.choice((-1, 0, 1, 10**9))), "a = [" * 2000)
            setattr(made, field.name, draw.choice(words if field.name == "roster" else _STRINGS))
        elif field.cpp_type == field.CPPTYPE_BOOL:
            setattr(made, field.name, draw.random() < 0.5)
        else:
            setattr(made, field.name, draw.choice(_NUMBERS[:7] if field.cpp_type == field.CPPTYPE_ENUM else _NUMBERS))
    data: bytes = made.SerializeToString()
    return data if draw.random() < 0.8 else draw.randbytes(draw.randrange(1, 40))


@pytest.mark.parametrize("method", list(_SERVICE.methods), ids=lambda method: str(method.name))
def test_no_request_causes_an_internal_error(shared: Host, method: Any) -> None:
    draw = random.Random(method.name)
    for _ in range(25):
        request = _fuzzed(method.input_type._concrete_class, draw)
        code, reason = _call(shared, method, request, shared.token)
        assert code not in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.UNIMPLEMENTED), request
        assert code is grpc.StatusCode.OK or reason, request


def test_health_and_reflection_are_served(shared: Host) -> None:
    with grpc.insecure_channel(shared.arena_address()["api"]) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        for service in ("", _SERVICE.full_name):
            reply = health.Check(health_pb2.HealthCheckRequest(service=service), timeout=PATIENCE_S)
            assert reply.status == health_pb2.HealthCheckResponse.SERVING
        ask = reflection_pb2.ServerReflectionRequest(list_services="")
        stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
        (answer,) = list(stub.ServerReflectionInfo(iter([ask]), timeout=PATIENCE_S))
        assert _SERVICE.full_name in [service.name for service in answer.list_services_response.service]


def test_an_unknown_method_is_unimplemented(shared: Host) -> None:
    with grpc.insecure_channel(shared.arena_address()["api"]) as channel:
        stub = tournament_pb2_grpc.TournamentServiceStub(channel)
        assert stub.ListTournaments(tournament_pb2.ListTournamentsRequest(), timeout=PATIENCE_S) is not None
        untyped: Any = channel
        with pytest.raises(grpc.RpcError) as refused:
            untyped.unary_unary("/rubble.v1.SessionService/GetSession")(b"", timeout=PATIENCE_S)
        assert Refusal.of(refused.value).code is grpc.StatusCode.UNIMPLEMENTED


def test_the_api_has_metrics(shared: Host) -> None:
    with shared.caller() as operator:
        operator.tournaments()
    samples = scrape(shared.arena_address()["metrics"]["api"])
    method = f"/{_SERVICE.full_name}/ListTournaments"
    assert total(samples, "rubble_rpc_seconds_count", method=method, status="OK") >= 1
    assert total(samples, "rubble_api_serving") == 1
    assert total(samples, "rubble_process_info", role="api") == 1
    assert not [name for name, _ in samples if re.match("rubble_(moves|serving|worker)", name)], "only its own metrics"
