"""The common part of the table: the heading, the nine squares, objective, supply, piles and the row of buildings."""

from collections.abc import Collection, Sequence
from typing import Final

from service.games.relief.amounts import amounts_words
from service.games.relief.board_shapes import SQUARE_HEIGHT, SQUARE_WIDTH, TOKEN_IDS, works_slot
from service.games.relief.board_svg import (
    INNER,
    MARGIN,
    PAD,
    TILE_GAP,
    TILE_HEIGHT,
    TILE_WIDTH,
    box,
    cut,
    lines,
    part,
    text,
    title,
    use,
)
from service.games.relief.board_tiles import objective_words, offer, price_words, tile_words
from service.games.relief.box import (
    BOARD_KINDS,
    BOX,
    CARD_NUMBER,
    CARDS,
    KINDS,
    OBJECTIVE_NUMBER,
    OBJECTIVES,
    ROW,
    TILE_NUMBER,
    TILES,
    TOKENS,
)
from service.games.relief.view import CardsView, View, counts_of
from service.games.words import counted, listed

HEADING_HEIGHT: Final = 66
_SQUARE_GAP: Final = 8
_BOARD_WIDTH: Final = 3 * SQUARE_WIDTH + 2 * _SQUARE_GAP
BOARD_HEIGHT: Final = 3 * SQUARE_HEIGHT + 2 * _SQUARE_GAP
_PANEL_LEFT: Final = MARGIN + _BOARD_WIDTH + 10
_PANEL_WIDTH: Final = INNER - _BOARD_WIDTH - 10
ROW_HEIGHT: Final = TILE_HEIGHT + 44

_NAMES: Final = dict(BOX.squares)
#: The squares as they lie on the board.
_PLACES: Final = ("water", "food", "supply", "build", "spend", "port", "distressed", "injured", "worker")
_VERBS: Final = {"build": "build", "spend": "spend", "port": "trade"}
_MARKER_RULES: Final = {
    "build": "build a tile of the row, or your special tile",
    "spend": "spend 1 to 3 stories for as much money, or 2 or 4 money for 1 or 2 influence",
    "port": "buy 1 to 3 water, food, building supplies or workers for 1 money each",
}
_PHASES: Final = {
    "leaders": "placing leaders",
    "markers": "placing markers",
    "new-leaders": "placing new leaders",
    "over": "the game is over",
}
#: The tokens a square shows one by one; the number beside its name counts them all.
_MOST_SHOWN: Final = 10
_EACH_LINE: Final = 5


def phase_words(view: View) -> str:
    """Returns the round and what has to be decided."""
    return f"round {view.round}, {_PHASES[view.phase]}" + (", last round" if view.trigger and view.to_act else "")


def heading(view: View, names: Sequence[str]) -> str:
    """Returns round and phase, and below them the seats that are to act."""
    round_name = f"Round {view.round}"
    phase = _PHASES[view.phase]
    if view.phase == "new-leaders":
        phase += f": {view.in_hand} in hand"
    found = [
        f'<text class="rl-round" x="{MARGIN + 2}" y="34">{round_name}<tspan class="rl-phase" dx="14">{phase}</tspan></text>'
    ]
    x = MARGIN + INNER
    if view.trigger and view.to_act:
        found.append(pill("rl-alarm", x - 104, 13, 104, "last round"))
        x -= 112
    if view.level_two:
        found.append(pill("rl-pill", x - 74, 13, 74, "level 2"))
    if view.to_act:
        room = (INNER - 64) // len(view.to_act)
        found.append(text("rl-soft", MARGIN + 2, 62, "To act"))
        found.append(f'<clipPath id="rl-who{room}"><rect x="0" y="-22" width="{room - 36}" height="32"/></clipPath>')
        for place, seat in enumerate(view.to_act):
            left = MARGIN + 64 + place * room
            who = text("rl-who", 0, 0, cut(names[seat], room - 36, 19.5))
            found.append(use(f"s-{seat}", left, 45, 1.15))
            found.append(f'<g transform="translate({left + 29} 62)"><g clip-path="url(#rl-who{room})">{who}</g></g>')
    waiting = f"; to act: {listed([names[seat] for seat in view.to_act])}" if view.to_act else ""
    words = f"{round_name}, {phase}{waiting}" + ("; this is the last round" if view.trigger and view.to_act else "")
    return part("heading", words, False, "".join(found), (0, 0, INNER, HEADING_HEIGHT), at_origin=False)


