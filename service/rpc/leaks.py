"""The watch against leaks: now and then a session is dealt anew behind somebody's back, and nothing that eye is sent may change.

The tests prove it for every game (tests/conformance). This asks the same of the games that are really played, through the codec
that really writes their views. It costs well under a millisecond a second, and a failure is a bug that must wake somebody.
"""

import copy
import logging
import secrets
from typing import Final

from service import logs, metrics
from service.games.chance import SEED_BYTES, Stream
from service.games.core import Eye
from service.rpc import codec
from service.sessions.arena import Change
from service.sessions.session import ACTIVE, Session

_LOG: Final = logging.getLogger(__name__)


class LeakWatch:
    """Remembers which session moved last, and checks it when asked to."""

    def __init__(self) -> None:
        self._latest: Session | None = None

    def hear(self, change: Change) -> None:
        """A change was saved. To be called for every one of them, so it does next to nothing."""
        if change.session.status == ACTIVE:
            self._latest = change.session

    async def once(self) -> None:
        """Check the session that moved last, for an eye drawn by lot. While nothing moves there is nothing new to check."""
        session, self._latest = self._latest, None
        if session is None or session.status != ACTIVE:
            return
        lot = secrets.randbelow(session.header.seats + 1)
        check(session, None if lot == session.header.seats else lot, Stream(secrets.token_bytes(SEED_BYTES), "leaks"))


def check(session: Session, eye: Eye, chance: Stream) -> bool:
    """Whether this eye is sent the same bytes whatever it cannot know. If not, that is counted and logged."""
    game = session.game
    twin = copy.copy(session)
    twin.state = game.redeal(session.state, eye, chance)
    metrics.LEAK_CHECKS.labels(game.id).inc()
    leaks = metrics.LEAKS.labels(game.id)  # from now on it is shown, if only as 0: an alert must see it rise
    if _sent(session, eye) == _sent(twin, eye):
        return True
    leaks.inc()
    with logs.ids(session=session.header.id):
        who = "a spectator" if eye is None else f"seat {eye}"
        _LOG.error("LEAK: what %s is sent at revision %s depends on cards it cannot know", who, session.revision)
    return False


def _sent(session: Session, eye: Eye) -> bytes:
    """What an eye is sent of a position: with its question if it has one open, since the legal actions must not tell more."""
    if eye is not None and session.seats[eye].is_asked:
        return codec.turn_event(session, eye, session.seats[eye].clock.asked_ms)
    return codec.view_bytes(session.game, session.state, eye)
