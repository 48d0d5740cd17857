"""The features of a seat in Relief. A stage is a lap: one marker of every seat."""

from collections.abc import Sequence
from typing import Final

from service.games.relief import greedy
from service.games.relief.actions import Action, Lead
from service.games.relief.box import FIRST_BUILDING, MONEY, STORY, TILES
from service.games.relief.scoring import objective_points, scored_objectives
from service.games.relief.state import LEADERS, NEW_LEADERS, NO_TRIGGER, State, hope, influence

#: Tiles in both piles at first, or a few more.
WHOLE: Final = 28
_LAPS: Final = 10  # more than a round has
_USES: Final = 2  # of a tile in a round


def stage(state: State) -> int:
    """Counts laps: grows when the last seat has placed as many markers as the others."""
    return 2 * _LAPS * state.round + _LAPS - max(player.markers for player in state.players)


def left(state: State) -> int:
    """Returns the tiles still to enter the row; the last one ends the game."""
    return min(WHOLE, len(state.tiles[0]) + len(state.tiles[1]))


def features(state: State, seat: int) -> tuple[int, list[float]]:
    """Returns the points without the two bonuses, and everything that may become points."""
    mind = greedy._Mind(state, seat)
    player = mind.player
    goods, tops, markers = player.goods, player.tops, player.markers
    buildings = player.track + sum(TILES[tile].vp for tile in tops)
    objectives = sum(objective_points(number, player) for number in scored_objectives(state, seat))
    others = [other for other in state.players if other is not player]
    lead_in_say = influence(player) - max(influence(other) for other in others)
    lead_in_hope = hope(player) - max(hope(other) for other in others)
    given = sorted((greedy._given(TILES[tile], 0, 0.0) for tile in tops), reverse=True)
    led = [mind.leader_on(space) for space in range(len(tops))]
    score = sum(TILES[tile].score for tile in tops)
    uses = _uses(state, mind, led)
    return buildings + objectives, [
        1.0,
        markers,
        sum(uses[:markers]),
        uses[0],
        markers * mind.now / 10,
        2 - player.builds,
        2 - player.trades,
        mind.now,
        goods[0],
        goods[1],
        goods[2],
        goods[3] + goods[4] + goods[5],
        goods[MONEY],
        goods[STORY],
        player.leaders,
        given[0],
        given[1],
        sum(given[2:5]),
        sum(given),
        sum(sorted(led, reverse=True)[: player.leaders]),
        score,
        min(score, 2),
        *(max(-most, min(most, lead_in_say)) for most in (1, 3, 8)),
        *(max(-most, min(most, lead_in_hope)) for most in (1, 3, 8)),
        sum(tile >= FIRST_BUILDING for tile in tops),
        len(tops),
        player.special >= 0,
        objectives / 10,
        buildings / 10,
        sum(state.board) / 10,
        state.first == seat,
        state.level_two,
        state.trigger != NO_TRIGGER,
        influence(player),
        hope(player),
    ]


def _uses(state: State, mind: greedy._Mind, led: list[float]) -> list[float]:
    """Returns what each remaining use of a tile this round would give, the best first."""
    player = mind.player
    leaders = player.led
    if state.phase == LEADERS:  # not all are placed: assumes the spaces where they add most
        best = sorted(range(len(led)), key=lambda space: -led[space])[: player.leaders]
        leaders = sum(1 << space for space in best)
    uses: list[float] = []
    for space, tile in enumerate(player.tops):
        given = greedy._given(TILES[tile], leaders >> space & 1, mind.leader)
        uses += [given] * (_USES - player.uses[space])
    uses.sort(reverse=True)
    return uses or [0.0]


def worths(state: State, seat: int, actions: Sequence[Action]) -> list[float]:
    """Returns the greedy player's value of each action, in points."""
    mind = greedy._Mind(state, seat)
    if state.phase == LEADERS:
        # The leaders still in hand go to the best spaces, the lowest first: the greedy player's choice gets the highest value.
        first = greedy._placement(mind)
        return [
            mind.leader_on(action.space) + (100.0 if action is first else 0.0)
            for action in actions
            if isinstance(action, Lead)
        ]
    if state.phase == NEW_LEADERS:
        return [mind.place(action) for action in actions]
    return [mind.value(action) for action in actions]
