"""Exactly once: one answer to a question is accepted, its repeats are acknowledged, other answers are refused."""

import asyncio
import contextlib
from collections import Counter

import grpc

from rubble.v1 import bot_pb2, session_pb2
from service import games
from service.games.chance import Seeds
from service.rpc import codec
from service.sessions.entries import Acted
from tests.harness.bots import bots, silent
from tests.harness.client import Client, Refusal, refusal
from tests.harness.games import EASY, create_session, fresh, replay_of, seeds_of
from tests.harness.service import Arena
from tests.harness.waiting import run, until


def test_of_many_answers_to_one_question_exactly_one_is_accepted(shared: Arena) -> None:
    """Clients send every legal answer several times to both copies, for one question after another."""

    async def scenario() -> None:
        async with contextlib.AsyncExitStack() as stack:
            operator = await stack.enter_async_context(shared.operator())
            created = await create_session(operator, "sf1906-2e", [""])
            session, token = created.session.session, created.seat_tokens[0]
            clients = [await stack.enter_async_context(shared.client(token, number % 2)) for number in range(6)]
            for _ in range(12):
                question = (await clients[0].look(session)).question
                texts = [action.text for action in question.legal_actions]
                asked = [index for index in range(len(texts)) for _ in range(3)][:60]

                async def say(number: int, index: int, turn: int, texts: list[str] = texts) -> str | Refusal:
                    choice = index if number % 2 else texts[index]
                    try:
                        done = await clients[number % len(clients)].act(session, turn, choice)
                    except grpc.aio.AioRpcError as error:
                        return Refusal.of(error)
                    assert done.action.text == texts[index]
                    return "repeated" if done.repeated_answer else "taken"

                answers = await asyncio.gather(
                    *(say(number, index, question.turn) for number, index in enumerate(asked))
                )
                assert answers.count("taken") == 1
                standing = asked[answers.index("taken")]
                for index, answer in zip(asked, answers, strict=True):
                    if index == standing:
                        assert answer in ("taken", "repeated")
                    else:
                        assert isinstance(answer, Refusal)
                        assert (answer.code, answer.reason) == (grpc.StatusCode.ABORTED, "STALE_TURN")
                        assert answer.facts["stands"] == texts[standing]
                        assert answer.facts["turn"] == str(question.turn)
            assert (await operator.session(session)).seats[0].refusals == 0
            await operator.ask(session_pb2.AdjudicateRequest(session=session))
            replay = await replay_of(operator, session)
            turns = [entry.turn for entry in replay.entries if isinstance(entry, Acted)]
            assert turns == list(range(1, 13))

    run(scenario)


def test_a_repeated_answer_gets_exactly_the_first_reply(shared: Arena) -> None:
    """Also through the other copy, by text instead of index, and after the game has continued."""

    async def scenario() -> None:
        async with shared.operator() as operator:
            created = await create_session(operator, "sf1906-1e", ["", ""])
            session = created.session.session
            seat = (await operator.session(session)).to_act[0]
            token = created.seat_tokens[seat]
            async with shared.client(token, 0) as here, shared.client(token, 1) as there:
                question = (await here.look(session)).question
                first = await here.act(session, question.turn, 0)
                again = await there.act(session, question.turn, question.legal_actions[0].text)
                assert (again.revision, again.action) == (first.revision, first.action)
                assert again.repeated_answer
                assert not first.repeated_answer

    run(scenario)


def test_answers_to_past_and_future_questions_are_refused_and_not_counted(shared: Arena) -> None:
    """Only refused answers to the open question count towards a forfeit."""

    async def scenario() -> None:
        async with shared.operator() as operator:
            created = await create_session(operator, "sf1906-2e", [""])
            session = created.session.session
            async with shared.client(created.seat_tokens[0]) as seat:
                for turn in (1, 2, 3):
                    assert (await seat.look(session)).question.turn == turn
                    await seat.act(session, turn, 0)
                for turn in (0, 1, 2, 5, 4_000_000_000):
                    error = await refusal(seat.act(session, turn, 0))
                    assert (error.code, error.reason) == (grpc.StatusCode.ABORTED, "STALE_TURN"), turn
                    assert error.facts["expected"] == "4"
                assert (await operator.session(session)).seats[0].refusals == 0
                assert (await seat.look(session)).question.turn == 4

    run(scenario)


def test_a_stream_ignores_repeated_choices_and_refuses_stale_ones(shared: Arena) -> None:
    """A repeat of the accepted choice gets no reply; any other choice for a closed question is refused."""

    async def scenario() -> None:
        async with shared.operator() as operator, shared.client() as client:
            name = fresh("bot")
            key = (await operator.ask(bot_pb2.IssueKeyRequest(bot=name))).bot_key
            call = client.play()
            await call.write(bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key=key)))
            session = fresh("double")
            await create_session(operator, "sf1906-2e", [name], session)
            turns: Counter[int] = Counter()
            reasons: Counter[str] = Counter()
            expected: Counter[str] = Counter()
            while not turns[10]:
                for event in (await call.read()).events:
                    kind = event.WhichOneof("event")
                    if kind == "refused":
                        reasons[event.refused.reason] += 1
                    if kind != "turn":
                        continue
                    turn = event.turn
                    turns[turn.turn] += 1
                    answer = bot_pb2.Choice(session=session, turn=turn.turn, index=0)
                    out = [answer, answer]
                    if len(turn.legal_actions) > 1:
                        out.append(bot_pb2.Choice(session=session, turn=turn.turn, index=1))
                        expected["STALE_TURN"] += 1
                    if turn.turn > 2:
                        out.append(bot_pb2.Choice(session=session, turn=turn.turn - 2, index=0))
                        expected["STALE_TURN"] += 1
                    await call.write(bot_pb2.PlayRequest(choices=out))
            assert set(turns.values()) == {1}, "a question was put twice on one stream"
            assert set(reasons) == {"STALE_TURN"}
            assert reasons.total() >= expected.total() - 4  # the last answers' refusals may still be on their way
            status = await operator.session(session)
            assert status.seats[0].refusals == 0
            call.cancel()
            await operator.ask(session_pb2.CancelSessionRequest(session=session))

    run(scenario)


