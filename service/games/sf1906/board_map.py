"""The map with its plots, and the ring of action cards around it."""

from collections.abc import Collection
from functools import lru_cache
from typing import Final

from service.games.sf1906 import box
from service.games.sf1906.board_shapes import (
    GAP,
    INNER,
    MARGIN,
    box_of,
    colour_of,
    definitions,
    letter_of,
    part,
    text,
    token,
    use,
)
from service.games.sf1906.view import PlotCardView, SpaceView, View

_INDEX: Final = {name: number for number, name in enumerate(box.SPACE_IDS)}
_ROWS: Final = 4  # the last row of every card is a street; its name is written there
_FOOT: Final = 22
_BETWEEN: Final = 8  # plot cards
_SPACE_WIDTH: Final = 40
_SPACE_GAP: Final = 3
_NAME_WIDTH: Final = 26
_HEAD: Final = 27
_SIDE: Final = 3 * _SPACE_WIDTH + 2 * _SPACE_GAP + 2 * 5
_ACROSS: Final = (INNER - 2 * GAP) // 3
_ACROSS_HEIGHT: Final = 108
#: What a space of an action card offers, where the word of the view is not plain.
_KIND_WORDS: Final = {
    "earnings": "earn",
    "clear-up": "clear up",
    "urban-development": "urban development",
    "grant-build": "build with the grant",
}


class _Frame:
    """Sizes of the map: a plot card and one of its squares."""

    __slots__ = ("card_height", "card_width", "height", "margin", "square", "tall", "width")

    def __init__(self, columns: int, width: int) -> None:
        self.width = width
        self.card_width = (width - (columns - 1) * _BETWEEN) // columns
        self.square = (self.card_width - 8) // box.GRID
        self.margin = (self.card_width - box.GRID * self.square) // 2
        self.tall = max(self.square, 42)
        self.card_height = _ROWS * self.tall + 8 + _FOOT
        self.height = 2 * self.card_height + _BETWEEN


def map_and_ring(view: View, marked: Collection[str], top: int) -> tuple[str, int]:
    """Returns the drawing and its height. The cards lie clockwise: around a small map left and right, else above and below."""
    if len(view.ring[0].spaces) <= 3:
        frame = _Frame(view.columns, INNER - 2 * (_SIDE + GAP))
        height = (frame.height - 2 * GAP) // 3
        right = MARGIN + INNER - _SIDE
        steps = [top + row * (height + GAP) for row in range(3)]
        places = [(MARGIN, steps[0]), (right, steps[0]), (right, steps[1]), (right, steps[2])]
        places += [(MARGIN, steps[2]), (MARGIN, steps[1])]
        ring = _ring(view, marked, places, _SIDE, height)
        return ring + _map(view, marked, frame, MARGIN + _SIDE + GAP, top), frame.height
    frame = _Frame(view.columns, INNER)
    first = top + _ACROSS_HEIGHT + GAP
    second = first + frame.height + GAP
    columns = [MARGIN + column * (_ACROSS + GAP) for column in range(3)]
    places = [(x, top) for x in columns] + [(x, second) for x in reversed(columns)]
    ring = _ring(view, marked, places, _ACROSS, _ACROSS_HEIGHT)
    return ring + _map(view, marked, frame, MARGIN, first), second + _ACROSS_HEIGHT - top


