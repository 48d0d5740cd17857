"""``rubble run``: whole tournaments with real processes, interrupted runs, bad rosters and bad bots."""

import os
import re
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Any, Final

import pytest

from orchestrator.book import Book
from orchestrator.bot_processes.pool import unconfined
from orchestrator.roster import UNPROTECTED
from tests.harness.processes import HOME, alive_with, child_of, logs, run_command
from tests.harness.tournaments import Run, assert_replays_are_good, roster_text, script, start_roster, start_run
from tests.harness.waiting import PATIENCE_S, wait_for

_DEALS: Final = 6
#: Time for an answer, in milliseconds; without a reserve, so that a test can wait until all clocks run out.
_MOVE_MS: Final = 6000
_PAIR: Final = roster_text(
    {"greedy": "greedy", "random": "random"},
    f"[time_control]\nmove_ms = {_MOVE_MS}\nbank_ms = 0\n",
    name="pair",
    game="relief",
    players=2,
    deals=_DEALS,
    seed=11,
    reproducible=True,
)
_MATCHES: Final = 2 * _DEALS


def _finish(run: Run) -> dict[str, Any]:
    code, said, complained = run.end()
    assert code == 0, said + complained + logs(run.folder)
    return run.standings()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run the tournament of two undisturbed, in a folder whose name has a colon."""
    run = start_roster(tmp_path_factory.mktemp("12:30"), _PAIR, "--quiet")
    _finish(run)
    return run


def test_a_tournament_of_two_bots_writes_its_results(undisturbed: Run) -> None:
    found = undisturbed.standings()
    assert (found["game"], found["players"]) == ("relief", 2)
    assert found["matches"] == {"planned": _MATCHES, "recorded": _MATCHES, "void": 0}
    assert sorted(line["name"] for line in found["entrants"]) == ["greedy", "random"]
    for line in found["entrants"]:
        assert line["games"] == _MATCHES and line["faults"] == 0
        assert 0 <= line["ci95"][0] <= line["mean_points"] <= line["ci95"][1] <= 1
    assert found["entrants"][0]["name"] == "greedy", "greedy beats random"
    assert_replays_are_good(undisturbed.folder, _MATCHES)
    assert len((undisturbed.folder / "results.csv").read_text().splitlines()) == _MATCHES + 1
    assert (undisturbed.folder / "report.html").exists()
    wait_for(lambda: not alive_with(undisturbed.folder), "everything it started to end")


def test_warnings_are_printed(undisturbed: Run, tmp_path: Path) -> None:
    gaps = list(unconfined({}, "127.0.0.1:1"))
    assert undisturbed.standings()["notes"] == sorted([UNPROTECTED, *gaps]), (
        "the sandbox lacks what this machine's kernel lacks, and nothing else"
    )
    roster = _PAIR.replace("deals = 6", "deals = 1").replace(
        "[[bots]]", '[limits]\nunconfined = "for a test"\n[[bots]]', 1
    )
    run = start_roster(tmp_path, roster, "--quiet")
    code, said, complained = run.end()
    assert code == 0, said + complained
    words = "Bots run without a sandbox, as the roster asks: for a test"
    assert run.standings()["notes"] == [words, UNPROTECTED] and run.standings()["reproducible"]
    assert said.count(UNPROTECTED) == 1 and UNPROTECTED in complained, "at the start and at the end"
    assert words in said and complained.count(words) == 1
    assert words in (run.folder / "report.html").read_text()


def test_the_replays_of_a_run_verify_at_the_command_line(undisturbed: Run) -> None:
    replays = [str(path) for path in (undisturbed.folder / "replays").glob("*.jsonl")]
    command = [sys.executable, "-m", "cli.main", "replay", "verify", *replays]
    checked = run_command(*command)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.slow
def test_a_run_that_is_stopped_and_resumed_has_the_same_results(undisturbed: Run, tmp_path: Path) -> None:
    """All clocks run out in between, and no bot is blamed for that time."""
    run = start_roster(tmp_path, _PAIR, "--quiet", "--concurrency", "2")
    book_file = run.folder / "book.sqlite"

    def is_under_way() -> bool:
        assert run.process.poll() is None, run.process.said()
        return bool(book_file.exists() and _played(book_file) >= 2)

    wait_for(is_under_way, "some matches to be played")
    run.process.send_signal(signal.SIGINT)
    code, said, complained = run.end()
    assert code == 130, said + complained
    assert f"rubble run --resume {run.folder}" in complained.replace("\n", "")
    assert not alive_with(run.folder), "it leaves no processes behind"
    played = _played(book_file)
    assert played < _MATCHES, "it was stopped too late for this test"

    stopped = time.monotonic()
    wait_for(lambda: time.monotonic() - stopped > _MOVE_MS / 1000 + 1, "all clocks to have run out")
    again = start_run(run.folder, "--resume", str(run.folder), "--quiet")
    found = _finish(again)
    assert not any(line["faults"] for line in found["entrants"]), "no bot was slow"
    assert found["digest"] == undisturbed.standings()["digest"], "the same seed gives the same tournament"
    assert found["matches"]["recorded"] == _MATCHES
    assert_replays_are_good(run.folder, _MATCHES)


@pytest.mark.parametrize(
    ("process", "word"),
    [
        ("service", "cli.main serve"),
        pytest.param(
            "worker", "-m orchestrator", marks=pytest.mark.slow
        ),  # its matches continue when its lease expires
        ("embedded Redis", "redis.sock"),
    ],
)
def test_a_killed_process_is_restarted_and_no_bot_is_blamed(
    undisturbed: Run, tmp_path: Path, process: str, word: str
) -> None:
    run = start_roster(tmp_path, _PAIR, "--quiet", "--concurrency", "2")
    book_file = run.folder / "book.sqlite"
    wait_for(lambda: book_file.exists() and _played(book_file) >= 1, "a match to be played")
    victim = child_of(run.process.pid, word)
    os.kill(victim, signal.SIGKILL)
    wait_for(lambda: child_of(run.process.pid, word) not in (0, victim), f"the {process} to be back")
    code, said, complained = run.end(3 * PATIENCE_S)
    assert code == 0, said + complained + logs(run.folder)
    assert f"the {process} {'stopped' if 'Redis' in process else 'was killed by SIGKILL'}" in complained
    assert complained.count("starting it again") == 1, complained
    found = run.standings()
    assert found["matches"]["recorded"] == _MATCHES and not any(line["faults"] for line in found["entrants"])
    assert found["digest"] == undisturbed.standings()["digest"], "the same seed gives the same tournament"
    assert_replays_are_good(run.folder, _MATCHES)


def _played(book_file: Path) -> int:
    book = Book(f"sqlite:///{book_file}")
    try:
        return sum(book.progress(tournament.id).recorded for tournament in book.tournaments())
    finally:
        book.close()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_tournament_of_three(tmp_path: Path) -> None:
    bots = {"greedy": "greedy", "random": "random", "steady": script("steady", "s")}
    roster = roster_text(bots, name="trio", game="sf1906-2e", players=3, deals=1, seed=5, reproducible=True)
    runs = [start_roster(tmp_path / name, roster, "--quiet") for name in ("first", "second")]
    first, second = [_finish(run) for run in runs]
    assert first["matches"]["recorded"] == first["matches"]["planned"] > 0
    assert all(line["faults"] == 0 for line in first["entrants"])
    assert first["digest"] == second["digest"] and first["tournament"] == second["tournament"]
    for run in runs:
        assert_replays_are_good(run.folder, first["matches"]["planned"])


@pytest.mark.slow
def test_isolated_bots_may_use_full_duplicates(tmp_path: Path) -> None:
    settings = {"name": "fresh", "game": "relief", "players": 2, "deals": 2, "seed": 5, "duplicate": "full"}
    text = roster_text({"a": script("steady", "a"), "b": "random"}, **settings)  # type: ignore[arg-type]  # settings are not extra
    run = start_roster(tmp_path, text.replace("[[bots]]", "[[bots]]\nisolated = true"), "--quiet")
    found = _finish(run)
    assert found["matches"] == {"planned": 4, "recorded": 4, "void": 0}
    assert all(line["faults"] == 0 for line in found["entrants"])
    assert_replays_are_good(run.folder, 4)
    outputs = list((run.folder / "arena" / "bots").glob("*/slot-0/a/output.log"))
    started = sum(path.read_text().count("connected to") for path in outputs)
    assert started == 1 + 4, "one process to check the start, and a new one for every game"


@pytest.mark.parametrize(
    ("roster", "line", "word"),
    [
        (
            'name = "x"\ngame = "relieff"\nplayers = 2\ndeals = 1\n[[bots]]\nname = "a"\nbundled = "random"\n',
            2,
            "relief",
        ),
        (_PAIR.replace("players = 2", "players = 9"), 3, "9"),
        (_PAIR.replace('bundled = "random"', 'bundled = "wizard"'), 16, "wizard"),
        ("name = \n", 1, ""),
    ],
)
def test_a_bad_roster_is_refused_with_its_line(tmp_path: Path, roster: str, line: int, word: str) -> None:
    run = start_roster(tmp_path, roster)
    code, _, complained = run.end()
    assert code == 2, complained
    assert f"roster.toml:{line}" in complained.replace("\n", ""), complained
    assert word in complained
    assert not run.folder.exists(), "nothing was begun"


def test_the_error_shows_the_output_of_a_bot_that_cannot_start(tmp_path: Path) -> None:
    broken = [sys.executable, "-c", "import sys; sys.exit('my model file is missing')"]
    bots = {"random": "random", "broken": broken}
    run = start_roster(tmp_path, roster_text(bots, name="sad", game="relief", players=2, deals=1, seed=1))
    code, said, complained = run.end(PATIENCE_S)
    assert code == 1, said + complained
    assert "'broken'" in complained and "my model file is missing" in complained
    assert not alive_with(run.folder)


def test_the_output_of_such_a_bot_is_shown_without_control_characters(tmp_path: Path) -> None:
    code = r"import os, sys; os.write(2, b'first\nred \x1b[31m\xff\n'); sys.exit(9)"
    bots = {"random": "random", "loud": [sys.executable, "-c", code]}
    run = start_roster(tmp_path, roster_text(bots, name="sad", game="relief", players=2, deals=1, seed=1))
    ended, _, complained = run.end(PATIENCE_S)
    assert ended == 1, complained
    assert (
        "bot 'loud' ended twice with exit code 9; it said:\n  first\n  red \N{REPLACEMENT CHARACTER}[31m" in complained
    )
    assert "\x1b" not in complained
    assert f"rubble run --resume {run.folder}` continues" in complained


def test_the_end_of_a_run_names_the_cause_of_forfeits_and_the_log_of_the_bot(tmp_path: Path) -> None:
    bot = tmp_path / "failing.py"
    bot.write_text(
        "from rubble_bot import run\n\ndef choose(turn):\n    raise ValueError('trouble 4711')\n\nrun(choose)\n"
    )
    bots: dict[str, Any] = {"mine": [sys.executable, str(bot)], "other": "random"}
    clocks = "[time_control]\nmove_ms = 500\nbank_ms = 0\n"
    run = start_roster(tmp_path, roster_text(bots, clocks, name="sad", game="relief", players=2, deals=1), "--quiet")

    code, said, complained = run.end()
    assert code == 0, complained
    found = re.search(r"mine forfeited: 2 TIMEOUT; its output: (\S+)", " ".join(said.split()))
    assert found is not None
    assert "ValueError: trouble 4711" in Path(found[1]).read_text()


def test_a_command_relative_to_the_roster_is_found(tmp_path: Path) -> None:
    """As in docs/rosters.md, with and without cwd, from any working directory."""
    for place in (tmp_path, tmp_path / "mine"):
        place.mkdir(exist_ok=True)
        program = place / "run"
        program.write_text(f"#!/bin/sh\nexec {shlex.join(script('steady', 'x'))}\n")
        program.chmod(0o755)
    limits = f"[limits]\nreadable = ['{HOME / 'tests'}']"  # the folder of the program behind ./run
    bots = {"beside": ["./run"], "below": ["./run"]}
    roster = roster_text(bots, limits, game="relief", players=2, deals=1) + 'cwd = "mine"\n'
    run = start_roster(tmp_path, roster, "--quiet")
    code, said, complained = run.end()
    assert code == 0, said + complained + logs(tmp_path)
    assert not any(line["faults"] for line in run.standings()["entrants"])


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ("", "there is no '{folder}/bot/run': build it first, or set cwd"),
        ("bot/build", "there is no '{folder}/bot/run': run its ./build first, or set cwd"),
        ("bot/run", "expected a program that can be started; run `chmod +x {folder}/bot/run` first"),
    ],
)
def test_the_error_for_a_missing_program_has_its_path_and_what_to_do(tmp_path: Path, made: str, message: str) -> None:
    (tmp_path / "bot").mkdir()
    if made:
        (tmp_path / made).write_text("#!/bin/sh\n")
    roster = f'{_PAIR}\n[[bots]]\nname = "lost"\ncwd = "bot"\ncommand = ["./run"]\n'
    code, _, complained = start_roster(tmp_path, roster).end()
    line = len(roster.splitlines())
    assert code == 2 and f"roster.toml:{line}: bots[2].command = './run'; expected a program" in complained
    assert message.format(folder=tmp_path) in complained


@pytest.mark.parametrize(
    ("bot", "message"),
    [
        (
            'command = ["true"]\ncwd = "/nowhere"',
            "roster.toml:{line}: bots[2].cwd = '/nowhere'; expected an existing folder",
        ),
        (
            'cwd = "/tmp"\ncommand = ["./no-bot"]',
            "roster.toml:{line}: bots[2].command = './no-bot'; expected a program",
        ),
        (
            'env = {}\ncommand = ["no-such-bot"]',
            "roster.toml:{line}: bots[2].command = 'no-such-bot'; expected a program",
        ),
    ],
)
def test_a_missing_program_or_folder_is_reported_before_the_start(tmp_path: Path, bot: str, message: str) -> None:
    roster = f'{_PAIR}\n[[bots]]\nname = "lost"\n{bot}\n'
    message = message.format(line=len(roster.splitlines()))
    run = start_roster(tmp_path, roster)
    code, _, complained = run.end()
    assert code == 2 and message in complained, complained
    assert not run.folder.exists(), "nothing was begun"

    command = [sys.executable, "-m", "cli.main", "roster", "check", str(tmp_path / "roster.toml")]
    checked = run_command(*command)
    assert checked.returncode == 0, "another machine may have it"
    assert message in checked.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", ""], "--out: '' is not possible; expected a folder"),
        (["--out", "/proc/nowhere"], "--out: '/proc/nowhere' is not possible; expected a folder that can be written"),
        (["--listen", "here"], "--listen: 'here' is not possible; expected host:port"),
        (
            ["--listen", "127.0.0.1:70000"],
            "--listen: '127.0.0.1:70000' is not possible; expected a port from 0 to 65535",
        ),
    ],
)
def test_an_invalid_flag_is_refused_before_the_start(tmp_path: Path, arguments: list[str], message: str) -> None:
    run = start_roster(tmp_path, _PAIR, *arguments)  # the last of two flags counts
    code, _, complained = run.end()
    assert code == 2 and message in complained, complained
    assert not run.folder.exists()


def test_a_complete_run_is_shown_again_without_an_arena(undisturbed: Run) -> None:
    code, table, complained = start_run(undisturbed.folder, "--resume", str(undisturbed.folder)).end()
    assert code == 0 and "is complete" in complained, complained
    assert "Report" in table and "matches at once" not in complained


def test_resume_needs_the_folder_of_a_run(tmp_path: Path) -> None:
    code, _, complained = start_run(tmp_path, "--resume", str(tmp_path)).end()
    assert code == 2 and "book.sqlite" in complained
