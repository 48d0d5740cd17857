"""Bots that play one game at a time get no more games, and are not blamed for games they could not start."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from orchestrator import referee
from orchestrator.book import Match
from orchestrator.bot_processes.capacity import Capacity
from orchestrator.bot_processes.pool import BotPool
from orchestrator.client import ArenaClient
from orchestrator.spec import Entry
from service.games.chance import SEED_BYTES
from tests.harness.processes import Process, clean_env
from tests.harness.tournaments import TournamentArena, sample_match, script
from tests.harness.waiting import wait_for

#: A game of two slow bots lasts longer than the time to connect.
_TERMS = referee.Terms("relief", {}, {"move_ms": 60_000, "bank_ms": 0, "increment_ms": 0, "seating_ms": 1500}, 120.0)
_BOTS = ("ann", "bob")


def _nothing() -> None:
    pass


class Called(Exception):
    """The waiting match is interrupted."""


def _is_free(capacity: Capacity, *bots: str) -> bool:
    """Whether a game of these bots could start now."""
    looks = iter((None, Called))

    def leave_at_the_second_look() -> None:
        if next(looks) is not None:
            raise Called

    try:
        capacity.take("probe", bots, leave_at_the_second_look)
    except Called:
        return False
    capacity.give("probe", bots)
    return True


def test_a_game_starts_when_all_its_bots_have_capacity() -> None:
    capacity = Capacity()
    capacity.learn("ann", 2)
    capacity.learn("bob", 1)
    capacity.take("one", ["ann", "bob"], _nothing)

    assert _is_free(capacity, "ann") and not _is_free(capacity, "bob") and not _is_free(capacity, "ann", "bob")
    capacity.give("one", ["ann", "bob"])
    assert _is_free(capacity, "ann", "bob")


def test_a_waiting_game_reserves_no_bot() -> None:
    """Otherwise two games could each hold one bot and wait for the other."""
    capacity = Capacity()
    for bot in _BOTS:
        capacity.learn(bot, 1)
    capacity.take("one", ["bob"], _nothing)
    waits = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(capacity.take, "two", _BOTS, waits.set)
        assert waits.wait(30)
        capacity.take("three", ["ann"], _nothing)
        capacity.give("three", ["ann"])
        assert not waiting.done()
        capacity.give("one", ["bob"])
        waiting.result(30)
    assert not _is_free(capacity, "ann")


def test_a_running_game_is_counted_without_a_check() -> None:
    capacity = Capacity()
    capacity.learn("ann", 1)
    for session in ("one", "two", "two"):
        capacity.take_anyway(session, ["ann"])

    for session in ("one", "two"):
        assert not _is_free(capacity, "ann")
        capacity.give(session, ["ann"])
    assert _is_free(capacity, "ann") and _is_free(capacity, "a bot that never connected")


def _play(client: ArenaClient, bot_pool: BotPool, match: Match) -> tuple[str, ...]:
    """Play a match as a worker does; return its faults."""
    bot_pool.wait_until_ready(_BOTS)
    bots = [bot_pool.arena_name(bot) for bot in _BOTS]
    with bot_pool.game(_BOTS, match.session):
        return referee.play(client, match, bots, _TERMS, _nothing).recorded.faults


def test_matches_wait_until_their_bots_have_capacity(bare_arena: TournamentArena, client: ArenaClient) -> None:
    entries = [Entry(name, tuple(script("bad_bot", "pensive"))) for name in _BOTS]
    bot_pool = BotPool(client, "cup", 0, entries, bare_arena.folder / "bots", {})
    try:
        with ThreadPoolExecutor(3) as pool:
            faults = list(pool.map(lambda number: _play(client, bot_pool, sample_match(f"wait-{number}")), range(3)))
        assert faults == [("", "")] * 3
    finally:
        bot_pool.close()


def test_a_match_that_was_waiting_when_its_worker_died_waits_again(
    bare_arena: TournamentArena, client: ArenaClient
) -> None:
    """Only a game whose clocks already run skips the wait; a match that was only handed out does not."""
    entries = [Entry(name, tuple(script("bad_bot", "pensive"))) for name in _BOTS]
    bot_pool = BotPool(client, "cup", 2, entries, bare_arena.folder / "again", {})
    waits = threading.Event()
    try:
        bot_pool.wait_until_ready(_BOTS)
        bots = [bot_pool.arena_name(bot) for bot in _BOTS]
        client.create_session("begun", "relief", bots, {}, (bytes(SEED_BYTES),) * 2, {**_TERMS.time_control})
        with ThreadPoolExecutor(1) as pool, ExitStack() as entered:
            with bot_pool.game(_BOTS, "first"):
                with bot_pool.game(_BOTS, "begun", was_handed_out=True):
                    pass
                late = bot_pool.game(_BOTS, "late", was_handed_out=True, heartbeat=waits.set)
                entering = pool.submit(entered.enter_context, late)
                assert waits.wait(30) and not entering.done()
            entering.result(30)
    finally:
        client.cancel("begun", "the test is over")
        bot_pool.close()


def test_a_bot_without_capacity_is_not_blamed(bare_arena: TournamentArena, client: ArenaClient) -> None:
    """A session was created without checking capacity: the bot was connected all the time, so the match is void."""
    entries = [Entry(name, tuple(script("bad_bot", "silent" if name == "bob" else "pensive"))) for name in _BOTS]
    bot_pool = BotPool(client, "cup", 1, entries, bare_arena.folder / "more", {})
    try:
        bot_pool.wait_until_ready(_BOTS)
        bots = [bot_pool.arena_name(bot) for bot in _BOTS]
        client.create_session("full", "relief", bots, {}, (bytes(SEED_BYTES),) * 2, {**_TERMS.time_control})
        wait_for(lambda: client.connected()[bots[0]].games == 1, "the game that uses its capacity")
        with pytest.raises(referee.VoidMatch, match="had no capacity"):
            referee.play(client, sample_match("late"), bots, _TERMS, _nothing)
        taken = referee.play(client, sample_match("late", voids=referee.VOID_LIMIT), bots, _TERMS, _nothing)
        assert taken.recorded.faults[0] == "NO_SHOW", "not for ever"
    finally:
        bot_pool.close()


def test_several_workers_share_the_capacity_of_a_remote_bot(bare_arena: TournamentArena, client: ArenaClient) -> None:
    """It connects by itself, under one name for all workers."""
    entries = [Entry(name, remote=True) for name in _BOTS]
    bot_pools = [BotPool(client, "far", slot, entries, bare_arena.folder / f"far-{slot}", {}) for slot in range(2)]
    far = [
        Process(
            *script("bad_bot", "pensive"),
            env=clean_env(
                RUBBLE_ADDRESS=client.access.address,
                RUBBLE_BOT_KEY=client.issue_key(bot_pools[0].arena_name(name)),
                PYTHONPATH=os.pathsep.join(sys.path),
            ),
        )
        for name in _BOTS
    ]
    try:
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(_play, client, bot_pools[0], sample_match("near"))
            bots = [bot_pools[0].arena_name(bot) for bot in _BOTS]
            wait_for(
                lambda: all(bot in client.connected() and client.connected()[bot].games for bot in bots),
                "the first game",
            )
            second = pool.submit(_play, client, bot_pools[1], sample_match("far"))
            assert (first.result(120), second.result(120)) == (("", ""), ("", ""))
    finally:
        for process in far:
            process.kill()
        for bot_pool in bot_pools:
            bot_pool.close()
