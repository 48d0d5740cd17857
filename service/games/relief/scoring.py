"""Final scoring: the end, the ranking, the scores, and the sheet line by line (5.10, 5.11, 5.17, 5.18)."""

from collections.abc import Sequence
from typing import Final

from service.games.core import Line, Outcome, Result, Seat, rank
from service.games.relief.box import BOX, FIRST_BUILDING, INFLUENCE, MONEY, OBJECTIVES, TILES
from service.games.relief.state import BY_BUILD, BY_REFILL, OVER, Player, State, buildings, hope, influence

BONUS: Final = 10

#: How the last tile came into the row: after a build, or at the end of a round (5.10).
ENDINGS: Final = {BY_BUILD: "LAST_TILE_BY_BUILD", BY_REFILL: "LAST_TILE_BY_REFILL"}


def outcome(state: State) -> Outcome | None:
    """Returns ranks, scores and sheets, or None while the game goes on."""
    if state.phase != OVER:
        return None
    sheets = [sheet(state, seat) for seat in range(len(state.players))]
    scores = [sum(line.points for line in lines) for lines in sheets]
    # 5.18: most points, then fewest visible buildings, then most money
    keys = [
        (score, -len(buildings(player)), player.goods[MONEY])
        for score, player in zip(scores, state.players, strict=True)
    ]
    results = [Result(f"seat {seat}", place, scores[seat], sheets[seat]) for seat, place in enumerate(rank(keys))]
    return Outcome(tuple(results), ENDINGS[state.trigger])


def sheet(state: State, seat: Seat) -> tuple[Line, ...]:
    """5.18: returns track, visible buildings, objectives and the two bonuses; lines without points are kept."""
    player = state.players[seat]
    lines = [
        Line("victory point track", player.track),
        Line("visible buildings", sum(TILES[tile].vp for tile in player.tops)),
    ]
    for number in scored_objectives(state, seat):
        objective = OBJECTIVES[number]
        lines.append(Line(f"{objective.id} {objective.name}", objective_points(number, player)))
    lines.append(Line("most influence", _bonus([influence(other) for other in state.players], seat)))
    lines.append(Line("most hope", _bonus([hope(other) for other in state.players], seat)))
    return tuple(lines)


def scored_objectives(state: State, seat: Seat) -> list[int]:
    """5.11: returns the face-up one and the secret ones of all players; with the option of 5.30 only the own one."""
    if state.own_objectives:
        return [state.objective, state.players[seat].objective]
    return [state.objective, *(player.objective for player in state.players)]


def objective_points(number: int, player: Player) -> int:
    """4.7: returns what one objective is worth to one player in the current position."""
    objective = OBJECTIVES[number]
    counted = _count(objective.counts, objective.icons, player)
    points = objective.steps[counted] if objective.steps else counted * objective.each // objective.per
    return min(points, objective.cap)


def _count(what: str, icons: tuple[int, ...], player: Player) -> int:
    if what == "icons":
        return sum(TILES[tile].icon in icons for tile in buildings(player))
    if what == "covered":
        return sum(tile >= FIRST_BUILDING for stack in player.under for tile in stack)
    if what == "variety":
        return len({TILES[tile].icon for tile in buildings(player)})
    if what == "leaders":
        return player.leaders - BOX.starting_leaders  # 5.28: waiting ones count
    return sum(player.goods) - player.goods[INFLUENCE]  # goods: everything held but influence


def _bonus(counts: Sequence[int], seat: Seat) -> int:
    """5.17: ten for every player tied for the most; nothing if the most is 0."""
    return BONUS if counts[seat] and counts[seat] == max(counts) else 0
