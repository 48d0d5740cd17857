"""A tournament of deterministic bots: enters it, plays it, and knows its expected results."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kombu.exceptions import OperationalError

from orchestrator import planning
from orchestrator.book import Book, Match, Progress, Tournament
from orchestrator.celery_app import make_app
from orchestrator.dispatch import Dispatcher
from orchestrator.ratings.table import standings
from orchestrator.records import Game
from orchestrator.roster import GameFacts, read_roster
from orchestrator.settings import Settings
from service import games
from service.games.chance import Seeds
from service.games.core import Outcome
from tests.harness.processes import logs
from tests.harness.tournaments import TournamentArena, roster_text, script
from tests.orchestrator.hostile.steady import index_of

_NAMES: Final = ("ann", "bob", "cat")
_PAIRS: Final = 3
_TICK_S: Final = 0.2


def enter(book: Book, matches: int, name: str = "cup") -> Tournament:
    """Enter a round robin of three bots in relief with at least this many matches."""
    text = roster_text(
        {name: script("steady", name) for name in _NAMES},
        "[time_control]\nmove_ms = 10000\nbank_ms = 120000\n",
        name=name,
        game="relief",
        players=2,
        deals=-(-matches // (2 * _PAIRS)),
        seed=3,
    )
    relief = games.get("relief")
    return planning.enter(book, read_roster(text, [GameFacts(relief.id, 1, (min(relief.seats), max(relief.seats)))]))


def play_out(
    arena: TournamentArena, book: Book, tournament: Tournament, patience_s: float, look: Callable[[Progress], None]
) -> float:
    """Hand out matches until all are played; return the seconds it took. ``look`` is called after each round."""
    return hand_out(arena.settings, book, tournament, patience_s, look, arena.folder)


def hand_out(
    settings: Settings,
    book: Book,
    tournament: Tournament,
    patience_s: float,
    look: Callable[[Progress], None],
    folder: Path,
) -> float:
    """Like ``play_out``, without an arena; ``folder`` has the logs."""
    dispatcher = Dispatcher(make_app(settings.broker), book, settings.window)
    started = time.monotonic()
    while not (progress := book.progress(tournament.id)).is_over:
        assert time.monotonic() - started < patience_s, f"{progress}{logs(folder)}"
        assert progress.out <= settings.window
        with contextlib.suppress(OperationalError):  # the broker is unavailable: try in the next round
            dispatcher.hand_out(tournament.id)
        look(progress)
        time.sleep(_TICK_S)
    return time.monotonic() - started


#: The answers, by seat and question.
Log = list[tuple[int, int, str]]


def played_in_memory(tournament: Tournament, match: Match) -> tuple[Outcome, Log]:
    """Play a match in memory with the answers the bots would give; return its outcome and its log."""
    game = games.get("relief")
    names = [tournament.spec.entrants[entrant] for entrant in match.seats]
    state = game.new(len(names), {}, Seeds(match.table_seed, match.deck_seed))
    asked = [0] * len(names)
    log: Log = []
    while acting := game.to_act(state):
        seat = acting[0]
        legal = game.legal_actions(state, seat)
        asked[seat] += 1
        action = legal[index_of(names[seat], match.id, seat, asked[seat], len(legal))]
        log.append((seat, asked[seat], game.text(action)))
        game.apply(state, seat, action)
    outcome = game.outcome(state)
    assert outcome is not None
    return outcome, log


def undisturbed(book: Book, tournament: Tournament) -> Iterator[Game]:
    """Return the results of all matches when nothing fails."""
    for block in range(tournament.planned):
        for match in book.block(tournament.id, block):
            outcome, _ = played_in_memory(tournament, match)
            nobody, no_time = ("",) * len(match.seats), (0,) * len(match.seats)
            yield Game(match.order, block, match.seats, tuple(outcome.ranks), tuple(outcome.scores), nobody, no_time)


def assert_undisturbed(book: Book, tournament: Tournament) -> None:
    """Assert that every match is recorded exactly once without a fault, and the table is as if nothing had failed."""
    recorded = book.games(tournament.id)
    assert [game.order for game in recorded] == list(range(tournament.planned))
    assert book.progress(tournament.id).recorded == tournament.planned
    assert [game for game in recorded if any(game.faults)] == []
    entrants = tournament.spec.entrants
    found, clean = (standings(played, entrants, 2) for played in (recorded, list(undisturbed(book, tournament))))
    assert found.digest == clean.digest


def assert_same_logs(book: Book, tournament: Tournament) -> None:
    """Assert that every match has exactly the log that it has when it is played in memory.

    Where several seats answer at once, the order of their answers is ignored.
    """
    replays = dict(book.replays(tournament.id))
    for block in range(tournament.planned):
        for match in book.block(tournament.id, block):
            lines = [json.loads(line) for line in replays[match.id].splitlines()]
            said = [(line["seat"], line["turn"], line["action"]) for line in lines if line["kind"] == "act"]
            _, log = played_in_memory(tournament, match)
            assert sorted(said) == sorted(log), match.id
