"""Boards and log lines as messages of DisplayService, for sessions and for replays."""

from collections.abc import Sequence
from typing import Final

from rubble.v1 import display_pb2
from service.games.core import AnyGame, Picture, Plain
from service.sessions.narration import Told

_KINDS: Final = {
    "act": display_pb2.LOG_LINE_KIND_ACTION,
    "house": display_pb2.LOG_LINE_KIND_AUTOMATON,
    "refused": display_pb2.LOG_LINE_KIND_REFUSED,
    "seated": display_pb2.LOG_LINE_KIND_SEATED,
    "fault": display_pb2.LOG_LINE_KIND_FAULT,
    "end": display_pb2.LOG_LINE_KIND_END,
    "reveal": display_pb2.LOG_LINE_KIND_SEEDS,
}
_ACTIONS: Final = ("act", "house")
#: The largest number of milliseconds in a message.
MOST_MS: Final = 0xFFFFFFFF


def position_message(
    game: AnyGame, view: Plain, names: Sequence[str], told: Sequence[Told], revision: int, to_act: Sequence[int]
) -> display_pb2.Position:
    """Return a position as the eye of this view sees it. ``told``: what that eye may read of the log; its last action is marked."""
    marked = next((each.parts for each in reversed(told) if each.kind in _ACTIONS), ())
    return display_pb2.Position(
        revision=revision,
        svg="" if game.board is None else game.board.draw(view, names, marked),
        picture=_text(game.picture(view)),
        to_act=to_act,
        points=game.points(view),
    )


def line_message(told: Told, *, with_note: bool = False) -> display_pb2.LogLine:
    """Return one log line. Notes are for replays only."""
    return display_pb2.LogLine(
        revision=told.revision,
        kind=_KINDS[told.kind],
        seat=told.seat,
        notation=told.notation,
        sentence=told.sentence,
        events=told.events,
        think_ms=min(told.think_ms, MOST_MS),
        note=told.note if with_note else "",
        points=told.points,
    )


def _text(picture: Picture) -> str:
    return "\n".join("".join(text for text, _ in line).rstrip() for line in picture)
