"""The search bot in Go: it uses only the arena's SimulationService."""

import json

import pytest

from rubble.v1 import common_pb2
from service.games import all_games
from tests.bots.test_languages import built
from tests.harness.bot_processes import BotArena, bot_env
from tests.harness.processes import run_command

pytestmark = pytest.mark.slow

#: A whole game with a search before every answer, on a busy machine.
GAME_S = 600.0


class Searchers:
    """Search bots at a service."""

    def __init__(self, arena: BotArena) -> None:
        self.arena = arena
        self.program = built("go").parent / "bin" / "search"

    def sit(self, name: str, *arguments: str) -> None:
        self.arena.start_bot(name, self.program, *arguments, cwd=self.arena.folder)

    def finish(self, session: str) -> common_pb2.Outcome:
        """Returns the outcome of a session without faults; it may take long."""
        return self.arena.finish(session, GAME_S)

    def notes(self, session: str) -> list[str]:
        """Returns the notes of a finished session, in order."""
        lines = self.arena.replay(session).splitlines()
        return [note for line in lines if (note := json.loads(line).get("note"))]


@pytest.fixture
def searchers(arena: BotArena) -> Searchers:
    return Searchers(arena)


@pytest.mark.parametrize("game", list(all_games()))
def test_it_samples_states_for_every_answer_with_a_choice(searchers: Searchers, game: str) -> None:
    searchers.sit(f"search-{game}", "-playouts", "6", "-policy", "random")
    session = searchers.arena.session(game, ["rival", f"search-{game}"], move_ms=60_000)

    outcome = searchers.finish(session)

    notes = searchers.notes(session)
    assert len(notes) > 20
    assert all("worlds," in note and " 0 playouts" not in note for note in notes), notes
    assert outcome.ending not in ("", "FORFEIT", "ADJUDICATED")
    assert searchers.arena.stop_bots() == [0]


def test_it_answers_in_time_with_any_budget(searchers: Searchers) -> None:
    """A budget of playouts that no clock allows, and a clock that allows few."""
    searchers.sit("hurried", "-playouts", "100000", "-share", "0.3")
    session = searchers.arena.session("sf1906-2e", ["hurried", "rival"], move_ms=1_000, bank_ms=60_000)

    searchers.finish(session)  # nobody was late

    assert len(searchers.notes(session)) > 20


def test_a_bad_flag_is_named(searchers: Searchers) -> None:
    ended = run_command(searchers.program, "-share", "2", env=bot_env())

    assert ended.returncode == 2
    assert "-share from 0.05 to 0.9" in ended.stderr
