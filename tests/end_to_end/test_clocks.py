"""Clocks and faults: a seat is forfeited when its bot is slow, leaves, never connects, is refused or resigns."""

import contextlib
from typing import Any

import grpc
import pytest
import redis

from rubble.v1 import bot_pb2, common_pb2, session_pb2
from service.sessions import keys
from service.sessions.clock import LAG_MS
from service.sessions.entries import ACTIONS, Acted, AutomatonActed, Forfeited
from service.sessions.replay import Replay
from tests.harness.bots import Bot, bots, scripted, silent
from tests.harness.client import Client, refusal
from tests.harness.games import create_session, fresh, replay_of
from tests.harness.service import Arena, arena
from tests.harness.waiting import run, until


def control(move_ms: int, bank_ms: int, increment_ms: int = 0, seating_ms: int = 600_000) -> common_pb2.TimeControl:
    return common_pb2.TimeControl(move_ms=move_ms, bank_ms=bank_ms, increment_ms=increment_ms, seating_ms=seating_ms)


def faults(replay: Replay) -> list[tuple[int, str]]:
    return [(entry.seat, entry.fault) for entry in replay.entries if isinstance(entry, Forfeited)]


def banks(replay: Replay) -> list[int]:
    """Compute the reserves at the end from the think times in the replay."""
    times = replay.time_control
    left = [times.bank_ms for _ in replay.bots]
    for entry in replay.entries:
        if isinstance(entry, Acted):
            over = max(0, entry.think_ms - times.move_ms)
            left[entry.seat] = max(0, left[entry.seat] - over) + times.increment_ms
    return left


async def _thinks(client: Client, session: str, longer_than_ms: int) -> session_pb2.Question:
    """Wait until the open question has used this much of the reserve."""
    full = (await client.look(session)).question.clock.bank_ms

    async def is_late() -> bool:
        return (await client.look(session)).question.clock.bank_ms < full - longer_than_ms

    await until(is_late, "the clock runs")
    return (await client.look(session)).question


def test_a_slow_answer_uses_the_reserve_and_the_increment_refills_it(shared: Arena) -> None:
    async def scenario() -> None:
        async with shared.operator() as operator:
            created = await create_session(operator, "sf1906-2e", [""], control=control(200, 20_000, 70))
            session = created.session.session
            async with shared.client(created.seat_tokens[0]) as seat:
                for _ in range(3):
                    question = (await seat.look(session)).question
                    await seat.act(session, question.turn, 0)
                assert (await operator.session(session)).seats[0].bank_ms == 20_000 + 3 * 70, (
                    "quick answers cost nothing"
                )
                question = await _thinks(seat, session, 300)
                assert question.clock.move_ms == 0
                await seat.act(session, question.turn, 0)
                found = await operator.session(session)
                assert found.seats[0].bank_ms < 20_000 + 4 * 70 - 300
            await operator.ask(session_pb2.AdjudicateRequest(session=session))
            assert banks(await replay_of(operator, session)) == [found.seats[0].bank_ms]

    run(scenario)


def test_reconnecting_does_not_stop_the_clock(shared: Arena) -> None:
    """A bot that answers an open question on a new stream uses all the time since the question was first asked."""

    async def scenario() -> None:
        async with shared.operator() as operator, shared.client() as client:
            async with bots(shared, 1, policy=silent) as (bot,):
                session = fresh("back")
                await create_session(operator, "sf1906-2e", [bot.name], session, control(100, 30_000))
                await until(lambda: len(bot.turns) == 1, "the bot is asked")

                async def is_late() -> bool:
                    async with shared.client(bot.key) as seat:
                        return (await seat.look(session)).question.clock.bank_ms < 29_000

                await until(is_late, "a second of the reserve is gone")
            call = client.play()
            await call.write(bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key=bot.key)))
            turn = await _next_turn(call)
            assert turn.turn == 1
            assert turn.clock.bank_ms < 29_000, "the clock as it stands"
            assert turn.clock.move_ms == 0
            await call.write(bot_pb2.PlayRequest(choices=[bot_pb2.Choice(session=session, turn=1, index=0)]))
            assert (await _next_turn(call)).clock.bank_ms < 29_000
            call.cancel()
            await operator.ask(session_pb2.AdjudicateRequest(session=session))
            assert banks(await replay_of(operator, session))[0] < 29_000

    run(scenario)


