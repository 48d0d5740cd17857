"""``rubble play``, with scripted input."""

import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from cli.app import run
from rubble.v1 import session_pb2
from service.sessions.entries import Acted
from service.sessions.replay import read_replay
from service.sessions.replay_verify import verify_replay
from tests.harness.bot_processes import BotArena, bot_env
from tests.harness.processes import HOME, RUBBLE, run_command
from tests.harness.waiting import PATIENCE_S, wait_for


def play(folder: Path, *arguments: str, said: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Runs ``rubble play`` with the given input."""
    env = bot_env(settings, TMPDIR=str(folder))
    return run_command(*RUBBLE, "play", *arguments, "--replays", folder / "replays", said=said, env=env)


def left_behind(folder: Path) -> list[str]:
    """Returns files and processes that should be gone."""
    files = [str(path) for path in folder.glob("rubble-play-*")]
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = process.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it ended meanwhile
        if f"{folder}/rubble-play-" in command:
            files.append(command)
    return files


def sentences_of(out: str) -> str:
    """Returns the output with its wrapped lines joined."""
    return " ".join(out.split())


def actions_of(folder: Path) -> list[str]:
    """Returns the answers in the only replay below a folder."""
    (replay,) = (folder / "replays").iterdir()
    return [entry.action for entry in read_replay(replay.read_text()).entries if isinstance(entry, Acted)]


SOLO = ("--game", "sf1906-2e", "--players", "1", "--seed", "3")


@pytest.fixture(scope="module")
def solo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[subprocess.CompletedProcess[str], Path]]:
    """A whole game on a terminal of 80 columns, with a few wrong answers, and its folder."""
    folder = tmp_path_factory.mktemp("solo")
    said = "\nearn 9\n99\n0\nplace 1 act\n?\nv\nearn 4\n" + "3\n2\n1\n" * 300  # 3 and 2 are refused where there is less
    yield play(folder, *SOLO, said=said, COLUMNS="80"), folder


def test_a_whole_solo_game_through_a_pipe(solo: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    played, folder = solo
    assert played.returncode == 0, played.stderr
    assert played.stderr == ""
    out = played.stdout
    assert "you have seat 0 (orange)." in out
    first = out.split("place 1 act", maxsplit=1)[0]
    assert first.count("There are 2 actions; type a number from 1 to 2.") == 2
    assert "Expected" in out  # earn 9 is not an action
    assert "Not now: " in out  # placing a pawn comes later
    assert "place the pawn on the pass space and do nothing" in sentences_of(out)
    assert "Resign this game?" not in out
    assert "You are orange: rank " in out
    told = sentences_of(out)
    assert re.search(
        r" The game is over · (Orange \(you\)|The Committee of Fifty) wins with \d+ points, and (Orange|the Com)", told
    )
    (replay,) = (folder / "replays").iterdir()
    assert str(replay) in out
    assert verify_replay(replay.read_text()).ok
    assert left_behind(folder) == []


def test_a_game_is_told_in_sentences_that_fit_80_columns(
    solo: tuple[subprocess.CompletedProcess[str], Path],
) -> None:
    out = solo[0].stdout
    lines = [line for line in out.splitlines() if "/replays/" not in line]  # the folder has a long name
    assert [line for line in lines if cell_len(line) > 80] == []
    assert re.search(r"^ 1  Move to the \$4 earnings space, .* earn 4$", out, re.MULTILINE)
    assert re.search(r"^ 2  Move to the \$2 earnings space, .* earn 2$", out, re.MULTILINE)
    told = sentences_of(out)
    assert re.search(r" Orange \(you\) moves to the \$4 earnings space, [a-z $\d]*? earn 4 ", told)
    assert told.count("· The permit row is filled with P17 ") == 1
    assert "· The Committee moves to the 3rd space of card A1 (earnings $3) and earns $3" in told
    assert "Seat 0" not in told
    assert "seeds" not in told


def test_an_objective_is_explained_at_the_beginning_and_when_it_can_be_chosen(
    solo: tuple[subprocess.CompletedProcess[str], Path],
) -> None:
    questions = re.split(r"your choice \(1-\d+\): ", solo[0].stdout)
    meaning = "  O12, Electric lighting: 2 points for each electric lighting card\n"

    assert meaning in questions[0]
    assert (
        "O24, Most money left: 6 points for the most money, then 2; ties share\n" in solo[0].stdout
    )  # its id as a component says which edition it is of
    # the person has asked for the table with v
    assert [meaning in question for question in questions[1:8]] == [False, False, False, False, False, False, True]
    for question in questions[8:]:
        assert (meaning in question) == bool(re.search(r"^ *\d+  Sign objective O12 ", question, re.MULTILINE))


def test_a_game_typed_in_notation_is_the_same_as_by_numbers(
    solo: tuple[subprocess.CompletedProcess[str], Path], tmp_path: Path
) -> None:
    actions = actions_of(solo[1])

    played = play(tmp_path, *SOLO, said="".join(f"{action}\n" for action in actions))

    assert played.returncode == 0, played.stderr
    assert actions_of(tmp_path) == actions


def at(arena: BotArena) -> dict[str, str]:
    """Returns the settings for playing at a running service."""
    return {"RUBBLE_OPERATOR_TOKEN": arena.copies[0].token}


def test_the_actions_of_the_bots_are_printed(arena: BotArena, tmp_path: Path) -> None:
    arguments = ("--game", "sf1906-1e", "--bots", "greedy,random", "--seat", "1", "--seed", "5")

    played = play(tmp_path, *arguments, "--address", arena.address, said="1\n" * 8 + "q\n", **at(arena))

    assert played.returncode == 0, played.stderr
    told = sentences_of(played.stdout)
    assert "you have seat 1 (black), against greedy (orange), random (blue)." in told
    assert "orange: greedy · black: you · blue: random" in told
    assert re.search(r" greedy moves to the \$\d earnings space, [a-z $\d]*? earn \d ", told)
    assert re.search(r" random moves to the \$\d earnings space, [a-z $\d]*? earn \d ", told)
    assert "Black (you) moves to the " in told
    assert "greedy-1" not in told
    assert "You resigned; the others play on without you." in told
    assert left_behind(tmp_path) == []


def test_what_others_choose_secretly_is_told_when_all_have_chosen(arena: BotArena, tmp_path: Path) -> None:
    """Both opponents have placed their leaders before the person places the first one."""
    arguments = ("--game", "relief", "--players", "3", "--address", arena.address, "--replays", tmp_path / "replays")
    env = bot_env(at(arena), TMPDIR=str(tmp_path), COLUMNS="140")
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*RUBBLE, "play", *arguments], stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=HOME, env=env
    ) as process:
        assert process.stdin is not None

        def answer(text: str) -> str:
            """Returns what is printed up to the next question."""
            assert process.stdin is not None
            process.stdin.write(text)
            process.stdin.flush()
            return until(process, "your choice")

        first = until(process, "your choice")
        session = wait_for_others(arena, 3)
        second = answer("1\n")
        third = answer("1\n")
        process.stdin.write("q\ny\n")
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0

    assert session.to_act == [0]
    assert "greedy 1 places" not in first + second
    assert "greedy 2 places" not in first + second
    assert "  Seat 0 (you) places a leader on space 1, the Water Point (P1)  lead @1\n" in third
    for other in ("greedy 1", "greedy 2"):
        assert third.count(f"  {other} places a leader on space ") == 2
    assert "  · All leaders are placed and revealed\n" in third


def until(process: subprocess.Popen[str], words: str) -> str:
    """Returns what a process prints up to these words."""
    assert process.stdout is not None
    seen = ""
    while not seen.endswith(words):
        seen += process.stdout.read(1)
        assert process.poll() is None, seen
    return seen


def wait_for_others(arena: BotArena, seats: int) -> session_pb2.Session:
    """Returns the session of the only running game with a person and as many seats, when nobody but seat 0 is to act."""

    def look() -> session_pb2.Session:
        listed = arena.sessions.ListSessions(session_pb2.ListSessionsRequest(), metadata=arena.operator_metadata)
        (found,) = [
            one
            for one in listed.sessions
            if one.to_act and one.game == "relief" and one.session.startswith("play-") and len(one.seats) == seats
        ]
        return found

    wait_for(lambda: list(look().to_act) == [0], lambda: f"seats {look().to_act} are to act")
    return look()


def test_an_end_of_input_is_refused_clearly(arena: BotArena, tmp_path: Path) -> None:
    played = play(tmp_path, "--game", "relief", "--players", "2", "--address", arena.address, said="1\n", **at(arena))

    assert played.returncode == 2
    assert played.stderr == "rubble: the input ended before the game did; seat 0 was resigned\n"
    assert "Resign this game?" not in played.stdout
    (replay,) = (tmp_path / "replays").iterdir()
    assert str(replay.relative_to(tmp_path)) in played.stdout, "the game is kept, as after quitting"
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("said", ["q\n", "q\ny\n", "q\n\nq\nno\nq\nYES\n"])
def test_a_person_resigns_after_a_question(arena: BotArena, tmp_path: Path, said: str) -> None:
    """Only yes resigns, or the end of the input; the game goes on after any other answer."""
    arguments = ("--game", "relief", "--bots", "random", "--address", arena.address)

    played = play(tmp_path, *arguments, said=said, **at(arena))

    assert played.returncode == 0, played.stderr
    assert played.stdout.count("Resign this game? y/N ") == played.stdout.count("your choice") == said.count("q")
    assert "  Seat 0 (you) resigned" in played.stdout
    assert "  The game is over\n  · random wins, because no other seat still plays\n" in played.stdout
    assert "  · Seat 0 (you) is ranked 2nd, because the seat was forfeited\n" in played.stdout
    assert "over: FORFEIT" in played.stdout
    assert left_behind(tmp_path) == []


def test_a_person_who_resigns_after_the_game_has_ended_is_told_its_result(arena: BotArena, tmp_path: Path) -> None:
    arguments = ("--game", "relief", "--bots", "random", "--address", arena.address, "--replays", tmp_path / "replays")
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*RUBBLE, "play", *arguments],
        stdin=pipe,
        stdout=pipe,
        text=True,
        cwd=HOME,
        env=bot_env(at(arena), TMPDIR=str(tmp_path)),
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        until(process, "your choice")
        request = session_pb2.AdjudicateRequest(session=wait_for_others(arena, 2).session, ranks=[1, 2])
        arena.sessions.Adjudicate(request, metadata=arena.operator_metadata)
        process.stdin.write("q\ny\n")
        process.stdin.close()
        told = process.stdout.read()
        assert process.wait(PATIENCE_S) == 0
    assert "over: ADJUDICATED" in told and "You are seat 0: rank 1 with " in told
    assert "the others play on" not in told
    assert len(list((tmp_path / "replays").iterdir())) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: str(number.name))
def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [*RUBBLE, "play", "--game", "relief", "--players", "3"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=HOME,
        env=bot_env({"TMPDIR": str(tmp_path)}),
    )
    until(process, "your choice")

    process.send_signal(number)

    _, complaints = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "Traceback" not in complaints
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--game", "chess"], "game: 'chess' is not possible; expected one of relief, sf1906-1e, sf1906-2e"),
        (["--game", "relief", "--players", "4"], "--players: '4' is not possible; expected a whole number from 2 to 3"),
        (["--game", "relief", "--seat", "2"], "--seat: '2' is not possible; expected a whole number from 0 to 1"),
        (
            ["--game", "relief", "--bots", "clever"],
            "--bots: 'clever' is not possible; expected one of greedy, random, mcts",
        ),
        (
            ["--game", "relief", "--players", "2", "--bots", "greedy,random"],
            "--bots: 'greedy,random' is not possible; expected one for all, or 1, one for each other seat",
        ),
        (
            ["--game", "relief", "--address", "127.0.0.1:1"],
            "RUBBLE_OPERATOR_TOKEN: '' is not possible; expected the operator's token of the service at 127.0.0.1:1",
        ),
        (
            ["--game", "relief", "--replays", "/dev/null/replays"],
            "--replays: '/dev/null/replays' is not possible; expected a folder that can be written, and /dev/null cannot",
        ),
    ],
)
def test_bad_input_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    monkeypatch.delenv("RUBBLE_OPERATOR_TOKEN", raising=False)

    assert run(["play", *arguments]) == 2
    assert capsys.readouterr().err == f"rubble: {complaint}\n"
