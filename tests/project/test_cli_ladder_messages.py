"""What ``rubble ladder`` and ``rubble owner`` say when something is wrong, and what the words of a table mean."""

import json
import os
import re
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from cli.ladder_words import now_ms, presence
from orchestrator.ladder.matchmaking import BUNDLED_ALONE
from rubble.v1 import ladder_pb2
from tests.project import ladder_stand_in as canned
from tests.project.ladder_stand_in import OPERATOR, StandIn

Out = Callable[..., str]


# --------------------------------------------------------------------------------------------------------------- address
@pytest.fixture
def closed_port() -> str:
    """An address at which nothing listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{one.getsockname()[1]}"


@pytest.mark.parametrize("command", [("ladder", "show", "cup"), ("tournament", "list"), ("ladder", "watch", "cup")])
def test_an_address_without_an_arena_is_named(
    arena: StandIn, out: Out, closed_port: str, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("RUBBLE_OPERATOR_TOKEN", OPERATOR)
    monkeypatch.setattr("orchestrator.api.client._CONNECT_S", 0.5)

    said = out(*command, "--api", closed_port, code=1)
    assert f"no connection to {closed_port} within 0.5 s" in said and "(UNAVAILABLE)" in said


def test_a_host_that_does_not_exist_is_named(arena: StandIn, out: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.api.client._CONNECT_S", 0.5)

    assert "no connection to nonsense.invalid:1" in out("ladder", "show", "cup", "--api", "nonsense.invalid:1", code=1)


@pytest.mark.parametrize("address", ["nonsense", "host:", ":50052", "host:port", "host:0", "host:65536", "http://host"])
def test_what_is_no_address_is_refused_at_once(arena: StandIn, out: Out, address: str) -> None:
    """Also where it stands in RUBBLE_API."""
    said = out("ladder", "show", "cup", "--api", address, code=2)
    assert f"--api (RUBBLE_API): {address!r} is not possible; expected HOST:PORT" in said


def test_an_arena_or_a_book_on_the_command_line_is_used_instead_of_the_one_in_the_environment(
    arena: StandIn, out: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "spring" in out("ladder", "show", "spring")
    assert "no arena runs in 'nowhere'" in out("ladder", "show", "spring", "--state-dir", "nowhere", code=2)
    assert "'nowhere' is neither an address nor the folder of a run" in out(
        "tournament", "list", "--book", "nowhere", code=2
    )
    address = os.environ["RUBBLE_API"]
    assert "spring" in out("ladder", "show", "spring", "--state-dir", "nowhere", "--api", address), "where its token is"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("ladder", "enter", "spring", "--json"), "Missing option '--bot'"),
        (("ladder", "show", "--json"), "Missing argument 'LADDER'"),
        (("ladder", "shwo", "--json"), "No such command 'shwo'"),
        (("ladder", "show", "spring", "--jsn", "--json"), "No such option: --jsn"),
        (("ladder", "show", "spring", "--api", "nonsense", "--json"), "expected HOST:PORT"),
        (("owner", "signup", "spring", "", "--json"), "1-24 of [a-z0-9-]"),
    ],
)
def test_with_json_a_wrong_command_line_is_an_object_too(
    arena: StandIn, out: Out, arguments: tuple[str, ...], told: str
) -> None:
    error = json.loads(out(*arguments, code=2))
    assert error["error"] == "BAD_INPUT" and told in error["message"]


@pytest.mark.parametrize("command", [("show", "cup"), ("export", "cup", "--out", "files")])
def test_the_address_of_another_service_is_not_that_of_the_api(
    arena: StandIn, out: Out, command: tuple[str, ...]
) -> None:
    server = grpc.server(ThreadPoolExecutor(1))
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        said = out("ladder", *command, "--api", address, code=2)
    finally:
        server.stop(0).wait()
    assert f"{address} is not the address of an arena's API" in said and "Method not found" not in said


def test_an_arena_that_does_not_answer_in_time_is_named(arena: StandIn, out: Out) -> None:
    arena.refusal = (grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED", "Deadline Exceeded", {})
    assert f"no answer from {os.environ['RUBBLE_API']} in time" in out("ladder", "show", "cup", code=1)


# -------------------------------------------------------------------------------------------------------------- refusals
def test_a_refused_rotation_writes_no_file(arena: StandIn, out: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUBBLE_OPERATOR_TOKEN", OPERATOR)
    arena.refusal = (grpc.StatusCode.FAILED_PRECONDITION, "NOT_READY", "'anna' was revoked and stays so", {})

    assert "'anna' was revoked and stays so (NOT_READY)" in out("owner", "rotate", "anna", code=2)
    assert not list(Path().iterdir())


# ----------------------------------------------------------------------------------------------------------------- table
def test_a_build_that_does_not_count_is_not_called_provisional(arena: StandIn, out: Out) -> None:
    said = out("ladder", "standings", "spring")
    (line,) = [line for line in said.splitlines() if " mybot/v3 " in line]

    assert "not counted" in line and "provisional" not in line
    assert "not counted: its bot counts by another build, or it is retired." in said
    assert {one.build for one in canned.LINES if one.rank and one.provisional} == {"weathervane/0.9.1"}
    assert sum("provisional" in one for one in said.splitlines()) == 2, "one build, and what the word means"


def test_the_table_of_a_closed_season_says_why_a_build_has_no_rank(arena: StandIn, out: Out) -> None:
    said = out("ladder", "standings", "spring", "--season", "1").splitlines()
    why = {
        line.split()[1]: line.rstrip().rpartition("  ")[2].strip() for line in said if line.lstrip().startswith("– ")
    }

    assert why == {"mybot/v3": "not counted", "kraken/main-42": "no rated game", "early/v1": "retired"}


def test_a_season_that_is_over_does_not_say_that_it_has_no_builds_yet(arena: StandIn, out: Out) -> None:
    """The API counts builds by their states of now, and none for earlier seasons."""
    now, earlier = (line for line in out("ladder", "seasons", "spring").splitlines()[-2:])

    assert now.rstrip().endswith("5 active, 1 parked, 3 bundled")
    assert " closed " in earlier and earlier.rstrip().endswith("–") and "none yet" not in earlier


def test_an_active_build_that_is_away_says_when_it_was_last_seen(arena: StandIn, out: Out) -> None:
    """While it is connected, that is recorded once a minute."""
    assert presence("active", now_ms() - canned.MINUTE - 5_000) == []
    assert presence("active", now_ms() - 2 * canned.MINUTE - 5_000) == ["last seen 2 min ago"]
    assert re.search(r"active, last seen [0-9]+ min ago", out("ladder", "builds", "spring"))


def test_the_list_of_ladders_counts_builds_in_the_words_of_show(arena: StandIn, out: Out) -> None:
    counts = "5 active, 1 parked, 3 bundled"

    assert f"builds: {counts}" in out("ladder", "show", "spring")
    assert out("ladder", "list").rstrip().endswith(counts)


@pytest.mark.parametrize("command", ["show", "standings", "watch"])
def test_an_empty_table_has_its_notes_too(
    arena: StandIn, out: Out, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """One of them says that an arena plays no ladders."""
    empty = ladder_pb2.LadderStandings(ladder="spring", season=2, notes=["No game is played: it is too late."])
    monkeypatch.setattr(canned, "STANDINGS", empty)
    arena.is_gone_after_watch = True

    said = out("ladder", command, "spring", code=2 if command == "watch" else 0)
    assert said.count("No game is played: it is too late.") == 1


@pytest.mark.parametrize("command", ["show", "watch"])
def test_bundled_bots_that_are_alone_are_said_to_play_slowly_on_purpose(
    arena: StandIn, out: Out, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    arena.is_gone_after_watch = True
    code = 2 if command == "watch" else 0
    assert "on purpose" not in out("ladder", command, "spring", code=code)
    alone = ladder_pb2.Ladder()
    alone.CopyFrom(canned.SPRING)
    for state in (ladder_pb2.BUILD_STATE_ACTIVE, ladder_pb2.BUILD_STATE_QUALIFYING, ladder_pb2.BUILD_STATE_RETURNING):
        for count in alone.season.builds:
            count.count = 0 if count.state == state else count.count
    monkeypatch.setattr(canned, "SPRING", alone)

    said = out("ladder", command, "spring", code=code)
    assert "builds: 1 parked, 3 bundled; bundled bots alone play slowly on purpose" in said

    alone.season.blocks = BUNDLED_ALONE - 1
    assert "on purpose" not in out("ladder", command, "spring", code=code)


def test_the_plan_of_a_ladder_says_how_to_see_its_finals(arena: StandIn, out: Out) -> None:
    canned_season = canned.SPRING.season
    kept, canned_season.finals = canned_season.finals, "cup-1-finals"
    try:
        assert "rubble tournament show cup-1-finals" in out("ladder", "show", "spring")
    finally:
        canned_season.finals = kept


@pytest.mark.parametrize("words", ["your own builds", "need not accept"])
def test_the_help_of_a_challenge_says_that_own_builds_may_play(out: Out, words: str) -> None:
    assert words in " ".join(out("ladder", "challenge", "--help").split())
