"""Finished games from replay files, through one eye, at any revision."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from rubble.v1 import common_pb2, display_pb2
from service.games.words import visible
from service.rpc import codec
from service.rpc.display_messages import MOST_MS, line_message, position_message
from service.sessions.errors import BadRequest
from service.sessions.narration import Eye, names_of
from service.sessions.replay import BadReplay, Replay, read_replay
from service.sessions.replay_narration import NarratedReplay
from service.sessions.replay_verify import verify_replay

#: Lines at which a person who steps through a game need not stop.
_NO_STOP: Final = ("seated", "refused")


class ShownReplay:
    """A verified replay in words, as one eye sees it."""

    def __init__(self, jsonl: str, eye: Eye, names: Sequence[str] = ()) -> None:
        """Raises BadReplay or BadRequest if the replay cannot be shown. The request is checked before the game is replayed."""
        replay = read_replay(jsonl)
        seats = len(replay.bots)
        if isinstance(eye, int) and eye >= seats:
            raise BadRequest("seat", eye, f"0 to {seats - 1}")
        self._names = names_of(replay.bots, names)
        verified = verify_replay(jsonl)
        if not verified.ok:
            raise BadReplay(verified.line, verified.reason)
        if not verified.is_replayed:
            raise BadReplay(verified.lines, verified.reason)
        _check_clock(replay)
        self._replay: Replay = replay
        self._narrated = NarratedReplay(replay, eye, self._names)

    def at(self, revision: int) -> display_pb2.ShowReplayResponse:
        """Return the game at this revision, or at its end if it has fewer."""
        replay, narrated = self._replay, self._narrated
        last = len(replay.entries)
        place = min(revision, last)
        # Stops before the first entry that was still secret, as ``log_view.readable`` does.
        told = narrated.told[: len(list(takewhile(bool, narrated.is_readable(place))))]
        outcome = replay.sheet() if place == last else None
        return display_pb2.ShowReplayResponse(
            position=position_message(
                narrated.game, narrated.views[place], self._names, told, place, narrated.to_act[place]
            ),
            revisions=last,
            lines=[line_message(each, with_note=True) for each in told],
            session=visible(replay.session),
            game=replay.game,
            options=codec.options_message(replay.options),
            time_control=codec.time_control_message(replay.time_control),
            names=self._names,
            bots=[visible(bot) for bot in replay.bots],
            outcome=None if outcome is None else codec.outcome_message(outcome),
            commitments=common_pb2.Commitments(
                table=bytes.fromhex(replay.commitments[0]), deck=bytes.fromhex(replay.commitments[1])
            ),
            hash=replay.hashes[-1],
            stops=[0, *(each.revision for each in narrated.told if each.kind not in _NO_STOP)],
            created_at_ms=replay.created_ms,
        )


def _check_clock(replay: Replay) -> None:
    """Raise BadReplay if a message cannot hold the time control; no session of a service has such a clock."""
    for name in replay.time_control.__struct_fields__:
        value = getattr(replay.time_control, name)
        if value > MOST_MS:
            raise BadReplay(1, f"time_control.{name} is {value}; expected 0 to {MOST_MS}")
