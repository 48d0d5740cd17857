"""Random games, and at every stop the encoded bytes held against the plain reference."""

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message

from rubble.v1 import bot_pb2, common_pb2
from service.games.chance import seeds_of
from service.games.core import AnyGame, Eye, Seat
from service.rpc import codec
from service.rpc.codec import Codec
from tests.conformance.subjects import Table
from tests.conformance.walks import MIXES, stream


def positions(table: Table, number: int) -> Iterator[tuple[int, Any]]:
    """Every position of a whole game, the last one included, while it is being played."""
    game = table.game
    chance = stream("codec", str(table), number)
    players = MIXES[number % len(MIXES)]
    state = game.new(table.seats, dict(table.options), seeds_of(number))
    ply = 0
    yield ply, state
    while acting := list(game.to_act(state)):
        seat = acting[chance.below(len(acting))]
        game.apply(state, seat, game.players[players[seat % len(players)]](state, seat, chance))
        ply += 1
        yield ply, state


def same(written: bytes, reference: Message) -> None:
    """The bytes are this message, and not a byte longer: what any library would write has nothing twice."""
    parsed = type(reference)()
    parsed.ParseFromString(written)
    assert parsed == reference
    assert len(written) == reference.ByteSize()


def check_views(game: AnyGame, state: Any, eyes: list[Eye]) -> None:
    """What each eye sees, alone and with the public part made only once."""
    fitting: Codec = codec.for_game(game)
    public = fitting.public(state)
    for eye in eyes:
        reference = fitting.view(game.view(state, eye))
        same(fitting.view_bytes(state, eye, None), reference)
        same(fitting.view_bytes(state, eye, public), reference)


def check_turn(game: AnyGame, state: Any, seat: Seat, turn: int, revision: int, clock: tuple[int, int]) -> None:
    """A whole question: its actions one by one, and the event."""
    fitting = codec.for_game(game)
    actions = game.legal_actions(state, seat)
    for action in actions:
        same(fitting.action_bytes(action), fitting.action(action))
    reference = bot_pb2.Turn(
        session="s-1",
        turn=turn,
        revision=revision,
        view=fitting.view(game.view(state, seat)),
        legal_actions=[fitting.action(action) for action in actions],
        clock=common_pb2.Clock(move_ms=clock[0], bank_ms=clock[1]),
    )
    event = codec.turn_event_bytes(
        "s-1",
        turn,
        revision,
        fitting.view_bytes(state, seat, None),
        [fitting.action_bytes(action) for action in actions],
        clock,
    )
    whole = bot_pb2.PlayEvent(turn=reference)
    same(event, whole)
    same(codec.in_response(event), bot_pb2.PlayResponse(events=[whole]))


def check_game(table: Table, number: int) -> int:
    """A whole game: whoever is to act at every ply, every eye at every fourth and at the end. How many plies it had."""
    game = table.game
    everybody: list[Eye] = [*range(table.seats), None]
    ply = 0
    for ply, state in positions(table, number):
        acting = list(game.to_act(state))
        check_views(game, state, everybody if ply % 4 == 0 or not acting else list(acting))
        for seat in acting[:1]:
            # clocks and counters as large as they may become now and then, and at zero
            check_turn(game, state, seat, ply, ply * 1001, (ply % 3 * 5000, ply % 2 * 60_000))
    return ply
