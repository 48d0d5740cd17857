"""What a worker does about refusals, withdrawals, outages and matches that cannot be played."""

from collections.abc import Iterator
from typing import Any

import pytest
import redis
from sqlalchemy.exc import OperationalError

from orchestrator import planning
from orchestrator.book import Book, Match, Tournament
from orchestrator.book.tables import DROPPED, PAUSED, PLANNED, RECORDED, RUNNING
from orchestrator.celery_app import make_app
from orchestrator.client import ArenaClient, ServiceAccess
from orchestrator.control import Control
from orchestrator.match_runner import MOST_VOIDS, TakenUp
from orchestrator.roster import GameFacts, read_roster
from orchestrator.tournaments import Tournaments
from orchestrator.upkeep import Upkeep
from orchestrator.worker import Worker
from rubble.v1 import session_pb2, tournament_pb2
from service.sessions.replay_verify import verify_replay
from tests.harness.processes import alive_with
from tests.harness.tournaments import TournamentArena, handed_out_again, roster_text, script
from tests.harness.waiting import wait_for

_FACTS = [GameFacts("relief", 1, (2, 3)), GameFacts("chess", 1, (2, 2))]


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TournamentArena]:
    with TournamentArena(tmp_path_factory.mktemp("policies"), concurrency=4, workers=0) as opened:
        yield opened


@pytest.fixture
def book(arena: TournamentArena) -> Iterator[Book]:
    opened = Book(arena.settings.book)
    yield opened
    for tournament in opened.tournaments():
        opened.set_state(tournament.id, "cancelled", only_from=(RUNNING, PAUSED))
    opened.close()


@pytest.fixture
def worker(arena: TournamentArena) -> Iterator[Worker]:
    opened = Worker(arena.settings)
    yield opened
    opened.leave()
    opened.close()


def _enter(book: Book, bots: dict[str, Any], **settings: Any) -> Tournament:
    given: dict[str, Any] = {"game": "relief", "players": 2, "deals": 1, "seed": 3} | settings
    return planning.enter(book, read_roster(roster_text(bots, **given), _FACTS))


def _play_one(book: Book, worker: Worker, tournament: Tournament) -> str:
    """Play the next match; return its id."""
    (match,) = book.hand_out(1, 60_000, tournament.id)
    worker.play(match.id, match.deliveries)
    return match.id


def test_a_permanent_refusal_of_the_service_pauses_the_tournament(book: Book, worker: Worker) -> None:
    """The service does not have chess; without the pause every match would be retried for ever."""
    tournament = _enter(book, {"a": "random", "b": "random"}, name="unknown", game="chess")
    id_ = _play_one(book, worker, tournament)
    now = book.tournament(tournament.id)
    assert now.state == PAUSED and "UNKNOWN_GAME" in now.reason and id_ in now.reason
    match = book.match(id_)
    assert match is not None and match.state == PLANNED, "repaired and resumed, it is played"
    assert book.hand_out(5, 1000, tournament.id) == []
    assert book.set_state(tournament.id, RUNNING, only_from=(PAUSED,)) and not book.tournament(tournament.id).reason


