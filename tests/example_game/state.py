"""The state of the table, including hidden cards, and how to copy and store it."""

from dataclasses import dataclass
from typing import Final

from service.games.core import Plain, Seat

SENDING: Final = "sending"
HIRING: Final = "hiring"
OVER: Final = "over"
NOBODY: Final = -1


@dataclass(slots=True)
class State:
    """One table of Salvage. Cards are numbers; lists of cards whose order means nothing are kept sorted."""

    rounds: int
    finds: list[int]
    round: int
    phase: str
    #: The seat to hire, and how many still have to.
    turn: Seat
    to_hire: int
    open: int
    deck: list[int]
    #: By seat: the crews it has sent, which all have seen.
    discards: list[list[int]]
    hands: list[list[int]]
    #: The cards of every hand that all have seen.
    seen: list[list[int]]
    #: The crew each seat has sent, still in its hand until all have sent; or NOBODY.
    sent: list[int]
    #: The finds of every seat.
    won: list[list[int]]
    #: All later random draws come from this seed.
    seed: bytes

    @property
    def seats(self) -> int:
        return len(self.hands)


def copy(state: State) -> State:
    """An independent copy."""
    return from_plain(to_plain(state))


def to_plain(state: State) -> Plain:
    """Returns nested lists of numbers and texts; equal states give equal lists."""
    return [
        *(state.rounds, list(state.finds), state.round, state.phase, state.turn, state.to_hire, state.open),
        *(list(state.deck), [list(crews) for crews in state.discards], [list(hand) for hand in state.hands]),
        *([list(cards) for cards in state.seen], list(state.sent), [list(finds) for finds in state.won]),
        state.seed.hex(),
    ]


def from_plain(plain: Plain) -> State:
    """Returns the state that to_plain wrote."""
    *numbers, deck, discards, hands, seen, sent, won, seed = plain
    rounds, finds, round_, phase, turn, to_hire, open_ = numbers
    return State(
        *(rounds, list(finds), round_, phase, turn, to_hire, open_, list(deck)),
        *([list(crews) for crews in discards], [list(hand) for hand in hands], [list(cards) for cards in seen]),
        *(list(sent), [list(f) for f in won]),
        bytes.fromhex(seed),
    )
