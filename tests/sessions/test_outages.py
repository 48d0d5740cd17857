"""Outages of the service: which clocks stand still, for how long, and how outages are described. And the steady clock."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis
from redis.exceptions import OutOfMemoryError, ReadOnlyError, ResponseError

from service.embedded import EmbeddedRedis
from service.sessions import keys
from service.sessions.entries import Fault
from service.sessions.heartbeat import Heartbeat
from service.sessions.live_sessions import LiveSessions
from service.sessions.outages import KEPT, RETURN_MS, SILENCE_MS, SILENT_MS, Outage, Outages
from service.sessions.redis_client import describe_failure
from service.sessions.replay import read_replay, write_replay
from service.sessions.replay_verify import verify_replay
from service.sessions.steady_clock import SteadyClock
from service.sessions.store import MemoryStore
from service.sessions.stored import decode_session, encode_session
from tests.sessions.scripted_sessions import START, ScriptedSession, accepted, header_of

FULL = "the store takes no writes: OOM"


class Ticking:
    """A machine whose two clocks the test sets, in milliseconds."""

    def __init__(self) -> None:
        self.time_of_day = START
        self.steady = 5000

    def clock(self) -> SteadyClock:
        return SteadyClock(lambda: self.time_of_day * 1_000_000, lambda: self.steady * 1_000_000)

    def wait(self, milliseconds: int) -> None:
        self.time_of_day += milliseconds
        self.steady += milliseconds


# ------------------------------------------------------------------------------------------------------------------ the clock
def test_setting_the_time_of_day_two_hours_ahead_moves_no_session_clock() -> None:
    machine = Ticking()
    clock = machine.clock()
    assert clock() == START
    machine.wait(250)
    machine.time_of_day += 7_200_000

    assert clock() == START + 250
    assert clock.step_ms() == 7_200_000
    machine.wait(1000)
    assert (clock(), clock.step_ms()) == (START + 1250, 0)
    machine.time_of_day -= 7_200_000
    assert (clock(), clock.step_ms()) == (START + 1250, -7_200_000)


# --------------------------------------------------------------------------------------------------------------- what is lost
def test_overlapping_outages_count_once_and_bots_have_time_to_reconnect() -> None:
    outages = Outages()
    outages.add([Outage(START + 1000, START + 4000, FULL), Outage(START + 3000, START + 5000, "another copy says")])

    assert outages.lost_ms(START, START + 900) == 0
    assert outages.lost_ms(START, START + 3500) == 2500
    assert outages.lost_ms(START, START + 100_000) == 6000  # up to 4 s, and as long again to reconnect
    assert outages.lost_ms(START + 6900, START + 100_000) == 100
    assert outages.lost_ms(START + 7000, START + 100_000) == 0
    assert outages.told(START, START + 100_000) == f"{FULL} for 3 s; another copy says for 2 s"
    assert outages.told(START + 7000, START + 100_000) == ""


def test_the_current_outage_counts_before_it_is_stored() -> None:
    """After a stall the clocks may be checked first."""
    outages = Outages(START)
    assert outages.lost_ms(START, START + SILENCE_MS) == 0
    assert outages.lost_ms(START, START + 60_000) == 60_000
    assert outages.told(START, START + 60_000) == "a copy of the service stood still for 60 s"


def test_outages_are_bounded() -> None:
    outages = Outages()
    outages.add(Outage(START + place, START + place + 1, str(place)) for place in range(3 * KEPT))
    assert len(outages.told(START, START + 10_000_000)) <= 300
    assert outages.lost_ms(START, START + 10_000_000) <= 2 * KEPT


# ------------------------------------------------------------------------------------------------------------------- sessions
class _Late:
    """A session in which both seats have a question and do not answer, and live sessions that know of outages."""

    def __init__(self) -> None:
        self.now = START
        self.outages = Outages()
        self.live_sessions = LiveSessions(MemoryStore(), lambda: self.now, self.outages)
        self.id = ""

    async def open(self) -> "_Late":
        self.id = (await self.live_sessions.create(header_of("relief", 2))).header.id
        for seat in range(2):
            await self.live_sessions.take_seat(self.id, seat)
        return self

    async def faults(self) -> list[Fault]:
        session = await self.live_sessions.enforce(self.id)
        assert session is not None
        return [clock.fault for clock in session.seats]


def test_a_clock_stands_still_during_an_outage_and_its_fault_names_the_outage() -> None:
    async def scenario() -> None:
        table = await _Late().open()
        deadline = (await table.live_sessions.read(table.id)).seats[0].clock.deadline_ms
        table.outages.add([Outage(START + 1000, START + 111_000, FULL)])

        table.now = deadline + 110_000 + RETURN_MS
        assert await table.faults() == [Fault.NONE, Fault.NONE]
        table.now += 1
        assert await table.faults() == [Fault.DISCONNECTED, Fault.NONE]
        session, entries = await table.live_sessions.read_log(table.id, 0)
        assert [clock.outage for clock in session.seats] == [f"{FULL} for 110 s", ""]
        assert [clock.outage for clock in decode_session(session.header, encode_session(session)).seats] == [
            f"{FULL} for 110 s",
            "",
        ]
        text = write_replay(session, entries)
        assert f'"outage":"{FULL} for 110 s"' in text
        assert verify_replay(text).ok
        assert read_replay(text).entries == tuple(entries[:-1])

    asyncio.run(scenario())


def test_an_answer_after_an_outage_is_in_time_and_costs_only_its_own_time() -> None:
    async def scenario() -> None:
        table = await _Late().open()
        session = await table.live_sessions.read(table.id)
        bank = session.seats[0].clock.bank_ms
        table.outages.add([Outage(START + 100, START + 200_100, FULL)])
        table.now = START + 200_400 + RETURN_MS

        await accepted(table.live_sessions, table.id, 0, session.seats[0].turn)
        session = await table.live_sessions.read(table.id)
        assert (session.seats[0].fault, session.seats[0].clock.bank_ms) == (Fault.NONE, bank)

    asyncio.run(scenario())


def test_an_outage_before_the_question_excuses_no_seat() -> None:
    async def scenario() -> None:
        table = await _Late().open()
        table.outages.add([Outage(START - 60_000, START - 50_000, FULL)])
        table.now = (await table.live_sessions.read(table.id)).seats[0].clock.deadline_ms + 1
        await table.faults()
        session = await table.live_sessions.read(table.id)
        assert (session.seats[0].fault, session.seats[0].outage) == (Fault.DISCONNECTED, "")

    asyncio.run(scenario())


def test_a_replay_is_good_in_which_one_of_two_late_seats_was_saved_by_an_outage() -> None:
    table = ScriptedSession("relief", 3)
    table.seat_all()
    table.now += 3_600_000
    entries = table.session.expire(table.now, lambda _: True, lambda seat: (7_200_000 if seat == 0 else 0, ""))
    table.wrote(entries)
    assert [clock.fault for clock in table.session.seats] == [Fault.NONE, Fault.TIMEOUT, Fault.TIMEOUT]
    assert verify_replay(write_replay(table.session, table.entries)).ok


def test_an_outage_that_took_no_time_excuses_no_seat() -> None:
    """A save that failed and was repeated cost the bot nothing: its fault names no outage, so the match counts."""

    async def scenario() -> None:
        table = await _Late().open()
        table.outages.add([Outage(START + 500, START + 500, FULL)])
        table.now = (await table.live_sessions.read(table.id)).seats[0].clock.deadline_ms + 1
        await table.faults()
        session = await table.live_sessions.read(table.id)
        assert (session.seats[0].fault, session.seats[0].outage) == (Fault.DISCONNECTED, "")

    asyncio.run(scenario())


def test_a_clock_that_stood_still_for_an_outage_is_checked_again_soon() -> None:
    async def scenario() -> None:
        table = await _Late().open()
        deadline = (await table.live_sessions.read(table.id)).seats[0].clock.deadline_ms
        table.outages.add([Outage(START + 1000, START + 3000, FULL)])
        table.now = deadline + 1
        await table.live_sessions.expire_due()
        assert (await table.live_sessions.read(table.id)).seats[0].fault == Fault.NONE
        table.now = deadline + 10_000
        await table.live_sessions.expire_due()
        assert (await table.live_sessions.read(table.id)).seats[0].fault == Fault.DISCONNECTED

    asyncio.run(scenario())


# ------------------------------------------------------------------------------------------------------------------ the heartbeat
@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    with EmbeddedRedis(tmp_path) as running:
        yield running


class _Copy:
    """The heartbeat of one copy of the service."""

    def __init__(self, redis: Redis, machine: Ticking) -> None:
        clock = machine.clock()
        self.outages = Outages(clock())
        self.heartbeat = Heartbeat(redis, clock, self.outages)


def test_a_full_store_is_detected_by_writing_and_recovers_by_itself(server: EmbeddedRedis) -> None:
    async def scenario() -> None:
        async with Redis.from_url(server.url) as redis:
            machine = Ticking()
            copy, other = _Copy(redis, machine), _Copy(redis, machine)
            for each in (copy, other):
                await each.heartbeat.beat()
                assert (each.heartbeat.failure, each.heartbeat.is_readable) == ("", True)
            await redis.config_set("maxmemory", "1")
            for _ in range(110):
                machine.wait(1000)
                await copy.heartbeat.beat()
            assert "OOM" in copy.heartbeat.failure
            assert copy.heartbeat.is_readable
            assert copy.outages.lost_ms(START, START + 110_000) == 110_000
            await redis.config_set("maxmemory", "0")
            machine.wait(1000)
            await copy.heartbeat.beat()
            await other.heartbeat.beat()

            assert copy.heartbeat.failure == ""
            assert "OOM" in other.outages.told(START, START + 200_000), "the other copies know it too"
            started_later = _Copy(redis, machine)
            await started_later.heartbeat.beat()
            assert "OOM" in started_later.outages.told(START, START + 200_000)

    asyncio.run(scenario())


def test_a_store_that_is_away_is_neither_readable_nor_writable(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Redis.from_url(f"unix://{tmp_path}/nobody.sock") as redis:
            copy = _Copy(redis, Ticking())
            await copy.heartbeat.beat()
            assert not copy.heartbeat.is_readable
            assert "does not answer" in copy.heartbeat.failure

    asyncio.run(scenario())


def test_a_copy_that_stops_writing_counts_as_an_outage_for_a_while(server: EmbeddedRedis) -> None:
    """Their clocks differ by hours, which must not look like an outage."""

    async def scenario() -> None:
        async with Redis.from_url(server.url) as redis:
            machine, slow = Ticking(), Ticking()
            slow.time_of_day -= 7_200_000
            copy, other = _Copy(redis, machine), _Copy(redis, slow)
            for _ in range(10):
                machine.wait(1000)
                slow.wait(1000)
                await copy.heartbeat.beat()
                await other.heartbeat.beat()
            assert copy.outages.told(START, START + 10_000) == ""
            for _ in range(SILENT_MS // 1000 + 2):
                machine.wait(1000)
                await copy.heartbeat.beat()
            assert "a copy of the service fell silent" in copy.outages.told(START, START + 30_000)
            assert not copy.outages.silent
            assert copy.outages.lost_ms(START, machine.time_of_day) <= 2 * (SILENT_MS + 2000)

            stopping = _Copy(redis, machine)
            await stopping.heartbeat.beat()
            await copy.heartbeat.beat()
            await stopping.heartbeat.stop()
            told = copy.outages.told(START, machine.time_of_day)
            for _ in range(10):
                machine.wait(1000)
                await copy.heartbeat.beat()
            assert copy.outages.told(START, machine.time_of_day) == told, (
                "a copy that stops on purpose is not an outage"
            )

    asyncio.run(scenario())


def test_a_long_failure_is_one_outage_and_displaces_no_other(server: EmbeddedRedis) -> None:
    """In a Cluster the heartbeat's node may work while moves fail for hours."""

    async def scenario() -> None:
        async with Redis.from_url(server.url) as redis:
            machine = Ticking()
            copy, other = _Copy(redis, machine), _Copy(redis, machine)
            copy.outages.add([Outage(START - 60_000, START - 50_000, "something else")])
            for _ in range(KEPT + 20):
                machine.wait(1000)
                copy.heartbeat.failed(OutOfMemoryError("OOM"))
                await copy.heartbeat.beat()
                await other.heartbeat.beat()
            assert copy.outages.lost_ms(START, machine.time_of_day) >= KEPT * 1000, "while it lasts"
            for _ in range(5):
                machine.wait(1000)
                await copy.heartbeat.beat()
                await other.heartbeat.beat()
            assert "something else" in copy.outages.told(START - 60_000, START - 50_000)
            assert other.outages.lost_ms(START, machine.time_of_day) >= KEPT * 1000
            assert await redis.zcard(keys.OUTAGES) == 1

    asyncio.run(scenario())


