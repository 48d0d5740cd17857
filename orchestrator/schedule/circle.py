"""Two at a table: everybody meets everybody once, in as few rounds as there can be."""

Pair = tuple[int, int]


def circle(entrants: int) -> list[list[Pair]]:
    """The rounds of a round robin: in each nobody sits twice, over all of them each pair meets once.

    The last entrant stays, the others walk around the table. With an odd number an empty seat stays, so that everybody rests
    once. The first of a pair has seat 0; how often one has it differs by at most 1 from how often one has not.
    """
    if entrants < 2:
        return []
    places = entrants + entrants % 2
    around = places - 1
    rounds = []
    for turn in range(around):
        ring = [around, *((turn + step) % around for step in range(around))]
        pairs = [(ring[place], ring[-1 - place]) for place in range(places // 2)]
        if turn % 2:  # the one who stays would otherwise have seat 0 for ever
            pairs[0] = (pairs[0][1], pairs[0][0])
        rounds.append([pair for pair in pairs if max(pair) < entrants])
    return rounds
