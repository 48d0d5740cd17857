"""The referee on a real service: which bot is blamed, which match is void, and what two referees record."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis

from orchestrator import referee
from orchestrator.bot_processes.pool import BotCannotStart, BotPool
from orchestrator.client import ArenaClient, ServiceError
from orchestrator.spec import Entry
from rubble.v1 import session_pb2
from service.sessions.replay_verify import verify_replay
from tests.harness.leaving_server import LeavingServer, stays_small
from tests.harness.processes import PYTHON, Process, alive_with
from tests.harness.tournaments import TournamentArena, sample_match, script
from tests.harness.waiting import wait_for

_CLOCK = {"move_ms": 10_000, "bank_ms": 20_000, "increment_ms": 0, "seating_ms": 30_000}
_TERMS = referee.Terms("relief", {}, _CLOCK, 60.0)
_BRIEF = replace(_TERMS, time_control={"move_ms": 100, "bank_ms": 0, "increment_ms": 0, "seating_ms": 200})
_SLOW_SEAT = replace(_TERMS, time_control={**_CLOCK, "seating_ms": 3000})


@pytest.fixture(scope="module")
def bot_pool(bare_arena: TournamentArena, client: ArenaClient) -> Iterator[BotPool]:
    """Two honest bots, one that exits at once, one that never answers and one that never connects."""
    entries = [Entry(name, tuple(script("steady", name))) for name in ("ann", "bob")]
    entries += [Entry("leave", tuple(script("bad_bot", "leave"))), Entry("silent", tuple(script("bad_bot", "silent")))]
    entries += [Entry("fresh", tuple(script("steady", "fresh")), isolated=True), Entry("mute", ("sleep", "1000"))]
    opened = BotPool(client, "cup", 0, entries, bare_arena.folder / "bots", {})
    yield opened
    opened.close()
    assert not alive_with(bare_arena.folder / "bots")


def _nothing() -> None:
    pass


def test_two_referees_of_one_match_record_the_same(client: ArenaClient, bot_pool: BotPool) -> None:
    bot_pool.wait_until_ready(["ann", "bob"])
    bots = [bot_pool.arena_name(name) for name in ("ann", "bob")]
    looks = []
    with ThreadPoolExecutor(2) as pool:
        both = [
            pool.submit(referee.play, client, sample_match("both"), bots, _TERMS, lambda: looks.append(1))
            for _ in range(2)
        ]
        first, second = (found.result() for found in both)
    assert first == second
    assert looks, "a referee sends heartbeats"
    assert first.recorded.faults == ("", "") and sorted(first.recorded.ranks) in ([1, 2], [1, 1])
    assert first.recorded.decisions > 10 and all(first.recorded.think_ms)
    assert not verify_replay(first.replay).is_replayed, "the seeds are held back"
    client.reveal("both")
    verification = verify_replay(client.replay("both"))
    assert verification.ok and verification.is_replayed


def test_the_result_of_a_match_that_has_ended_is_only_read(client: ArenaClient, bot_pool: BotPool) -> None:
    bot_pool.wait_until_ready(["ann", "bob"])
    bots = [bot_pool.arena_name(name) for name in ("ann", "bob")]
    first = referee.play(client, sample_match("again"), bots, _TERMS, _nothing)
    assert referee.play(client, sample_match("again"), bots, _TERMS, _nothing) == first


def test_a_match_without_any_bot_is_void_at_first(client: ArenaClient) -> None:
    nobody = ["cup.nobody.0", "cup.noone.0"]
    with pytest.raises(referee.VoidMatch, match="no bot of match empty is connected"):
        referee.play(client, sample_match("empty"), nobody, _BRIEF, _nothing)
    taken = referee.play(client, sample_match("empty", voids=referee.VOID_LIMIT), nobody, _BRIEF, _nothing)
    assert "NO_SHOW" in taken.recorded.faults


def test_a_bot_that_is_absent_while_another_waits_is_blamed(client: ArenaClient, bot_pool: BotPool) -> None:
    bot_pool.wait_until_ready(["ann"])
    played = referee.play(
        client, sample_match("alone"), [bot_pool.arena_name("ann"), "cup.nobody.0"], _SLOW_SEAT, _nothing
    )
    assert played.recorded.faults == ("", "NO_SHOW") and played.recorded.ranks == (1, 2)


def test_a_bot_that_was_away_while_no_referee_watched_is_not_blamed(client: ArenaClient, bot_pool: BotPool) -> None:
    """The worker died, and its bots with it; the clocks have run out when the next worker takes over."""
    bot_pool.wait_until_ready(["ann"])
    bots = [bot_pool.arena_name("ann"), "cup.orphan.0"]
    first = referee.play(client, sample_match("orphan"), bots, _SLOW_SEAT, _nothing)
    assert first.recorded.faults == ("", "NO_SHOW"), "a referee that watched from the first move blames it"
    with pytest.raises(referee.VoidMatch, match="changed hands"):
        referee.play(client, sample_match("orphan"), bots, _SLOW_SEAT, _nothing, has_changed_hands=True)
    last = sample_match("orphan-last", voids=referee.VOID_LIMIT)
    played = referee.play(client, last, bots, _SLOW_SEAT, _nothing, has_changed_hands=True)
    assert played.recorded.faults == ("", "NO_SHOW"), "not for ever"


def test_a_bot_that_returned_late_to_a_match_without_a_referee_is_not_blamed(
    client: ArenaClient, bot_pool: BotPool
) -> None:
    """It is connected again when its clock is checked, so it only seems to be slow."""
    bot_pool.wait_until_ready(["ann", "silent"])
    bots = [bot_pool.arena_name(name) for name in ("ann", "silent")]
    hasty = replace(_TERMS, time_control={**_CLOCK, "move_ms": 1000, "bank_ms": 0})
    first = referee.play(client, sample_match("slow"), bots, hasty, _nothing)
    assert first.recorded.faults == ("", "TIMEOUT"), "a referee that watched from the first move blames it"
    with pytest.raises(referee.VoidMatch, match="changed hands"):
        referee.play(client, sample_match("slow"), bots, hasty, _nothing, has_changed_hands=True)


def test_a_bot_that_makes_a_match_too_long_forfeits(client: ArenaClient, bot_pool: BotPool) -> None:
    """Its clock has half a minute left. If the match were void, a bot could avoid every loss by being slow."""
    bot_pool.wait_until_ready(["ann", "silent"])
    bots = [bot_pool.arena_name(name) for name in ("ann", "silent")]
    played = referee.play(client, sample_match("stalled"), bots, replace(_TERMS, match_seconds=2.0), _nothing)
    assert played.recorded.faults == ("", "MATCH_LIMIT") and played.recorded.ranks == (1, 2)
    client.reveal("stalled")
    verification = verify_replay(client.replay("stalled"))
    assert verification.ok and verification.is_replayed


def test_the_others_play_on_when_one_bot_has_used_up_the_time_of_a_match(
    client: ArenaClient, bot_pool: BotPool
) -> None:
    bot_pool.wait_until_ready(["ann", "bob", "silent"])
    bots = [bot_pool.arena_name(name) for name in ("ann", "silent", "bob")]
    trio = sample_match("trio", seats=(0, 1, 2))
    played = referee.play(client, trio, bots, replace(_TERMS, match_seconds=2.0), _nothing)
    assert played.recorded.faults == ("", "MATCH_LIMIT", "") and played.recorded.ranks[1] == 3
    assert played.recorded.ending not in ("FORFEIT", "ADJUDICATED"), "they reached the end of the game"


def test_a_match_that_is_too_long_without_thinking_time_is_void(client: ArenaClient, bot_pool: BotPool) -> None:
    """No bot has connected and no clock has started, so the arena used the time."""
    bots = ["cup.nobody.0", "cup.noone.0"]
    with pytest.raises(referee.VoidMatch, match=r"longer than 1 s, and its seats used only 0\.0 s"):
        referee.play(client, sample_match("long"), bots, replace(_TERMS, match_seconds=1.0), _nothing)
    assert client.session("long").status == session_pb2.SESSION_STATUS_CANCELLED
    with pytest.raises(referee.VoidMatch, match="cancelled"):
        referee.play(client, sample_match("long"), bots, _TERMS, _nothing)


@pytest.mark.parametrize("voids", [0, referee.VOID_LIMIT + 1])
def test_a_bot_that_lost_on_time_during_an_outage_is_not_blamed(
    client: ArenaClient, bot_pool: BotPool, monkeypatch: pytest.MonkeyPatch, voids: int
) -> None:
    """However often it happens: the fault names the outage, of the service or of this worker."""
    bot_pool.wait_until_ready(["ann", "silent"])
    bots = [bot_pool.arena_name(name) for name in ("ann", "silent")]
    hasty = replace(_TERMS, time_control={**_CLOCK, "move_ms": 500, "bank_ms": 0})
    match = sample_match("trouble", voids)
    assert referee.play(client, match, bots, hasty, _nothing).recorded.faults == ("", "TIMEOUT")
    with pytest.raises(referee.VoidMatch, match="this worker stood still"):
        referee.play(client, match, bots, hasty, _nothing, our_outage=lambda _: "this worker stood still")

    def in_trouble(*arguments: Any) -> session_pb2.Session:
        found = type(client).wait_for_end(client, *arguments)
        assert found is not None
        found.seats[1].outage = "the store took no writes for 40 s"
        return found

    monkeypatch.setattr(client, "wait_for_end", in_trouble)
    with pytest.raises(referee.VoidMatch, match="the store took no writes for 40 s"):
        referee.play(client, match, bots, hasty, _nothing)


def test_a_match_whose_session_is_lost_is_void(
    bare_arena: TournamentArena, client: ArenaClient, bot_pool: BotPool
) -> None:
    bot_pool.wait_until_ready(["ann", "silent"])
    bots = [bot_pool.arena_name(name) for name in ("ann", "silent")]
    begun = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        playing = pool.submit(referee.play, client, sample_match("lost"), bots, _TERMS, begun.set)
        assert begun.wait(30)
        with redis.Redis.from_url(bare_arena.redis.url) as store:
            wait_for(lambda: any(b"lost" in key for key in store.scan_iter()), "the session to be kept")
            store.delete(*[key for key in store.scan_iter() if b"lost" in key])
        with pytest.raises(referee.VoidMatch):
            playing.result(40)


def test_a_referee_can_be_interrupted(client: ArenaClient, bot_pool: BotPool) -> None:
    bot_pool.wait_until_ready(["ann", "silent"])
    bots = [bot_pool.arena_name(name) for name in ("ann", "silent")]

    class Away(Exception):
        pass

    def leave() -> None:
        raise Away

    with pytest.raises(Away):
        referee.play(client, sample_match("away"), bots, _TERMS, leave)
    assert client.session("away").status == session_pb2.SESSION_STATUS_ACTIVE, "the game goes on without it"
    client.cancel("away", "the test is over")


def test_a_match_that_cannot_be_played_fails_at_once(client: ArenaClient) -> None:
    with pytest.raises(ServiceError) as caught:
        referee.play(client, sample_match("odd"), ["cup.a.0", "cup.b.0"], replace(_TERMS, game="chess"), _nothing)
    assert not caught.value.is_passing


#: Asks a service again and again, as workers do.
_ASK = """
import sys
from orchestrator.client import ArenaClient, ServiceAccess, ServiceError