def test_simultaneous_answers_are_hidden_until_the_last_seat_has_answered(shared: Arena) -> None:
    """Relief: three seats answer at once on different copies, one of them on a stream; no viewer sees their answers."""

    async def scenario() -> None:
        async with contextlib.AsyncExitStack() as stack:
            operator = await stack.enter_async_context(shared.operator())
            (watching,) = await stack.enter_async_context(bots(shared, 1, policy=silent))
            session = fresh("secret")
            created = await create_session(operator, "relief", ["", "", watching.name], session)
            seats = [
                [await stack.enter_async_context(shared.client(token, copy)) for copy in range(2)]
                for token in created.seat_tokens[:2]
            ]
            anybody = [await stack.enter_async_context(shared.client(copy=copy)) for copy in range(2)]
            found = await operator.session(session)
            assert list(found.to_act) == [0, 1, 2], "Relief begins with a simultaneous phase"
            await until(lambda: len(watching.turns) == 1, "the bot is asked")
            said: dict[int, list[str]] = {0: [], 1: [], 2: []}
            watcher = anybody[1].watch(session)
            seen: list[session_pb2.WatchEvent] = []

            async def follow() -> None:
                async for message in watcher:
                    seen.extend(message.events)

            following = asyncio.create_task(follow())
            try:
                # All seats but the bot answer at once on different copies; no other viewer may see the answers.
                async def speak(seat: int, client: Client) -> None:
                    while (view := await client.look(session)).HasField("question"):
                        legal = view.question.legal_actions
                        done = await client.act(session, view.question.turn, len(legal) - 1)
                        assert not done.repeated_answer
                        said[seat].append(done.action.text)

                await asyncio.gather(*(speak(seat, copies[seat]) for seat, copies in enumerate(seats)))
                assert list((await operator.session(session)).to_act) == [2]
                # Every view is the same as if the others had answered something else.
                assert said[0] != _view_after(session, None, {})[1][0]
                for copy in range(2):
                    assert (await anybody[copy].look(session)).view == _view_after(session, None, {})[0]
                    for seat in range(2):
                        view = (await seats[seat][copy].look(session)).view
                        assert view == _view_after(session, seat, {seat: said[seat]})[0]
                        assert view != _view_after(session, seat, {})[0], "a seat sees its own answer"
                assert len(watching.turns) == 1
                assert not _actions(seen)
                replayed = await refusal(anybody[0].ask(session_pb2.GetReplayRequest(session=session)))
                assert replayed.reason == "SESSION_RUNNING"
                # After the last answer, all of them are public.
                async with shared.client(watching.key, 1) as client:
                    await speak(2, client)
                count = sum(map(len, said.values()))
                await until(lambda: len(_actions(seen)) >= count, "the watcher sees the answers")
                for seat, texts in said.items():
                    assert [action.text for action in _actions(seen)[:count] if action.seat == seat] == texts
                revisions = [event.revision for event in seen]
                assert revisions == sorted(set(revisions))
            finally:
                watcher.cancel()
                with contextlib.suppress(asyncio.CancelledError, grpc.aio.AioRpcError):
                    await following
            await operator.ask(session_pb2.CancelSessionRequest(session=session))

    run(scenario)


def _actions(seen: list[session_pb2.WatchEvent]) -> list[session_pb2.ActionEvent]:
    return [event.action for event in seen if event.WhichOneof("event") == "action"]


def _view_after(session: str, viewer: int | None, said: dict[int, list[str]]) -> tuple[object, list[list[str]]]:
    """Compute with only the rules what a viewer sees after seats 0 and 1 gave these answers, or their first legal ones."""
    game = games.get("relief")
    seeds = seeds_of(session)
    state = game.new(3, {}, Seeds(seeds.table, seeds.deck))
    spoken: list[list[str]] = [[], []]
    for seat in range(2):
        while legal := game.legal_actions(state, seat):
            turn = len(spoken[seat])
            action = game.read(said[seat][turn]) if seat in said else legal[0]
            spoken[seat].append(game.text(action))
            game.apply(state, seat, action)
    return codec.view_message(game, state, viewer), spoken


def test_simultaneous_answers_on_different_copies_are_never_refused_as_stale(shared: Arena) -> None:
    """Three bots on two copies play many sessions: no answer is refused because another bot was faster."""

    async def scenario() -> None:
        async with bots(shared, 3, apart=True) as players, shared.operator() as operator:
            names = [bot.name for bot in players]
            sessions = [fresh("together") for _ in range(6)]
            for session in sessions:
                await create_session(operator, "relief", names, session, EASY)
            for bot in players:
                await bot.finished(sessions)
                assert bot.refusals == []
            for session in sessions:
                await replay_of(operator, session)

    run(scenario)
