"""Plays random games and compares the encoded bytes with messages that protobuf itself builds, field by field."""

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message

from rubble.v1 import bot_pb2, common_pb2
from service.games.chance import seeds_of
from service.games.core import AnyGame, Plain, Seat, Viewer, plain
from service.rpc import codec
from tests.conformance.subjects import Setup
from tests.conformance.walks import MIXES, draws


def positions(table: Setup, number: int) -> Iterator[tuple[int, Any]]:
    """Yield every position of a whole game while it is being played, including the last one."""
    game = table.game
    chance = draws("codec", str(table), number)
    players = MIXES[number % len(MIXES)]
    state = game.new(table.seats, dict(table.options), seeds_of(number))
    ply = 0
    yield ply, state
    while acting := list(game.to_act(state)):
        seat = acting[chance.below(len(acting))]
        game.apply(state, seat, game.players[players[seat % len(players)]](state, seat, chance))
        ply += 1
        yield ply, state


def fill(message: Message, value: dict[str, Plain]) -> None:
    """Set the fields of a message by their names."""
    for name, given in value.items():
        field = message.DESCRIPTOR.fields_by_name[name]
        if given is None:
            continue
        if field.message_type is not None and field.is_repeated:
            for element in given:
                fill(getattr(message, name).add(), element)
        elif field.message_type is not None:
            getattr(message, name).SetInParent()
            fill(getattr(message, name), given)
        elif field.is_repeated:
            getattr(message, name).extend(given)
        elif field.enum_type is not None:
            ending = "_" + (given or "unspecified").upper().replace("-", "_")
            (number,) = (each.number for each in field.enum_type.values if _tail(each.name, field.enum_type) == ending)
            setattr(message, name, number)
        else:
            setattr(message, name, given)


def _tail(name: str, enum: Any) -> str:
    """The part of an enum value's name after the enum's name: Sf1906Icon, SF1906_ICON_PARK, _PARK."""
    words = "".join(f"_{letter}" if letter.isupper() else letter for letter in enum.name).removeprefix("_").upper()
    assert name.startswith(words)
    return name.removeprefix(words)


def reference_view(game: AnyGame, view: Plain) -> common_pb2.View:
    """The View that protobuf builds from a view."""
    message = common_pb2.View()
    if game.messages:
        fill(message, {game.messages: plain(view)})
    else:
        message.other.update(view)
    return message


def reference_action(game: AnyGame, action: Any) -> common_pb2.Action:
    """The Action that protobuf builds from an action."""
    message = common_pb2.Action()
    fill(message, {"text": game.text(action)} | ({game.messages: game.typed(action)} if game.typed else {}))
    return message


def same(written: bytes, reference: Message) -> None:
    """The bytes are this message, and not a byte longer: a longer encoding has something twice."""
    parsed = type(reference)()
    parsed.ParseFromString(written)
    assert parsed == reference
    assert len(written) == reference.ByteSize()


def check_turn(game: AnyGame, state: Any, seat: Seat, turn: int, revision: int, clock: tuple[int, int]) -> None:
    """Check a whole question: its actions one by one, and the event."""
    fitting = codec.for_game(game)
    actions = game.legal_actions(state, seat)
    for action in actions:
        same(fitting.action_bytes(action), reference_action(game, action))
    view = game.view(state, seat)
    reference = bot_pb2.Turn(
        session="s-1",
        turn=turn,
        revision=revision,
        view=reference_view(game, view),
        legal_actions=[reference_action(game, action) for action in actions],
        clock=common_pb2.Clock(move_ms=clock[0], bank_ms=clock[1]),
    )
    event = codec.turn_event_bytes(
        "s-1", turn, revision, fitting.view_bytes(view), [fitting.action_bytes(action) for action in actions], clock
    )
    whole = bot_pb2.PlayEvent(turn=reference)
    same(event, whole)
    same(codec.in_response(event), bot_pb2.PlayResponse(events=[whole]))


def check_game(table: Setup, number: int) -> int:
    """Check a whole game: the acting seats at every ply, all viewers at every fourth and the last; return the number of plies."""
    game = table.game
    everybody: list[Viewer] = [*range(table.seats), None]
    ply = 0
    for ply, state in positions(table, number):
        acting = list(game.to_act(state))
        for viewer in everybody if ply % 4 == 0 or not acting else acting:
            same(codec.view_bytes(game, state, viewer), reference_view(game, game.view(state, viewer)))
        for seat in acting[:1]:
            # sometimes clocks and counters have their maximum, and sometimes zero
            check_turn(game, state, seat, ply, ply * 1001, (ply % 3 * 5000, ply % 2 * 60_000))
    return ply
