"""Tells a session in sentences, as one viewer may know it: for pages, replays and people at a terminal."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from service.games import words
from service.games.core import AnyGame, Outcome, Plain, Seat, Viewer
from service.sessions.entries import Acted, AnswerRefused, AutomatonActed, Ended, Entry, Forfeited, Seated, Status
from service.sessions.errors import BadRequest
from service.sessions.log_view import is_hidden
from service.sessions.session import ADJUDICATED, FORFEIT

#: Sees what all seats know together. Only for sessions whose seeds are revealed.
ALL: Final = "all"
Eye: TypeAlias = Viewer | str

_FAULTS: Final = {
    "TIMEOUT": "ran out of time",
    "DISCONNECTED": "was disconnected until its time was used up",
    "REFUSED_ACTIONS": "gave too many answers that the rules refuse",
    "RESIGNED": "resigned",
    "NO_SHOW": "did not come",
    "MATCH_LIMIT": "was to move when the match had lasted too long",
}


@dataclass(frozen=True, slots=True)
class Told:
    """One entry of a session in words."""

    revision: int
    #: The kind of the entry in a replay: act, house, refused, seated, fault, end, reveal.
    kind: str
    #: None for the end and the seeds.
    seat: Seat | None
    #: Empty if it is no action, or one that this viewer may not know.
    notation: str
    sentence: str
    #: What else happened, a sentence each; at the end, who won.
    events: tuple[str, ...]
    #: Parts of the board that the action concerns.
    parts: tuple[str, ...]
    think_ms: int
    note: str
    #: The points of each seat after it, as far as this viewer sees them; empty if the game has none before its end.
    points: tuple[int, ...]


class Narrator:
    """Tells the entries of one session, one after the other. Holds a state of its own, which begins before the first move."""

    def __init__(self, game: AnyGame, state: Any, eye: Eye, names: Sequence[str]) -> None:
        self._game = game
        self._state = state
        self._eye = eye
        self._names = names
        self._view: Plain = view_of(game, state, eye, len(names))
        self._points = tuple(game.points(self._view))
        self._forfeited: set[Seat] = set()
        self.revision = 0

    def tell(self, entry: Entry, shown: Entry, outcome: Outcome | None = None) -> Told:
        """Apply the next entry, and tell what this viewer may know of it: ``shown``, see ``log_view``.

        ``outcome`` is the official one, which may differ from the game's own ranking. It is told with the end.
        """
        self.revision += 1
        events: tuple[str, ...] = ()
        parts: tuple[str, ...] = ()
        notation, note, think_ms = "", "", 0
        name = "" if isinstance(entry, Ended) else self._names[getattr(entry, "seat", 0)]
        match entry:
            case Acted() | AutomatonActed():
                action = self._game.read(entry.action)
                before = self._view
                self._game.apply(self._state, entry.seat, action)
                self._view = view_of(self._game, self._state, self._eye, len(self._names))
                self._points = tuple(self._game.points(self._view))
                if is_hidden(shown):
                    sentence = f"{name} acts in secret"
                else:
                    notation = entry.action
                    sentence = self._said(before, entry.seat, action)
                    events = self._events(before, entry.seat, action)
                    if self._game.board is not None:
                        parts = tuple(self._game.board.parts(before, entry.seat, action))
                if isinstance(entry, Acted):
                    think_ms, note = entry.think_ms, shown.note if isinstance(shown, Acted) else ""
            case AnswerRefused():
                reason = words.visible(shown.reason) if isinstance(shown, AnswerRefused) else ""
                sentence = f"{name} gives an answer that is refused" + (f": {reason}" if reason else "")
                note = entry.note
            case Seated():
                sentence = f"{name} takes seat {entry.seat}"
            case Forfeited():
                self._forfeited.add(entry.seat)
                why = _FAULTS.get(entry.fault, entry.fault)
                sentence, note = f"{name} {why}, and forfeits the seat", entry.outage
            case Ended():
                sentence, note = _ended(entry, outcome), entry.note
                if outcome is not None:
                    events = tuple(words.event(each, self._names) for each in _result(outcome, self._forfeited))
            case _:
                sentence = "The seeds are published"
        return Told(
            self.revision,
            entry.kind,
            getattr(entry, "seat", None),
            notation,
            sentence,
            events,
            parts,
            think_ms,
            note,
            self._points,
        )

    def _said(self, before: Plain, seat: Seat, action: Any) -> str:
        return words.told(_template(self._game, before, seat, action), seat, self._names)

    def _events(self, before: Plain, seat: Seat, action: Any) -> tuple[str, ...]:
        return tuple(words.event(each, self._names) for each in self._game.tell(before, self._view, seat, action))


def _template(game: AnyGame, view: Plain, seat: Seat, action: Any) -> str:
    return "{play} " + game.text(action) if game.say is None else game.say(view, seat, action)


def _ended(entry: Ended, outcome: Outcome | None) -> str:
    if entry.status is Status.CANCELLED:
        return "The game was cancelled"
    is_adjudicated = outcome is not None and outcome.ending == ADJUDICATED
    return "The operator has ended the game" if is_adjudicated else "The game is over"


def _result(outcome: Outcome, forfeited: Collection[Seat]) -> list[str]:
    """Return the official result as templates of ``words``: who won, then each forfeited seat, which is ranked last."""
    is_scored = any(result.lines for result in (*outcome.seats, *outcome.house))
    if outcome.ending == ADJUDICATED and not is_scored:
        forfeited = ()  # the operator has given the ranks of all seats
    played = [(f"{{{seat}}}", result) for seat, result in enumerate(outcome.seats) if seat not in forfeited]
    played += [(f"the {result.name}", result) for result in outcome.house]
    found: list[str] = []
    if played:
        scores = [result.score for _, result in played] if is_scored else []
        won = words.standings([name for name, _ in played], [result.rank for _, result in played], scores)
        found.append(f"{won}, because no other seat still plays" if outcome.ending == FORFEIT else won)
    for seat in sorted(forfeited, key=lambda seat: outcome.seats[seat].rank):
        result = outcome.seats[seat]
        place = f"{{be}} ranked {words.ordinal(result.rank)}" if len(outcome.seats) > 1 else "{lose} the game"
        points = f" with {words.counted(result.score, 'point')}" if is_scored else ""
        found.append(f"{{{seat}}} {place}{points}, because the seat was forfeited")
    return found


def choice_sentence(game: AnyGame, view: Plain, seat: Seat, action: Any, names: Sequence[str]) -> str:
    """Return what a seat may choose, in words."""
    return words.choice(_template(game, view, seat, action), names)


def view_of(game: AnyGame, state: Any, eye: Eye, seats: int) -> Plain:
    """Return what an eye sees; ALL sees what all seats know, or what is public if the game cannot join views."""
    if not isinstance(eye, str):
        return game.view(state, eye)
    if game.together is None:
        return game.view(state, None)
    return game.together([game.view(state, seat) for seat in range(seats)])


def names_of(bots: Sequence[str], chosen: Sequence[str] = ()) -> list[str]:
    """Return a name for each seat: the chosen one or its bot, or its number if it is open or its bot is not told.

    Raises BadRequest if names were chosen for another number of seats.
    """
    if chosen and len(chosen) != len(bots):
        raise BadRequest("names", f"{len(chosen)} of them", f"{len(bots)}, one for each seat, or none")
    return [words.visible(name) or f"Seat {seat}" for seat, name in enumerate(chosen or bots)]
