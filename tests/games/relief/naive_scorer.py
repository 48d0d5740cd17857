"""A second, slow and simple scorer, written from the booklet and from the page of the game: it reads only a view.

It shares no code with the engine, so that a mistake would have to be made twice.
"""

from service.games.relief.box import ICONS, TILE_NUMBER, TILES
from service.games.relief.view import SeatView, View


def final(view: View) -> tuple[list[int], list[int]]:
    """Returns the scores and ranks of a finished table."""
    seats = view.seats
    scores = [_points(view, seat) for seat in seats]
    ranks = [
        1 + sum(_beats(scores[a], seats[a], scores[b], seats[b]) for a in range(len(seats))) for b in range(len(seats))
    ]
    return scores, ranks


def _beats(one: int, mine: SeatView, other: int, theirs: SeatView) -> bool:
    """In case of a tie the fewest visible buildings win, then the most money."""
    if one != other:
        return one > other
    if len(_buildings(mine)) != len(_buildings(theirs)):
        return len(_buildings(mine)) < len(_buildings(theirs))
    return mine.goods.money > theirs.goods.money


def _points(view: View, seat: SeatView) -> int:
    total = seat.track
    for tile in _buildings(seat):
        total += TILES[TILE_NUMBER[tile]].vp
    for objective in _in_play(view, seat):
        total += min(12, _objective(objective, seat))
    if _influence(seat) > 0 and all(_influence(seat) >= _influence(other) for other in view.seats):
        total += 10
    if _hearts(seat) > 0 and all(_hearts(seat) >= _hearts(other) for other in view.seats):
        total += 10
    return total


def _in_play(view: View, seat: SeatView) -> list[str]:
    secret = [other.objective for other in view.seats] if view.objectives == "all" else [seat.objective]
    return [view.objective, *(objective for objective in secret if objective)]


def _buildings(seat: SeatView) -> list[str]:
    return [space.tile for space in seat.mat if not space.tile.startswith("P")]


def _icons(seat: SeatView) -> list[str]:
    return [ICONS[TILES[TILE_NUMBER[tile]].icon] for tile in _buildings(seat)]


def _influence(seat: SeatView) -> int:
    return seat.goods.influence + sum(TILES[TILE_NUMBER[tile]].influence for tile in _buildings(seat))


def _hearts(seat: SeatView) -> int:
    return sum(TILES[TILE_NUMBER[tile]].hope for tile in _buildings(seat))


def _objective(name: str, seat: SeatView) -> int:
    icons = _icons(seat)
    if name == "O1":
        return 2 * (icons.count("water") + icons.count("food"))
    if name == "O2":
        return 2 * (icons.count("people") + icons.count("supply"))
    if name == "O3":
        return 2 * (icons.count("media") + icons.count("civic"))
    if name == "O4":
        return 2 * sum(not low.startswith("P") for space in seat.mat for low in space.under)
    if name == "O5":
        return {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 7, 6: 10}[len(set(icons))]
    if name == "O6":
        return 2 * (seat.leaders - 2)
    assert name == "O7"
    goods = seat.goods
    workers = goods.worker + goods.distressed + goods.injured
    return (goods.water + goods.food + goods.supply + workers + goods.money + goods.story) // 3
