"""Three or four players at a table: every combination, or a selection in which all play and meet each other equally often.

A selection is made greedily and then improved by simulated annealing: entrants are swapped between two tables, which keeps
everybody's number of games, until the pairs meet as evenly as possible.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, islice
from math import comb, exp, gcd
from random import Random

from orchestrator.schedule.circle import circle

Seatmates = tuple[int, ...]

SWAPS = 200_000
HOT, COLD = 1.0, 0.05
#: A small design gets this many attempts; a large one is even enough at the first.
ATTEMPTS = 3
FEW_TABLES = 60


def all_tables(entrants: int, seats: int) -> Iterator[Seatmates]:
    """Every combination once, ordered so that after any number of tables games differ by at most ``seats``.

    Combinations that are shifts of one another (+1, modulo the entrants) follow each other: a full set of shifts seats everybody
    equally often.
    """
    if not 0 < seats <= entrants:
        return
    stride = next(step for step in range(seats, seats + entrants + 1) if gcd(step, entrants) == 1)
    for rest in combinations(range(1, entrants), seats - 1):
        first = (0, *rest)
        shifts = [tuple(sorted((place - by) % entrants for place in first)) for by in first]
        if first != min(shifts):
            continue  # its other shift represents the set
        different = entrants // shifts.count(first)  # fewer if the table maps to itself after part of a turn
        step = stride if different == entrants else 1
        for turn in range(different):
            yield tuple(sorted((place + turn * step) % entrants for place in first))


def some_tables(entrants: int, seats: int, count: int, seed: int) -> list[Seatmates]:
    """This many tables, with games that differ by at most 1 and nearly even meetings. The same arguments give the same tables."""
    if not 0 < seats <= entrants:
        raise ValueError(f"{seats} seats for {entrants} entrants")
    if seats == 1:
        return [(at % entrants,) for at in range(count)]
    if seats == 2:
        once = _pairs(entrants)
        return [once[at % len(once)] for at in range(count)]
    whole, rest = divmod(count, comb(entrants, seats))
    tables = list(all_tables(entrants, seats)) * whole if whole else []
    if rest:
        tables += _annealed(entrants, seats, rest, seed)
    return tables


def _pairs(entrants: int) -> list[Seatmates]:
    """All pairs, ordered so that games never differ by more than 1 and the first pairs connect everybody.

    With an even number there are rounds in which all play. With an odd number there are closed tours through everybody (Walecki);
    on each tour every second pair comes first, so that nobody plays twice before all have played.
    """
    if entrants % 2 == 0:
        return [(min(pair), max(pair)) for pair in chain.from_iterable(circle(entrants))]
    around = entrants - 1
    pairs: list[Seatmates] = []
    for turn in range(around // 2):
        zigzag = [((step + 1) // 2 * (1 if step % 2 else -1) + turn) % around for step in range(around)]
        tour = [around, *zigzag]
        legs = [(min(leg), max(leg)) for leg in zip(tour, [*zigzag, around], strict=True)]
        pairs += legs[0:-1:2] + legs[-2:-1] + legs[1:-2:2] + legs[-1:]
    return pairs


def _annealed(entrants: int, seats: int, count: int, seed: int) -> list[Seatmates]:
    """The best of a few attempts: connected if possible, then with the most even meetings."""
    least = least_energy(entrants, seats, count)
    best: tuple[bool, int] | None = None
    chosen: list[Seatmates] = []
    for attempt in range(ATTEMPTS if count <= FEW_TABLES else 1):
        chance = Random(seed * ATTEMPTS + attempt)
        tables = _greedy(entrants, seats, count, chance)
        energy = _anneal(tables, entrants, seats, chance)
        judged = (not is_connected(entrants, tables), energy)
        if best is None or judged < best:
            best, chosen = judged, [tuple(sorted(table)) for table in tables]
        if best == (False, least):
            break
    return chosen


def _below(limit: int, chance: Random) -> int:
    return int(chance.random() * limit)  # random() is the only method whose values Python guarantees


def _greedy(entrants: int, seats: int, count: int, chance: Random) -> list[list[int]]:
    """Give each seat to an entrant with the fewest games, preferring the one that has met this table least."""
    met = [[0] * entrants for _ in range(entrants)]
    waiting: list[int] = []  # those with the fewest games
    tables = []
    for _ in range(count):
        table: list[int] = []
        while len(table) < seats:
            able = [one for one in waiting if one not in table]
            if not able:
                waiting = list(range(entrants))  # all have the same number of games now
                able = [one for one in waiting if one not in table]
            best: list[int] = []
            fewest = None
            for one in able:
                row = met[one]
                meetings = sum(row[other] for other in table)
                if fewest is None or meetings < fewest:
                    best, fewest = [one], meetings
                elif meetings == fewest:
                    best.append(one)
            chosen = best[_below(len(best), chance)]
            waiting.remove(chosen)
            for other in table:
                met[chosen][other] += 1
                met[other][chosen] += 1
            table.append(chosen)
        tables.append(table)
    return tables


def least_energy(entrants: int, seats: int, count: int) -> int:
    """The sum of squared meetings over all pairs if they meet as evenly as possible: the lower bound of every design."""
    pairs = comb(entrants, 2)
    each, more = divmod(count * comb(seats, 2), pairs)
    return more * (each + 1) ** 2 + (pairs - more) * each**2


def _anneal(tables: list[list[int]], entrants: int, seats: int, chance: Random) -> int:
    """Swap entrants between tables, in place, until meetings are even or the swaps are used up; returns the energy."""
    met = meetings(entrants, tables)
    energy = sum(met[a][b] ** 2 for a, b in combinations(range(entrants), 2))
    least = least_energy(entrants, seats, len(tables))
    heat = HOT
    cooling = (COLD / HOT) ** (1 / SWAPS)
    draw = chance.random
    count = len(tables)
    for _ in range(SWAPS):
        if energy == least:
            break
        heat *= cooling
        one, two = tables[int(draw() * count)], tables[int(draw() * count)]
        at_one, at_two = int(draw() * seats), int(draw() * seats)
        x, y = one[at_one], two[at_two]
        if x in two or y in one:
            continue
        met_x, met_y = met[x], met[y]
        left = [z for z in one if z not in two and z != x]
        right = [z for z in two if z not in one and z != y]
        change = 2 * (len(left) + len(right))
        for z in left:
            change += 2 * (met_y[z] - met_x[z])
        for z in right:
            change += 2 * (met_x[z] - met_y[z])
        if change > 0 and draw() >= exp(-change / heat):
            continue
        for z in left:
            met_x[z] -= 1
            met_y[z] += 1
            met[z][x] -= 1
            met[z][y] += 1
        for z in right:
            met_y[z] -= 1
            met_x[z] += 1
            met[z][y] -= 1
            met[z][x] += 1
        one[at_one], two[at_two] = y, x
        energy += change
    return energy


def meetings(entrants: int, tables: Sequence[Sequence[int]]) -> list[list[int]]:
    """How often each pair sits at the same table."""
    met = [[0] * entrants for _ in range(entrants)]
    for table in tables:
        for a, b in combinations(table, 2):
            met[a][b] += 1
            met[b][a] += 1
    return met


def is_connected(entrants: int, tables: Sequence[Sequence[int]]) -> bool:
    """Whether all entrants can be compared with each other, directly or through others."""
    root = list(range(entrants))

    def find(one: int) -> int:
        while root[one] != one:
            root[one] = root[root[one]]
            one = root[one]
        return one

    for table in tables:
        for other in islice(table, 1, None):
            root[find(other)] = find(table[0])
    return len({find(one) for one in range(entrants)}) <= 1