async def _next_turn(call: Any) -> bot_pb2.Turn:
    while True:
        for event in (await call.read()).events:
            if event.WhichOneof("event") == "turn":
                turn: bot_pb2.Turn = event.turn
                return turn


async def _check_automaton_plays_on(operator: Client, session: str, seat: int, fault: str) -> None:
    """Assert that the seat was forfeited once for this cause, ranks last, and the automaton played the game to its end."""
    replay = await replay_of(operator, session)
    assert faults(replay) == [(seat, fault)]
    outcome = replay.sheet()
    assert outcome is not None
    assert outcome.ending not in ("FORFEIT", "ADJUDICATED")
    assert outcome.ranks[seat] == len(outcome.ranks)
    out = next(index for index, entry in enumerate(replay.entries) if isinstance(entry, Forfeited))
    after = [entry for entry in replay.entries[out:] if isinstance(entry, ACTIONS)]
    assert any(isinstance(entry, AutomatonActed) for entry in after)
    assert all((isinstance(entry, AutomatonActed)) == (entry.seat == seat) for entry in after)
    found = await operator.session(session)
    assert common_pb2.Fault.Name(found.seats[seat].fault) == f"FAULT_{fault}"


@pytest.mark.parametrize("game", ["sf1906-2e", "relief"])
def test_the_automaton_plays_for_a_seat_that_thinks_too_long(shared: Arena, game: str) -> None:
    async def thinks_at_the_fifth(bot: Bot, turn: bot_pb2.Turn) -> bot_pb2.Choice | None:
        return await scripted(bot, turn) if turn.turn < 5 else None

    async def scenario() -> None:
        async with (
            bots(shared, 2, apart=True) as players,
            bots(shared, 1, policy=thinks_at_the_fifth) as (thinker,),
            shared.operator() as operator,
        ):
            session = fresh("timeout")
            names = [players[0].name, thinker.name, players[1].name]
            await create_session(operator, game, names, session, control(2000, 500))
            for bot in (thinker, *players):
                await bot.finished([session])
            assert thinker.overs[session].fault == common_pb2.FAULT_TIMEOUT
            assert all(bot.overs[session].fault == common_pb2.FAULT_UNSPECIFIED for bot in players)
            await _check_automaton_plays_on(operator, session, 1, "TIMEOUT")
            replay = await replay_of(operator, session)
            late = max(entry.at_ms for entry in replay.entries if isinstance(entry, Forfeited) and entry.seat == 1)
            asked = max(entry.at_ms for entry in replay.entries if isinstance(entry, Acted) and entry.seat == 1)
            assert late - asked >= 2500 + LAG_MS

    run(scenario)


def test_a_bot_that_leaves_and_does_not_return_forfeits_as_disconnected(shared: Arena) -> None:
    async def scenario() -> None:
        async with bots(shared, 2, apart=True) as players, shared.operator() as operator:
            session = fresh("leaver")
            async with bots(shared, 1, policy=silent) as (leaver,):
                names = [leaver.name, *(bot.name for bot in players)]
                await create_session(operator, "sf1906-1e", names, session, control(3000, 500))

                async def is_seated() -> bool:
                    return (await operator.session(session)).seats[0].seated

                await until(is_seated, "the bot has turned up")
            for bot in players:
                await bot.finished([session])
            await _check_automaton_plays_on(operator, session, 0, "DISCONNECTED")

    run(scenario)


