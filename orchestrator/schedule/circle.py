"""Round robin for two players: every pair meets once, in as few rounds as possible."""

Pair = tuple[int, int]


def circle(entrants: int) -> list[list[Pair]]:
    """The rounds of a round robin: nobody plays twice in a round, and every pair meets once.

    The last entrant stays and the others rotate. With an odd number an empty seat stays, so that everybody pauses once. The
    first of a pair has seat 0; for each entrant the counts of both seats differ by at most 1.
    """
    if entrants < 2:
        return []
    places = entrants + entrants % 2
    around = places - 1
    rounds = []
    for turn in range(around):
        ring = [around, *((turn + step) % around for step in range(around))]
        pairs = [(ring[place], ring[-1 - place]) for place in range(places // 2)]
        if turn % 2:  # otherwise the entrant that stays would always have seat 0
            pairs[0] = (pairs[0][1], pairs[0][0])
        rounds.append([pair for pair in pairs if max(pair) < entrants])
    return rounds
