"""Encodes a Turn, the most frequent event of a bot, from a view and actions that are encoded already."""

from collections.abc import Iterable
from typing import Final

from rubble.v1 import bot_pb2, common_pb2
from service.rpc.codec import protobuf_wire
from service.rpc.codec.bytes_cache import BytesCache, CountedCache

_TURN: Final = protobuf_wire.fields(bot_pb2.Turn)
_CLOCK: Final = protobuf_wire.fields(common_pb2.Clock)
_SESSION: Final = protobuf_wire.frame(_TURN["session"])
_NUMBER: Final = protobuf_wire.numbers(_TURN["turn"])
_REVISION: Final = protobuf_wire.numbers(_TURN["revision"])
_VIEW: Final = protobuf_wire.frame(_TURN["view"])
_EVENT: Final = protobuf_wire.frame(protobuf_wire.fields(bot_pb2.PlayEvent)["turn"])
_EVENTS: Final = protobuf_wire.frame(protobuf_wire.fields(bot_pb2.PlayResponse)["events"])


def _make_legal(action: bytes) -> bytes:
    return protobuf_wire.sub(_TURN["legal_actions"], action)


def _make_clock(left: tuple[int, int]) -> bytes:
    return protobuf_wire.sub(
        _TURN["clock"], protobuf_wire.uint(_CLOCK["move_ms"], left[0]) + protobuf_wire.uint(_CLOCK["bank_ms"], left[1])
    )


_LEGAL: Final = BytesCache(_make_legal, 16384)
#: A quick bot gets every question with the same clock.
_CLOCKS: Final = CountedCache("turn.clock", _make_clock, 4096)


def turn_event_bytes(
    session_id: str, turn: int, revision: int, view: bytes, actions: Iterable[bytes], clock: tuple[int, int]
) -> bytes:
    """Return a PlayEvent with a Turn. View, actions (each an Action) and clock are written exactly once."""
    name = session_id.encode()
    _CLOCKS.lookups += 1
    payload = b"".join(
        [
            _SESSION[len(name)],
            name,
            _NUMBER[turn],
            _REVISION[revision],
            _VIEW[len(view)],
            view,
            *[_LEGAL[action] for action in actions],
            _CLOCKS[clock],
        ]
    )
    return _EVENT[len(payload)] + payload


def in_response(event: bytes) -> bytes:
    """Return a PlayEvent as an element of PlayResponse.events; any number of these, joined, are a PlayResponse."""
    return _EVENTS[len(event)] + event
