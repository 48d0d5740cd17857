"""Matches of a ladder as a worker plays them: it waits for bots that have left, and names no bot before the block is over."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace as replace_fields
from prometheus_client import generate_latest

from orchestrator import metrics, planning
from orchestrator.book import Book, Tournament
from orchestrator.book.tables import PLANNED, RECORDED
from orchestrator.client import ArenaClient
from orchestrator.roster import GameFacts, read_roster
from orchestrator.spec import LADDER, Entry
from orchestrator.worker import Worker
from rubble.v1 import session_pb2
from tests.harness.tournaments import TournamentArena, roster_text, script
from tests.harness.waiting import run

_RELIEF: Final = GameFacts("relief", 1, (2, 3))
#: One plays, and the other cannot be started.
_BOTS: Final = {"quokka-7f3a91c4": "random", "zebu-5d20e8b7": script("bad_bot", "leave")}


@pytest.fixture
def book(bare_arena: TournamentArena) -> Iterator[Book]:
    opened = Book(bare_arena.settings.book)
    yield opened
    opened.close()


@pytest.fixture
def worker(bare_arena: TournamentArena) -> Iterator[Worker]:
    opened = Worker(bare_arena.settings)
    yield opened
    opened.leave()
    opened.close()


def _enter(book: Book, folder: Path, **changes: object) -> Tournament:
    """Enter one block of a ladder; ``changes`` are those of its specification."""
    control = "[time_control]\nseating_ms = 2000\n"
    text = roster_text(_BOTS, control, name="tables", game="relief", players=2, deals=1)
    draft = Book(f"sqlite:///{folder / 'draft.sqlite'}")
    planned = planning.enter(draft, read_roster(text, [_RELIEF]))
    tournament = replace(planned, spec=replace_fields(planned.spec, ladder="relief-ladder", **changes))
    book.plan(tournament, [match for match, _ in draft.matches(planned.id)])
    draft.close()
    return tournament


def test_a_worker_names_the_bots_of_a_ladder_to_nobody_before_their_block_is_over(
    bare_arena: TournamentArena,
    client: ArenaClient,
    book: Book,
    worker: Worker,
    tmp_path: Path,
) -> None:
    tournament = _enter(book, tmp_path)
    first, second = book.hand_out(2, 600_000, tournament.id)

    def told() -> list[str]:
        """The bots of the first session, as anybody is told them."""
        found = session_pb2.Session()

        async def scenario() -> None:
            async with bare_arena.client() as anybody:
                found.CopyFrom(await anybody.session(first.session))

        run(scenario)
        return [seat.bot for seat in found.seats]

    worker.play(first.id, first.deliveries)
    counted = generate_latest(metrics.WORKER).decode()
    assert told() == ["", ""]
    names = [tournament.spec.entrants[entrant] for entrant in first.seats]
    assert all(name in seat.bot for name, seat in zip(names, client.session(first.session).seats, strict=True))
    assert 'rubble_bot_start_failures_total{bot="(ladder)"}' in counted, "one bot could not be started"
    assert 'rubble_bot_faults_total{bot="(ladder)",cause="NO_SHOW"}' in counted
    assert [name for name in _BOTS if name in counted] == []
    worker.play(second.id, second.deliveries)
    replay = book.replay(first.id) or ""
    assert all(name in replay for name in _BOTS) and '"kind":"seeds"' in replay, "the block is over"


def test_a_match_whose_bot_has_left_waits_once_and_then_begins_without_it(
    book: Book, worker: Worker, tmp_path: Path
) -> None:
    """Otherwise a bot that stops for a moment would forfeit all matches that were handed out before."""
    here, away = _BOTS
    bots = [Entry(here, bundled="random"), Entry(away, remote=True, arena=f"relief-ladder.{away}.v1")]
    tournament = _enter(book, tmp_path, format=LADDER, bots=tuple(bots))
    (first,) = book.hand_out(1, 600_000, tournament.id)

    worker.play(first.id, first.deliveries)
    given_back = book.match(first.id)
    assert given_back is not None and (given_back.state, given_back.slot) == (PLANNED, None)
    (other,) = book.hand_out(2, 600_000, tournament.id)
    assert other.id != first.id, "the first one is held until the scheduler releases it"
    book.release([first.id])
    (again,) = book.hand_out(2, 600_000, tournament.id)
    worker.play(again.id, again.deliveries)
    ((match, game),) = book.matches(tournament.id, limit=1)
    assert match.id == first.id and match.state == RECORDED and game is not None
    assert game.faults[game.seats.index(1)] == "NO_SHOW"
