"""What all eyes see alike of one state, ready to be joined with what one eye sees alone."""

from typing import NamedTuple


class Public(NamedTuple):
    """Encoded once, good for every eye as long as the state does not move.

    Whoever keeps it keeps it with the very state it was made from: a revision that was never saved may come back different.
    """

    #: Everything but the eye itself and the places of the players.
    table: bytes
    #: The place of every player as a spectator sees it.
    places: tuple[bytes, ...]


def join(public: Public, you: bytes, seat: int, own: bytes) -> bytes:
    """The view of one seat: its own place stands where everybody else sees the public one, so each is written once."""
    places = public.places
    return b"".join((public.table, you, *places[:seat], own, *places[seat + 1 :]))
