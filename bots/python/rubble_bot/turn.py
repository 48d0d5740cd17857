"""The types a bot author uses: the question, and the errors that stop a bot."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from google.protobuf import struct_pb2

from rubble.v1 import common_pb2, relief_pb2, sf1906_pb2

View: TypeAlias = sf1906_pb2.Sf1906View | relief_pb2.ReliefView | struct_pb2.Struct
#: An index into ``legal_actions``, or the text of one.
Answer: TypeAlias = int | str
Choose: TypeAlias = "Callable[[Turn], Answer] | Callable[[Turn], Awaitable[Answer]]"


@dataclass(slots=True)
class Turn:
    """A question with everything needed to answer it."""

    session: str
    game: str
    seat: int
    seats: int
    #: The number of this question to this seat in this session, from 1.
    number: int
    #: What this seat knows of the table: the game's own message, or a Struct for games without one.
    view: View
    #: All possible answers, never empty.
    legal_actions: Sequence[common_pb2.Action]
    #: Milliseconds left, as the arena counts them.
    clock: common_pb2.Clock
    #: The commitments to the seeds that the arena published before the first move. A game that is restarted with the same cards
    #: has another session and the same commitments.
    commitments: common_pb2.Commitments = field(default_factory=common_pb2.Commitments)
    #: Why the last answer to this question was refused; empty the first time.
    refused: str = ""
    #: Set it to store up to 1000 characters with the answer in the replay.
    note: str = field(default="", compare=False)

    @property
    def texts(self) -> list[str]:
        """Returns the legal actions in the notation of the game."""
        return [action.text for action in self.legal_actions]


class BotError(Exception):
    """The reason why a bot stopped by itself."""

    exit_code = 1


class MissingSetting(BotError):
    """An address or a key is missing, or a file of certificates cannot be read."""

    exit_code = 2


class Rejected(BotError):
    """The arena rejects this bot, probably because of a wrong key. Trying again would not help."""


class TakenOver(BotError):
    """Another process plays with the same key now."""
