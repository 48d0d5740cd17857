"""Draws the table of a view for a person at a terminal."""

from typing import Final

from service.games.core import Picture
from service.games.sf1906 import box
from service.games.sf1906.editions import EDITIONS, Edition
from service.games.sf1906.state import Site
from service.games.sf1906.view import ActionCardView, PlayerView, View

#: How the four plot colours and the players look; "black" needs a light terminal background to be seen, so it is drawn grey.
_PLOT_STYLE: Final = {"yellow": "yellow", "green": "green", "red": "red", "purple": "magenta"}
_PLAYER_STYLE: Final = {
    "orange": "bold black on dark_orange",
    "black": "bold white on grey23",
    "blue": "bold white on blue",
    "white": "bold black on white",
    "Committee": "bold white on grey23",
}
_MARK: Final = {"orange": "Or", "black": "Bk", "blue": "Bl", "white": "Wh", "Committee": "Co"}
_EARNINGS_AREA: Final = "earnings area"
_CELL: Final = 4
_PLAIN: Final = ""


def picture(view: View) -> Picture:
    """Heading, ring of action cards, map, rows, and every play area."""
    lines = _heading(view)
    lines += _ring(view)
    lines += _map(view)
    lines += _rows(view)
    for who in range(len(view.players)):
        lines += _area(view, who)
    return lines


def _name(view: View, who: int) -> tuple[str, str]:
    name = view.players[who].name
    return f" {name} ", _PLAYER_STYLE[name]


def _mark(view: View, who: int) -> tuple[str, str]:
    name = view.players[who].name
    return _MARK[name], _PLAYER_STYLE[name]


def _edition(view: View) -> Edition:
    return next(edition for edition in EDITIONS if edition.id == view.edition)


def _where(view: View) -> str:
    """The card in play; the last column of the Year Board has no earnings area (R30)."""
    if view.card is not None:
        return f"action card {view.card + 1} of {box.CARDS}"
    return "final benefit" if view.year == _edition(view).final_year else _EARNINGS_AREA


def _heading(view: View) -> Picture:
    lines: Picture = [[(_edition(view).title, "bold")]]
    when = f"year {view.year}, a building costs ${view.build_cost}, {_where(view)}: "
    now: list[tuple[str, str]] = [(when, _PLAIN)]
    if view.to_act is None:
        now.append(("the game is over", "bold"))
    else:
        now += [_name(view, view.to_act), (f" decides: {view.phase}", _PLAIN)]
    if view.discarded:
        now.append((f" with {' '.join(view.discarded)}{' and the grant' if view.grant else ''}", _PLAIN))
    lines.append(now)
    order: list[tuple[str, str]] = [("order of play: ", _PLAIN)]
    for who in view.order:
        order += [_mark(view, who), (" ", _PLAIN)]
    lines += [order, []]
    return lines


def _ring(view: View) -> Picture:
    lines: Picture = [[("Action cards, clockwise; spaces from left to right (0, 1, …)", "bold")]]
    width = max(len(text) for card in view.ring for text in _texts(card))
    if _where(view) == _EARNINGS_AREA:
        blocked = None if view.solo is None else view.solo.blocked  # R61
        amounts = [f"${amount} blocked" if amount == blocked else f"${amount}" for amount in box.EARNING_SPACES]
        lines.append(_spaces(view, "▶ earn ", amounts, width))
    for place, card in enumerate(view.ring):
        is_current = place == view.card
        head = f"{'▶' if is_current else ' '} {card.card}   "
        line = _spaces(view, head, _texts(card), width) if is_current else [(head, _PLAIN)]
        if not is_current:
            line += [(f"{text:<{width + 3}}", "dim") for text in _texts(card)]
        lines.append(line)
    lines.append([])
    return lines


def space_text(kind: str, amount: int) -> str:
    """A space of an action card in words."""
    return f"{kind} ${amount}" if amount else kind


def _texts(card: ActionCardView) -> list[str]:
    return [space_text(space.kind, space.amount) for space in card.spaces]


def _spaces(view: View, head: str, spaces: list[str], width: int) -> list[tuple[str, str]]:
    """The current card, with the pawns that stand on it."""
    line: list[tuple[str, str]] = [(head, "bold")]
    pawns = {player.pawn: who for who, player in enumerate(view.players) if player.pawn is not None}
    for place, text in enumerate(spaces):
        if place in pawns:
            line += [(text, _PLAIN), _mark(view, pawns[place]), (" " * (width + 1 - len(text)), _PLAIN)]
        else:
            line.append((f"{text:<{width + 3}}", "bold"))
    return line


