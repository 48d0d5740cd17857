"""The result of starting all bots of a tournament before its first match, so that a bot that cannot start is reported at once.

The bots stay with the worker that started them and play its matches: none is started twice.
"""

import msgspec

#: The prefix of the line that the worker prints; the tournament id and ``Started`` as JSON follow.
SAID = "bots of "


class Started(msgspec.Struct, frozen=True):
    """The result; all fields are empty if every bot is connected."""

    #: The bot that cannot start, the cause, and the last lines of its output.
    bot: str = ""
    why: str = ""
    words: str = ""

    @classmethod
    def read(cls, line: str) -> "Started":
        """Read what ``line`` wrote."""
        return msgspec.json.decode(line, type=cls)

    def line(self, tournament: str) -> str:
        """The line that the worker prints."""
        return f"{SAID}{tournament} {msgspec.json.encode(self).decode()}"
