"""Void matches are played again: with which cards, and with which result."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import SQLAlchemyError

from orchestrator import planning, referee
from orchestrator.book import Book, Match, Progress, Tournament
from orchestrator.client import ArenaClient
from orchestrator.entrants import remote_bots
from orchestrator.match_runner import LEASE_MS, SAME_CARDS
from orchestrator.ratings.table import standings
from orchestrator.roster import GameFacts, read_roster
from orchestrator.stalls import LONGEST_PAUSE_S, StallWatch
from orchestrator.worker import Worker
from service.sessions.replay_verify import verify_replay
from service.sessions.session import commitment
from tests.harness.processes import Process, alive_with, clean_env, logs
from tests.harness.tournaments import TournamentArena, handed_out_again, roster_text, script
from tests.harness.waiting import PATIENCE_S
from tests.orchestrator.steady_tournaments import play_out

_RELIEF = GameFacts("relief", 1, (2, 3))


@pytest.fixture(scope="module")
def book(bare_arena: TournamentArena) -> Iterator[Book]:
    opened = Book(bare_arena.settings.book)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def worker(bare_arena: TournamentArena) -> Iterator[Worker]:
    opened = Worker(bare_arena.settings)
    yield opened
    opened.leave()
    opened.close()


def _enter(book: Book, name: str, extra: str = "", **settings: Any) -> Tournament:
    given = {"name": name, "game": "relief", "players": 2, "deals": 1, "seed": 3} | settings
    text = roster_text({"a": "random", "b": "greedy"}, extra, **given)
    return planning.enter(book, read_roster(text, [_RELIEF]))


def _play(book: Book, worker: Worker, tournament: Tournament) -> tuple[Match, Match]:
    """Play the next match; return it as it was before and after."""
    (before,) = book.hand_out(1, 60_000, tournament.id)
    worker.play(before.id, before.deliveries)
    after = book.match(before.id)
    assert after is not None
    return before, after


def _said(replay: str | None) -> list[tuple[int, int, str]]:
    lines = [json.loads(line) for line in (replay or "").splitlines()]
    return sorted((line["seat"], line["turn"], line["action"]) for line in lines if line["kind"] == "act")


@pytest.fixture
def void_once(monkeypatch: pytest.MonkeyPatch) -> list[referee.Played]:
    """Play the first game to its end and make it void, as after an outage; return what happened."""
    void: list[referee.Played] = []
    play = referee.play

    def fail_once(*args: Any, **kwargs: Any) -> referee.Played:
        played = play(*args, **kwargs)
        if not void:
            void.append(played)
            raise referee.VoidMatch("a test says so")
        return played

    monkeypatch.setattr(referee, "play", fail_once)
    return void


def test_a_void_match_is_played_again_with_other_cards(
    book: Book, worker: Worker, void_once: list[referee.Played]
) -> None:
    tournament = _enter(book, "fresh")
    first, void = _play(book, worker, tournament)
    assert void.voids == 1 and void.session != first.session
    assert void.table_seed == first.table_seed, "the opening is shared by the block"
    assert void.deck_seed != first.deck_seed, "its bots have already seen the cards"
    _, played = _play(book, worker, tournament)
    _play(book, worker, tournament)  # after the other match of the block the seeds are revealed
    replay = book.replay(played.id)
    assert verify_replay(replay or "").is_replayed
    header = json.loads((replay or "").splitlines()[0])
    assert header["commitments"]["deck"] == commitment(played.deck_seed).hex(), "the book knows what was dealt"
    assert _said(replay) != _said(void_once[0].replay)
    assert book.notes(tournament.id) == []


def test_cards_that_a_block_shares_are_dealt_again_and_a_note_says_so(
    book: Book, worker: Worker, void_once: list[referee.Played]
) -> None:
    tournament = _enter(book, "shared", "trusted = true\n", duplicate="full")
    first, void = _play(book, worker, tournament)
    assert void_once and (void.voids, void.deck_seed) == (1, first.deck_seed)
    assert SAME_CARDS in book.notes(tournament.id)


def test_a_reproducible_match_is_played_again_with_the_same_cards(
    book: Book, worker: Worker, void_once: list[referee.Played]
) -> None:
    """The choices of bundled bots depend on the match, so they are the same in another session."""
    tournament = _enter(book, "again", reproducible=True)
    first, void = _play(book, worker, tournament)
    assert (void.voids, void.deck_seed) == (1, first.deck_seed)
    _, played = _play(book, worker, tournament)
    assert _said(book.replay(played.id)) == _said(void_once[0].replay)
    assert SAME_CARDS not in book.notes(tournament.id), "the roster promises no other cards"


def test_a_reproducible_run_has_the_same_results_after_every_match_was_void(
    book: Book, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = referee.play
    calm = _enter(book, "calm", deals=2, reproducible=True)
    rough = _enter(book, "rough", deals=2, reproducible=True)

    def fail_at_first(client: Any, match: Match, *args: Any, **kwargs: Any) -> referee.Played:
        played = play(client, match, *args, **kwargs)
        if match.tournament == rough.id and match.voids == 0:
            raise referee.VoidMatch("a test says so")
        return played

    monkeypatch.setattr(referee, "play", fail_at_first)
    for tournament in (calm, rough):
        while not book.progress(tournament.id).is_over:
            _play(book, worker, tournament)
    assert (book.progress(calm.id).voids, book.progress(rough.id).voids) == (0, 4)
    digests = [standings(book.games(one.id), ("a", "b"), 2).digest for one in (calm, rough)]
    assert digests[0] == digests[1]


def test_a_worker_notices_that_it_was_suspended() -> None:
    now = 100.0
    watch = StallWatch(lambda: now)
    for _ in range(5):
        now += LONGEST_PAUSE_S
        assert watch.count() == 0
    now += LONGEST_PAUSE_S + 0.1
    assert watch.count() == 1, "the first call after the pause counts it"
    assert watch.count() == 1


@contextmanager
def _silent_remote_bot(
    arena: TournamentArena, client: ArenaClient, tournament: Tournament, entrant: str
) -> Iterator[None]:
    """Run a remote bot that never answers."""
    key = client.issue_key(remote_bots(tournament)[entrant])
    env = clean_env(RUBBLE_ADDRESS=arena.settings.access.address, RUBBLE_BOT_KEY=key)
    with Process(*script("bad_bot", "silent"), env=env):
        yield


@pytest.mark.parametrize(("is_remote", "voids"), [(False, 1), (True, 0)])
def test_a_stall_of_the_worker_counts_for_a_match_that_returns_to_it(
    bare_arena: TournamentArena,
    client: ArenaClient,
    book: Book,
    worker: Worker,
    monkeypatch: pytest.MonkeyPatch,
    is_remote: bool,
    voids: int,
) -> None:
    """The lease expired while the worker was suspended, and the thread that continues the match starts after the stall.

    A stall of the worker stops the bots that it has started. The clock of a remote bot is not affected by it.
    """
    now = 100.0
    watch = StallWatch(lambda: now)
    monkeypatch.setattr(worker.runner, "stalls", watch)
    kind = "remote = true" if is_remote else f"command = {json.dumps(script('bad_bot', 'silent'))}"
    text = roster_text(
        {"quick": "greedy"},
        "[time_control]\nmove_ms = 500\nbank_ms = 0\n",
        name=f"back-{voids}",
        game="relief",
        players=2,
        deals=1,
        seed=3,
    )
    tournament = planning.enter(book, read_roster(f"{text}[[bots]]\nname = 'slow'\n{kind}\n", [_RELIEF]))
    play = referee.play
    is_away = True

    def lose_the_book(*args: Any, **kwargs: Any) -> referee.Played:
        if is_away:
            raise SQLAlchemyError("a test says so")
        return play(*args, **kwargs)

    monkeypatch.setattr(referee, "play", lose_the_book)
    with _silent_remote_bot(bare_arena, client, tournament, "slow") if is_remote else nullcontext():
        (match,) = book.hand_out(1, 60_000, tournament.id)
        with pytest.raises(SQLAlchemyError):
            worker.play(match.id, match.deliveries)
        now += LONGEST_PAUSE_S + 1
        assert watch.count() == 1
        is_away = False
        again = handed_out_again(book, match)
        worker.play(again.id, again.deliveries)
    after = book.match(match.id)
    assert after is not None and (after.voids, book.progress(tournament.id).faults) == (voids, 1 - voids)


@pytest.mark.slow
@pytest.mark.parametrize("stop_s", [1.5 + 2 * LONGEST_PAUSE_S, LEASE_MS / 1000 + 3])
def test_a_bot_that_was_suspended_with_its_worker_is_not_blamed(tmp_path: Path, stop_s: float) -> None:
    """After a closed laptop or Ctrl-Z: worker and bots stop while the clocks of the service run."""
    with TournamentArena(tmp_path / "arena", concurrency=2) as arena:
        book = Book(arena.settings.book)
        clocks = "[time_control]\nmove_ms = 1500\nbank_ms = 0\n"
        tournament = _enter(book, "lid", clocks, deals=20)
        stopped: list[int] = []

        def go_on() -> None:
            for pid in reversed(stopped):
                os.kill(pid, signal.SIGCONT)

        def look(progress: Progress) -> None:
            if not stopped and progress.recorded >= 4:
                # By a timer, because this thread would wait if the worker holds the lock of the book.
                timer = threading.Timer(stop_s, go_on)  # after all clocks have run out
                stopped.extend([arena.pid("worker"), *alive_with(arena.folder / "bots")])
                for pid in stopped:
                    os.kill(pid, signal.SIGSTOP)
                timer.start()

        play_out(arena, book, tournament, PATIENCE_S, look)
        progress = book.progress(tournament.id)
        assert (progress.recorded, progress.faults) == (40, 0) and progress.voids > 0, logs(arena.folder)
        book.close()
