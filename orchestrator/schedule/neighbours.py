"""The order in which seats act. Rotations do not change it, so it changes from deal to deal."""

from itertools import permutations

from orchestrator.schedule.seats import Seating


def cyclic_orders(seats: int) -> tuple[Seating, ...]:
    """Every cyclic order of a table of this size: 1 for two, 2 for three, 6 for four.

    Over all of them each ordered pair of neighbours is equally frequent. For four, no smaller set is as fair.
    """
    return tuple((0, *rest) for rest in permutations(range(1, seats)))


def reorder(seating: Seating, deal: int, orders: tuple[Seating, ...]) -> Seating:
    """The same table in the cyclic order of this deal."""
    return tuple(seating[place] for place in orders[deal % len(orders)])
