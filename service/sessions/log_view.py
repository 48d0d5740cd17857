"""The log of a session as a viewer may read it. Only this file decides that; Watch and replays use it."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from service.games.core import Viewer
from service.games.log import Visibility, visibilities
from service.sessions.entries import Acted, AnswerRefused, AutomatonActed, Entry, action_of
from service.sessions.session import ACTIVE, Session

#: The notation of an action that the viewer may not know. No real action has an empty notation.
HIDDEN: Final = ""


def readable(session: Session, entries: Sequence[Entry], viewer: Viewer) -> list[Entry]:
    """Return the entries this viewer may read now. ``entries`` may start anywhere in the log, and must end with its last entry.

    The list stops before the first entry that is still secret because seats act simultaneously. An action that stays secret is
    kept, so that revisions can be counted, with HIDDEN as its notation and without its note; it becomes readable for everybody
    when the seeds are revealed.
    """
    is_secret = session.status == ACTIVE and session.game.is_secret(session.state)
    actions = [action_of(entry) for entry in entries]
    seen = visibilities(actions, viewer, is_secret=is_secret, is_revealed=session.revealed)
    found: list[Entry] = []
    for entry, sight in zip(entries, seen, strict=True):
        if sight is Visibility.NOTHING:
            break
        found.append(entry if sight is Visibility.WHOLE else hidden(entry))
    return found


def hidden(entry: Entry) -> Entry:
    """Return the entry without what the game keeps secret until the seeds are revealed."""
    if isinstance(entry, Acted) and entry.lasting:
        return replace(entry, action=HIDDEN, note="")
    if isinstance(entry, AutomatonActed) and entry.lasting:
        return replace(entry, action=HIDDEN)
    return entry


def without_reason(entry: Entry, viewer: Viewer) -> Entry:
    """Return the entry as it may be told: why another seat's answer was refused may depend on that seat's cards."""
    return replace(entry, reason=HIDDEN) if isinstance(entry, AnswerRefused) and entry.seat != viewer else entry


def is_hidden(entry: Entry) -> bool:
    """Whether ``readable`` has removed the action from this entry."""
    action = action_of(entry)
    return action is not None and action.lasting and action.action == HIDDEN
