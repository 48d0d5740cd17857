"""Capacity: how many games each bot plays at once, as it reports. A match begins only when all its bots have capacity.

Otherwise a slow bot would get more games than it can play and be blamed for missing some; and two bots could each hold
a seat that the other waits for.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Collection
from typing import Final

#: How often a waiting caller calls its heartbeat.
_LOOK_S: Final = 1.0


class Capacity:
    """The games of the bots of one pool. Safe to use from several threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        #: By a bot's arena name. A bot that is not listed has reported no limit and never waits.
        self._most: dict[str, int] = {}
        self._games: defaultdict[str, set[str]] = defaultdict(set)

    def learn(self, bot: str, most: int) -> None:
        """Set how many games the bot plays at once."""
        with self._changed:
            self._most[bot] = most
            self._changed.notify_all()

    def forget(self, bot: str) -> None:
        """Remove a bot that does not come back."""
        with self._changed:
            self._most.pop(bot, None)
            self._games.pop(bot, None)

    def take(self, session: str, bots: Collection[str], heartbeat: Callable[[], None]) -> None:
        """Wait until all bots have capacity, and take it from all at once, so that no waiting caller holds any."""
        while True:
            heartbeat()
            with self._changed:
                if self._changed.wait_for(lambda: all(self._has_capacity(bot) for bot in bots), _LOOK_S):
                    self._take(session, bots)
                    return

    def take_anyway(self, session: str, bots: Collection[str]) -> None:
        """Take capacity for a game that is already being played, even if there is none."""
        with self._changed:
            self._take(session, bots)

    def give(self, session: str, bots: Collection[str]) -> None:
        """Return the capacity of a game that is over or was not begun."""
        with self._changed:
            for bot in bots:
                self._games[bot].discard(session)
                if not self._games[bot]:
                    del self._games[bot]
            self._changed.notify_all()

    def _has_capacity(self, bot: str) -> bool:
        most = self._most.get(bot)
        return most is None or len(self._games.get(bot, ())) < most

    def _take(self, session: str, bots: Collection[str]) -> None:
        for bot in bots:
            self._games[bot].add(session)
