"""Simulated worlds: only for the holder of a seat, only from what the seat knows, and within a budget."""

import time
from base64 import urlsafe_b64decode
from typing import Any

import grpc
import msgspec
import pytest

from rubble.v1 import session_pb2, simulation_pb2
from service import games
from service.games.chance import SEED_BYTES, Draws, Seeds
from service.games.core import AnyGame
from service.rpc import codec
from service.rpc.auth import Signer
from tests.harness.bots import bots, silent
from tests.harness.client import Client, refusal
from tests.harness.games import choice_of, create_session, seeds_of
from tests.harness.service import Arena, arena
from tests.harness.waiting import run, until


def _open(handle: bytes) -> Any:
    """Decode the world in a handle."""
    payload = handle.decode().split(".")[2]
    _, _, (_, plain) = msgspec.msgpack.decode(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return plain


async def _sample(client: Client, session: str, seat: int, count: int = 3, seed: int | None = 7) -> list[bytes]:
    request = simulation_pb2.SampleWorldsRequest(session=session, seat=seat, count=count, seed=seed)
    return list((await client.ask(request)).worlds)


async def _in_mid_game(shared: Arena, operator: Client, game: AnyGame, seats: int) -> tuple[str, list[str], Any]:
    """Create a session with open seats and play some moves; return its id, its tokens and its true state."""
    created = await create_session(operator, game.id, [""] * seats)
    session = created.session.session
    seeds = seeds_of(session)
    state = game.new(seats, {}, Seeds(seeds.table, seeds.deck))
    clients = [shared.client(token, seat % 2) for seat, token in enumerate(created.seat_tokens)]
    turns = [0] * seats
    for _ in range(25):
        seat = game.to_act(state)[0]
        turns[seat] += 1
        legal = game.legal_actions(state, seat)
        action = legal[choice_of("", session, seat, turns[seat], len(legal))]
        await clients[seat].act(session, turns[seat], game.text(action))
        game.apply(state, seat, action)
    for client in clients:
        await client.channel.close()
    return session, list(created.seat_tokens), state


@pytest.mark.parametrize(("game_id", "seats"), [("relief", 3), ("sf1906-1e", 3), ("sf1906-2e", 2)])
def test_worlds_are_made_only_from_what_the_seat_knows(shared: Arena, game_id: str, seats: int) -> None:
    """Every world has the same view for the seat as the real game; another hidden state with that view gives equal worlds."""
    game = games.get(game_id)

    async def scenario() -> None:
        async with shared.operator() as operator:
            session, tokens, state = await _in_mid_game(shared, operator, game, seats)
            for seat, token in enumerate(tokens):
                async with shared.client(token, 0) as here, shared.client(token, 1) as there:
                    worlds = list(map(_open, await _sample(here, session, seat)))
                    assert worlds == list(map(_open, await _sample(there, session, seat))), "same seed, same worlds"
                    assert worlds != list(map(_open, await _sample(there, session, seat, seed=8)))
                    assert len({msgspec.msgpack.encode(world) for world in worlds}) > 1
                view = game.view(state, seat)
                for world in worlds:
                    assert game.view(game.from_plain(world), seat) == view
                other = game.redeal(state, seat, Draws(bytes(SEED_BYTES), "another truth"))
                assert game.view(other, seat) == view
                stream = Draws((7).to_bytes(8, "little") + bytes(SEED_BYTES - 8), "worlds")
                assert worlds == [game.to_plain(game.sample(game.view(other, seat), seat, stream)) for _ in worlds]

    run(scenario)


def test_only_the_holder_of_a_seat_gets_its_worlds(shared: Arena) -> None:
    async def scenario() -> None:
        async with shared.operator() as operator, bots(shared, 1, policy=silent) as (bot,):
            created = await create_session(operator, "relief", ["", bot.name])
            session = created.session.session
            await until(lambda: bool(bot.turns), "the bot has its seat")
            async with (
                shared.client(created.seat_tokens[0]) as seat,
                shared.client(bot.key, 1) as key,
                shared.client() as anybody,
            ):
                assert len(await _sample(seat, session, 0)) == 3
                assert len(await _sample(key, session, 1)) == 3
                for client, wrong in ((seat, 1), (key, 0)):
                    error = await refusal(_sample(client, session, wrong))
                    assert (error.code, error.reason) == (grpc.StatusCode.PERMISSION_DENIED, "NOT_ALLOWED")
                assert (await refusal(_sample(anybody, session, 0))).code is grpc.StatusCode.UNAUTHENTICATED
            await operator.ask(session_pb2.CancelSessionRequest(session=session))
            error = await refusal(_sample(operator, session, 0))
            assert (error.code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "SESSION_ENDED")

    run(scenario)


async def _simulate(client: Client, world: bytes, **more: Any) -> simulation_pb2.SimulationResult:
    request = simulation_pb2.SimulateRequest(simulations=[simulation_pb2.Simulation(world=world, **more)])
    (result,) = (await client.ask(request)).results
    reply: simulation_pb2.SimulationResult = result
    return reply


def test_handles_that_were_changed_stolen_or_expired_are_refused(shared: Arena) -> None:
    async def scenario() -> None:
        async with shared.operator() as operator:
            session, tokens, _ = await _in_mid_game(shared, operator, games.get("relief"), 2)
            async with shared.client(tokens[0]) as seat, shared.client(tokens[1]) as thief:
                (world,) = await _sample(seat, session, 0, 1)
                assert (await _simulate(seat, world)).refused == ""
                error = await refusal(_simulate(thief, world))
                assert (error.code, error.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "HANDLE_NOT_YOURS")
                middle = len(world) // 2
                for changed in (
                    b"",
                    b"rubbish",
                    bytes(500),
                    world[:-1],
                    world[:middle] + bytes([world[middle] ^ 1]) + world[middle + 1 :],
                    tokens[0].encode(),
                ):
                    error = await refusal(_simulate(seat, changed))
                    assert (error.code, error.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "BAD_HANDLE"), changed
                secrets = (shared.state / "secrets").read_text().split()
                signer = Signer(secrets)
                owner = signer.read(tokens[0]).id
                for age_s, reason in ((-1, "HANDLE_EXPIRED"), (60, "")):
                    expires = int(time.time()) + age_s
                    made = signer.sign_blob("world", ("relief", _open(world)), expires, owner)
                    if reason:
                        assert (await refusal(_simulate(seat, made))).reason == reason
                    else:
                        assert (await _simulate(seat, made)).refused == ""
                forged = Signer(["x" * 40]).sign_blob("world", ("relief", _open(world)), expires, owner)
                assert (await refusal(_simulate(seat, forged))).reason == "BAD_HANDLE"

    run(scenario)


def test_a_world_can_be_played_step_by_step_or_to_its_end(shared: Arena) -> None:
    game = games.get("sf1906-2e")

    async def scenario() -> None:
        async with shared.operator() as operator:
            session, tokens, _ = await _in_mid_game(shared, operator, game, 2)
            seat = (await operator.session(session)).to_act[0]
            async with shared.client(tokens[seat], 0) as here, shared.client(tokens[seat], 1) as there:
                table = await here.look(session)
                (world,) = await _sample(here, session, seat, 1)
                first = await _simulate(there, world, return_position=True, return_world=True)
                assert first.view == table.view, "in a world the seat has the same view as in the game"
                assert list(first.legal_actions) == list(table.question.legal_actions)
                assert list(first.to_act) == [seat]
                text = first.legal_actions[0].text
                step = await _simulate(here, world, actions=[text], return_position=True, return_world=True)
                again = await _simulate(there, step.world, return_position=True)
                assert (again.view, list(again.legal_actions)) == (step.view, list(step.legal_actions))
                for policy in ("random", "greedy", ""):
                    one = await _simulate(here, world, playouts=3, policy=policy, seed=5)
                    two = await _simulate(there, world, playouts=3, policy=policy, seed=5)
                    assert (one.playouts, list(one.score_sums)) == (3, list(two.score_sums))
                    assert abs(sum(one.rank_point_sums) - 3) < 1e-9
                local = game.from_plain(_open(world))
                assert codec.view_message(game, local, seat) == first.view
                bad = await _simulate(here, world, actions=["build a tower of cheese"])
                assert (bad.refused, bad.world) == ("UNREADABLE", b"")
                for wrong in ({"playouts": 1001}, {"policy": "clairvoyant"}, {"actions": ["x"] * 1001}):
                    error = await refusal(_simulate(here, world, **wrong))
                    assert (error.code, error.facts["field"]) == (grpc.StatusCode.INVALID_ARGUMENT, next(iter(wrong)))

    run(scenario)


def test_a_caller_without_computing_time_is_refused_and_told_how_long_to_wait() -> None:
    """Other callers are not affected."""

    async def scenario() -> None:
        with arena(1, settings={"RUBBLE_SIMULATION_MS_PER_SECOND": "20"}) as opened:
            async with opened.operator() as operator:
                created = await create_session(operator, "sf1906-2e", ["", ""])
                session = created.session.session
                async with (
                    opened.client(created.seat_tokens[0]) as greedy,
                    opened.client(created.seat_tokens[1]) as other,
                ):
                    (world,) = await _sample(greedy, session, 0, 1)
                    await _simulate(greedy, world, playouts=300)
                    error = await refusal(_simulate(greedy, world, playouts=1))
                    assert (error.code, error.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
                    assert error.retry_s
                    assert len(await _sample(other, session, 1, 1)) == 1, "another caller has a budget of its own"

    run(scenario)


def test_a_caller_with_little_computing_time_can_finish_a_request_of_many_parts() -> None:
    """A caller that has used far more than its budget is stopped within the request."""

    async def scenario() -> None:
        with arena(1, settings={"RUBBLE_SIMULATION_MS_PER_SECOND": "10"}) as opened:
            async with opened.operator() as operator:
                created = await create_session(operator, "sf1906-2e", ["", ""])
                async with opened.client(created.seat_tokens[0]) as searching:
                    (world,) = await _sample(searching, created.session.session, 0, 1)
                    part = simulation_pb2.Simulation(world=world, return_position=True)
                    endless = simulation_pb2.SimulateRequest(
                        simulations=[simulation_pb2.Simulation(world=world, playouts=10)] * 200
                    )
                    refused = await refusal(searching.ask(endless))
                    assert refused.code is grpc.StatusCode.RESOURCE_EXHAUSTED
                    request = simulation_pb2.SimulateRequest(simulations=[part] * 12)

                    async def is_finished() -> bool:
                        try:
                            return len((await searching.ask(request)).results) == 12
                        except grpc.aio.AioRpcError as error:
                            assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
                            return False

                    await until(is_finished, "a request of twelve parts")

    run(scenario)
