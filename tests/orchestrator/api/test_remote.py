"""Remote bots: the organiser gets their keys, the tournament waits for them, and they play like other bots."""

import stat
from pathlib import Path
from typing import Any

from orchestrator.client import ServiceError
from rubble.v1 import tournament_pb2
from tests.harness.bot_processes import remote_bot
from tests.harness.processes import logs
from tests.harness.tournaments import Host, Run, start_roster
from tests.harness.waiting import PATIENCE_S, wait_for

_ROSTER = """
name = "{name}"
game = "relief"
players = 2
deals = 2
seed = 5
[[bots]]
name = "here"
bundled = "random"
[[bots]]
name = "afar"
remote = true
"""
_WAITING = tournament_pb2.TOURNAMENT_STATE_WAITING
_DONE = tournament_pb2.TOURNAMENT_STATE_DONE


def test_a_tournament_waits_for_its_remote_bot_and_is_played_with_it(shared: Host, tmp_path: Path) -> None:
    (tmp_path / "roster.toml").write_text(_ROSTER.format(name="called"))
    said = shared.rubble("tournament", "create", str(tmp_path / "roster.toml"), "--keys", str(tmp_path / "keys"))
    file = tmp_path / "keys" / "afar.env"
    assert f"key of afar: {file}" in said
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert shared.arena_address()["service"] in file.read_text()
    with shared.caller() as operator:
        found = operator.tournament("called")
        assert found.state == _WAITING
        assert [(one.name, one.remote, one.connected) for one in found.entrants] == [
            ("here", False, False),
            ("afar", True, False),
        ]
        assert "waits for its remote bots: afar" in shared.rubble("tournament", "show", "called")
        with remote_bot(file):
            (*_, last) = operator.watch("called", standings=False)
        assert last.tournament.state == _DONE and last.tournament.progress.played == 4
        assert last.tournament.progress.faults == 0, logs(tmp_path)
        # A second key is valid too; other names get none.
        key = shared.rubble("tournament", "key", "called", "afar").strip()
        assert key.startswith("rb1.bot.") and key not in file.read_text()
        assert "is not a remote entrant" in shared.rubble("tournament", "key", "called", "here", code=2)
        assert "called has no entrant 'you'" in shared.rubble("tournament", "key", "called", "you", code=2)


def test_an_organiser_may_start_without_a_remote_bot(shared: Host, tmp_path: Path) -> None:
    """A bot that does not connect in time forfeits."""
    text = _ROSTER.format(name="hasty").replace("deals = 2", "deals = 1\ntime_control = { seating_ms = 500 }")
    with shared.caller() as operator:
        made = operator.create(text)
        assert [key.entrant for key in made.keys] == ["afar"] and made.keys[0].bot_key.startswith("rb1.bot.")
        assert operator.resume("hasty").state == tournament_pb2.TOURNAMENT_STATE_RUNNING
        (*_, last) = operator.watch("hasty", standings=False)
        assert last.tournament.progress.played == 2 and last.tournament.progress.faults == 2
        (line,) = [line for line in operator.standings("hasty").entrants if line.name == "afar"]
        assert dict(line.faults) == {"NO_SHOW": 2} and line.rank == 2
        try:
            operator.create(text)
        except ServiceError as error:
            raise AssertionError("the same roster again is the same tournament") from error


def test_a_run_writes_the_key_of_a_remote_bot_and_waits_for_it(tmp_path: Path) -> None:
    run = start_roster(tmp_path, _ROSTER.format(name="run"), "--quiet")
    file = run.folder / "keys" / "afar.env"

    def is_written() -> bool:
        assert run.process.poll() is None, run.process.said()
        return file.exists()

    wait_for(is_written, "the key of the remote bot", 2 * PATIENCE_S)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with remote_bot(file):
        standings = _finish(run)
    assert standings["matches"] == {"planned": 4, "recorded": 4, "void": 0}
    assert [line["faults"] for line in standings["entrants"]] == [0, 0]


def test_a_run_stops_waiting_for_a_remote_bot_after_its_timeout(tmp_path: Path) -> None:
    run = start_roster(tmp_path, _ROSTER.format(name="lonely"), "--quiet", "--wait", "1")
    code, said, complained = run.end(2 * PATIENCE_S)
    assert code == 1, said + complained
    assert "afar did not connect within 1 s" in complained and f"--resume {run.folder}" in complained


def _finish(run: Run) -> dict[str, Any]:
    code, said, complained = run.end(3 * PATIENCE_S)
    assert code == 0, said + complained + logs(run.folder)
    return run.standings()
