"""``rubble replay list``, as a person or a script uses it."""

import json
import os
import random
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.app import run
from cli.export import write_files
from cli.replay_facts import Damaged, count_decisions, read_facts
from orchestrator.ladder_export import export
from service.sessions.replay import write_replay
from tests.orchestrator.ladder.closed_season import SeasonInABook
from tests.sessions.scripted_sessions import ScriptedSession

ROOT = Path(__file__).parents[2]
TOURNAMENT = "f3ea02cf86c2"


def save(path: Path, table: ScriptedSession) -> Path:
    """Write the session's replay into a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(write_replay(table.session, table.entries).encode())
    return path


def game(*bots: str, ranks: tuple[int, ...] = (), moves: int = 3, **changes: Any) -> ScriptedSession:
    """A game of these bots of a tournament, decided by these ranks after a few moves; without ranks it is not over."""
    names = tuple(f"{TOURNAMENT}.{bot}.0" for bot in bots)
    table = ScriptedSession("relief", len(bots), **({"bots": names} | changes))
    table.seat_all()
    table.play(moves)
    if ranks:
        table.adjudicate(*ranks)
    return table


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with four games of a tournament in runs/first."""
    monkeypatch.chdir(tmp_path)
    replays = tmp_path / "runs" / "first" / "replays"
    save(replays / "0000-mine-vs-greedy.jsonl", game("mine", "greedy", ranks=(1, 2), moves=9, created_ms=3_000_000))
    save(replays / "0001-greedy-vs-mine.jsonl", game("greedy", "mine", ranks=(1, 2), created_ms=5_000_000))
    resigned = game("mine", "greedy", moves=5, created_ms=4_000_000)
    resigned.resign(0)
    save(replays / "0002-mine-vs-greedy.jsonl", resigned)
    save(replays / "0003-greedy-vs-other.jsonl", game("greedy", "other", ranks=(1, 1), created_ms=6_000_000))
    return tmp_path


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(["replay", "list", *arguments])
    told = capsys.readouterr()
    return code, told.out, told.err


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    """The lines of --json."""
    code, out, err = asked(capsys, "--json", *arguments)
    assert (code, err) == (0, "")
    return [json.loads(line) for line in out.splitlines()]


def orders(found: list[dict[str, Any]]) -> list[int]:
    """The first number in the names of the files."""
    return [int(Path(each["file"]).name[:4]) for each in found]


# -------------------------------------------------------------------------------------------------------------- choosing
@pytest.mark.parametrize(
    ("options", "found"),
    [
        ([], [0, 1, 2, 3]),
        (["--bot", "mine"], [0, 1, 2]),
        (["--bot", "mine", "--won"], [0]),
        (["--bot", "greedy", "--won", "--sort", "file"], [1, 2, 3]),
        (["--bot", "other", "--won"], [3]),
        (["--bot", "other", "--lost"], []),
        (["--fault"], [2]),
        (["--bot", "mine", "--fault"], [2]),
        (["--bot", "greedy", "--fault"], []),
        (["--game", "relief", "--bot", "mine"], [0, 1, 2]),
        (["--sort", "date"], [3, 1, 2, 0]),
        (["--sort", "decisions"], [0, 2, 1, 3]),
        (["--sort", "date", "--limit", "2"], [3, 1]),
        (["--limit", "0"], [0, 1, 2, 3]),
        (["--sort", "file"], [0, 1, 2, 3]),
    ],
)
def test_options_choose_and_sort(
    capsys: pytest.CaptureFixture[str], here: Path, options: list[str], found: list[int]
) -> None:
    assert orders(listed(capsys, *options)) == found


def _rank(facts: dict[str, Any], bot: str) -> int:
    return min(int(player["rank"]) for player in facts["players"] if player["bot"] == bot)