def _map(view: View) -> Picture:
    """The plot cards side by side with a gap between them: spaces that touch across two cards are not neighbours (R80)."""
    cards = view.plot_cards
    site = Site([card.card for card in cards], [card.side for card in cards], view.columns)
    spots = {spot.space: spot for spot in view.spaces}
    index = {name: number for number, name in enumerate(box.SPACE_IDS)}
    grid: dict[tuple[int, int, int], tuple[str, str]] = {}  # (card, column, row) -> piece
    for name, spot in spots.items():
        space = index[name]
        colour = _PLOT_STYLE[box.COLOURS[box.SPACE_COLOUR[space]]]
        column, row = box.SPACE_AT[space]
        if spot.owner is not None:
            mark, style = _mark(view, spot.owner)
            piece = (f"{name[0]}{mark}", style)
        else:
            piece = (f"{name}▒" if spot.rubble else name, f"bold {colour}" if not spot.rubble else colour)
        grid[box.SPACE_CARD[space], column, row] = piece
    lines: Picture = [[("Map: ", "bold"), ("free spaces by name, ▒ rubble, buildings as colour and owner", _PLAIN)]]
    for first in range(0, len(site.cards), site.columns):
        together = list(range(first, first + site.columns))
        names = [f"card {site.cards[at]}{site.sides[at]}" for at in together]
        lines.append([("".join(f"{name:<{_CELL * box.GRID + 3}}" for name in names), "dim")])
        for row in range(box.GRID):
            line: list[tuple[str, str]] = []
            for at in together:
                for column in range(box.GRID):
                    text, style = grid.get((site.cards[at], column, row), ("·", "dim"))
                    line += [(text, style), (" " * (_CELL - len(text)), _PLAIN)]
                line.append(("   ", _PLAIN))
            lines.append(line)
    lines.append([])
    return lines


def _permit(name: str) -> tuple[str, str]:
    permit = box.PERMIT_IDS.index(name)
    icons = "+".join(icon for index, icon in enumerate(box.ICONS) if box.PERMIT_ICONS[permit] >> index & 1)
    if box.PERMIT_NUMBER[permit] == 0:
        return f"{name} grant ({icons})", "bold"
    colour = box.COLOURS[box.PERMIT_COLOUR[permit]]
    return f"{name} {colour} {box.PERMIT_NUMBER[permit]} ({icons})", _PLOT_STYLE[colour]


def _objective(view: View, name: str) -> str:
    return f"{name} {_edition(view).objectives[box.OBJECTIVE_IDS.index(name)].name}"


def _rows(view: View) -> Picture:
    permits: list[tuple[str, str]] = [("Permits     ", "bold")]
    for permit in view.permit_row:
        permits += [_permit(permit) if permit else ("-", "dim"), ("   ", _PLAIN)]
    permits.append((f"deck {view.permit_deck}, discards {len(view.permit_discards)}", "dim"))
    row = "   ".join(_objective(view, name) if name else "-" for name in view.objective_row)
    objectives: list[tuple[str, str]] = [("Objectives  ", "bold"), (f"{row}   ", _PLAIN)]
    objectives.append((f"deck {view.objective_deck}", "dim"))
    common = "   ".join(_objective(view, name) for name in view.common_objectives)
    left = "   ".join(f"{icon} {count}" for icon, count in zip(box.ICONS, view.urbanism, strict=True))
    return [
        [("Common      ", "bold"), (common, _PLAIN)],
        objectives,
        permits,
        [("Urbanism    ", "bold"), (left, _PLAIN)],
        [],
    ]


def _area(view: View, who: int) -> Picture:
    player: PlayerView = view.players[who]
    first = f"  ${player.money}, buildings: {player.stock} at hand, "
    first += f"{player.built} on the map, {player.pool} in the pool; "
    token = f"({player.development_column},{player.development_row})"
    first += f"development {token} = {player.development_points}; rubble {player.rubble}"
    held = zip(box.ICONS, player.urbanism, strict=True)
    urbanism = [f"{icon} {count}" for icon, count in held if count and icon != "park"]
    urbanism += [f"park {letter}" for letter in player.parks]
    if urbanism:
        first += "; " + ", ".join(urbanism)
    head: list[tuple[str, str]] = [_name(view, who), (first, _PLAIN)]
    if view.best_builder == who:
        head.append(("; Best Builder", "bold"))
    permits: list[tuple[str, str]] = [("    permits: ", "dim")]
    for name in player.permits:
        permits += [_permit(name), ("  ", _PLAIN)]
    objectives = [
        _objective(view, held.card) + ("" if held.seen else " (secret)") if held.card else "hidden"
        for held in player.objectives
    ]
    return [head, permits, [("    objectives: ", "dim"), (", ".join(objectives), _PLAIN)]]
