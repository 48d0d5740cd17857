"""The leak check: re-deals what a viewer cannot know in a live session, and compares the bytes sent to the viewer.

The tests prove it for every game (tests/conformance). This checks games that are really played, through the codec in use. It
takes well under a millisecond per second; a failure is a serious bug.
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
    """Remembers the session that changed last, and checks it on request."""

    def __init__(self) -> None:
        self._latest: Session | None = None

    def hear(self, change: Change) -> None:
        """Remember a saved change. Called for every change, so it does almost nothing."""
        if change.session.status == ACTIVE:
            self._latest = change.session

    async def once(self) -> None:
        """Check the session that changed last, for a random viewer; does nothing if nothing has changed."""
        session, self._latest = self._latest, None
        if session is None or session.status != ACTIVE:
            return
        lot = secrets.randbelow(session.header.seats + 1)
        check(session, None if lot == session.header.seats else lot, Draws(secrets.token_bytes(SEED_BYTES), "leaks"))


def check(session: Session, viewer: Viewer, chance: Draws) -> bool:
    """Whether this viewer is sent the same bytes whatever the hidden cards are. A leak is counted and logged."""
    game = session.game
    twin = copy.copy(session)
    twin.state = game.redeal(session.state, viewer, chance)
    metrics.LEAK_CHECKS.labels(game.id).inc()
    leaks = metrics.LEAKS.labels(game.id)  # creates the metric with 0, so that an alert can see it rise
    if _sent(session, viewer) == _sent(twin, viewer):
        return True
    leaks.inc()
    with logs.ids(session=session.header.id):
        who = "a spectator" if viewer is None else f"seat {viewer}"
        _LOG.error("LEAK: the bytes sent to %s at revision %s depend on cards it cannot know", who, session.revision)
    return False


def _sent(session: Session, viewer: Viewer) -> bytes:
    """Return what a viewer is sent of a position, including an open question, because the legal actions must not reveal more."""
    if viewer is not None and session.seats[viewer].is_asked:
        return codec.turn_event(session, viewer, session.seats[viewer].clock.asked_ms)
    return codec.view_bytes(session.game, session.state, viewer)
