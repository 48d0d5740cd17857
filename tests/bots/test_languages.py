"""The starters in other languages: each is built by its own ``build``, and plays with a real service.

A language is a folder of bots/ with the two scripts ``build`` and ``run``. If its ``build`` ends with exit code 3 (a tool is
missing), its tests are skipped with the script's message.
"""

import functools
import os
import re
from pathlib import Path

import pytest

from rubble.v1 import session_pb2
from service.games import all_games
from tests.harness.bot_processes import BotArena
from tests.harness.languages import LANGUAGES, ToolMissing, build_starter, run_script
from tests.harness.leaving_server import LeavingServer, stays_small
from tests.harness.processes import HOME, Process
from tests.harness.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


@functools.cache
def built(language: str) -> Path:
    """Builds the bot and returns its start script; skips the test if a tool is missing."""
    try:
        return build_starter(language)
    except ToolMissing as missing:
        pytest.skip(str(missing))


class LanguageBots:
    """Bots of one language at one service."""

    def __init__(self, language: str, arena: BotArena) -> None:
        self.language = language
        self.arena = arena
        self.program = built(language)

    def sit(self, name: str, **settings: str) -> Process:
        """Starts a bot of that name; an empty setting is left out."""
        # A bot must not depend on where it is started.
        return self.arena.start_bot(name, self.program, cwd=self.arena.folder, settings=settings)

    def words(self, name: str) -> str:
        return self.arena.log_of(name).read_text(errors="replace")


@pytest.fixture(params=LANGUAGES)
def bots(request: pytest.FixtureRequest, arena: BotArena) -> LanguageBots:
    """Bots of a language at the shared service."""
    return LanguageBots(request.param, arena)


@pytest.fixture(params=LANGUAGES)
def bots_alone(request: pytest.FixtureRequest, own_arena: BotArena) -> LanguageBots:
    """Bots of a language at a service that the test may stop."""
    return LanguageBots(request.param, own_arena)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_second_build_has_nothing_to_do_and_the_folders_own_tests_pass(language: str) -> None:
    built(language)
    assert run_script(language, "build").returncode == 0
    if not os.access(HOME / "bots" / language / "test", os.X_OK):
        pytest.skip(f"bots/{language} has no script called test")

    tested = run_script(language, "test")

    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_it_plays_every_game_without_fault_and_better_than_chance(bots: LanguageBots) -> None:
    arena, name = bots.arena, f"{bots.language}-starter"
    bots.sit(name)
    tables = [(game, seat) for game in all_games() for seat in (0, 1) for _ in range(2)]
    sessions = [arena.session(game, [name, "rival"] if seat == 0 else ["rival", name]) for game, seat in tables]

    results = [(arena.finish(session), seat) for session, (_, seat) in zip(sessions, tables, strict=True)]

    margins = [outcome.seats[seat].score - outcome.seats[1 - seat].score for outcome, seat in results]
    assert sum(margin > 0 for margin in margins) > len(margins) / 2, margins
    for session in sessions:
        seats = arena.sessions.GetSession(session_pb2.GetSessionRequest(session=session)).session.seats
        assert [seat.refusals for seat in seats] == [0, 0]
    assert arena.stop_bots() == [0], bots.words(name)


def test_it_plays_at_every_size_of_table(bots: LanguageBots) -> None:
    arena, name = bots.arena, f"{bots.language}-bot"
    names = [f"{name}-{seat}" for seat in range(4)]
    for each in names:
        bots.sit(each)
    tables = [(game.id, seats) for game in all_games().values() for seats in game.seats]

    sessions = [arena.session(game, names[:seats]) for game, seats in tables]

    for session in sessions:
        assert arena.finish(session).ending not in ("", "FORFEIT", "ADJUDICATED")
    assert arena.stop_bots() == [0] * 4


def test_its_games_go_on_where_they_stood_when_the_service_was_restarted(bots_alone: LanguageBots) -> None:
    arena, name = bots_alone.arena, f"{bots_alone.language}-patient"
    arena.bundled_bot("rival", "greedy")
    bots_alone.sit(name)
    session = arena.session("sf1906-2e", [name, "rival"], move_ms=120_000)
    for event in arena.watch(session):
        if event.revision >= 40:
            break

    assert arena.stop_service() == 0
    arena.restart_service()

    assert arena.finish(session).ending not in ("", "FORFEIT", "ADJUDICATED")
    assert arena.stop_bots() == [0, 0], bots_alone.words(name)


def test_a_server_that_leaves_again_and_again_costs_attempts_and_no_memory(bots: LanguageBots) -> None:
    name = f"{bots.language}-unlucky"
    with LeavingServer() as server:
        process = bots.sit(name, RUBBLE_ADDRESS=server.address)
        stays_small(process, server, 4)
        assert process.stop() == 0, bots.words(name)


def test_a_wrong_key_is_reported_and_ends_the_process(bots: LanguageBots) -> None:
    name = f"{bots.language}-stranger"
    process = bots.sit(name, RUBBLE_BOT_KEY="rb1.bot.AAAA.BBBB")

    assert process.wait(PATIENCE_S) == 1
    assert "does not accept RUBBLE_BOT_KEY" in bots.words(name)
    assert "rb1.bot.AAAA.BBBB" not in bots.words(name)


def test_the_older_of_two_processes_with_one_key_stops_with_a_message(bots: LanguageBots) -> None:
    arena, name = bots.arena, f"{bots.language}-twin"
    older = bots.sit(name)
    arena.finish(arena.session("sf1906-2e", [name, "rival"]))  # so it is connected

    bots.sit(name)

    assert older.wait(PATIENCE_S) == 1
    assert "another process plays with this bot's key now" in bots.words(name)
    arena.finish(arena.session("sf1906-2e", [name, "rival"]))
    assert arena.stop_bots() == [1, 0]


@pytest.mark.parametrize(
    ("setting", "value", "complaint"),
    [
        ("RUBBLE_ADDRESS", "", "RUBBLE_ADDRESS is missing: host:port of the arena"),
        ("RUBBLE_BOT_KEY", "", "RUBBLE_BOT_KEY is missing: the key the operator issued for this bot"),
        ("RUBBLE_CA", "/nowhere/ca.pem", r"RUBBLE_CA: /nowhere/ca\.pem cannot be read"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(bots: LanguageBots, setting: str, value: str, complaint: str) -> None:
    name = f"{bots.language}-unset-{setting}"
    process = bots.sit(name, **{setting: value})

    assert process.wait(PATIENCE_S) == 2, bots.words(name)
    assert re.search(f"rubble-bot: {complaint}", bots.words(name))
