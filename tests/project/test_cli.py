"""The command line, as a person or a script uses it."""

import json
import os
import re
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from cli.app import run
from service.games import all_games
from tests.harness.processes import HOME, RUBBLE, check_output, clean_env, run_command

#: For a process whose standard error is read: no line about outdated compiled rules.
QUIET = os.environ | {"RUBBLE_PURE": "1"}
SIMULATE = ["simulate", "--game", "relief", "--players", "2", "--games", "3", "--seed", "5", "--json"]


def json_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run(arguments) == 0
    return json.loads(capsys.readouterr().out)


def output_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(arguments) == 0
    return capsys.readouterr().out


# ------------------------------------------------------------------------------------------------------- good input


def test_games_are_listed_with_exactly_these_keys(capsys: pytest.CaptureFixture[str]) -> None:
    listed = json_of(capsys, "games", "--json")

    assert [game["id"] for game in listed] == list(all_games())
    for game in listed:
        assert list(game) == ["id", "title", "seats", "options"]
        assert game["seats"] == [all_games()[game["id"]].seats[0], all_games()[game["id"]].seats[-1]]
        for option in game["options"]:
            assert set(option) in ({"name", "default", "choices", "about"}, {"name", "default", "range", "about"})


def test_games_have_a_page_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    page = output_of(capsys, "games")

    for game in all_games().values():
        assert game.id in page
        assert game.title in page


def test_one_game_is_shown_with_the_notation_of_its_actions(capsys: pytest.CaptureFixture[str]) -> None:
    for game in all_games().values():
        page = output_of(capsys, "games", "--game", game.id)
        assert game.title in page
        assert all(notation in page for notation, _ in game.notation)
        (told,) = json_of(capsys, "games", "--game", game.id, "--json")
        assert [entry["notation"] for entry in told["notation"]] == [notation for notation, _ in game.notation]

    assert run(["games", "--game", "chess"]) == 2
    assert "expected" in capsys.readouterr().err


def test_a_simulation_reports_exactly_these_keys(capsys: pytest.CaptureFixture[str]) -> None:
    report = json_of(capsys, *SIMULATE, "--policy", "greedy", "--policy", "random")

    assert list(report) == [
        "game", "players", "games", "seed", "policies", "decisions",
        "mean_scores", "wins_by_seat", "endings", "digest", "seconds",
    ]  # fmt: skip
    assert (report["game"], report["players"], report["games"], report["seed"]) == ("relief", 2, 3, 5)
    assert report["policies"] == ["greedy", "random"]
    assert len(report["mean_scores"]) == 2
    assert sum(report["endings"].values()) == 3


def test_wins_and_shares_of_wins_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    report = json_of(capsys, *SIMULATE)

    assert sum(report["wins_by_seat"]) == pytest.approx(3)


def test_one_policy_stands_for_all_seats(capsys: pytest.CaptureFixture[str]) -> None:
    once = json_of(capsys, *SIMULATE, "--policy", "greedy")
    repeated = json_of(capsys, *SIMULATE, "--policy", "greedy", "--policy", "greedy")

    assert once["policies"] == ["greedy", "greedy"]
    assert once["digest"] == repeated["digest"]


