"""Bots as processes: each bad bot plays two honest bots from every seat, and harms only itself."""

import contextlib
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from kombu.exceptions import OperationalError

from orchestrator.book import Book, Match, Tournament
from orchestrator.book.tables import PLANNED, RUNNING
from orchestrator.bot_processes.launcher import launched
from orchestrator.bot_processes.process import BotProcess
from orchestrator.bot_processes.system import CANNOT_START
from orchestrator.celery_app import make_app
from orchestrator.dispatch import Dispatcher
from orchestrator.records import Game
from orchestrator.roster import Limits, TimeControl
from orchestrator.spec import Entry, Spec
from service.games.chance import SEED_BYTES
from tests.harness.processes import HOME, alive_with, logs, run_command
from tests.harness.tournaments import TournamentArena, script
from tests.harness.waiting import wait_for

_OUTPUT_BYTES: Final = 1 << 20
_TICK_S: Final = 0.2
_HONEST: Final = ("ann", "bob")
_CLOCK: Final = TimeControl(move_ms=6000, bank_ms=4000, increment_ms=0, seating_ms=10_000)
_SEATS: Final = 3
#: Enough for all matches together, also on a busy machine.
_ALL_S: Final = 400.0
#: A crashed bot is restarted and crashes again; whether it is connected at its deadline is random.
_FALLEN: Final = {"DISCONNECTED", "TIMEOUT"}
#: Mode -> the accepted causes of forfeit; an empty cause means that it played to the end.
_MODES: Final = {
    "silent": {"TIMEOUT"},
    "late": {"TIMEOUT"},
    "illegal": {"REFUSED_ACTIONS"},
    "garbage": _FALLEN,
    "flood": {"", "REFUSED_ACTIONS", "DISCONNECTED", "TIMEOUT"},
    "crash": _FALLEN,
    "fork": {""},
    "memory": _FALLEN,
    "chatter": {""},
    "twice": {""},
    "restless": {""},
    "leave": {"NO_SHOW"},
}
#: These have one process per game, because a crash in one game would end all of them.
_ISOLATED: Final = ("garbage", "crash", "memory", "twice", "restless")


@dataclass
class HostileTournament:
    """The results of one tournament with all bad bots."""

    arena: TournamentArena
    #: By mode and seat.
    games: dict[tuple[str, int], Game]
    took_s: float
    tournament: str
    voids: int


