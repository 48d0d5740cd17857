"""SimulationService: samples states consistent with a seat's view, and plays them out. Runs in a thread beside the event loop."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakValueDictionary

from rubble.v1 import simulation_pb2, simulation_pb2_grpc
from service import games
from service.games.chance import SEED_BYTES, Draws
from service.games.core import AnyGame, Outcome, Refused, Unreadable
from service.rpc import codec
from service.rpc.auth import Forbidden, Kind, Signer, current_caller
from service.rpc.errors import error_status
from service.rpc.limits import LimitReached, Limits
from service.sessions.errors import BadRequest, SessionEnded
from service.sessions.live_sessions import LiveSessions
from service.sessions.session import ACTIVE

_WORLDS: Final = 64
_SIMULATIONS: Final = 256
_PLAYOUTS: Final = 1000
_ACTIONS: Final = 1000
_LIFE_S: Final = 3600
#: Playouts run in slices of this many seconds: between two slices others run, and a disconnect is noticed.
_SLICE_S: Final = 0.02
_PURPOSE: Final = "world"

#: The content of a handle: the game, and a state as plain data.
World = tuple[str, Any]


def _draws(seed: int | None, purpose: str) -> Draws:
    if seed is None:
        return Draws(secrets.token_bytes(SEED_BYTES), purpose)
    return Draws(seed.to_bytes(8, "little") + bytes(SEED_BYTES - 8), purpose)


class SimulationServicer(simulation_pb2_grpc.SimulationServiceServicer):
    """Search for bots without their own engine."""

    def __init__(self, live_sessions: LiveSessions, signer: Signer, limits: Limits) -> None:
        self._live_sessions = live_sessions
        self._signer = signer
        self._limits = limits
        # One thread: the rules hold the interpreter lock anyway, and more threads would slow down the event loop.
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="simulate")
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def close(self) -> None:
        """Accept no more work."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _compute(self, work: Any, *arguments: Any, is_begun: bool = False) -> Any:
        """Run work in the thread and charge the caller. Each caller has at most one piece of work in the queue.

        ``is_begun``: continues an admitted request; it waits until the budget allows more, where a new request would be refused.
        """
        caller = current_caller().id
        loop = asyncio.get_running_loop()
        budget = self._limits.simulation

        def charge(used_ms: float) -> None:
            with contextlib.suppress(RuntimeError):  # the service has stopped
                loop.call_soon_threadsafe(budget.charge, caller, used_ms)

        async with self._turn_of(caller):
            try:
                budget.go_on(caller)  # earlier work may have cost more than was left
            except LimitReached as limit:
                if not is_begun:
                    raise
                await asyncio.sleep(limit.retry_after_ms / 1000)
            return await loop.run_in_executor(self._pool, _charged, charge, work, *arguments)

    def _turn_of(self, caller: str) -> asyncio.Lock:
        lock = self._turns.get(caller)
        if lock is None:
            lock = self._turns[caller] = asyncio.Lock()
        return lock

    async def SampleWorlds(
        self, request: simulation_pb2.SampleWorldsRequest, context: Any
    ) -> simulation_pb2.SampleWorldsResponse:
        if not 1 <= request.count <= _WORLDS:
            raise BadRequest("count", request.count, f"1 to {_WORLDS}")
        session = await self._live_sessions.read(request.session)
        header = session.header
        if request.seat >= header.seats:
            raise BadRequest("seat", request.seat, f"0 to {header.seats - 1}")
        caller = current_caller()
        if caller.kind is not Kind.OPERATOR and request.seat not in caller.seats_in(header):
            raise Forbidden(
                f"this key or token does not hold seat {request.seat} of session {header.id}", session=header.id
            )
        if session.status != ACTIVE:
            raise SessionEnded(f"session {header.id} has ended", session=header.id)
        # Only the seat's view is passed on: the real hidden cards cannot be reached from there.
        view = session.game.view(session.state, request.seat)
        self._limits.simulation.admit(caller.id)
        draws = _draws(request.seed if request.HasField("seed") else None, "worlds")
        worlds = await self._compute(_sample, session.game, view, request.seat, request.count, draws)
        return simulation_pb2.SampleWorldsResponse(worlds=[self._handle(header.game, world) for world in worlds])

    def _handle(self, game: str, plain: Any) -> bytes:
        expires = self._signer.expires_in(_LIFE_S)
        return self._signer.sign_blob(_PURPOSE, (game, plain), expires, current_caller().id)

    async def Simulate(self, request: simulation_pb2.SimulateRequest, context: Any) -> simulation_pb2.SimulateResponse:
        if not 1 <= len(request.simulations) <= _SIMULATIONS:
            raise BadRequest("simulations", f"{len(request.simulations)} of them", f"1 to {_SIMULATIONS}")
        response = simulation_pb2.SimulateResponse()
        caller = current_caller().id
        self._limits.simulation.admit(caller)
        for simulation in request.simulations:
            response.results.append(await self._simulate(simulation))
        return response

    async def _simulate(self, simulation: simulation_pb2.Simulation) -> simulation_pb2.SimulationResult:
        if simulation.playouts > _PLAYOUTS:
            raise BadRequest("playouts", simulation.playouts, f"0 to {_PLAYOUTS}")
        if len(simulation.actions) > _ACTIONS:
            raise BadRequest("actions", f"{len(simulation.actions)} of them", f"at most {_ACTIONS}")
        game_id, plain = self._signer.open_blob(_PURPOSE, simulation.world, tuple[str, Any], current_caller().id)
        game = games.get(game_id)
        policy = simulation.policy or "random"
        if policy not in game.players:
            raise BadRequest("policy", policy, "one of " + ", ".join(game.players))
        seed = simulation.seed if simulation.HasField("seed") else None
        result: simulation_pb2.SimulationResult
        result, after, playouts = await self._compute(_run, game, plain, simulation, policy, seed)
        while playouts is not None and playouts.left:
            await self._compute(playouts.play, is_begun=True)
        if after is not None:
            result.world = self._handle(game_id, after)
        return result