def test_a_bot_that_never_connects_forfeits_as_a_no_show(shared: Arena) -> None:
    async def scenario() -> None:
        async with bots(shared, 2, apart=True) as players, shared.operator() as operator:
            session = fresh("no-show")
            names = [players[0].name, players[1].name, fresh("nobody")]
            await create_session(operator, "relief", names, session, control(60_000, 0, seating_ms=400))
            for bot in players:
                await bot.finished([session])
            await _check_automaton_plays_on(operator, session, 2, "NO_SHOW")

    run(scenario)


@pytest.mark.parametrize("nonsense", [9999, "build a tower of cheese"])
def test_three_refused_answers_forfeit_the_seat(shared: Arena, nonsense: int | str) -> None:
    async def answers_nonsense(bot: Bot, turn: bot_pb2.Turn) -> bot_pb2.Choice | None:
        choice = bot_pb2.Choice(session=turn.session, turn=turn.turn)
        if isinstance(nonsense, int):
            choice.index = nonsense
        else:
            choice.text = nonsense
        return choice

    async def scenario() -> None:
        async with (
            bots(shared, 2, apart=True) as players,
            bots(shared, 1, policy=answers_nonsense, stubborn=True) as (raver,),
            shared.operator() as operator,
        ):
            session = fresh("refused")
            await create_session(operator, "sf1906-2e", [players[0].name, players[1].name, raver.name], session)
            for bot in (raver, *players):
                await bot.finished([session])
            assert raver.overs[session].fault == common_pb2.FAULT_REFUSED_ACTIONS
            assert not raver.overs[session].HasField("outcome"), "the game goes on without it"
            assert len(raver.refusals) == 3
            assert {reply.reason for reply in raver.refusals} == {
                "NO_SUCH_INDEX" if isinstance(nonsense, int) else "UNREADABLE"
            }
            assert [reply.open for reply in raver.refusals] == [True, True, False]
            assert (await operator.session(session)).seats[2].refusals == 3
            await _check_automaton_plays_on(operator, session, 2, "REFUSED_ACTIONS")

    run(scenario)


def test_a_seat_that_resigned_may_still_look_but_not_act(shared: Arena) -> None:
    async def scenario() -> None:
        async with bots(shared, 2, apart=True) as players, shared.operator() as operator:
            session = fresh("resign")
            created = await create_session(operator, "relief", [players[0].name, "", players[1].name], session)
            async with shared.client(created.seat_tokens[1]) as seat, shared.client(created.seat_tokens[1], 1) as other:
                view = await seat.look(session)
                await seat.ask(session_pb2.ResignRequest(session=session))
                for client in (seat, other):
                    error = await refusal(client.act(session, view.question.turn, 0))
                    assert (error.code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "SEAT_FORFEITED")
                    assert error.facts["fault"] == "RESIGNED"
                    error = await refusal(client.ask(session_pb2.ResignRequest(session=session)))
                    assert error.reason == "SEAT_FORFEITED"
                    assert not (await client.look(session)).HasField("question")
            for bot in players:
                await bot.finished([session])
            await _check_automaton_plays_on(operator, session, 1, "RESIGNED")

    run(scenario)


def test_with_two_seats_the_other_seat_wins_after_a_fault(shared: Arena) -> None:
    """The fault ends the game."""

    async def scenario() -> None:
        async with bots(shared, 1) as (player,), shared.operator() as operator:
            created = await create_session(operator, "sf1906-2e", [player.name, ""], control=control(400, 100))
            session = created.session.session
            async with shared.client(created.seat_tokens[1]) as seat:
                await seat.look(session)
                await player.finished([session])
            outcome = player.overs[session].outcome
            assert [result.rank for result in outcome.seats] == [1, 2]
            assert outcome.ending == "FORFEIT"
            # The cause is the timeout: the bot had connected, and lost no stream.
            assert faults(await replay_of(operator, session)) == [(1, "TIMEOUT")]

    run(scenario)