def pill(css: str, x: float, y: float, width: float, words: str) -> str:
    """Returns a word or two on a rounded field; the class says which colours it has."""
    return box(css, x, y, width, 26, 13) + text(f"{css}-text", x + width / 2, y + 18.5, words)


def squares(view: View, names: Sequence[str], marked: Collection[str], top: int) -> str:
    """Returns the nine squares: tokens on six of them, markers on those of the middle line."""
    found: list[str] = []
    for place, name in enumerate(_PLACES):
        x = MARGIN + place % 3 * (SQUARE_WIDTH + _SQUARE_GAP)
        y = top + place // 3 * (SQUARE_HEIGHT + _SQUARE_GAP)
        id = f"square:{name}"
        content, words = _tokens(view, name) if name in BOARD_KINDS else _markers(view, names, name)
        found.append(part(id, words, id in marked, content, (x, y, SQUARE_WIDTH, SQUARE_HEIGHT)))
    return "".join(found)


def _tokens(view: View, name: str) -> tuple[str, str]:
    count: int = getattr(view.board, name)
    shown = min(count, _MOST_SHOWN)
    found = [
        use("store"),
        text("rl-square", 10, 25, _NAMES[name].removesuffix(" store"), 17, 86),
        text("rl-many" if count else "rl-zero", SQUARE_WIDTH - 10, 25, str(count)),
    ]
    tokens = [use(TOKEN_IDS[name], 22 * (token % _EACH_LINE), 26 * (token // _EACH_LINE)) for token in range(shown)]
    ghost = "" if shown else ' class="rl-ghost"'
    y = 56 if shown <= _EACH_LINE else 38
    found.append(f'<g{ghost} transform="translate(8 {y})scale(1.2)">{"".join(tokens or [use(TOKEN_IDS[name])])}</g>')
    return "".join(found), f"{_NAMES[name]} square: {counted(count, 'token')}"


def _markers(view: View, names: Sequence[str], name: str) -> tuple[str, str]:
    verb = _VERBS[name]
    found = [
        use(f"works{view.players}"),
        text("rl-square", 10, 25, _NAMES[name], 16, 122),
        use(f"p-{name}", 14, 36),
        text("rl-verb", 32, 92, verb),
    ]
    words: list[str] = []
    for seat in view.seats:
        used: int = getattr(seat, f"{verb}_uses")
        if used:
            words.append(f"{names[seat.seat]} {counted(used, 'marker')}")
        for number in range(used):
            x, y = works_slot(view.players, seat.seat, number)
            found.append(use(f"s-{seat.seat}", x, y))
    told = listed(words) if words else "no markers"
    return "".join(found), f"{_NAMES[name]} square, {_MARKER_RULES[name]}: {told}"


def panel(view: View, marked: Collection[str], top: int) -> str:
    """Returns the open objective, the supply and the piles, beside the squares."""
    return _objective(view, marked, top) + _supply(view, marked, top + 132) + _piles(view, marked, top + 236)


def _objective(view: View, marked: Collection[str], top: int) -> str:
    objective = OBJECTIVES[OBJECTIVE_NUMBER[view.objective]]
    found = [
        box("rl-frame rl-goal", 0.5, 0.5, _PANEL_WIDTH - 1, 123),
        text("rl-square", 12, 25, f"{objective.id} {objective.name}", 17, _PANEL_WIDTH - 24),
    ]
    about = f"{objective.about}, at most\u00a0{objective.cap}"
    for number, line in enumerate(lines(about, _PANEL_WIDTH - 22, 16.6)):
        found.append(text("rl-about", 12, 48 + 20 * number, line))
    scored = "every player scores all objectives" if view.objectives == "all" else "secret ones count for their owners"
    words = f"Open objective {objective_words(view.objective)}; {scored}"
    return part("objective", words, "objective" in marked, "".join(found), (_PANEL_LEFT, top, _PANEL_WIDTH, 124))


def _supply(view: View, marked: Collection[str], top: int) -> str:
    found = [box("rl-frame rl-goal", 0.5, 0.5, _PANEL_WIDTH - 1, 95), text("rl-square", 12, 25, "Supply")]
    counts = [*counts_of(view.supply), view.leader_supply]
    for number, (kind, count) in enumerate(zip((*KINDS, "leader"), counts, strict=True)):
        x = 10 + number % 5 * 47.5
        y = 35 + number // 5 * 29
        found.append(use(TOKEN_IDS[kind], x, y) + text("" if count else "rl-none", x + 22, y + 16, str(count)))
    told = [f"{count} {token.name}" for token, count in zip(TOKENS, counts, strict=False)]
    words = f"Supply: {listed([*told, counted(view.leader_supply, 'leader')])}"
    return part("supply", words, "supply" in marked, "".join(found), (_PANEL_LEFT, top, _PANEL_WIDTH, 96))


def _piles(view: View, marked: Collection[str], top: int) -> str:
    found: list[str] = []
    half = (_PANEL_WIDTH - 8) // 2
    thrown = f"; thrown away: {', '.join(view.discarded)}" if view.discarded else ""
    tiles = (view.tiles_left_level_one, view.tiles_left_level_two)
    piles = (
        ("tiles", "Tiles left", tiles, f"Tiles left: {tiles[0]} of level 1, {tiles[1]} of level 2{thrown}"),
        ("cards", "Cards left", tuple(cards.left for cards in view.cards), _cards_words(view.cards)),
    )
    for place, (id, name, counts, words) in enumerate(piles):
        content = [box("rl-frame rl-goal", 0.5, 0.5, half - 1, 91), text("rl-square", 12, 25, name, 17, half - 20)]
        for level, count in enumerate(counts):
            x = 12 + 50 * level
            content.append(box("rl-card", x, 35.5, 40, 28, 5))
            content.append(text("rl-pile", x + 20, 55.5, str(count)))
            content.append(text("rl-level", x + 20, 81, "I" * (level + 1)))
        left = _PANEL_LEFT + place * (half + 8)
        found.append(part(id, words, id in marked, "".join(content), (left, top, half, 92)))
    return "".join(found)


def _cards_words(cards: Sequence[CardsView]) -> str:
    left = listed([f"{level.left} of level {level.level}" for level in cards])
    latest = [level.used[-1] for level in cards if level.used]
    if not latest:
        return f"Resupply cards left: {left}"
    card = CARDS[CARD_NUMBER[latest[-1]]]
    return f"Resupply cards left: {left}; latest card {card.id}: {amounts_words(card.brings)}"


def row(view: View, marked: Collection[str], top: int) -> str:
    """Returns the buildings on offer; new ones enter from the left."""
    found = [box("rl-block", MARGIN + 0.5, top + 0.5, INNER - 1, ROW_HEIGHT - 1, 12)]
    found.append(text("rl-heading", MARGIN + PAD + 2, top + 25, "Buildings on offer"))
    found.append(text("rl-hint", MARGIN + INNER - PAD - 2, top + 25, "enter on the left, leave on the right →"))
    for place in range(ROW):
        x, y = MARGIN + PAD + place * (TILE_WIDTH + TILE_GAP), top + 34
        # A short row has its gaps on the left, where no tile enters any more.
        index = place - (ROW - len(view.row))
        if index < 0:
            found.append(use("open", x, y))
            continue
        tile = TILES[TILE_NUMBER[view.row[index]]]
        id = f"row:{tile.id}"
        words = f"{tile.name}, {tile.id}, on offer for {price_words(tile.cost)}: {tile_words(tile.id)}"
        found.append(part(id, words, id in marked, offer(tile.id), (x, y, TILE_WIDTH, TILE_HEIGHT)))
    return f'<g role="group">{title("Buildings on offer, from left to right")}{"".join(found)}</g>'