def _charged(charge: Callable[[float], None], work: Any, *arguments: Any) -> Any:
    """Run the work and charge for its time, even if it fails or the caller has gone."""
    begin = time.thread_time()
    try:
        return work(*arguments)
    finally:
        charge((time.thread_time() - begin) * 1000)


def _sample(game: AnyGame, view: Any, seat: int, count: int, draws: Draws) -> list[Any]:
    return [game.to_plain(game.sample(view, seat, draws)) for _ in range(count)]


def _advance(game: AnyGame, state: Any, actions: list[str]) -> None:
    """Play the actions, each by the first seat to act; raises Refused or Unreadable."""
    for text in actions:
        acting = game.to_act(state)
        if not acting:
            raise Refused("GAME_OVER", "", f"the game is over before {text!r}")
        game.apply(state, acting[0], game.read(text))


def _run(
    game: AnyGame, plain: Any, simulation: simulation_pb2.Simulation, policy: str, seed: int | None
) -> "tuple[simulation_pb2.SimulationResult, Any, _Playouts | None]":
    """Return the result of one line of play, the state it leads to (if requested), and its playouts, the first of them played."""
    state = game.from_plain(plain)
    result = simulation_pb2.SimulationResult()
    try:
        _advance(game, state, list(simulation.actions))
    except (Refused, Unreadable) as error:
        status = error_status(error)
        return simulation_pb2.SimulationResult(refused=status.reason, message=status.message), None, None
    acting = game.to_act(state)
    result.to_act.extend(acting)
    outcome = game.outcome(state)
    if outcome is not None:
        result.outcome.CopyFrom(codec.outcome_message(outcome))
    if simulation.return_position and acting:
        offered = game.legal_actions(state, acting[0])
        result.legal_actions.extend(codec.action_message(game, action) for action in offered)
        result.view.CopyFrom(codec.view_message(game, state, acting[0]))
    playouts = None
    if simulation.playouts:
        playouts = _Playouts(game, state, game.players[policy], _draws(seed, "playouts"), simulation.playouts, result)
        playouts.play()
    return result, game.to_plain(state) if simulation.return_world else None, playouts


@dataclass(slots=True)
class _Playouts:
    """Games to be played out from one position, in slices."""

    game: AnyGame
    state: Any
    player: Any
    draws: Draws
    left: int
    result: simulation_pb2.SimulationResult

    def play(self) -> None:
        """Play until a slice of time is used up, at least one game."""
        end = time.thread_time() + _SLICE_S
        while self.left:
            _add(self.result, _play_out(self.game, self.game.copy(self.state), self.player, self.draws))
            self.result.playouts += 1
            self.left -= 1
            if time.thread_time() >= end:
                return


def _play_out(game: AnyGame, state: Any, player: Any, draws: Draws) -> Outcome:
    while acting := game.to_act(state):
        game.apply(state, acting[0], player(state, acting[0], draws))
    outcome = game.outcome(state)
    assert outcome is not None
    return outcome


def _add(result: simulation_pb2.SimulationResult, outcome: Outcome) -> None:
    """Add one finished game to the sums."""
    seats = len(outcome.seats)
    if not result.score_sums:
        result.score_sums.extend([0.0] * seats)
        result.rank_point_sums.extend([0.0] * seats)
    for seat, own in enumerate(outcome.seats):
        rivals = [other.rank for index, other in enumerate(outcome.seats) if index != seat]
        rivals += [other.rank for other in outcome.house]
        beaten = sum(1.0 if own.rank < other else 0.5 if own.rank == other else 0.0 for other in rivals)
        result.score_sums[seat] += own.score
        result.rank_point_sums[seat] += beaten / len(rivals) if rivals else 1.0
