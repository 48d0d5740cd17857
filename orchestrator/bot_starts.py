"""What comes of starting all bots of a tournament before its first match, so that one that cannot start is known at once.

The bots stay with the worker that started them and play its matches: nothing is started a second time.
"""

import msgspec

#: What the worker's line about it begins with; the id of the tournament and ``Started`` as JSON follow.
SAID = "bots of "


class Started(msgspec.Struct, frozen=True):
    """What came of it; all empty: every bot is connected."""

    #: The bot that cannot start, why, and its own last words.
    bot: str = ""
    why: str = ""
    words: str = ""

    @classmethod
    def read(cls, line: str) -> "Started":
        """As the worker said it."""
        return msgspec.json.decode(line, type=cls)

    def line(self, tournament: str) -> str:
        """The line that the worker says."""
        return f"{SAID}{tournament} {msgspec.json.encode(self).decode()}"
