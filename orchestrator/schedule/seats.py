"""Assigns seats: either everybody plays every seat, or for each entrant the counts of its seats differ by at most one.

Tables and entrants are the two sides of a bipartite graph, and a seat is the colour of an edge. Every such graph has a
colouring in which the counts of the colours at each vertex differ by at most one (de Werra).
"""

from collections.abc import Sequence

#: Entrants by seat.
Seating = tuple[int, ...]
_FREE = -1


def rotations(seating: Seating) -> tuple[Seating, ...]:
    """Every rotation of a table: each entrant has each seat once, with the same neighbours in all of them."""
    return tuple(seating[by:] + seating[:by] for by in range(len(seating)))


def equitable(tables: Sequence[Sequence[int]]) -> list[Seating]:
    """Seat each table so that for every entrant the counts of any two seats differ by at most 1.

    All tables have the same size and no entrant twice; tables may repeat. The order of the tables is kept.
    """
    if not tables:
        return []
    size = len(tables[0])
    seated = [[_FREE] * size for _ in tables]  # table -> seat -> entrant's card
    cards: list[list[int]] = []  # card -> seat -> table
    # An entrant's tables are split into cards of `size` tables, with different seats within each card.
    open_card: dict[int, int] = {}
    written: list[int] = []
    owner: list[int] = []
    for at, table in enumerate(tables):
        if len(table) != size or len(set(table)) != size:
            raise ValueError(f"table {at} is {tuple(table)}; expected {size} different entrants")
        here = seated[at]
        for entrant in table:
            card = open_card.get(entrant, _FREE)
            if card == _FREE or written[card] == size:
                card = len(cards)
                cards.append([_FREE] * size)
                written.append(0)
                owner.append(entrant)
                open_card[entrant] = card
            written[card] += 1
            wanted = here.index(_FREE)
            if cards[card][wanted] != _FREE:
                _swap_along(card, wanted, cards[card].index(_FREE), cards, seated)
            cards[card][wanted] = at
            here[wanted] = card
    return [tuple(owner[card] for card in here) for here in seated]


def _swap_along(card: int, taken: int, free: int, cards: list[list[int]], seated: list[list[int]]) -> None:
    """Swap two seats along the path that starts at a card, so that ``taken`` becomes free on it.

    The path alternates cards and tables. It cannot return to the first table: there ``taken`` is free too, and the path enters
    every table by a game in ``taken``.
    """
    path = []  # (card, table, seat) of every game whose seat changes
    seat, other = taken, free
    while True:
        table = cards[card][seat]
        if table == _FREE:
            break
        path.append((card, table, seat))
        card = seated[table][other]
        if card == _FREE:
            break
        path.append((card, table, other))
    for owner, table, old in path:
        if cards[owner][old] == table:
            cards[owner][old] = _FREE
        if seated[table][old] == owner:
            seated[table][old] = _FREE
    for owner, table, old in path:
        new = free if old == taken else taken
        cards[owner][new] = table
        seated[table][new] = owner
