"""Live sessions in boards and sentences, as one eye sees them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rubble.v1 import display_pb2
from service.games.core import AnyGame, Outcome, Plain, Seat, Viewer
from service.rpc import codec
from service.rpc.display_messages import line_message, position_message
from service.sessions.entries import Entry
from service.sessions.log_view import readable, without_reason
from service.sessions.narration import Narrator, Told, choice_sentence, names_of
from service.sessions.session import Header, Session


@dataclass(frozen=True, slots=True)
class SeenSession:
    """What one eye may know of a session at one moment. It does not change when the session does."""

    game: AnyGame
    header: Header
    revision: int
    mark: str
    viewer: Viewer
    names: Sequence[str]
    entries: Sequence[Entry]
    #: What the viewer may read of the entries; shorter while seats choose secretly.
    shown: Sequence[Entry]
    view: Plain
    to_act: Sequence[Seat]
    #: The legal actions of the viewer's seat if it has an open question.
    actions: Sequence[Any]
    #: The official one, if the session has ended with a result.
    outcome: Outcome | None

    @classmethod
    def of(
        cls,
        session: Session,
        entries: Sequence[Entry],
        viewer: Viewer,
        names: Sequence[str] = (),
        *,
        is_operator: bool,
    ) -> "SeenSession":
        """``entries``: the whole log of the session; ``names``: what the caller calls its seats, if it has names for them."""
        shown = readable(session, entries, viewer)
        asked = viewer if viewer is not None and session.seats[viewer].is_asked else None
        return cls(
            game=session.game,
            header=session.header,
            revision=session.revision,
            mark=session.mark,
            viewer=viewer,
            names=names_of(session.known_bots(is_operator=is_operator), names),
            entries=entries,
            shown=shown if session.revealed else [without_reason(entry, viewer) for entry in shown],
            view=session.game.view(session.state, viewer),
            to_act=session.open_seats(),
            actions=() if asked is None else session.game.legal_actions(session.state, asked),
            outcome=session.outcome,
        )


def session_response(
    session: Session, seen: SeenSession, now_ms: int, *, is_operator: bool
) -> display_pb2.ShowSessionResponse:
    """Return a response without what must be drawn or told."""
    response = display_pb2.ShowSessionResponse(
        session=codec.session_message(session, now_ms, is_operator=is_operator),
        revision=len(seen.shown),
        names=seen.names,
    )
    if seen.viewer is not None and session.seats[seen.viewer].is_asked:
        asked = session.seats[seen.viewer]
        response.question.turn = asked.turn
        response.question.clock.CopyFrom(codec.clock_message(asked.clock.left(now_ms)))
    return response


class ShownSession:
    """A session in words so far, as one eye sees it. For one thread."""

    def __init__(self) -> None:
        self._narrator: Narrator | None = None
        self._entries: list[Entry] = []
        self._told: list[Told] = []
        #: The last position drawn, and the mark of the session at that time.
        self._position = display_pb2.Position()
        self._mark = ""

    def fill(self, response: display_pb2.ShowSessionResponse, seen: SeenSession, after_revision: int) -> None:
        """Add the position, the lines after a revision and the choices."""
        self._tell(seen)
        told = self._told[: len(seen.shown)]
        if not seen.mark or self._mark != seen.mark:
            self._position = position_message(seen.game, seen.view, seen.names, told, seen.revision, seen.to_act)
            self._mark = seen.mark
        response.position.CopyFrom(self._position)
        response.lines.extend(line_message(each) for each in told if each.revision > after_revision)
        for index, action in enumerate(seen.actions):
            assert seen.viewer is not None
            response.question.choices.add(
                index=index,
                notation=seen.game.text(action),
                sentence=choice_sentence(seen.game, seen.view, seen.viewer, action, seen.names),
                parts=() if seen.game.board is None else seen.game.board.parts(seen.view, seen.viewer, action),
            )

    def _tell(self, seen: SeenSession) -> None:
        """Tell the entries that are new. Starts again if the store has lost some that were told."""
        common = min(len(self._entries), len(seen.entries))  # another request may have read and told more already
        if self._narrator is None or self._entries[:common] != list(seen.entries[:common]):
            state = seen.game.new(seen.header.seats, seen.header.options, seen.header.seeds)
            self._narrator = Narrator(seen.game, state, seen.viewer, seen.names)
            self._entries, self._told = [], []
        narrator = self._narrator
        self._narrator = None  # it cannot go on if one entry fails halfway
        begun = len(self._entries)
        for entry, shown in zip(
            seen.entries[begun:], seen.shown[begun:], strict=False
        ):  # the secret ones are not shown
            self._told.append(narrator.tell(entry, shown, seen.outcome))
            self._entries.append(entry)
        self._narrator = narrator