while True:
    with ArenaClient(ServiceAccess(sys.argv[1], "nobody")) as client:
        try:
            client.connected()
        except ServiceError as error:
            assert error.is_passing, error
"""


def test_a_service_that_stops_is_asked_again_by_the_caller_only(tmp_path: Path) -> None:
    """gRPC's own retries have no pause: a worker used half a gigabyte a second until the call's time was over."""
    with LeavingServer() as server, Process(PYTHON, "-c", _ASK, server.address, log=tmp_path / "log") as asking:
        stays_small(asking, server, 5)


def test_the_error_names_a_bot_that_exits_at_once(client: ArenaClient, bot_pool: BotPool) -> None:
    with pytest.raises(BotCannotStart, match=r"'leave' ended twice with exit code 1; it said:\n.*rather not"):
        bot_pool.wait_until_ready(["leave", "ann"])
    assert bot_pool.arena_name("ann") in client.connected()


def test_a_bot_that_never_connects_is_waited_for_only_once(bot_pool: BotPool) -> None:
    waits = []
    for _ in range(2):
        looks: list[int] = []
        with pytest.raises(BotCannotStart, match="'mute' did not connect within 1 s; it said nothing"):
            bot_pool.wait_until_ready(["mute", "ann"], timeout_s=1, heartbeat=lambda looks=looks: looks.append(1))  # type: ignore[misc]  # mypy does not know defaults of a lambda
        waits.append(len(looks))
    assert waits[0] > 1
    assert waits[1] == 0, "it was not waited for a second time"


def test_an_isolated_bot_is_a_new_process_for_every_game(
    bare_arena: TournamentArena, client: ArenaClient, bot_pool: BotPool
) -> None:
    names = [bot_pool.arena_name("fresh", session) for session in ("one", "two")]
    scratch = [bare_arena.folder / "bots" / "fresh" / name for name in names]
    bot_pool.wait_until_ready(["ann"])
    for session in ("one", "two"):
        bot_pool.wait_until_ready(["fresh"], session)
    assert len({*names, *client.connected()}) == len(client.connected()), "both run at the same time"
    first, second = (set(alive_with(folder)) for folder in scratch)
    assert first and second and not first & second
    played = referee.play(client, sample_match("one"), [names[0], bot_pool.arena_name("ann")], _TERMS, _nothing)
    assert played.recorded.faults == ("", "")
    bot_pool.stop_after_game(["fresh", "ann"], "one")
    assert not alive_with(scratch[0]) and not scratch[0].exists(), "nothing is left of it"
    assert alive_with(scratch[1]) and bot_pool.arena_name("ann") in client.connected()
    bot_pool.stop_after_game(["fresh"], "two")