def test_equal_arguments_give_equal_digests_in_any_process(capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = check_output(*RUBBLE, *SIMULATE, env=clean_env(PYTHONHASHSEED="1906"))

    assert json.loads(elsewhere)["digest"] == json_of(capsys, *SIMULATE)["digest"]


@pytest.mark.parametrize("other", [["--seed", "6"], ["--games", "4"], ["--policy", "greedy"], ["--players", "3"]])
def test_other_arguments_give_another_digest(capsys: pytest.CaptureFixture[str], other: list[str]) -> None:
    assert json_of(capsys, *SIMULATE)["digest"] != json_of(capsys, *SIMULATE, *other)["digest"]


def test_options_reach_the_game(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["simulate", "--game", "sf1906-2e", "--players", "2", "--games", "2", "--json"]
    plain = json_of(capsys, *arguments)

    assert json_of(capsys, *arguments, "--option", "map=pairs")["digest"] == plain["digest"]
    assert json_of(capsys, *arguments, "--option", "map=free")["digest"] != plain["digest"]


def test_an_option_that_is_a_number_is_read_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["simulate", "--game", "sf1906-2e", "--players", "1", "--games", "1", "--json"]

    assert json_of(capsys, *arguments, "--option", "solo_blocked=4")["players"] == 1


@pytest.mark.parametrize("game", list(all_games()))
@pytest.mark.parametrize("policy", ["random", "greedy"])
def test_every_game_has_a_page_of_results(capsys: pytest.CaptureFixture[str], game: str, policy: str) -> None:
    page = output_of(capsys, "simulate", "--game", game, "--games", "1", "--policy", policy)

    assert all_games()[game].title in page
    assert "digest: " in page


@pytest.mark.parametrize("game", list(all_games()))
@pytest.mark.parametrize("plies", ["0", "2", "30", "100000"])
@pytest.mark.parametrize("viewer", ["spectator", "0"])
def test_every_table_can_be_drawn(capsys: pytest.CaptureFixture[str], game: str, plies: str, viewer: str) -> None:
    page = output_of(capsys, "show", "--game", game, "--plies", plies, "--viewer", viewer)

    if plies != "30":  # a short game is over by then, a long one is not
        assert ("rank" in page) == (plies == "100000")
    assert ("to act: seat" in page) != ("rank" in page)
    assert ("  The game is over" in page) == ("rank" in page)
    assert bool(re.search("· .* (wins|share the win) ", page)) == ("rank" in page)


@pytest.mark.parametrize("game", list(all_games()))
@pytest.mark.parametrize("columns", [80, 140])
def test_no_line_of_a_table_and_its_sentences_is_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], game: str, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    seats = str(all_games()[game].seats[-1])
    for plies in ("0", "40", "100000"):
        page = output_of(capsys, "show", "--game", game, "--players", seats, "--plies", plies, "--viewer", "0")
        assert [line for line in page.splitlines() if cell_len(line) > columns] == []


def test_actions_and_answers_are_sentences_with_their_notation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    page = output_of(
        capsys, "show", "--game", "sf1906-2e", "--players", "1", "--plies", "2", "--viewer", "0", "--seed", "4"
    )
    log, answers = page.split("last actions\n")[1].split("legal actions\n")

    earned, permit, *events = log.splitlines()[:5]
    assert re.fullmatch(r"  Orange moves to the \$\d earnings space, .*  earn \d", earned)
    assert re.fullmatch(r"  Orange takes permit P\d\d \(.*\) from the row  permit \d", permit)
    assert any(event.startswith("  · The Committee moves to the ") for event in events)
    offered = [re.fullmatch(r"  [A-Z].+  (place \d .+)", line) for line in answers.splitlines()]
    assert len(offered) > 3
    assert all(offered)


def test_a_secret_choice_is_told_to_its_own_seat_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """Seat 0 has placed its first leader, and others still choose."""
    arguments = ("show", "--game", "relief", "--players", "2", "--plies", "1", "--viewer")

    assert "last actions\n  Seat 0 places a leader on " in output_of(capsys, *arguments, "0")
    for viewer in ("1", "spectator"):
        assert "last actions" not in output_of(capsys, *arguments, viewer)


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert output_of(capsys, "--version").startswith("rubble 0.")


def test_every_column_of_a_score_sheet_keeps_the_order_of_its_own_sheet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The cards of the second player are listed with the cards, not below the money."""
    page = output_of(capsys, "show", "--game", "sf1906-2e", "--players", "3", "--plies", "100000")
    rows = [line.split("│")[0] for line in page.splitlines() if "│" in line]
    kinds = [row.split()[0] for row in rows]

    assert kinds.count("own") >= 3  # every player was dealt one
    assert kinds == sorted(
        kinds, key=["common", "own", "Best", "development", "urbanism", "money", "score", "rank"].index
    )


@pytest.mark.parametrize("command", [[], ["--help"], ["games", "--help"], ["simulate", "-h"], ["show", "--help"]])
def test_help_has_examples(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    assert "$ rubble " in output_of(capsys, *command)


# ------------------------------------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("arguments", "value", "expected"),
    [
        (["sing"], "'sing'", "show, simulate"),
        (["games", "--loud"], "--loud", "--json"),
        (["simulate"], "--game is missing", ", ".join(all_games())),
        (["simulate", "--game", "chess"], "'chess'", ", ".join(all_games())),
        (["simulate", "--game", "relief", "--players", "4"], "'4'", "from 2 to 3"),
        (["simulate", "--game", "relief", "--players", "two"], "'two'", "from 2 to 3"),
        (["simulate", "--game", "relief", "--games", "0"], "'0'", "from 1 to"),
        (["simulate", "--game", "relief", "--seed", "-1"], "'-1'", "from 0 to"),
        (["simulate", "--game", "relief", "--seed", "9" * 40], "'9999", "from 0 to"),
        (["simulate", "--game", "relief", "--policy", "clever"], "'clever'", "random, greedy"),
        (["simulate", "--game", "relief", "--policy", "greedy", "--policy", "random"], "'greedy random'", "or 3"),
        (["simulate", "--game", "relief", "--option", "objectives"], "'objectives'", "NAME=VALUE"),
        (["simulate", "--game", "relief", "--option", "objectives=some"], "'some'", "'all', 'own'"),
        (["simulate", "--game", "relief", "--option", "luck=1"], "'luck'", "end_on_discard, objectives"),
        (["simulate", "--game", "relief", "--option", "objectives=all", "--option", "objectives=own"], "=own", "once"),
        (["show", "--game", "relief", "--viewer", "3"], "'3'", "spectator, or a seat from 0 to 2"),
        (["show", "--game", "relief", "--viewer", "all"], "'all'", "spectator, or a seat from 0 to 2"),
        (["show", "--game", "relief", "--plies", "-1"], "'-1'", "from 0 to"),
        (["show", "relief"], "relief", "--game"),
    ],
)
def test_bad_input_gets_one_line_and_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], value: str, expected: str
) -> None:
    code = run(arguments)
    told = capsys.readouterr()

    assert code == 2
    assert told.out == ""
    assert len(told.err.splitlines()) == 1
    assert value in told.err
    assert expected in told.err


def test_ctrl_c_ends_with_130_and_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)  # an alarm that does what Ctrl-C does
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        code = run(["simulate", "--game", "relief", "--games", "1000000000"])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert code == 130
    assert "Traceback" not in capsys.readouterr().err


def test_a_closed_pipe_is_not_reported_as_an_error() -> None:
    process = subprocess.Popen([*RUBBLE, "games"], cwd=HOME, env=QUIET, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()

    assert process.wait(timeout=30) == 1
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_reported_in_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*RUBBLE, "games"], cwd=HOME, env=QUIET, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )

    assert done.returncode == 1
    assert done.stderr.startswith("rubble: the output could not be written")
    assert len(done.stderr.splitlines()) == 1


def test_a_terminal_that_lacks_letters_still_gets_its_tables() -> None:
    done = run_command(*RUBBLE, "games", env=clean_env(PYTHONIOENCODING="ascii"))

    assert done.returncode == 0
    assert "relief" in done.stdout


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "was stopped before its tournament was planned"),
        (b"no book" * 1000, "file is not a database"),
    ],
)
def test_a_folder_without_a_tournament_cannot_be_resumed(
    content: bytes, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message does not suggest that it could be."""
    (tmp_path / "book.sqlite").write_bytes(content)
    assert run(["run", "--resume", str(tmp_path)]) == 2
    complained = capsys.readouterr().err
    assert told in complained
    assert "continues" not in complained
    assert len(complained.splitlines()) == 1


def test_a_missing_argument_is_not_reported_as_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", "show"]) == 2
    assert capsys.readouterr().err == "rubble: Missing argument 'FILE' (see rubble replay show --help)\n"
    assert run(["games", "--jsn"]) == 2
    assert "expected one of --game, --json" in capsys.readouterr().err


@pytest.mark.parametrize("processes", ["1", "2"])
def test_an_address_that_cannot_be_listened_on_is_reported_in_one_line(processes: str, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        arguments = ["serve", "--listen", address, "--state-dir", str(tmp_path), "--processes", processes]
        done = run_command(*RUBBLE, *arguments)
    assert done.returncode == 1, done.stderr
    told = done.stderr.splitlines()[-1]  # gRPC may have printed its own lines before
    assert told.startswith(f"cannot listen on {address}: ")
    assert "Traceback" not in done.stderr


def test_a_roster_may_begin_with_a_byte_order_mark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["roster", "new", "-"]) == 0
    file = tmp_path / "roster.toml"
    file.write_text("\ufeff" + capsys.readouterr().out, encoding="utf-8")
    assert run(["roster", "check", str(file)]) == 0


# ----------------------------------------------------------------------------------------------------------- estimates
def test_the_expected_time_of_a_roster_does_not_depend_on_its_clocks(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Longer clocks change the longest time, not the expected one."""
    roster = tmp_path / "roster.toml"
    bots = "".join(f'[[bots]]\nname = "{name}"\nbundled = "{name}"\n' for name in ("greedy", "random"))
    told = []
    for move_ms in (1_000, 60_000):
        roster.write_text(
            f'name = "pace"\ngame = "relief"\nplayers = 2\ndeals = 10\ntime_control = {{ move_ms = {move_ms} }}\n{bots}'
        )
        told.append(json_of(capsys, "roster", "check", str(roster), "--json")["plan"])
    page = " ".join(output_of(capsys, "roster", "check", str(roster)).split())

    quick, slow = told
    assert quick["seconds_expected"] == slow["seconds_expected"] < 60
    assert quick["seconds_at_full_move_time"] < slow["seconds_at_full_move_time"]
    assert "seconds with bots as fast as the bundled ones; at most " in page
    assert " if every clock runs out, one match after the other" in page


def test_the_longest_time_of_a_roster_includes_increments_and_seating(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    roster = tmp_path / "roster.toml"
    bots = "".join(f'[[bots]]\nname = "{name}"\nbundled = "{name}"\n' for name in ("greedy", "random"))
    told = []
    for more in ("", ", increment_ms = 1000", ", seating_ms = 600000"):
        control = f"{{ move_ms = 1000, bank_ms = 0{more} }}"
        roster.write_text(f'name = "pace"\ngame = "relief"\nplayers = 2\ndeals = 1\ntime_control = {control}\n{bots}')
        told.append(json_of(capsys, "roster", "check", str(roster), "--json")["plan"]["seconds_at_full_move_time"])
    plain, increment, seating = told
    assert plain < increment and plain < seating
