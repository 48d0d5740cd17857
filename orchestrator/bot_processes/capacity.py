"""Capacity: how many games each bot has said it plays at once. A match begins when all its bots have room, and not before.

Otherwise a slow bot would be asked for more games than it can play, and blamed for not turning up to the rest; and two bots
could sit at two tables, each waiting for the other.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Collection
from typing import Final

#: Whoever waits says so often that it is still at it.
_LOOK_S: Final = 1.0


class Capacity:
    """The games of the bots of one pool. Safe to use from several threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        #: By a bot's name in the arena; who is not in it never said, and is not waited for.
        self._most: dict[str, int] = {}
        self._games: defaultdict[str, set[str]] = defaultdict(set)

    def learn(self, bot: str, most: int) -> None:
        """So many games the bot plays at once."""
        with self._changed:
            self._most[bot] = most
            self._changed.notify_all()

    def forget(self, bot: str) -> None:
        """The bot is gone for good."""
        with self._changed:
            self._most.pop(bot, None)
            self._games.pop(bot, None)

    def take(self, session: str, bots: Collection[str], heartbeat: Callable[[], None]) -> None:
        """Wait until all of them have room, and take it. All at once: whoever waits holds nothing that another waits for."""
        while True:
            heartbeat()
            with self._changed:
                if self._changed.wait_for(lambda: all(self._has_capacity(bot) for bot in bots), _LOOK_S):
                    self._take(session, bots)
                    return

    def take_anyway(self, session: str, bots: Collection[str]) -> None:
        """For a game that is being played already, room or not."""
        with self._changed:
            self._take(session, bots)

    def give(self, session: str, bots: Collection[str]) -> None:
        """The game is over, or not begun after all."""
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