def test_a_late_answer_is_refused_and_changes_nothing(shared: Arena) -> None:
    """The answer races with the deadline; in either order the seat is forfeited exactly once."""

    async def scenario() -> None:
        async with shared.operator() as operator:
            created = await create_session(operator, "sf1906-2e", [""], control=control(300, 0))
            session = created.session.session
            async with shared.client(created.seat_tokens[0]) as seat, shared.client(created.seat_tokens[0], 1) as other:
                question = (await seat.look(session)).question

                async def is_out() -> bool:
                    error = await refusal(other.act(session, question.turn, 9999))
                    return error.reason == "SEAT_FORFEITED"

                with contextlib.suppress(AssertionError):
                    await until(is_out, "too late")
                error = await refusal(seat.act(session, question.turn, 0))
                assert error.reason in ("SEAT_FORFEITED", "SESSION_ENDED")
            assert len(faults(await replay_of(operator, session))) == 1

    run(scenario)


def test_another_copy_enforces_the_deadline_after_the_copy_that_asked_dies() -> None:
    """Only the killed copy has ever seen the session; the other copy enforces its clock, once."""

    async def scenario() -> None:
        with arena(2) as opened:
            store = redis.Redis.from_url(opened.redis.url)
            before: dict[str, int] = {}

            def revision(session: str) -> int:
                return int(store.hget(keys.session(session), "r"))  # type: ignore[arg-type]

            async with opened.operator(0) as operator:
                for _ in range(3):
                    created = await create_session(operator, "relief", ["", "", ""], control=control(1500, 0))
                    session = created.session.session
                    async with opened.client(created.seat_tokens[1], 0) as seat:
                        await seat.look(session)
                    before[session] = revision(session)
                late = await create_session(operator, "sf1906-2e", [""], control=control(60_000, 0, seating_ms=1000))
                before[late.session.session] = revision(late.session.session)
            opened.copies[0].kill()
            # The test makes no call to the remaining copy, which must notice by itself. If it does so only after the
            # dead copy counts as an outage, the clocks stop for the outage and for the same time again.
            await until(
                lambda: all(revision(session) > was for session, was in before.items()), "the clocks are enforced"
            )
            store.close()
            sessions = list(before)
            async with opened.operator(1) as operator:
                for session in sessions[:3]:
                    found = await operator.session(session)
                    assert [seat.fault for seat in found.seats] == [0, common_pb2.FAULT_TIMEOUT, 0]
                    await operator.ask(session_pb2.AdjudicateRequest(session=session))
                    assert faults(await replay_of(operator, session)) == [(1, "TIMEOUT")]
                found = await operator.session(sessions[3])
                assert found.status == session_pb2.SESSION_STATUS_FINISHED
                assert faults(await replay_of(operator, sessions[3])) == [(0, "NO_SHOW")]

    run(scenario)


def test_the_clock_of_a_bot_keeps_running_while_its_copy_is_dead() -> None:
    """The bot reconnects to the other copy in time, and the game continues."""

    async def scenario() -> None:
        with arena(2) as opened:
            async with bots(opened, 1, policy=silent) as (bot,), opened.operator(1) as operator:
                session = fresh("clock")
                await create_session(operator, "sf1906-2e", [bot.name], session, control(60_000, 0))
                await until(lambda: len(bot.turns) == 1, "the bot is asked")
                opened.copies[0].kill()
                await until(lambda: len(bot.turns) == 2, "the bot is asked again")
                first, second = bot.turns
                assert (first.turn, first.view, list(first.legal_actions)) == (
                    second.turn,
                    second.view,
                    list(second.legal_actions),
                )
                assert 0 < second.clock.move_ms < first.clock.move_ms
                assert [start.session for start in bot.starts] == [session, session]

    run(scenario)


def test_a_bot_that_answers_in_time_is_never_forfeited(shared: Arena) -> None:
    """Three fast bots with a short clock and no reserve play to the end."""

    async def scenario() -> None:
        async with bots(shared, 3, apart=True) as players, shared.operator() as operator:
            session = fresh("quick")
            await create_session(operator, "relief", [bot.name for bot in players], session, control(5000, 0))
            for bot in players:
                await bot.finished([session])
            replay = await replay_of(operator, session)
            assert faults(replay) == []

    run(scenario)
