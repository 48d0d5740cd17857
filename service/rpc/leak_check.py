"""The leak check: now and then a session is dealt anew behind somebody's back, and nothing that viewer is sent may change.

The tests prove it for every game (tests/conformance). This asks the same of the games that are really played, through the codec
that really writes their views. It costs well under a millisecond a second, and a failure is a bug that must wake somebody.
"""

import copy
import logging
import secrets
from typing import Final

from service import logs, metrics
from service.games.chance import SEED_BYTES, Draws
from service.games.core import Viewer
from service.rpc import codec
from service.sessions.live_sessions import Change
from service.sessions.session import ACTIVE, Session

_LOG: Final = logging.getLogger(__name__)


class LeakCheck:
    """Remembers which session moved last, and checks it when asked to."""

    def __init__(self) -> None:
        self._latest: Session | None = None

    def hear(self, change: Change) -> None:
        """A change was saved. To be called for every one of them, so it does next to nothing."""
        if change.session.status == ACTIVE:
            self._latest = change.session

    async def once(self) -> None:
        """Check the session that moved last, for a viewer drawn by lot. While nothing moves there is nothing new to check."""
        session, self._latest = self._latest, None
        if session is None or session.status != ACTIVE:
            return
        lot = secrets.randbelow(session.header.seats + 1)
        check(session, None if lot == session.header.seats else lot, Draws(secrets.token_bytes(SEED_BYTES), "leaks"))


def check(session: Session, viewer: Viewer, chance: Draws) -> bool:
    """Whether this viewer is sent the same bytes whatever it cannot know. If not, that is counted and logged."""
    game = session.game
    twin = copy.copy(session)
    twin.state = game.redeal(session.state, viewer, chance)
    metrics.LEAK_CHECKS.labels(game.id).inc()
    leaks = metrics.LEAKS.labels(game.id)  # from now on it is shown, if only as 0: an alert must see it rise
    if _sent(session, viewer) == _sent(twin, viewer):
        return True
    leaks.inc()
    with logs.ids(session=session.header.id):
        who = "a spectator" if viewer is None else f"seat {viewer}"
        _LOG.error("LEAK: what %s is sent at revision %s depends on cards it cannot know", who, session.revision)
    return False


def _sent(session: Session, viewer: Viewer) -> bytes:
    """What a viewer is sent of a position: with its question if it has one open, since the legal actions must not tell more."""
    if viewer is not None and session.seats[viewer].is_asked:
        return codec.turn_event(session, viewer, session.seats[viewer].clock.asked_ms)
    return codec.view_bytes(session.game, session.state, viewer)