def test_after_a_change_of_the_time_of_day_bots_have_time_to_reconnect_once(server: EmbeddedRedis) -> None:
    async def scenario() -> None:
        async with Redis.from_url(server.url) as redis:
            machine = Ticking()
            copy = _Copy(redis, machine)
            await copy.heartbeat.beat()
            machine.wait(1000)
            now = machine.time_of_day
            machine.time_of_day += 7_200_000
            for _ in range(40):
                await copy.heartbeat.beat()
                machine.wait(1000)
            assert copy.outages.lost_ms(now, now + 39_000) == RETURN_MS

    asyncio.run(scenario())


def test_the_time_in_which_no_copy_ran_is_an_outage(server: EmbeddedRedis) -> None:
    async def scenario() -> None:
        async with Redis.from_url(server.url) as redis:
            machine = Ticking()
            first = _Copy(redis, machine)
            await first.heartbeat.beat()
            machine.wait(60_000)
            second = _Copy(redis, machine)
            await second.heartbeat.beat()
            assert "no copy of the service was running for 60 s" in second.outages.told(START, START + 61_000)

    asyncio.run(scenario())


def test_a_refused_write_is_described_with_the_code_of_redis() -> None:
    assert describe_failure(OutOfMemoryError("command not allowed")).startswith("the store takes no writes: OOM")
    assert describe_failure(ReadOnlyError("You can't write")).startswith("the store takes no writes: READONLY")
    assert (
        describe_failure(ResponseError("MISCONF Redis is configured to save")) == "the store takes no writes: MISCONF"
    )
    assert describe_failure(ConnectionResetError()) == "the store does not answer: ConnectionResetError"
