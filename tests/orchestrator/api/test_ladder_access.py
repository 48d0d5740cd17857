"""LadderService on a real arena: who may call what, who is told which names, what is watched, and what is never logged."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import grpc
import pytest
from google.protobuf.message import Message

from orchestrator.api.auth import MAY_CALL
from rubble.v1 import ladder_pb2, tournament_pb2
from tests.harness.client import Refusal
from tests.harness.tournaments import TournamentArena
from tests.harness.waiting import PATIENCE_S
from tests.orchestrator.api.ladder_api import LADDERS, TOURNAMENTS, LadderApi, ladder_api

_METHODS: Final = list(LADDERS.methods)
#: The access table again, as the contract has it, so that a mistake in the code is found. All others are for anybody.
_OPERATOR: Final = {"CreateLadder", "CreateInvitations", "RevokeOwner", "RecordDecision", "MoveSeason"}
_OWNER: Final = {"EnterBuild", "IssueBuildKey", "CreateChallenge"}
_BOTH: Final = {"RotateOwnerKey", "RetireBuild"}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LadderApi, TournamentArena]]:
    with ladder_api(tmp_path_factory.mktemp("access")) as both:
        yield both


@pytest.fixture(scope="module")
def api(opened: tuple[LadderApi, TournamentArena]) -> LadderApi:
    return opened[0]


@pytest.fixture(scope="module")
def owner_key(api: LadderApi) -> str:
    return api.sign_up(api.ladder("access"), "access-ann")


def _empty(method: Any) -> Any:
    return getattr(ladder_pb2, method.input_type.name)()


def _outcome(api: LadderApi, method: Any, request: bytes, token: str) -> tuple[grpc.StatusCode, str]:
    """Call a method with any bytes; return OK, or status and reason."""
    channel: Any = api.channel
    path = f"/{LADDERS.full_name}/{method.name}"
    metadata = [("authorization", f"Bearer {token}")] if token else None
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


# ---------------------------------------------------------------------------------------------------------------- access
def test_the_access_table_has_exactly_the_methods_of_the_contract() -> None:
    ours = {f"/{LADDERS.full_name}/{method.name}" for method in _METHODS}
    assert {method for method in MAY_CALL if method.startswith(f"/{LADDERS.full_name}/")} == ours
    assert {method.name for method in _METHODS} >= _OPERATOR | _OWNER | _BOTH


@pytest.mark.parametrize("method", _METHODS, ids=lambda method: str(method.name))
def test_who_may_call_what(api: LadderApi, owner_key: str, method: Any) -> None:
    """The ladder does not exist: a caller with access gets another error, or an answer."""
    request = _empty(method)
    if hasattr(request, "ladder"):
        request.ladder = "nowhere"
    allowed = {"anybody", "owner", "operator"}
    for names, callers in ((_OPERATOR, {"operator"}), (_OWNER, {"owner"}), (_BOTH, {"owner", "operator"})):
        allowed = callers if method.name in names else allowed
    if method.name == "RotateOwnerKey":
        request.owner = "nobody"  # the key of the test stays
    for kind, token in (("anybody", ""), ("owner", owner_key), ("operator", api.operator)):
        code, reason = _outcome(api, method, request.SerializeToString(), token)
        is_refused = reason in ("NO_TOKEN", "FORBIDDEN") or (
            code is grpc.StatusCode.PERMISSION_DENIED and method.name != "RotateOwnerKey"
        )
        assert is_refused == (kind not in allowed), (kind, code, reason)
        if is_refused:
            expected = grpc.StatusCode.PERMISSION_DENIED if token else grpc.StatusCode.UNAUTHENTICATED
            assert code is expected
    for stranger in ("x" * 40, "rb1.bot.a.b"):
        code, reason = _outcome(api, method, request.SerializeToString(), stranger)
        assert (code, reason) == (grpc.StatusCode.UNAUTHENTICATED, "BAD_TOKEN")


_STRINGS: Final = (
    "",
    "access",
    "nowhere",
    "a" * 65,
    "../..",
    "\x00",
    "\n",
    "ünïcödé",
    "🏛",
    "rb1.bot.a.b",
    "%s",
    "a/b",
    "-1",
)
_NUMBERS: Final = (0, 1, 2, 3, 99, 1000, 1001, 2**31 - 1, 2**32 - 1)


def _fuzzed(made: Any, draw: random.Random) -> bytes:
    for field in made.DESCRIPTOR.fields:
        if draw.random() < 0.2:
            continue
        if field.cpp_type == field.CPPTYPE_STRING:
            words = (*_STRINGS, "a = [" * 2000) if field.name == "file" else _STRINGS
            if isinstance(getattr(made, field.name), str):
                setattr(made, field.name, draw.choice(words))
            else:
                getattr(made, field.name).extend(draw.choices(words, k=draw.randrange(3)))
        elif field.cpp_type == field.CPPTYPE_BOOL:
            setattr(made, field.name, draw.random() < 0.5)
        else:
            setattr(made, field.name, draw.choice(_NUMBERS[:7] if field.cpp_type == field.CPPTYPE_ENUM else _NUMBERS))
    data: bytes = made.SerializeToString()
    return data if draw.random() < 0.8 else draw.randbytes(draw.randrange(1, 40))


@pytest.mark.parametrize("method", _METHODS, ids=lambda method: str(method.name))
def test_no_request_causes_an_internal_error(api: LadderApi, method: Any) -> None:
    draw = random.Random(method.name)
    odd = (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.UNIMPLEMENTED)
    key = api.call(ladder_pb2.RotateOwnerKeyRequest(owner=_fuzzer(api)), api.operator).owner_key
    for _ in range(15):
        request = _fuzzed(_empty(method), draw)
        code, reason = _outcome(api, method, request, key if method.name in _OWNER else api.operator)
        assert code not in odd and (code is grpc.StatusCode.OK or reason), (request, code, reason)


def _fuzzer(api: LadderApi) -> str:
    if api.book.owner("fuzzer") is None:
        if "fuzz" not in {one.name for one in api.book.ladders()}:
            api.ladder("fuzz")
        api.sign_up("fuzz", "fuzzer")
    return "fuzzer"


# ----------------------------------------------------------------------------------------------------------------- names
def _answers(api: LadderApi, ladder: str, match: str, token: str = "") -> dict[str, bytes]:
    """What this caller is told by every method that anybody may call, as bytes."""
    season = api.book.season(ladder)
    found: dict[str, bytes] = {}
    values = {"ladder": ladder, "tournament": season.tournament, "match": match, "challenge": "none"}
    for module, service in ((ladder_pb2, LADDERS), (tournament_pb2, TOURNAMENTS)):
        for method in service.methods:
            public = "anybody" in MAY_CALL[f"/{service.full_name}/{method.name}"]
            if not public or method.name in ("SignUp", "WatchTournament"):
                continue
            request: Any = getattr(module, method.input_type.name)()
            for field, value in values.items():
                if hasattr(request, field):
                    setattr(request, field, value)
            if method.name in ("GetHistory", "GetVerdict"):
                request.build = "secret/v1"
            found[method.name] = _bytes(api, request, token)
    return found


def _bytes(api: LadderApi, request: Message, token: str) -> bytes:
    try:
        answer = api.call(request, token)
        if hasattr(answer, "SerializeToString"):
            return bytes(answer.SerializeToString())
        first = next(iter(answer))
        answer.cancel()
        return bytes(first.SerializeToString())
    except grpc.RpcError as error:
        return str(error).encode()


def test_nobody_but_the_operator_is_told_who_sits_in_an_open_block(api: LadderApi) -> None:
    ladder = api.ladder("nameless")
    key = api.sign_up(ladder, "nameless-ann")
    api.enter(ladder, "secret/v1", key)
    before = _answers(api, ladder, "none")
    naming = {method for method, answer in before.items() if b"secret" in answer}
    assert naming <= {"ListBuilds", "ListEvents", "WatchLadder", "GetHistory", "GetVerdict", "GetLadderStandings"}

    first, second = api.draw(ladder, "secret/v1", "greedy")
    api.book.release([first.id, second.id])
    assert api.book.record_once(first, first.result((1, 2), (7, 3), ("", "NO_SHOW"), (1, 1), "over", 9), '{"a": 1}\n')
    for token in ("", key):
        during = _answers(api, ladder, first.id, token)
        assert {method for method, answer in during.items() if b"secret" in answer} == naming
        for method in naming - {"WatchLadder"}:
            assert during[method] == before[method], f"{method} tells something about the open block"
        assert b"greedy" not in during["ListLadderMatches"] and b"NO_SHOW" not in during["ListLadderMatches"]
        assert b"NOT_READY" in during["GetMatchReplay"] or b"is not over" in during["GetMatchReplay"]
    operator = _answers(api, ladder, first.id, api.operator)
    assert b"secret/v1" in operator["ListLadderMatches"] and b'{"a": 1}' in operator["GetMatchReplay"]
    listed = api.call(ladder_pb2.ListLadderMatchesRequest(ladder=ladder)).matches
    assert {match.match.id for match in listed} == {first.id, second.id}
    assert all(not match.kind and not match.rule for match in listed)

    assert api.book.record_once(second, second.result((1, 2), (7, 3), ("", ""), (1, 1), "over", 9), "{}\n")
    assert b"secret" not in _answers(api, ladder, first.id)["ListLadderMatches"], "the table is not settled yet"
    api.settle(ladder)
    after = _answers(api, ladder, first.id)
    assert b"secret/v1" in after["ListLadderMatches"] and b'{"a": 1}' in after["GetMatchReplay"]


# ----------------------------------------------------------------------------------------------------------------- watch
def test_a_watched_ladder_sends_its_state_and_every_change_and_ends_with_the_server(
    opened: tuple[LadderApi, TournamentArena],
) -> None:
    api = LadderApi(opened[1], "watched")
    try:
        ladder = api.ladder("watched")
        stream = api.call(ladder_pb2.WatchLadderRequest(ladder=ladder))
        first = next(stream)
        assert first.ladder.name == ladder and first.HasField("standings")
        assert [event.words for event in first.events] == ["Season 1 is open."]
        key = api.sign_up(ladder, "watched-ann")
        api.enter(ladder, "watched-bot/v1", key)
        update = next(one for one in stream if one.events)
        assert update.events[0].build == "watched-bot/v1" and not update.HasField("standings")
        assert update.ladder.season.builds[0].state == ladder_pb2.BUILD_STATE_ENTERED
        api.draw(ladder, "watched-bot/v1", "greedy")
        assert next(one for one in stream if one.ladder.season.open_matches == 2)
        assert api.process.stop() == 0
        assert list(stream) == [], "the stream ends without an error"
    finally:
        api.close()


# ------------------------------------------------------------------------------------------------------------------ logs
def test_keys_and_invitations_are_in_no_log(api: LadderApi, opened: tuple[LadderApi, TournamentArena]) -> None:
    ladder = api.ladder("logs", 'signup = "invite"')
    (code,) = api.call(ladder_pb2.CreateInvitationsRequest(ladder=ladder), api.operator).invitations
    key = api.call(ladder_pb2.SignUpRequest(ladder=ladder, owner="logs-ann", invitation=code)).owner_key
    bot_key = api.enter(ladder, "logs-bot/v1", key)
    newer = api.call(ladder_pb2.RotateOwnerKeyRequest(), key).owner_key
    for wrong in (key, bot_key, code, f"{newer}x"):
        api.refused(ladder_pb2.EnterBuildRequest(ladder=ladder, bot=wrong[:24], label=wrong[:40]), wrong)
    api.refused(ladder_pb2.SignUpRequest(ladder=ladder, owner="logs-bob", invitation=code))
    api.refused(ladder_pb2.SignUpRequest(ladder=code, owner="logs-bob", invitation=code))
    api.refused(ladder_pb2.EnterBuildRequest(ladder=newer, bot=newer, label=newer), newer)
    logs = "".join(path.read_text(errors="replace") for path in _logs(opened[1].folder))
    assert "rpc" in logs or "api on" in logs
    for secret in (key, newer, bot_key, code, api.operator):
        assert secret not in logs and secret.rpartition(".")[2] not in logs


def _logs(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.suffix in (".log", ".out")]
