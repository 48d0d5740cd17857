"""Attempts to learn hidden cards: from a small seed, from ids, or from a block that is still being played."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import grpc
import pytest

from orchestrator import planning, schedule
from orchestrator.book import Book, Match, Tournament
from orchestrator.roster import UNPROTECTED, GameFacts, read_roster
from orchestrator.schedule.ids import seeds_of
from orchestrator.tournaments import Tournaments
from rubble.v1 import session_pb2
from service.sessions.session import commitment
from tests.harness.bots import bots
from tests.harness.client import Refusal, refusal
from tests.harness.games import create_session, fresh
from tests.harness.service import Arena
from tests.harness.service import arena as open_arena
from tests.harness.tournaments import roster_text
from tests.harness.waiting import run

_RELIEF: Final = GameFacts("relief", 1, (2, 3))
_SEED: Final = 1906
#: The seeds that an attacker tries; each takes microseconds.
_TRIED: Final = range(5000)


def _entered(folder: Path, extra: str = "", **settings: Any) -> tuple[Book, Tournament]:
    book = Book(f"sqlite:///{folder / 'book.sqlite'}")
    given = {"name": "cup", "game": "relief", "players": 2, "deals": 2, "seed": _SEED} | settings
    text = roster_text({"ann": "random", "bob": "random"}, extra, **given)
    return book, planning.enter(book, read_roster(text, [_RELIEF]))


def _guessed(match: Match) -> int | None:
    """Return the seed that an attacker finds from the roster and the commitments of the first session."""
    public = commitment(match.table_seed), commitment(match.deck_seed)
    for seed in _TRIED:
        found = seeds_of(schedule.secret_of(seed), 0, 0, 0, "table")
        if (commitment(found.table), commitment(found.deck)) == public:
            return seed
    return None


def test_a_small_seed_cannot_be_found_from_the_commitments(tmp_path: Path) -> None:
    book, tournament = _entered(tmp_path)
    assert _guessed(book.block(tournament.id, 0)[0]) is None
    assert not tournament.is_reproducible


def test_a_small_seed_cannot_be_found_from_the_id_of_the_tournament(tmp_path: Path) -> None:
    _, tournament = _entered(tmp_path)
    roster = read_roster(tournament.roster, [_RELIEF])
    tried = (
        schedule.content_id(
            [schedule.SPEC_VERSION, roster.name, roster.text, roster.rules, schedule.secret_of(seed).hex()]
        )
        for seed in _TRIED
    )
    assert not any(id_.startswith(tournament.id) for id_ in tried)


def test_a_reproducible_run_can_be_guessed_and_says_so(tmp_path: Path) -> None:
    book, tournament = _entered(tmp_path, reproducible=True)
    assert _guessed(book.block(tournament.id, 0)[0]) == _SEED, "the organiser asked for this"
    assert tournament.is_reproducible and book.notes(tournament.id) == [UNPROTECTED]


# ------------------------------------------------------------------------------------------- a block that is still being played
@pytest.fixture(scope="module")
def service() -> Iterator[Arena]:
    """One copy of the service."""
    with open_arena(1) as opened:
        yield opened


def _assert_sealed(error: Refusal) -> None:
    assert (error.code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "SESSION_SEALED")
    assert "when they are revealed" in error.message


def test_a_bot_cannot_read_how_others_played_the_same_cards(service: Arena) -> None:
    """In games with one seat every bot gets the same cards: the last bot could copy the best game."""

    async def scenario() -> None:
        async with service.operator() as operator, bots(service, 2) as (early, late):
            session = fresh("sealed")
            await create_session(operator, "sf1906-2e", [early.name], session, hold_seeds=True, sealed=True)
            await early.finished([session])
            for token in ("", late.key):
                async with service.client(token) as spy:
                    for request in (
                        session_pb2.GetReplayRequest(session=session),
                        session_pb2.GetViewRequest(session=session),
                        session_pb2.GetSessionRequest(session=session),
                    ):
                        _assert_sealed(await refusal(spy.ask(request)))
                    _assert_sealed(await refusal(spy.watch(session).read()))
            async with service.client(early.key) as player:
                assert (await player.session(session)).HasField("outcome"), "it knows its own game"
                await player.look(session)
                _assert_sealed(await refusal(player.ask(session_pb2.GetReplayRequest(session=session))))
            assert (await operator.ask(session_pb2.GetReplayRequest(session=session))).jsonl
            await operator.ask(session_pb2.RevealSeedsRequest(session=session))
            async with service.client(late.key) as reader:
                assert (await reader.ask(session_pb2.GetReplayRequest(session=session))).jsonl, "the block is over"
                assert (await reader.session(session)).HasField("seeds")

    run(scenario)


def test_only_its_seats_can_watch_a_sealed_game_that_runs(service: Arena) -> None:
    async def scenario() -> None:
        async with service.operator() as operator:
            created = await create_session(operator, "relief", ["", ""], hold_seeds=True, sealed=True)
            session = created.session.session
            async with service.client() as spy, service.client(created.seat_tokens[0]) as player:
                _assert_sealed(await refusal(spy.watch(session).read()))
                _assert_sealed(await refusal(spy.look(session)))
                assert (await player.look(session)).HasField("question")
            await operator.ask(session_pb2.CancelSessionRequest(session=session))

    run(scenario)


def test_a_game_that_shares_no_cards_is_public_but_its_replay_is_not_until_the_end(service: Arena) -> None:
    async def scenario() -> None:
        async with service.operator() as operator, service.client() as anybody, bots(service, 2) as players:
            session = fresh("open")
            await create_session(operator, "relief", [bot.name for bot in players], session, hold_seeds=True)
            for bot in players:
                await bot.finished([session])
            assert (await anybody.watch(session).read()).events
            assert (await anybody.session(session)).HasField("outcome")
            _assert_sealed(await refusal(anybody.ask(session_pb2.GetReplayRequest(session=session))))
            await operator.ask(session_pb2.RevealSeedsRequest(session=session))
            assert (await anybody.ask(session_pb2.GetReplayRequest(session=session))).jsonl

    run(scenario)


def test_a_sealed_session_must_hold_its_seeds_back(service: Arena) -> None:
    async def scenario() -> None:
        async with service.operator() as operator:
            error = await refusal(create_session(operator, "relief", ["", ""], sealed=True))
            assert (error.code, error.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "BAD_REQUEST")
            assert error.facts["field"] == "sealed"

    run(scenario)


@pytest.mark.parametrize(("duplicate", "is_told"), [("full", False), ("table", True)])
def test_results_of_an_open_block_with_shared_cards_are_only_for_the_operator(
    tmp_path: Path, duplicate: str, is_told: bool
) -> None:
    book, tournament = _entered(tmp_path, "trusted = true\n", duplicate=duplicate)
    tournaments = Tournaments(book)
    leased = book.hand_out(2, 60_000)
    played = [match.result((1, 2), (40, 30), ("", ""), (5, 5), "LAST_TILE", 10) for match in leased]
    assert book.record_once(leased[0], played[0])

    def ranks(is_operator: bool) -> list[int]:
        listed = tournaments.matches(tournament.id, is_operator=is_operator).matches[:2]
        return [match.seats[0].rank for match in listed]

    assert ranks(is_operator=True) == [1, 0] and tournaments.standings(tournament.id).games == 1
    assert ranks(is_operator=False) == [1 if is_told else 0, 0]
    assert tournaments.standings(tournament.id, is_operator=False).games == int(is_told), "the table reveals scores"
    assert book.record_once(leased[1], played[1])
    assert ranks(is_operator=False) == [1, 1], "the block is over"
    assert tournaments.standings(tournament.id, is_operator=False).games == 2


def test_a_block_is_over_when_its_last_match_is_dropped(tmp_path: Path) -> None:
    book, tournament = _entered(tmp_path, "trusted = true\n", duplicate="full")
    tournaments = Tournaments(book)
    first, second = book.hand_out(2, 60_000)
    assert book.record_once(first, first.result((1, 2), (40, 30), ("", ""), (5, 5), "LAST_TILE", 10))
    assert tournaments.standings(tournament.id, is_operator=False).games == 0
    assert book.blocks_under_way(tournament.id, [first.block]) == {first.block}
    assert book.blocks_under_way(tournament.id, []) == set(), "only the requested blocks are examined"
    assert book.give_up(second, "a test says so")
    assert tournaments.standings(tournament.id, is_operator=False).games == 1
    assert book.blocks_under_way(tournament.id, [first.block]) == set()