# ------------------------------------------------------------------------------------------------------------------- ring
def _ring(view: View, marked: Collection[str], places: list[tuple[int, int]], width: int, height: int) -> str:
    drawn = ['<g class="sf-c">', _slots(height - _HEAD - 9)]
    for index, (x, y) in enumerate(places):
        card = view.ring[index]
        words = f"Card {card.card}, number {index + 1} of {box.CARDS} clockwise"
        if index == view.card:
            words += ", current"
            body = box_of(width, height, "sf-card sf-now", 8)
            body += f'<path class="sf-band" d="M1 {_HEAD}V7Q1 1 7 1H{width - 7}Q{width - 1} 1 {width - 1} 7V{_HEAD}Z"/>'
            body += text(15, 20, f"{index + 1}", "sf-b sf-inv") + text(width // 2, 20, "now", "sf-b sf-inv")
            body += text(width - 20, 20, card.card, "sf-inv")
        else:
            body = box_of(width, height, "sf-card", 8)
            body += text(15, 20, f"{index + 1}", "sf-b") + text(width - 20, 20, card.card, "sf-m")
        drawn.append(part(f"card:{index}", words, body, marked, (x, y)))
        step = _SPACE_WIDTH + _SPACE_GAP
        first = x + (width - (len(card.spaces) - 1) * step) // 2
        for place in range(len(card.spaces)):
            at = (first + place * step, y + _HEAD + 4)
            drawn.append(_ring_space(view, marked, index, place, at, height - _HEAD - 9))
    drawn.append("</g>")
    return "".join(drawn)


@lru_cache(8)
def _slots(height: int) -> str:
    """The faces of a space: of another card, free on the current card, and under a pawn. Ids differ where sizes do."""
    half, upper = _SPACE_WIDTH // 2, _upper(height)
    face = f'<rect class="sf-f sf-slot" x="-{half}" width="{_SPACE_WIDTH}" height="{height}" rx="6"/>'
    dot = f'<circle class="sf-dot" cy="{upper}" r="4"/>'
    hole = f'<circle class="sf-hole" cy="{upper}" r="14"/>'
    faces = [f'<g id="sf-{id}{height}">{face}{what}</g>' for id, what in (("d", dot), ("h", hole), ("p", ""))]
    return definitions("".join(faces))


def _upper(height: int) -> int:
    return height // 4 + 3


def _ring_space(view: View, marked: Collection[str], index: int, place: int, at: tuple[int, int], height: int) -> str:
    space = view.ring[index].spaces[place]
    pawn = _pawn_at(view, place) if index == view.card else None
    words = _KIND_WORDS.get(space.kind, space.kind) + (f" ${space.amount}" if space.amount else "")
    state = "empty" if pawn is None else f"pawn of {colour_of(view, pawn)}"
    title = f"Card {view.ring[index].card}, space {place}: {words}, {state}"
    lower = height * 3 // 4
    if pawn is not None:
        body = use(f"p{height}") + token(view, pawn, 0, _upper(height))
    else:
        body = use(f"{'h' if index == view.card else 'd'}{height}")
    if space.kind == "earnings":
        body += text(0, lower + 7, f"${space.amount}", "sf-n")
    elif space.kind == "pass":
        body += text(0, lower + 6, "pass", "sf-m")
    else:
        body += use(space.kind, 0, lower)
    return part(f"ring:{index}:{place}", title, body, marked, at)


def _pawn_at(view: View, place: int) -> int | None:
    return next((who for who, player in enumerate(view.players) if player.pawn == place), None)


# -------------------------------------------------------------------------------------------------------------------- map
@lru_cache(64)
def _ground(cards: tuple[PlotCardView, ...], columns: int, width: int, left: int, top: int) -> str:
    """The plot cards and the plots on them, which never change in a game. Ids differ where sizes do."""
    frame = _Frame(columns, width)
    w, h = frame.square, frame.tall
    across, down = box.GRID * w, _ROWS * h
    streets = "".join(f"M{frame.margin + w * step} 5v{down}" for step in range(box.GRID + 1))
    streets += "".join(f"M{frame.margin} {5 + h * step}h{across}" for step in range(_ROWS + 1))
    rect = f'x="{2 - w // 2}" y="{2 - h // 2}" width="{w - 4}" height="{h - 4}" rx="4"'
    card_face = box_of(frame.card_width, frame.card_height, "sf-street", 8) + f'<path class="sf-lane" d="{streets}"/>'
    drawn = [definitions(f'<rect id="sf-s{w}" class="sf-f sf-tile" {rect}/><g id="sf-g{w}">{card_face}</g>')]
    paths = dict.fromkeys("YGRP", "")
    for at, card in enumerate(cards):
        x, y = _corner(frame, columns, at, left, top)
        drawn.append(use(f"g{w}", x, y))
        drawn.append(text(x + 22, y + frame.card_height - 7, f"{card.card}{card.side}", "sf-m"))
        for space in range(box.SPACES):
            if box.SPACE_CARD[space] == card.card:
                dx, dy = _offset(frame, space)
                paths[box.SPACE_IDS[space][0]] += f"M{x + dx} {y + dy}h{w}v{h}h-{w}z"
    drawn += [f'<path class="sf-plot sf-plot{letter}" d="{path}"/>' for letter, path in paths.items()]
    return "".join(drawn)


def _corner(frame: _Frame, columns: int, at: int, left: int, top: int) -> tuple[int, int]:
    row, column = divmod(at, columns)
    return left + column * (frame.card_width + _BETWEEN), top + row * (frame.card_height + _BETWEEN)


def _offset(frame: _Frame, space: int) -> tuple[int, int]:
    column, row = box.SPACE_AT[space]
    return frame.margin + column * frame.square, 5 + row * frame.tall


def _map(view: View, marked: Collection[str], frame: _Frame, left: int, top: int) -> str:
    corners = {card.card: _corner(frame, view.columns, at, left, top) for at, card in enumerate(view.plot_cards)}
    drawn = ['<g class="sf-c sf-sp">', _ground(view.plot_cards, view.columns, frame.width, left, top)]
    for spot in view.spaces:
        space = _INDEX[spot.space]
        x, y = corners[box.SPACE_CARD[space]]
        dx, dy = _offset(frame, space)
        drawn.append(_space(view, marked, frame, spot, (x + dx + frame.square // 2, y + dy + frame.tall // 2)))
    drawn.append("</g>")
    return "".join(drawn)


def _fitted(name: str, y: int) -> str:
    """The name of a space below a building, as wide as the narrowest square allows in any font."""
    return f'<text class="sf-s" y="{y}" textLength="{_NAME_WIDTH}" lengthAdjust="spacingAndGlyphs">{name}</text>'


def _space(view: View, marked: Collection[str], frame: _Frame, spot: SpaceView, at: tuple[int, int]) -> str:
    colour = box.COLOURS[box.SPACE_COLOUR[_INDEX[spot.space]]]
    half = frame.tall // 2
    body = use(f"s{frame.square}")
    plot, letter = spot.space[:2], spot.space[2:]
    if spot.owner is not None:
        state = f"building of {colour_of(view, spot.owner)}"
        body += use(f"h{letter_of(view, spot.owner)}", 0, -4) + _fitted(spot.space, half - 4)
    elif spot.rubble:
        state = "rubble"
        body += text(0, -3, plot) + use("rubble", -5, 10, ".74") + text(10, 16, letter)
    else:
        state = "free"
        body += f'<text y="-3">{plot}<tspan x="0" y="16">{letter}</tspan></text>'
    return part(f"space:{spot.space}", f"{spot.space}, {colour} plot, {state}", body, marked, at)
