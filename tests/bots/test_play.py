"""``rubble play``, with scripted input."""

import signal
import subprocess
from pathlib import Path

import pytest

from cli.app import run
from service.sessions.replay_verify import verify_replay
from tests.harness.bot_processes import BotArena, bot_env
from tests.harness.processes import HOME, RUBBLE, run_command
from tests.harness.waiting import PATIENCE_S


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


def test_a_whole_solo_game_through_a_pipe(tmp_path: Path) -> None:
    said = "\nearn 9\n99\n0\nplace 1 act\n?\nv\nearn 4\n" + "1\n" * 500

    played = play(tmp_path, "--game", "sf1906-2e", "--players", "1", "--seed", "3", said=said)

    assert played.returncode == 0, played.stderr
    assert played.stderr == ""
    out = played.stdout
    assert "you have seat 0." in out
    assert out.count("There are 2 actions; type a number from 1 to 2.") == 2
    assert "Expected" in out  # earn 9 is not an action
    assert "Not now: " in out  # placing a pawn comes later
    assert "place the pawn on the pass space and do nothing" in out
    assert "Committee of Fifty" in out
    assert "You are orange: rank " in out
    (replay,) = (tmp_path / "replays").iterdir()
    assert str(replay) in out
    assert verify_replay(replay.read_text()).ok
    assert left_behind(tmp_path) == []


def at(arena: BotArena) -> dict[str, str]:
    """Returns the settings for playing at a running service."""
    return {"RUBBLE_OPERATOR_TOKEN": arena.copies[0].token}


def test_the_actions_of_the_bots_are_printed(arena: BotArena, tmp_path: Path) -> None:
    arguments = ("--game", "sf1906-1e", "--bots", "greedy,random", "--seat", "1", "--seed", "5")

    played = play(tmp_path, *arguments, "--address", arena.address, said="1\n" * 8 + "q\n", **at(arena))

    assert played.returncode == 0, played.stderr
    assert "you have seat 1, against greedy-1 (seat 0), random-2 (seat 2)." in played.stdout
    assert "  greedy-1 (seat 0): earn " in played.stdout
    assert "  random-2 (seat 2): earn " in played.stdout
    assert "you (seat 1):" not in played.stdout
    assert "You resigned; the others play on without you." in played.stdout
    assert left_behind(tmp_path) == []


def test_an_end_of_input_is_refused_clearly(arena: BotArena, tmp_path: Path) -> None:
    played = play(tmp_path, "--game", "relief", "--players", "2", "--address", arena.address, said="1\n", **at(arena))

    assert played.returncode == 2
    assert played.stderr == "rubble: the input ended before the game did; seat 0 was resigned\n"
    (replay,) = (tmp_path / "replays").iterdir()
    assert str(replay.relative_to(tmp_path)) in played.stdout, "the game is kept, as after quitting"
    assert left_behind(tmp_path) == []


def test_quitting_resigns_at_the_service_one_was_sent_to(arena: BotArena, tmp_path: Path) -> None:
    arguments = ("--game", "relief", "--bots", "random", "--address", arena.address)

    played = play(tmp_path, *arguments, said="q\n", **at(arena))

    assert played.returncode == 0, played.stderr
    assert "you (seat 0) was forfeited: RESIGNED" in played.stdout
    assert "over: FORFEIT" in played.stdout
    assert left_behind(tmp_path) == []


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
    assert process.stdout is not None
    seen = ""
    while not seen.endswith("your choice"):
        seen += process.stdout.read(1)
        assert process.poll() is None, seen

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