def test_a_match_keeps_its_bots_unless_another_process_takes_it(
    arena: TournamentArena, book: Book, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the lease expires only because the worker is busy, the match continues with the same bots."""
    tournament = _enter(book, {"a": "random", "b": "random"}, name="hands")
    (match,) = book.hand_out(1, 60_000, tournament.id)
    heard: list[bool] = []

    def away(tournament: Tournament, match: Match, taken_up: TakenUp) -> None:
        heard.append(taken_up.has_changed_hands)
        raise OperationalError("", {}, Exception("the book is unavailable"))

    next_worker = Worker(arena.settings)
    for one in (worker, worker, next_worker):
        monkeypatch.setattr(one.runner, "play_session", away)
        with pytest.raises(OperationalError):
            one.play(match.id, match.deliveries)
        match = handed_out_again(book, match)
    next_worker.close()
    assert heard == [False, False, True]


def test_queued_matches_do_not_start_after_a_pause(book: Book, worker: Worker) -> None:
    tournament = _enter(book, {"a": "random", "b": "random"}, name="paused")
    (match,) = book.hand_out(1, 60_000, tournament.id)
    book.set_state(tournament.id, PAUSED)
    worker.play(match.id, match.deliveries)
    now = book.match(match.id)
    assert now is not None and (now.state, now.slot, now.queued_ms) == (PLANNED, None, None)


def test_a_match_that_is_void_too_often_is_given_up(
    book: Book, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament = _enter(book, {"a": "random", "b": "random"}, name="cursed")

    def explode(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug of ours")

    monkeypatch.setattr(worker.runner, "play_session", explode)
    states = []
    for _ in range(MOST_VOIDS + 1):
        match = book.match(_play_one(book, worker, tournament))
        assert match is not None
        states.append(match.state)
    assert states == [PLANNED] * MOST_VOIDS + [DROPPED] and match is not None
    assert "void 11 times" in match.reason and "a bug of ours" in match.reason
    assert book.progress(tournament.id).planned == 1, "the other match is not touched"


def test_a_match_continues_while_the_book_is_unavailable(
    book: Book, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the worker would stop its bots while their clocks run."""
    tournament = _enter(book, {"a": "random", "b": "random"}, name="bookless")
    asked = []

    def is_away(*_: object) -> None:
        asked.append(1)
        raise OperationalError("UPDATE matches", {}, Exception("the book is unavailable"))

    monkeypatch.setattr(worker.book, "extend_lease", is_away)
    monkeypatch.setattr("orchestrator.match_runner._EXTEND_S", 0.0)  # at every heartbeat
    match = book.match(_play_one(book, worker, tournament))
    assert asked and match is not None and (match.state, match.voids) == (RECORDED, 0)
    assert len(book.games(tournament.id)) == 1


@pytest.mark.parametrize("is_old_service", [False, True])
def test_a_replay_is_fetched_once_and_gets_its_seeds(
    arena: TournamentArena, book: Book, worker: Worker, monkeypatch: pytest.MonkeyPatch, is_old_service: bool
) -> None:
    """Byte for byte as the service writes it. With an older service it is fetched again."""
    fetched: list[str] = []
    fetch, reveal = ArenaClient.replay, ArenaClient.reveal

    def counted(self: ArenaClient, session: str) -> str:
        fetched.append(session)
        return fetch(self, session)

    def as_before(self: ArenaClient, session: str) -> session_pb2.RevealSeedsResponse:
        return session_pb2.RevealSeedsResponse(seeds=reveal(self, session).seeds)

    monkeypatch.setattr(ArenaClient, "replay", counted)
    monkeypatch.setattr(ArenaClient, "forget", lambda *_: None)
    if is_old_service:
        monkeypatch.setattr(ArenaClient, "reveal", as_before)
    tournament = _enter(book, {"a": "random", "b": "random"}, name=f"fetched-{is_old_service}")
    played = [_play_one(book, worker, tournament) for _ in range(2)]
    assert sorted(fetched) == sorted(played * (2 if is_old_service else 1))
    with ArenaClient(arena.settings.access) as client:
        for id_ in played:
            kept = book.replay(id_)
            assert kept is not None and kept == fetch(client, id_)
            verification = verify_replay(kept)
            assert verification.ok and verification.is_replayed


def test_a_tournament_ends_only_after_its_seeds_are_archived(
    arena: TournamentArena, book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament = _enter(book, {"a": "random", "b": "random"}, name="late")
    for match, _ in book.matches(tournament.id):
        assert book.record_once(match, match.result((1, 2), (1, 0), ("", ""), (1, 1), "LAST_TILE", 10), "held back")
    with monkeypatch.context() as briefly, ArenaClient(ServiceAccess("127.0.0.1:1", "nobody answers there")) as away:
        briefly.setattr("orchestrator.client._CALL_S", 0.2)
        assert not Upkeep(book, away).finish(tournament)
        assert book.tournament(tournament.id).state == RUNNING
    with ArenaClient(arena.settings.access) as client:  # it has none of these sessions
        assert Upkeep(book, client).finish(tournament)
    assert book.tournament(tournament.id).state == "done"


def test_an_archived_session_is_deleted_from_redis(arena: TournamentArena, book: Book, worker: Worker) -> None:
    tournament = _enter(book, {"a": "random", "b": "random"}, name="tidy")
    with redis.Redis.from_url(arena.redis.url) as store:
        first = _play_one(book, worker, tournament)
        assert _keys_of(store, first), "the block is not over: its seeds are still to be revealed"
        held_back = verify_replay(book.replay(first) or "")
        assert held_back.ok and not held_back.is_replayed, "bots of the next match of the block must not know them"
        second = _play_one(book, worker, tournament)
        assert verify_replay(book.replay(first) or "").is_replayed
        wait_for(lambda: not _keys_of(store, first) + _keys_of(store, second), "no key of either session is left")
    assert [len(book.archived(tournament.id)), book.blocks_without_seeds(tournament.id)] == [2, []]


def _keys_of(store: "redis.Redis", session: str) -> list[bytes]:
    return list(store.scan_iter(match=f"*{session}*", count=1000))


@pytest.mark.parametrize(("deals", "is_removed"), [(21, True), (10, False)])
def test_a_bot_that_forfeits_more_than_half_is_withdrawn(
    arena: TournamentArena, book: Book, worker: Worker, deals: int, is_removed: bool
) -> None:
    """One of three bots never connects. The test writes the results; everything that follows is real."""
    bots = {"a": "random", "b": "random", "absent": script("steady", "x")}
    tournament = _enter(book, bots, name=f"absent-{deals}", deals=deals)
    absent = 2
    schedule = book.schedule(tournament.id)
    places = sorted(schedule[absent])[:20]
    for match, _ in book.matches(tournament.id, limit=1000):
        if match.order in places:
            faults = tuple("NO_SHOW" if entrant == absent else "" for entrant in match.seats)
            ranks = tuple(2 if fault else 1 for fault in faults)
            assert book.record_once(match, match.result(ranks, (0, 0), faults, (1, 1), "LAST_TILE", 10))
    with ArenaClient(arena.settings.access) as client:
        upkeep = Upkeep(book, client)
        upkeep.look_after(tournament, book.progress(tournament.id))
        upkeep.look_after(tournament, book.progress(tournament.id))
    (found,) = book.withdrawals(tournament.id)
    assert (found.entrant, found.is_removed) == (absent, is_removed)
    reply = Tournaments(book).tournament(tournament.id)
    assert reply.entrants[absent].conduct == tournament_pb2.CONDUCT_WITHDRAWN and reply.entrants[absent].reason
    left = [match for match, _ in book.matches(tournament.id, limit=1000) if match.state == PLANNED]
    if is_removed:
        assert book.games(tournament.id) == [], "none of its games counts"
        assert all(absent not in match.seats for match in left) and len(left) == 2 * deals
        return
    assert len(book.games(tournament.id)) == 20
    mine = next(match for match in left if absent in match.seats)
    for match in left:  # only this one is to be played
        if match.id != mine.id:
            book.record_once(match, match.result((1, 2), (1, 0), ("", ""), (1, 1), "LAST_TILE", 10))
    assert _play_one(book, worker, tournament) == mine.id
    (game,) = [game for game in book.games(tournament.id) if game.order == mine.order]
    seat = game.seats.index(absent)
    assert game.faults[seat] == "WITHDRAWN" and game.ranks[seat] == 2 and game.think_ms[seat] == 0
    state = book.match(mine.id)
    assert state is not None and state.state == RECORDED


def test_a_tick_finishes_a_tournament_and_stops_its_bots(arena: TournamentArena, book: Book, worker: Worker) -> None:
    tournament = _enter(book, {"a": "random", "b": "random"}, name="ticked")
    control = Control(make_app(arena.settings.broker), arena.settings)
    for _ in range(2):
        _play_one(book, worker, tournament)
    assert alive_with(tournament.id), "its bots stay while it may need them"
    control.tick()
    control.close()
    now = book.tournament(tournament.id)
    assert now.state == "done" and now.ended_ms > 0
    wait_for(lambda: not alive_with(tournament.id), "its bots are stopped")
