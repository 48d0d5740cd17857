"""The end of the game: the score sheet line by line, the ranking, and the reason it ended (R32-R43, R78, R79)."""

from typing import Final

from service.games.core import Line, Outcome, Result, rank
from service.games.sf1906 import box
from service.games.sf1906.box import Objective
from service.games.sf1906.state import NOBODY, OVER, Player, State
from service.games.sf1906.table import COMMITTEE

EIGHTH_BUILDING: Final = "EIGHTH_BUILDING"
FINAL_YEAR: Final = "FINAL_YEAR"


def buildings_of(state: State, who: int) -> list[int]:
    """The spaces of a player's buildings, in reading order."""
    return [space for space in state.site.reading if state.owner[space] == who]


def pairs_among(spaces: list[int]) -> int:
    """R33: the most pairs of adjacent buildings such that no building is in two of them.

    Takes the first building, leaves it out or pairs it with each neighbour in turn. Plots are small, so trying all is fast.
    """
    if len(spaces) < 2:
        return 0
    first, rest = spaces[0], spaces[1:]
    best = pairs_among(rest)
    for other in rest:
        if other in box.SPACE_NEIGHBOURS[first]:
            best = max(best, 1 + pairs_among([space for space in rest if space != other]))
    return best


def count_beside_rival(state: State, who: int) -> int:
    """R34: own buildings with at least one rival building next to them; each counts once."""
    return sum(
        any(state.owner[other] not in (NOBODY, who) for other in box.SPACE_NEIGHBOURS[space])
        for space in buildings_of(state, who)
    )


def count_corners(state: State, who: int) -> int:
    """R36: own buildings on a corner with a building of any player on every adjacent space."""
    return sum(
        box.SPACE_CORNER[space] and all(state.owner[other] != NOBODY for other in box.SPACE_NEIGHBOURS[space])
        for space in buildings_of(state, who)
    )


def count_alone(state: State, who: int) -> int:
    """R35: own buildings with no building next to them; on "1" plots always."""
    return sum(
        all(state.owner[other] == NOBODY for other in box.SPACE_NEIGHBOURS[space]) for space in buildings_of(state, who)
    )


def count_colour(state: State, who: int, colour: int) -> int:
    """Own buildings on plots of that colour."""
    return sum(box.SPACE_COLOUR[space] == colour for space in buildings_of(state, who))


def comparison_points(counts: list[int], who: int, places: list[int]) -> int:
    """R38: all players take part; tied players share the points of their places, rounded down (2e, E29)."""
    better = sum(count > counts[who] for count in counts)
    tied = sum(count == counts[who] for count in counts)
    return sum(places[better : better + tied]) // tied


def _compared(state: State, card: Objective) -> list[int]:
    """Returns what a comparison card counts, for every player."""
    if card.kind == "most-colour":
        return [count_colour(state, who, card.of) for who in range(len(state.players))]
    if card.kind == "most-rubble":
        return [player.rubble for player in state.players]
    return [player.money for player in state.players]  # R40: the same final amount as for the money line


def objective_points(state: State, who: int, objective: int) -> int:
    """Returns the points of one objective for a player; common and own objectives score the same (R39)."""
    card = state.edition.objectives[objective]
    player = state.players[who]
    each = card.points_for_two if len(state.players) == 2 else card.points  # R41: the solo game counts as two
    kind = card.kind
    if kind in ("most-colour", "most-rubble", "most-money"):
        return comparison_points(_compared(state, card), who, state.edition.comparison[len(state.players)])
    if kind == "orange-row":
        return box.ORANGE_ROW[player.column]
    if kind == "green-column":
        return box.GREEN_COLUMN[player.row]
    if kind == "building":
        count = player.built()
    elif kind == "pair":
        count = pairs_among(buildings_of(state, who))
    elif kind == "rival":
        count = count_beside_rival(state, who)
    elif kind == "corner":
        count = count_corners(state, who)
    elif kind == "alone":
        count = count_alone(state, who)
    elif kind == "colour":
        count = count_colour(state, who, card.of)
    elif kind == "four-colours":
        count = min(count_colour(state, who, colour) for colour in range(len(box.COLOURS)))  # R37
    elif kind == "rubble":
        count = player.rubble
    elif kind == "urbanism":
        count = player.urbanism[card.of]
    elif kind == "four-urbanism":
        count = min(player.urbanism)  # R37
    elif kind == "money":
        count = player.money // 3  # E27
    else:
        count = int(state.best_builder == who)
    return each * count


def development_points(player: Player) -> int:
    """The value under the development token, which may be negative."""
    return box.DEVELOPMENT[player.row][player.column]


def urbanism_points(player: Player) -> int:
    """Lighting pays by its number, cable cars and hydrants each, parks by their letters."""
    lighting = player.urbanism[box.LIGHTING]
    points = box.URBANISM_POINTS[box.LIGHTING][lighting - 1] if lighting else 0
    for icon in (box.CABLE_CAR, box.HYDRANT):
        points += player.urbanism[icon] * box.URBANISM_POINTS[icon][0]
    return points + player.park_points


def money_points(state: State, who: int) -> int:
    """E20: the points printed on the tracker, or one for every $3; the Committee has its own divisor (R78)."""
    money = state.players[who].money
    if state.solo is not None and who == COMMITTEE:
        return money // state.solo.divisor
    per_point = state.edition.money_per_point
    return money // per_point if per_point else box.TRACKER[money]


def score_sheet(state: State, who: int) -> tuple[Line, ...]:
    """R79: common cards, personal cards one by one, Best Builder, development, urbanism, money."""
    player = state.players[who]
    is_committee = state.solo is not None and who == COMMITTEE
    cards = state.edition.objectives
    lines = [
        Line(f"common {cards[card].id} {cards[card].name}", objective_points(state, who, card)) for card in state.common
    ]
    for card in player.objectives:
        points = box.COMMITTEE_OBJECTIVE_POINTS if is_committee else objective_points(state, who, card)  # R78
        lines.append(Line(f"own {cards[card].id} {cards[card].name}", points))
    lines.append(Line("Best Builder", objective_points(state, who, box.BEST_BUILDER)))
    lines.append(Line("development", development_points(player)))
    lines.append(Line("urbanism", urbanism_points(player)))
    lines.append(Line("money", money_points(state, who)))
    return tuple(lines)


def outcome(state: State) -> Outcome | None:
    """Returns the final result, or None while the game goes on."""
    if state.phase != OVER:
        return None
    sheets = [score_sheet(state, who) for who in range(len(state.players))]
    scores = [sum(line.points for line in sheet) for sheet in sheets]
    keys: list[tuple[int, ...]] = [(scores[who], player.built()) for who, player in enumerate(state.players)]  # R43
    ranks = rank(keys)
    results = []
    for who in range(len(state.players)):
        is_committee = state.solo is not None and who == COMMITTEE
        name = "Committee of Fifty" if is_committee else box.PLAYER_COLOURS[who]
        results.append(Result(name, ranks[who], scores[who], sheets[who]))
    # R28, R30: an eighth building placed as the final benefit ends nothing; the years have run out by then.
    ending = FINAL_YEAR if state.year == box.FINAL else EIGHTH_BUILDING
    return Outcome(tuple(results[: state.seats]), ending, tuple(results[state.seats :]))
