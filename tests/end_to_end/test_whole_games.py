"""Every game with every number of seats is played by bots on two copies; each replay leads to the same end."""

import contextlib
from pathlib import Path

from rubble.v1 import session_pb2
from tests.harness.bots import bots
from tests.harness.games import TABLES, check_story, choice_of, create_session, fresh
from tests.harness.processes import RUBBLE, check_output
from tests.harness.service import Arena
from tests.harness.waiting import run


def test_every_game_with_every_number_of_seats_is_played_to_its_end(shared: Arena, tmp_path: Path) -> None:
    """Four bots on two copies play all sessions in parallel; each ends as the same game played in memory."""

    async def scenario() -> None:
        async with bots(shared, 4, apart=True) as players, shared.operator() as operator:
            names = [bot.name for bot in players]
            tables = {}
            for turn, (game, seats) in enumerate(TABLES):
                # Seats rotate, so that every bot plays every seat.
                sitting = [names[(turn + seat) % len(names)] for seat in range(seats)]
                session = fresh("whole")
                await create_session(operator, game, sitting, session)
                tables[session] = (game, seats, sitting)
            for bot in players:
                await bot.finished(s for s, (_, _, sitting) in tables.items() if bot.name in sitting)
                assert not bot.refusals
                assert bot.endings == []
            for session, (game, seats, sitting) in tables.items():
                await check_story(operator, session, game, seats)
                found = await operator.session(session)
                assert found.status == session_pb2.SESSION_STATUS_FINISHED
                assert [seat.bot for seat in found.seats] == sitting
                for bot in players:
                    if bot.name in sitting:
                        assert bot.overs[session].outcome == found.outcome
                        assert bot.overs[session].seeds == found.seeds
                answer = await operator.ask(session_pb2.GetReplayRequest(session=session))
                (tmp_path / f"{session}.jsonl").write_text(answer.jsonl)

    run(scenario)
    files = sorted(map(str, tmp_path.glob("*.jsonl")))
    assert len(files) == len(TABLES)
    check_output(*RUBBLE, "replay", "verify", *files)


def test_open_seats_need_only_their_tokens(shared: Arena) -> None:
    """A game is played with only GetView and Act, on alternating copies."""

    async def scenario() -> None:
        async with shared.operator() as operator, contextlib.AsyncExitStack() as stack:
            created = await create_session(operator, "relief", ["", ""])
            session = created.session.session
            clients = [
                [await stack.enter_async_context(shared.client(token, copy)) for copy in range(2)]
                for token in created.seat_tokens
            ]
            steps = 0
            while (await operator.session(session)).status == session_pb2.SESSION_STATUS_ACTIVE:
                for seat, copies in enumerate(clients):
                    steps += 1
                    view = await copies[steps % 2].look(session)
                    if view.HasField("question"):
                        legal = view.question.legal_actions
                        index = choice_of("", session, seat, view.question.turn, len(legal))
                        done = await copies[(steps + 1) % 2].act(session, view.question.turn, index)
                        assert done.action == legal[index]
            await check_story(operator, session, "relief", 2)

    run(scenario)
