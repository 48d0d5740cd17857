"""What an author sees: the question, and the reasons why a bot may stop."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from google.protobuf import struct_pb2

from rubble.v1 import common_pb2, relief_pb2, sf1906_pb2

View: TypeAlias = sf1906_pb2.Sf1906View | relief_pb2.ReliefView | struct_pb2.Struct
#: A place in ``legal_actions``, or the text of one.
Answer: TypeAlias = int | str
Choose: TypeAlias = "Callable[[Turn], Answer] | Callable[[Turn], Awaitable[Answer]]"


@dataclass(slots=True)
class Turn:
    """A question, and all there is to know for the answer."""

    session: str
    game: str
    seat: int
    seats: int
    #: Counts the questions put to this seat in this session.
    number: int
    #: What this seat knows of the table: a message of the game's own, or a Struct for games without one.
    view: View
    #: Everything that may be answered, never empty.
    legal_actions: Sequence[common_pb2.Action]
    #: Milliseconds left, as the arena counts them.
    clock: common_pb2.Clock
    #: What the arena published of the cards before the first move. A game that is begun anew with the same cards has another
    #: session and the same commitments.
    commitments: common_pb2.Commitments = field(default_factory=common_pb2.Commitments)
    #: Why the last answer to this very question was refused; empty the first time.
    refused: str = ""
    #: Set it to keep up to 1000 characters beside the answer in the replay.
    note: str = field(default="", compare=False)

    @property
    def texts(self) -> list[str]:
        """The legal actions in the notation of the game."""
        return [action.text for action in self.legal_actions]


class BotError(Exception):
    """Why a bot stopped without being told to."""

    exit_code = 1


class MissingSetting(BotError):
    """An address or a key is missing, or a file of certificates cannot be read."""

    exit_code = 2


class Rejected(BotError):
    """The arena does not want this bot: a wrong key, most likely. Trying again would not help."""


class TakenOver(BotError):
    """Another process plays with the same key now."""