@pytest.fixture(scope="module")
def tournament(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostileTournament]:
    """Play a match for each bad bot in each seat, with the same two honest bots."""
    modes = list(_MODES)
    entrants = [*_HONEST, *modes]
    spec = Spec(
        game="relief",
        players=3,
        time_control=_CLOCK,
        match_seconds=300,
        limits=Limits(memory_mb=512, processes=100),
        entrants=tuple(entrants),
        bots=(
            *(Entry(name, tuple(script("steady", name))) for name in _HONEST),
            *(Entry(mode, tuple(script("bad_bot", mode)), isolated=mode in _ISOLATED) for mode in modes),
        ),
    )
    planned = []
    for order in range(_SEATS * len(modes)):
        seats = [0, 1]
        seats.insert(order % _SEATS, len(_HONEST) + order // _SEATS)
        planned.append(Match(f"m{order:03}", "hostile", order, order, tuple(seats), *_seeds(order), PLANNED, 0, 0))
    folder = tmp_path_factory.mktemp("hostile")
    with TournamentArena(folder, concurrency=len(modes)) as arena:
        book = Book(arena.settings.book)
        book.plan(Tournament("hostile", "hostile", "", spec, RUNNING, 0, 1), planned)
        dispatcher = Dispatcher(make_app(arena.settings.broker), book, arena.settings.window)
        started = time.monotonic()
        while not (progress := book.progress("hostile")).is_over:
            assert time.monotonic() - started < _ALL_S, f"{progress} {book.games('hostile')} {logs(folder)}"
            with contextlib.suppress(OperationalError):
                dispatcher.hand_out()
            time.sleep(_TICK_S)  # between two rounds of handing out matches
        took = time.monotonic() - started
        games = {(modes[game.order // _SEATS], game.order % _SEATS): game for game in book.games("hostile")}
        yield HostileTournament(arena, games, took, "hostile", progress.voids)
        book.close()
    assert not alive_with(folder), "all processes end with the worker, also detached children"


def _seeds(order: int) -> tuple[bytes, bytes]:
    return order.to_bytes(SEED_BYTES), (1000 + order).to_bytes(SEED_BYTES)


@pytest.mark.parametrize("seat", range(_SEATS))
@pytest.mark.parametrize("mode", _MODES)
def test_a_bad_bot_harms_only_itself(tournament: HostileTournament, mode: str, seat: int) -> None:
    game = tournament.games[mode, seat]
    others = [other for other in range(_SEATS) if other != seat]
    assert [game.faults[other] for other in others] == ["", ""], "the honest bots play to the end"
    assert game.faults[seat] in _MODES[mode]
    if game.faults[seat]:
        assert game.ranks[seat] == _SEATS > max(game.ranks[other] for other in others), "the bot at fault is last"
        first, second = sorted(others, key=lambda other: game.ranks[other])
        assert game.scores[first] >= game.scores[second], "the others are ranked by their scores"
        assert (game.ranks[first] == game.ranks[second]) <= (game.scores[first] == game.scores[second])


def test_bad_bots_make_no_match_void(tournament: HostileTournament) -> None:
    assert tournament.voids == 0


def test_the_log_of_a_bot_is_limited_in_size(tournament: HostileTournament) -> None:
    (output,) = (tournament.arena.settings.folder / tournament.tournament).glob("slot-*/chatter/output.log")
    assert 0 < output.stat().st_size <= _OUTPUT_BYTES


def test_bots_and_their_detached_children_end_with_a_killed_worker(tournament: HostileTournament) -> None:
    bots = tournament.arena.settings.folder / tournament.tournament
    assert len([pid for pid, command in alive_with(bots).items() if command.endswith("bad_bot.py fork ")]) >= 3
    os.kill(tournament.arena.pid("worker"), signal.SIGKILL)
    wait_for(lambda: not alive_with(bots), "all bots and their children to end")


# --------------------------------------------------------------------------------------------------------- one process
def _bot(folder: Path, code: str, **limits: int) -> BotProcess:
    env = {"PATH": os.environ["PATH"], "TMPDIR": str(folder)}
    return BotProcess("bot", [sys.executable, "-c", code], env, HOME, folder / "output.log", limits)


def test_a_crashed_bot_is_restarted_with_growing_pauses(tmp_path: Path) -> None:
    bot = _bot(tmp_path, "import sys; print('hello', flush=True); sys.exit(5)")

    def has_restarted() -> bool:
        bot.look_after()
        return bot.starts >= 2

    wait_for(has_restarted, "another start")
    assert bot.exit_code == 5
    wait_for(lambda: "hello" in bot.last_words(), "its words")
    bot.end()
    assert bot.pid == 0


def test_a_bot_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    bot = _bot(
        tmp_path, "import signal, time; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); time.sleep(999)"
    )
    bot.look_after()
    wait_for(lambda: bot.last_words() == "ready", "its start")
    bot.end()
    assert bot.pid == 0 and not alive_with(tmp_path)
    bot.look_after()
    assert bot.starts == 1, "a bot that was ended is not restarted"


def test_a_bot_plays_on_when_its_output_cannot_be_written(tmp_path: Path) -> None:
    """A full disk must not close the bot's output pipe, which would end the bot."""
    marker = tmp_path / "marker"
    code = f"for at in range(300): print('x' * 1000, flush=True)\nopen({str(marker)!r}, 'w').close()"
    bot = _bot(tmp_path, code)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, hard))  # larger writes fail as on a full disk
    try:
        bot.look_after()
        wait_for(marker.exists, "all its output")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    bot.end()


def test_the_error_names_a_command_that_does_not_exist(tmp_path: Path) -> None:
    command = launched("/nowhere/bot")
    ended = run_command(*command, said='{"supervise": 1}', cwd=tmp_path)
    assert ended.returncode == 127
    assert "cannot start '/nowhere/bot': No such file or directory" in ended.stderr


def test_the_error_names_a_missing_folder_and_the_start_is_tried_again(tmp_path: Path) -> None:
    """A missing folder fails only this bot, not the pool; and the folder may appear later."""
    folder = tmp_path / "gone"
    bot = BotProcess("bot", ["pwd"], dict(os.environ), folder, tmp_path / "output.log", {})
    bot.look_after()
    wait_for(lambda: not bot.pid, "its end")
    bot.look_after()
    assert (bot.starts, bot.pid, bot.exit_code) == (1, 0, CANNOT_START)
    assert bot.last_words() == f"cannot start in '{folder}': No such file or directory"
    folder.mkdir()

    def has_started() -> bool:
        bot.look_after()
        return bot.last_words().endswith(str(folder))

    wait_for(has_started, "its start in the folder")
    bot.end()