def test_lost_games_are_sorted_from_the_worst_to_the_best_and_won_games_the_other_way(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """By rank, and then by the points behind the winner, or ahead of the second. A seat that resigned may have most points."""
    for number in range(16):
        table = ScriptedSession(
            "relief", 3, number, bots=tuple(f"{TOURNAMENT}.{bot}.0" for bot in ("a", "mine", "b")), created_ms=number
        )
        table.seat_all()
        if number % 2:
            table.play(100)
            table.resign(2)
        save(tmp_path / f"{number:04d}.jsonl", table.finish())

    def margin(facts: dict[str, Any]) -> tuple[int, int]:
        scores = {player["bot"]: player["score"] for player in facts["players"]}
        rank = _rank(facts, "mine")
        rivals = [player for player in facts["players"] if player["bot"] != "mine"]
        best = max(player["score"] for player in rivals if rank == 1 or player["rank"] == 1)
        return rank, scores["mine"] - best

    everything = listed(capsys, str(tmp_path))
    lost = [margin(facts) for facts in listed(capsys, str(tmp_path), "--bot", "mine", "--lost")]
    won = [margin(facts) for facts in listed(capsys, str(tmp_path), "--bot", "mine", "--won")]
    assert lost == sorted(
        (margin(facts) for facts in everything if margin(facts)[0] > 1), key=lambda each: (-each[0], each[1])
    )
    assert won == sorted((margin(facts) for facts in everything if margin(facts)[0] == 1), key=lambda each: -each[1])
    assert len({rank for rank, _ in lost}) == 2
    assert len(set(lost)) > 5
    assert len(won) > 1
    by_worst = [margin(facts) for facts in listed(capsys, str(tmp_path), "--bot", "mine", "--sort", "worst")]
    assert by_worst == lost + won[::-1]
    by_best = [margin(facts) for facts in listed(capsys, str(tmp_path), "--bot", "mine", "--sort", "best")]
    assert by_best == by_worst[::-1]


@pytest.mark.parametrize(
    "arena", ["mine.0", "mine.copy2.13", "mine", "mine.0123456789abcdef"], ids=["local", "copy", "remote", "isolated"]
)
def test_a_bot_is_found_by_its_name_in_the_roster_however_it_was_started(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arena: str
) -> None:
    save(tmp_path / "a.jsonl", game("x", "y", ranks=(1, 2), bots=(f"{TOURNAMENT}.{arena}", f"{TOURNAMENT}.minetoo.0")))

    (found,) = listed(capsys, str(tmp_path), "--bot", "mine")

    assert [player["bot"] for player in found["players"]] == ["mine", "minetoo"]
    assert len(listed(capsys, str(tmp_path), "--bot", f"{TOURNAMENT}.{arena}")) == 1, "the name in the file works too"


def test_a_remote_bot_whose_name_ends_in_a_number_is_found(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    save(tmp_path / "a.jsonl", game("x", "y", ranks=(1, 2), bots=(f"{TOURNAMENT}.mine-v1.2", f"{TOURNAMENT}.b.0")))

    assert len(listed(capsys, str(tmp_path), "--bot", "mine-v1.2")) == 1


def test_the_best_of_several_copies_counts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bots = (f"{TOURNAMENT}.mine.0", f"{TOURNAMENT}.mine.copy2.0")
    save(tmp_path / "a.jsonl", game("x", "y", ranks=(2, 1), bots=bots))

    assert len(listed(capsys, str(tmp_path), "--bot", "mine", "--won")) == 1
    assert listed(capsys, str(tmp_path), "--bot", "mine", "--lost") == []


# --------------------------------------------------------------------------------------------------------------- finding
def test_without_a_folder_the_usual_ones_are_searched(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    save(here / ".rubble/play/relief/replays/0004-x.jsonl", game("a", "b", ranks=(1, 2)))
    save(here / "replays/0005-x.jsonl", game("a", "b", ranks=(1, 2)))
    save(here / "elsewhere/replays/0006-x.jsonl", game("a", "b", ranks=(1, 2)))

    assert orders(listed(capsys)) == [4, 0, 1, 2, 3, 5]


def test_folders_named_replays_are_found_and_other_files_are_left_alone(
    capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    run_folder = here / "runs" / "first"
    (run_folder / "results.jsonl").write_text("no replay\n")
    (run_folder / "replays" / ".0009-x.jsonl.part").write_text("half")
    (run_folder / "replays" / ".0009-x.jsonl").write_text("half")
    (run_folder / "replays" / "notes.txt").write_text("mine")
    save(here / "runs/a/b/c/replays/0007-x.jsonl", game("a", "b", ranks=(1, 2)))
    save(here / "runs/a/b/c/d/replays/0008-x.jsonl", game("a", "b", ranks=(1, 2)))
    save(here / "runs/.hidden/replays/0009-x.jsonl", game("a", "b", ranks=(1, 2)))

    assert orders(listed(capsys, "runs")) == [7, 0, 1, 2, 3], "four levels, and no hidden folders"


def test_folders_and_files_are_listed_once_in_the_given_order(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    file = "runs/first/replays/0002-mine-vs-greedy.jsonl"

    assert orders(listed(capsys, file, "runs/first", "runs", str(here / file))) == [2, 0, 1, 3]
    os.chdir("runs/first/replays")
    assert orders(listed(capsys, ".")) == [0, 1, 2, 3]


# ------------------------------------------------------------------------------------------------------------- the lines
def test_a_line_of_json_has_exactly_these_keys(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    found = listed(capsys)[2]

    players = found.pop("players")
    assert found == {
        "file": "runs/first/replays/0002-mine-vs-greedy.jsonl",
        "game": "relief",
        "version": 1,
        "session": "relief-1",
        "created_ms": 4_000_000,
        "status": "FINISHED",
        "ending": "FORFEIT",
        "decisions": 5,
    }
    assert [list(player) for player in players] == [["seat", "bot", "name", "rank", "score", "fault"]] * 2
    assert [(player["bot"], player["rank"], player["fault"]) for player in players] == [
        ("mine", 2, "RESIGNED"),
        ("greedy", 1, ""),
    ]
    assert players[0]["name"] == f"{TOURNAMENT}.mine.0"


def test_a_game_without_a_result_has_players_without_ranks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    save(tmp_path / "0.jsonl", game("mine", "b", moves=4))
    cancelled = game("mine", "b")
    cancelled.wrote(cancelled.session.cancel("the operator", cancelled.now))
    save(tmp_path / "1.jsonl", cancelled)

    running, ended = listed(capsys, str(tmp_path), "--bot", "mine")

    assert (running["status"], running["ending"], running["decisions"]) == ("", "", 4)
    assert (ended["status"], ended["ending"]) == ("CANCELLED", "CANCELLED")
    for found in (running, ended):
        assert [(player["rank"], player["score"]) for player in found["players"]] == [(None, None)] * 2
    assert listed(capsys, str(tmp_path), "--bot", "mine", "--lost") == []
    assert listed(capsys, str(tmp_path), "--bot", "mine", "--won") == []
    out = asked(capsys, str(tmp_path))[1]
    assert "not over" in out


def test_a_player_without_a_seat_is_listed_and_is_no_bot(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table = ScriptedSession("sf1906-2e", 1, bots=(f"{TOURNAMENT}.mine.0",))
    save(tmp_path / "0.jsonl", table.finish())

    (found,) = listed(capsys, str(tmp_path))

    assert [(player["seat"], player["bot"]) for player in found["players"]] == [
        (0, "mine"),
        (None, "Committee of Fifty"),
    ]
    code, _, err = asked(capsys, str(tmp_path), "--bot", "Committee of Fifty")
    assert (code, "expected one of mine" in err) == (2, True)


# --------------------------------------------------------------------------------------------------------------- sources
def test_the_replays_of_a_season_are_listed_with_the_names_of_its_builds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    season = SeasonInABook(tmp_path)
    season.draw()
    season.close()
    write_files(export(season.book, season.season), tmp_path / "spring-1")

    found = listed(capsys, str(tmp_path / "spring-1"))

    assert len(found) == len(list((tmp_path / "spring-1" / "replays").iterdir()))
    seated = {player["bot"] for facts in found for player in facts["players"]}
    assert seated >= {"ada/one", "low", "high"}
    assert seated <= set(season.spec.entrants)
    lost = listed(capsys, str(tmp_path / "spring-1"), "--bot", "eve/one", "--lost")
    assert lost and all(_rank(facts, "eve/one") == 2 for facts in lost)


def test_the_replays_of_rubble_play_name_the_person_you(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bots = ("greedy-0-1a2b", "", "mcts-2-1a2b")
    save(tmp_path / "0.jsonl", game(*"xyz", ranks=(1, 2, 3), id="play-relief-0123abcd", bots=bots))

    (found,) = listed(capsys, str(tmp_path), "--bot", "you", "--lost")

    assert [player["bot"] for player in found["players"]] == ["greedy", "you", "mcts"]


# ---------------------------------------------------------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("arguments", "value", "expected"),
    [
        (["nowhere"], "'nowhere'", "a folder with replays, or a replay file, that exists"),
        (["runs", "--lost"], "--lost", "--bot mine --lost"),
        (["runs", "--won"], "--won", "--bot mine --won"),
        (["runs", "--bot", "mine", "--lost", "--won"], "--lost --won", "one of the two"),
        (["runs", "--bot", "mien"], "'mien'", "one of greedy, mine, other"),
        (["runs", "--bot", "\x1b[2J"], "\ufffd[2J", "one of greedy, mine, other"),
        (["runs", "--game", "chess"], "'chess'", "one of relief"),
        (["runs", "--sort", "size"], "'size'", "one of file, date, worst, best, decisions"),
        (["runs", "--sort", "worst"], "'worst'", "--bot mine --sort worst"),
        (["runs", "--limit", "-1"], "'-1'", "a whole number from 0"),
        (["runs", "--loud"], "--loud", "--limit"),
    ],
)
def test_wrong_usage_gets_one_line_and_code_2(
    capsys: pytest.CaptureFixture[str], here: Path, arguments: list[str], value: str, expected: str
) -> None:
    code, out, err = asked(capsys, *arguments)

    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert value in err
    assert expected in err


def test_a_folder_without_replays_gets_one_line_and_code_1(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    for arguments, place in ((["empty"], "empty"), ([], ".rubble, runs, replays")):
        code, out, err = asked(capsys, *arguments)
        assert (code, out, len(err.splitlines())) == (1, "", 1)
        assert f"no replays (*.jsonl) in {place}" in err
        assert "rubble run" in err


def test_no_match_is_no_failure(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    code, out, err = asked(capsys, "--bot", "other", "--lost")

    assert (code, err) == (0, "")
    assert "No game matches; 4 replays were read." in out


def damage(folder: Path, good: bytes) -> dict[str, str]:
    """Write damaged files; returns what is said about each."""
    lines = good.splitlines(keepends=True)
    header = json.loads(lines[0])
    outcome = json.loads(lines[-2])
    contents = {
        "a": (b"", "the file is empty"),
        "b": (b"hello\n", "its first line is not the header of a replay"),
        "c": (good[:-20], "it was cut: its last line is incomplete"),
        "d": (b"".join(lines[:-2]) + b"{}\n", "its last lines are not an outcome and the seeds"),
        "e": (lines[0] + lines[-1], "its last lines are not an outcome and the seeds"),
        "f": (json.dumps(header | {"format": 9}).encode() + b"\n", "a replay of format 9; this version reads format 1"),
        "g": (json.dumps(header | {"seats": 4}).encode() + b"\n", "its header has 4 seats and 2 bots"),
        "h": (lines[0] + json.dumps(outcome | {"ranks": [1]}).encode() + b"\n", "its outcome does not have a fault"),
        "i": (lines[0] + b'{"a":' + b"[" * 100_000 + b"\n", "its last lines are not an outcome and the seeds"),
        "j": (b"\xff\xfe\n", "its first line is not the header of a replay"),
    }
    for name, (content, _) in contents.items():
        (folder / f"{name}.jsonl").write_bytes(content)
    os.mkfifo(folder / "k.jsonl")
    (folder / "l.jsonl").mkdir()
    with (folder / "m.jsonl").open("wb") as file:
        file.truncate(64 * 2**20 + 1)
    (folder / "n.jsonl").symlink_to("nowhere")
    others = {
        "k": "it is not a regular file",
        "l": "it is not a regular file",
        "m": "it is larger than 64 MiB",
        "n": "it cannot be read (No such file or directory)",
    }
    return {name: problem for name, (_, problem) in contents.items()} | others


def test_damaged_files_are_named_with_the_reason_and_left_out(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    replays = here / "runs/first/replays"
    damaged = damage(replays, (replays / "0000-mine-vs-greedy.jsonl").read_bytes())

    code, out, err = asked(capsys, "runs")
    assert code == 0
    assert "4 games of 4 replays." in out
    assert f"{len(damaged)} damaged files are left out:" in err
    for name, problem in damaged.items():
        assert f"  runs/first/replays/{name}.jsonl: {problem}" in err
    found = listed(capsys, "runs")
    assert orders(found[:4]) == [0, 1, 2, 3]
    assert {Path(each["file"]).stem: list(each) for each in found[4:]} == {
        name: ["file", "damaged"] for name in damaged
    }
    for each in found[4:]:
        assert each["damaged"].startswith(damaged[Path(each["file"]).stem])


def test_a_folder_with_nothing_but_damaged_files_ends_with_1(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for number in range(25):
        (tmp_path / f"{number}.jsonl").write_text("hello\n")

    code, out, err = asked(capsys, str(tmp_path))
    assert (code, out) == (1, "")
    assert "25 damaged files are left out:" in err
    assert "and 5 more; --json names all" in err
    code, out, _ = asked(capsys, str(tmp_path), "--json")
    assert (code, len(out.splitlines())) == (1, 25)


def test_no_damage_causes_another_error(tmp_path: Path) -> None:
    chance = random.Random(1906)
    good = save(tmp_path / "good.jsonl", game("mine", "b", ranks=(1, 2))).read_bytes()
    lines = good.splitlines(keepends=True)
    file = tmp_path / "bad.jsonl"
    readable = 0
    for _ in range(1500):
        content = bytearray(lines[0] + b"".join(lines[-2:]) if chance.random() < 0.7 else good)
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(content))
            change = chance.randrange(3)
            if change == 0:
                content[at] = chance.choice(b'"{}[],:0919ae\n\x00\xff-')
            elif change == 1:
                del content[at : at + chance.randrange(1, 60)]
            else:
                content[at:at] = content[chance.randrange(len(content)) :][: chance.randrange(1, 60)]
        file.write_bytes(content)
        try:
            facts = read_facts(str(file))
        except Damaged as error:
            assert str(error)
        else:
            readable += 1
            assert len([player for player in facts.players if player.seat is not None]) == 2
    assert readable > 50


def test_names_in_files_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    hostile = "\x1b[2J\u202e[bold]x[/]\n"
    name = b"\xff\x1b[31m.jsonl"
    save(tmp_path / "0.jsonl", game("x", "y", ranks=(1, 2), bots=(hostile, "b"), id=hostile))
    os.rename(tmp_path / "0.jsonl", os.path.join(os.fsencode(tmp_path), name))

    code, out, err = asked(capsys, str(tmp_path))

    assert (code, err) == (0, "")
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", out)
    assert "[bold]x[/]" in out, "a name, not a style"
    (found,) = listed(capsys, str(tmp_path))
    assert os.fsencode(found["file"]) == os.path.join(os.fsencode(tmp_path), name)


# ---------------------------------------------------------------------------------------------------------------- tables
@pytest.mark.parametrize("width", [60, 80, 100, 140, 200])
def test_no_line_is_wider_than_the_terminal_and_every_file_is_shown_whole(
    capsys: pytest.CaptureFixture[str], here: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    files = [each["file"] for each in listed(capsys)]

    _, out, _ = asked(capsys)

    games, _, rest = out.partition("\n\n")
    assert max(map(len, games.splitlines())) <= width
    for file in files:
        assert file in games
    assert re.search("1 greedy [0-9]+ · 2 mine -?[0-9]+ RESIGNED", games)
    assert "4 games of 4 replays." in rest


def test_only_the_first_fifty_games_are_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first = save(tmp_path / "000.jsonl", game("mine", "b", ranks=(1, 2)))
    for number in range(1, 60):
        os.link(first, tmp_path / f"{number:03d}.jsonl")

    _, out, _ = asked(capsys, str(tmp_path))
    assert "The first 50 of 60 games; --limit 0 lists all." in out
    assert ("049.jsonl" in out, "050.jsonl" in out) == (True, False)
    assert "059.jsonl" in asked(capsys, str(tmp_path), "--limit", "0")[1]
    assert len(listed(capsys, str(tmp_path))) == 60


def test_the_command_below_the_table_steps_through_the_first_game_from_the_seat_of_the_bot(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    save(tmp_path / "a b" / "0.jsonl", game("greedy", "mine", ranks=(1, 2)))
    _, out, _ = asked(capsys, str(tmp_path / "a b"), "--bot", "mine", "--lost")
    (command,) = [line.partition(": ")[2] for line in out.splitlines() if line.startswith("Step through the first")]

    assert shlex.split(command)[1:] == ["replay", "show", str(tmp_path / "a b" / "0.jsonl"), "--viewer", "1"]
    assert run(shlex.split(command)[1:]) == 0


def test_the_help_says_what_the_exit_codes_mean(capsys: pytest.CaptureFixture[str]) -> None:
    out = asked(capsys, "--help")[1]

    assert "$ rubble replay list runs/first --bot mine --lost" in out
    assert "Exit code 0: done, also if no game matches. 1: there is no replay file" in " ".join(out.split())


# ----------------------------------------------------------------------------------------------------------------- speed
def _bytes_read() -> int:
    """How many bytes this process has read from files."""
    found = re.search(r"^rchar: ([0-9]+)$", Path("/proc/self/io").read_text(), re.MULTILINE)
    assert found
    return int(found[1])


def test_only_the_beginning_and_the_end_of_a_file_are_read(tmp_path: Path) -> None:
    good = save(tmp_path / "0.jsonl", game("mine", "b", ranks=(1, 2)))
    lines = good.read_bytes().splitlines(keepends=True)
    good.write_bytes(lines[0] + lines[3] * 20_000 + b"".join(lines[4:]))
    assert good.stat().st_size > 4_000_000
    before = _bytes_read()

    facts = read_facts(str(good))

    assert _bytes_read() - before < 50_000
    assert [player.rank for player in facts.players] == [1, 2]
    assert count_decisions(str(good)) == 20_002


def test_a_long_outcome_is_read_whole(tmp_path: Path) -> None:
    good = save(tmp_path / "0.jsonl", game("mine", "b", ranks=(1, 2)))
    lines = good.read_text().splitlines(keepends=True)
    outcome = json.loads(lines[-2])
    outcome["sheet"][0]["lines"] = [[f"line {number}", 1] for number in range(20_000)]
    lines[-2] = json.dumps(outcome) + "\n"
    good.write_text("".join(lines))

    assert [player.rank for player in read_facts(str(good)).players] == [1, 2]


def test_a_reader_that_stops_early_is_no_error(here: Path) -> None:
    command = f"{shlex.quote(sys.executable)} -m cli.main replay list {shlex.quote(str(here))} --json | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)

    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""
