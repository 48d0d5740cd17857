"""``rubble ladder`` and ``rubble owner``: what they send, print and write. The answers are fixed, see ``ladder_stand_in``."""

import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import typer

from cli.app import make_app, run
from cli.arena_address import ArenaAddress, write_address
from cli.fitted_table import Column, fitting
from cli.ladder_history import plot
from cli.ladder_wait import ask_until
from cli.ladder_words import ago
from orchestrator.client import ServiceError
from orchestrator.ladder.season_archive import hash_of
from rubble.v1 import ladder_pb2
from tests.project import ladder_stand_in as canned
from tests.project.ladder_stand_in import OPERATOR, OWNER, StandIn

QUOTA = {"quota": "builds", "limit": "5", "used": "5", "retry_after_s": "120"}


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield every command below this one."""
    yield name, command
    for word, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{name} {word}")


ALL = [
    found
    for group in ("ladder", "owner")
    for found in commands(typer.main.get_command(make_app(group)).commands[group], group)  # type: ignore[attr-defined]
]
READING = (
    ["list"],
    ["show", "spring"],
    ["standings", "spring"],
    ["builds", "spring"],
    ["history", "spring", "mybot/v2"],
    ["matches", "spring"],
    ["pairs", "spring"],
    ["events", "spring"],
    ["seasons", "spring"],
    ["challenge-result", "5f1c2a"],
)


# ---------------------------------------------------------------------------------------------------------------- every command
@pytest.mark.parametrize(("name", "command"), ALL, ids=[name for name, _ in ALL])
def test_the_help_of_every_command_has_an_example_that_fits_80_columns(name: str, command: Any) -> None:
    lines = [re.sub(r"\[/?[a-z]*\]", "", line) for line in (command.help or "").splitlines()]
    examples = [line for line in lines if line.startswith("$ ")]

    assert any(f"rubble {name.split(maxsplit=1)[0]}" in line for line in examples)
    assert max(map(len, examples)) <= 78


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_reading_needs_no_token(arena: StandIn, out: Any, command: list[str]) -> None:
    out("ladder", *command)

    assert {token for token, _ in arena.calls} == {""}


@pytest.mark.parametrize("command", READING, ids=" ".join)
@pytest.mark.parametrize("width", [60, 80, 140])
def test_no_line_is_wider_than_the_terminal(
    arena: StandIn, out: Any, monkeypatch: pytest.MonkeyPatch, command: list[str], width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))

    assert max(len(line) for line in out("ladder", *command).splitlines()) <= width


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_every_view_has_json_without_numbers_for_states(arena: StandIn, out: Any, command: list[str]) -> None:
    text = out("ladder", *command, "--json")

    assert json.loads(text)
    assert "UNSPECIFIED" not in text and "_STATE_" not in text


# --------------------------------------------------------------------------------------------------------------------- the table
def rows(text: str) -> dict[str, str]:
    """The lines of the table by build."""
    names = [line.build for line in canned.LINES]
    return {name: line for name in names for line in text.splitlines() if f" {name} " in line}


def test_the_table_says_rank_set_interval_and_what_is_special_about_a_build(arena: StandIn, out: Any) -> None:
    found = rows(out("ladder", "standings", "spring"))

    assert found["mybot/v2"].split()[:3] == ["2", "2–5", "mybot/v2"]
    assert "+203 ± 31" in found["mybot/v2"] and "last seen 3 h ago" in found["mybot/v2"]
    assert "provisional" in found["weathervane/0.9.1"]
    assert "parked, last seen 40 h ago" in found["sleepy/v1"]
    assert "3 %" in found["kraken/main-41"]
    assert found["mybot/v3"].split()[0] == "–", "it does not count"
    assert "bundled" in found["greedy"] and "last seen" not in found["greedy"]


def test_below_the_table_stand_its_rules_and_notes(arena: StandIn, out: Any) -> None:
    said = out("ladder", "standings", "spring")

    assert "all sets together hold with 95 %" in said
    assert "provisional: fewer than 100 games, or a set wider than 25 % of the table" in said
    assert "Seat 1 is worth 4 ± 6 Elo." in said


def test_a_narrow_terminal_keeps_numbers_whole_and_still_tells_bundled_bots_apart(
    arena: StandIn, out: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = out("ladder", "standings", "spring")

    assert "team-north" not in said and "faults" not in said
    assert "+412 ± 18  3,120" in said
    assert rows(said)["greedy"].rstrip().endswith("bundled")


@pytest.mark.parametrize("width", ["80", "140"])
def test_only_a_closed_season_shows_the_blocks_to_swap(
    arena: StandIn, out: Any, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)

    assert "to swap" not in out("ladder", "standings", "spring")
    closed = out("ladder", "standings", "spring", "--season", "1")
    assert "to swap" in closed.splitlines()[1] and " 500" in rows(closed)["mybot/v2"]
    assert "last seen" not in closed, "the states of today do not belong to it"


def test_columns_go_in_the_order_of_their_importance() -> None:
    columns = [Column(name, ["x" * 10], goes=goes) for name, goes in (("a", 0), ("b", 2), ("c", 1))]

    names = [[column.name for column in fitting(columns, width)] for width in (34, 33, 22, 21, 5)]
    assert names == [["a", "b", "c"], ["a", "c"], ["a", "c"], ["a"], ["a"]]


def test_json_has_the_fields_of_the_contract_and_times_in_both_forms(arena: StandIn, out: Any) -> None:
    found = json.loads(out("ladder", "show", "spring", "--json"))

    assert found["signup"] == "invite" and found["season"]["state"] == "open"
    assert found["season"]["opened_at_ms"] == canned.SEASON.opened_at_ms
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", found["season"]["opened_at"])
    assert found["season"]["closed_at"] is None
    line = found["standings"]["lines"][-1]
    assert (line["elo"], line["state"], line["blocks_to_swap"]) == (None, "qualifying", None)


# ------------------------------------------------------------------------------------------------------------------------ errors
def test_a_quota_is_a_sentence_for_people_and_facts_for_programs(arena: StandIn, out: Any) -> None:
    arena.refusal = (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUOTA_REACHED", "quota builds: 5 of 5 are used", QUOTA)
    Path("key").write_text(f"{OWNER}\n")
    enter = ["ladder", "enter", "spring", "--bot", "mybot", "--build", "v6", "--owner-key", "key"]

    assert out(*enter, code=1) == "rubble: quota builds: 5 of 5 are used (QUOTA_REACHED)\n"
    assert json.loads(out(*enter, "--json", code=1)) == {
        "error": "QUOTA_REACHED",
        "message": "quota builds: 5 of 5 are used",
        "quota": "builds",
        "limit": 5,
        "used": 5,
        "retry_after_s": 120,
    }
    assert not list(Path().glob("*.env"))


@pytest.mark.parametrize("json_flag", [[], ["--json"]])
def test_every_error_goes_to_standard_error(
    arena: StandIn, capsys: pytest.CaptureFixture[str], json_flag: list[str]
) -> None:
    for command in (
        ["key", "spring", "mybot/v1"],
        ["invite", "spring"],
        ["standings", "spring", "--season", "x"],
        ["check", "."],
        ["check", "nowhere.toml"],
        ["verify", "."],
        ["verify", "nowhere", "--manifest", "0" * 64],
    ):
        assert run(["ladder", *command, *json_flag]) == 2
        told = capsys.readouterr()
        assert told.out == "" and len(told.err.splitlines()) == 1
        assert not json_flag or {"error", "message"} <= set(json.loads(told.err))


def test_without_an_owner_key_all_three_ways_to_give_one_are_named(arena: StandIn, out: Any) -> None:
    said = out("ladder", "enter", "spring", "--bot", "mybot", "--build", "v1", code=2)

    assert all(way in said for way in ("--owner-key FILE", "RUBBLE_OWNER_KEY ", "RUBBLE_OWNER_KEY_FILE"))
    assert "sign up first: rubble owner signup" in said
    assert arena.calls == []


def test_a_file_that_is_no_owner_key_is_not_sent(arena: StandIn, out: Any) -> None:
    Path("wrong.env").write_text("RUBBLE_ADDRESS=a\nRUBBLE_BOT_KEY=b\n")

    assert "one owner key and nothing else" in out(
        "ladder", "key", "spring", "mybot/v1", "--owner-key", "wrong.env", code=2
    )
    assert arena.calls == []


def test_errors_in_a_ladder_file_name_the_file(arena: StandIn, out: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUBBLE_OPERATOR_TOKEN", OPERATOR)
    Path("mine.toml").write_text("")
    arena.refusal = (grpc.StatusCode.INVALID_ARGUMENT, "BAD_LADDER", "ladder.toml:3: no\nladder.toml:4: nor this", {})

    assert out("ladder", "create", "mine.toml", code=2) == "mine.toml:3: no\nmine.toml:4: nor this\n"
    assert json.loads(out("ladder", "create", "mine.toml", "--json", code=2)) == {
        "error": "BAD_LADDER",
        "message": "mine.toml has 2 problems",
        "file": "mine.toml",
        "problems": [{"line": 3, "key": "", "message": "no"}, {"line": 4, "key": "", "message": "nor this"}],
    }


def test_create_lists_the_problems_that_check_lists(arena: StandIn, out: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUBBLE_OPERATOR_TOKEN", OPERATOR)
    Path("mine.toml").write_text('name = "spring"\ngame = "relieff"\nplayers = 2\nsignups = "open"\n')
    checked = json.loads(out("ladder", "check", "mine.toml", "--json", code=2))
    told = "\n".join(f"ladder.toml:{each['line']}: {each['message']}" for each in checked["problems"])
    arena.refusal = (grpc.StatusCode.INVALID_ARGUMENT, "BAD_LADDER", told, {})

    created = json.loads(out("ladder", "create", "mine.toml", "--json", code=2))
    assert len(checked["problems"]) > 1 and all(each["key"] for each in checked["problems"])
    assert (created["file"], created["problems"]) == (checked["file"], checked["problems"])


@pytest.mark.parametrize("content", [None, b"a = 1\nb = \xff", b"#" * (2**20 + 1)])
def test_create_says_the_same_of_a_file_that_cannot_be_read_as_check(
    arena: StandIn, out: Any, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    monkeypatch.setenv("RUBBLE_OPERATOR_TOKEN", OPERATOR)
    if content is not None:
        Path("mine.toml").write_bytes(content)

    said = out("ladder", "create", "mine.toml", code=2)
    assert out("ladder", "check", "mine.toml", code=2).startswith(said) and "roster" not in said
    assert arena.calls == []


# ------------------------------------------------------------------------------------------------------------------ keys and files
def mode(path: str) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


def test_an_owner_key_is_written_once_for_its_owner_alone(arena: StandIn, out: Any) -> None:
    said = out("owner", "signup", "spring", "anna", "--invitation", "3kf0q2")

    assert Path("anna.owner-key").read_text() == f"{OWNER}\n" and mode("anna.owner-key") == 0o600
    assert "ladder enter spring --bot NAME --build LABEL --owner-key anna.owner-key" in said
    assert OWNER not in said
    (_, request), *_ = arena.calls
    assert (request.owner, request.invitation) == ("anna", "3kf0q2")


def test_signing_up_overwrites_no_file_and_then_asks_for_no_key(arena: StandIn, out: Any) -> None:
    Path("anna.owner-key").write_text("the old key\n")

    assert "which would be overwritten" in out("owner", "signup", "spring", "anna", code=2)
    assert Path("anna.owner-key").read_text() == "the old key\n"
    assert arena.calls == [], "a key that cannot be written would be lost"


def test_no_key_is_asked_for_if_its_folder_cannot_be_written(arena: StandIn, out: Any) -> None:
    Path("file").write_text("")

    assert "a folder that can be written" in out("owner", "signup", "spring", "anna", "--out", "file", code=2)
    assert arena.calls == []


def test_a_refused_sign_up_leaves_no_file(arena: StandIn, out: Any) -> None:
    arena.refusal = (grpc.StatusCode.PERMISSION_DENIED, "SIGNUP_REFUSED", "it is closed", {})

    assert "it is closed" in out("owner", "signup", "spring", "anna", code=2)
    assert list(Path().iterdir()) == []


def test_an_owner_joins_another_ladder_with_its_key_and_gets_no_other(arena: StandIn, out: Any) -> None:
    Path("mine").write_text(f"{OWNER}\n")
    out("owner", "signup", "autumn", "--owner-key", "mine")

    ((token, request),) = arena.calls
    assert (token, request.owner) == (OWNER, "")
    assert [path.name for path in Path().iterdir()] == ["mine"]


def test_a_rotated_key_replaces_the_one_in_its_file(arena: StandIn, out: Any) -> None:
    Path("mine").write_text(f"{OWNER}\n")
    out("owner", "rotate", "--owner-key", "mine")

    assert Path("mine").read_text() == "another\n" and mode("mine") == 0o600


def test_a_rotated_key_from_a_variable_overwrites_no_file(
    arena: StandIn, out: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUBBLE_OWNER_KEY", OWNER)
    Path("anna.owner-key").write_text("of somebody else\n")
    out("owner", "rotate")

    assert Path("anna.owner-key").read_text() == "of somebody else\n"
    assert Path("anna-2.owner-key").read_text() == "another\n"


def test_entering_a_build_writes_address_and_key_into_a_file_for_its_owner_alone(
    arena: StandIn, out: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("mine").write_text(f"{OWNER}\n")
    monkeypatch.setenv("RUBBLE_OWNER_KEY_FILE", "mine")
    said = out("ladder", "enter", "spring", "--bot", "mybot", "--build", "v3", "--parent", "v2", "--challenges")

    file = "spring.mybot.v3.env"
    assert Path(file).read_text() == "RUBBLE_ADDRESS=127.0.0.1:50051\nRUBBLE_BOT_KEY=bot-key\n"
    assert mode(file) == 0o600
    assert f"set -a; . ./{file}; ./my-bot" in said and "rubble ladder verdict spring mybot/v3" in said
    ((token, request),) = arena.calls
    assert token == OWNER
    assert (request.bot, request.label, request.parent, request.accepts_challenges) == ("mybot", "v3", "v2", True)


def test_a_build_is_retired_by_its_owner_or_else_by_the_operator(
    arena: StandIn, out: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUBBLE_OPERATOR_TOKEN", OPERATOR)
    Path("mine").write_text(OWNER)
    out("ladder", "retire", "spring", "mybot/v1", "--owner-key", "mine")
    out("ladder", "retire", "spring", "mybot/v1")

    assert [token for token, _ in arena.calls] == [OWNER, OPERATOR]


def test_a_season_is_exported_into_an_empty_folder_only(arena: StandIn, out: Any) -> None:
    hash_ = hash_of(b"{}")
    said = out("ladder", "export", "spring", "--out", "s1")
    assert "2 files in s1" in said and f"Hash of the manifest (BLAKE2b, 32 bytes): {hash_}" in said
    assert Path("s1/manifest.json").read_text() == "{}"
    assert "a new or empty folder" in out("ladder", "export", "spring", "--out", "s1", code=2)
    told = json.loads(out("ladder", "export", "spring", "--out", "s2", "--json"))
    assert told == {"folder": "s2", "files": 2, "manifest": hash_}


@pytest.mark.parametrize("is_there", [False, True])
def test_an_export_that_breaks_off_leaves_nothing_behind(arena: StandIn, out: Any, is_there: bool) -> None:
    if is_there:
        Path("s1").mkdir()
    arena.breaks_off = True
    assert "UNAVAILABLE" in out("ladder", "export", "spring", "--out", "s1", code=1)
    assert Path("s1").exists() == is_there and not (is_there and any(Path("s1").iterdir()))
    arena.breaks_off = False
    out("ladder", "export", "spring", "--out", "s1")


def test_the_token_of_a_folder_is_sent_to_the_arena_of_that_folder_only(
    arena: StandIn, out: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = os.environ["RUBBLE_API"]
    Path("mine").mkdir()
    Path("mine/operator_token").write_text("a token of mine")
    write_address(Path("mine"), ArenaAddress(os.getpid(), "127.0.0.1:1", "127.0.0.1:2"))
    decide = ("ladder", "decide", "spring", "hello", "--state-dir", "mine", "--api", address)
    said = out(*decide, code=2)
    assert f"{address} is not the arena that runs in 'mine', whose operator's token is not sent elsewhere" in said
    assert "RUBBLE_OPERATOR_TOKEN" in said
    out("ladder", "matches", "spring", "--state-dir", "mine", "--api", address)
    retire = ("ladder", "retire", "spring", "mybot/v1", "--state-dir", "mine", "--api", address)
    assert "no owner key" in out(*retire, code=2)
    assert {token for token, _ in arena.calls} == {""}

    write_address(Path("mine"), ArenaAddress(os.getpid(), "127.0.0.1:1", address.replace("127.0.0.1", "localhost")))
    out(*decide)
    assert arena.calls[-1][0] == "a token of mine"
    write_address(Path("mine"), ArenaAddress(os.getpid(), "127.0.0.1:1", "127.0.0.1:2"))
    monkeypatch.setenv("RUBBLE_OPERATOR_TOKEN", OPERATOR)
    out(*decide)
    assert arena.calls[-1][0] == OPERATOR, "what is given for all arenas is sent"


def test_a_key_that_leaves_this_machine_without_encryption_is_noted(
    arena: StandIn, out: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUBBLE_OWNER_KEY", OWNER)
    noted = "your key goes to arena.invalid:9 without encryption; set RUBBLE_CA"
    assert noted in out("ladder", "key", "spring", "mybot/v1", "--api", "arena.invalid:9", code=1)
    assert "without encryption" not in out("ladder", "key", "spring", "mybot/v1")


def test_nobody_waits_for_a_verdict_when_the_season_is_closed(
    arena: StandIn, out: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canned, "SEASON", canned.CLOSED)
    said = out("ladder", "verdict", "spring", "mybot/v3", "--wait", code=3)
    assert "The season is closed, so nothing more is played" in said


def test_a_list_of_matches_that_is_cut_says_so(arena: StandIn, out: Any) -> None:
    assert "there are more: --limit N" in out("ladder", "matches", "spring", "--limit", "1")
    assert "there are more" not in out("ladder", "matches", "spring", "--limit", "100")


@pytest.mark.parametrize("json_flag", [[], ["--json"]])
def test_a_replay_overwrites_no_file(arena: StandIn, out: Any, json_flag: list[str]) -> None:
    replay = ("ladder", "replay", "spring", "1f", "--out", "games/game.jsonl", *json_flag)
    out(*replay)
    Path("games/game.jsonl").write_text("mine")

    said = out(*replay, code=2)

    assert "--out: 'games/game.jsonl' is not possible; expected a file that does not exist yet" in said
    assert not json_flag or json.loads(said)["error"] == "BAD_INPUT"
    assert Path("games/game.jsonl").read_text() == "mine"
    assert "a file that can be written" in out(
        "ladder", "replay", "spring", "1f", "--out", "games/game.jsonl/x", code=2
    )


def test_the_state_of_a_season_is_one_of_four(arena: StandIn, out: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUBBLE_OPERATOR_TOKEN", OPERATOR)

    assert "expected one of open, closing, finals, closed" in out("ladder", "season", "move", "spring", "shut", code=2)
    assert "season 2 is closing" in out("ladder", "season", "move", "spring", "closing")


# ---------------------------------------------------------------------------------------------------------------------- verdicts
@pytest.mark.parametrize(
    ("build", "code"), [("mybot/better", 0), ("mybot/worse", 1), ("mybot/close", 3), ("mybot/v3", 3)]
)
def test_the_exit_code_of_a_verdict_is_the_verdict(arena: StandIn, out: Any, build: str, code: int) -> None:
    assert out("ladder", "verdict", "spring", build, code=code).strip() == canned.VERDICTS[build].sentence


def test_an_arena_that_is_away_is_no_verdict(arena: StandIn, out: Any) -> None:
    arena.refusal = (grpc.StatusCode.UNAVAILABLE, "BOOK_UNAVAILABLE", "the book is away", {})

    assert "the book is away" in out("ladder", "verdict", "spring", "mybot/better", code=2)


def test_waiting_goes_on_while_the_arena_is_away(capsys: pytest.CaptureFixture[str]) -> None:
    away = ServiceError("UNAVAILABLE", "away", is_passing=True)
    answers: list[Any] = [1, away, away, 2, 3]
    pauses: list[float] = []

    def ask() -> int:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return int(answer)

    assert ask_until(ask, lambda answer: answer == 3, str, pauses.append) == 3
    assert len(pauses) == 4
    assert capsys.readouterr().err.count("the arena is away") == 1


def test_waiting_ends_if_asking_again_cannot_help() -> None:
    def ask() -> int:
        if asked:
            raise ServiceError("NOT_FOUND", "gone", is_passing=False)
        asked.append(1)
        return 1

    asked: list[int] = []
    with pytest.raises(ServiceError):
        ask_until(ask, lambda answer: False, str, lambda _: None)


# ------------------------------------------------------------------------------------------------------------------------- views
@pytest.mark.parametrize("width", [40, 80, 140])
def test_a_plot_of_the_rating_fills_the_terminal(width: int) -> None:
    lines = plot(canned.history(), width)

    assert {line.cell_len for line in lines} == {width}
    assert "┤" in lines[1].plain or "┤" in lines[0].plain


def test_a_rating_that_never_changes_is_a_straight_line() -> None:
    points = canned.history(5)
    for point in points:
        point.elo, point.elo_half_width = 100.0, 0.0
    drawn = [line.plain for line in plot(points, 60)[:-2]]

    assert sum(1 for line in drawn if any("⠀" < letter <= "⣿" for letter in line)) == 1


def test_a_build_without_games_has_no_plot(arena: StandIn, out: Any) -> None:
    assert out("ladder", "history", "spring", "new/v1") == "new/v1 has no rated games yet\n"


def test_names_of_seats_are_missing_while_a_block_is_played(arena: StandIn, out: Any) -> None:
    said = out("ladder", "matches", "spring")

    assert "3 seats, no names yet" in said and "Names appear when the block is over." in said
    assert "3. greedy 26 (TIMEOUT)" in said


def test_flagged_pairs_show_the_rank_without_the_shared_tables(arena: StandIn, out: Any) -> None:
    said = out("ladder", "pairs", "spring", "--flagged")

    assert re.search(r"flagged +weathervane/0.9.1 +kraken/main-41 +\+0.143 +0.051 to 0.235 .* 4 → 6", said)
    assert arena.calls[0][1].flagged


def test_what_a_server_sends_cannot_control_the_terminal(
    arena: StandIn, out: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = ladder_pb2.LadderEvent(at_ms=canned.NOW, words="\x1b[2J[bold]hello[/]", build="a\x1b/b")
    monkeypatch.setattr(canned, "EVENTS", (event,))
    said = out("ladder", "events", "spring")

    assert "\x1b" not in said and "[bold]hello[/]" in said


@pytest.mark.parametrize(
    ("passed_ms", "words"),
    [(0, "0 s ago"), (59_999, "59 s ago"), (60_000, "1 min ago"), (3 * canned.HOUR, "3 h ago"),
     (47 * canned.HOUR, "47 h ago"), (50 * canned.HOUR, "2 days ago"), (-90 * canned.MINUTE, "in 1 h")],
)  # fmt: skip
def test_times_are_told_by_how_long_ago_they_are(passed_ms: int, words: str) -> None:
    assert ago(canned.NOW - passed_ms, canned.NOW) == words


def test_a_time_that_is_far_away_is_a_date() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", ago(canned.NOW - 61 * 24 * canned.HOUR, canned.NOW))
