"""The log of a session as an eye may read it. Watch and replays are made from this; nothing else decides it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from service.games.core import Eye
from service.games.log import Sight, sights
from service.sessions.session import ACTIVE, Entry, Session

#: The text of an action that the reader may not know. No action of any game has an empty notation.
HIDDEN: Final = ""


def readable(session: Session, entries: Sequence[Entry], eye: Eye) -> list[Entry]:
    """The entries this eye may read now. ``entries`` may begin anywhere in the log, and ends with its last entry.

    The list stops before the first entry that must not be known of yet, because seats still choose secretly. An action that
    stays secret is in it, so that revisions can be counted, with HIDDEN as its text and without its note; everybody reads it
    when the seeds are revealed.
    """
    is_secret = session.status == ACTIVE and session.game.is_secret(session.state)
    found = []
    for entry, sight in zip(
        entries, sights(entries, eye, is_secret=is_secret, is_revealed=session.revealed), strict=True
    ):
        if sight is Sight.NOTHING:
            break
        found.append(entry if sight is Sight.WHOLE else replace(entry, text=HIDDEN, note=""))
    return found


def is_hidden(entry: Entry) -> bool:
    """Whether ``readable`` has taken the text out of this entry."""
    return entry.lasting and entry.text == HIDDEN
