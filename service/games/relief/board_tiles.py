"""One tile: its face as SVG, and what it is in words."""

from functools import lru_cache
from typing import Final

from service.games.relief.amounts import amount_words, amounts_words
from service.games.relief.board_shapes import TOKEN_IDS
from service.games.relief.board_svg import TILE_HEIGHT, TILE_WIDTH, text, use
from service.games.relief.box import (
    FIRST_BUILDING,
    ICONS,
    KINDS,
    OBJECTIVE_NUMBER,
    OBJECTIVES,
    TILE_NUMBER,
    TILES,
    Amounts,
    Price,
    Tile,
)
from service.games.words import listed

_NAME_SIZE: Final = 16


def price_words(price: Price) -> str:
    """Returns a price in words."""
    return amounts_words(price) or "nothing"


@lru_cache(64)
def effect_words(id: str) -> str:
    """Returns what a marker on the tile does."""
    tile = TILES[TILE_NUMBER[id]]
    found = [
        f"{verb} {listed([amount_words(*amount) for amount in amounts])}" for verb, amounts in _by_verb(tile) if amounts
    ]
    if tile.leader_cost is not None:
        found.append(f"pay {price_words(tile.leader_cost)} for a leader")
    if tile.score:
        found.append(f"score {tile.score}")
    return ", ".join(found)


def _by_verb(tile: Tile) -> tuple[tuple[str, Amounts], ...]:
    return ("take", tile.take), ("help", tile.help), ("gain", tile.gain)


@lru_cache(64)
def tile_words(id: str) -> str:
    """Returns what a tile is and does: its icon, points, effect, influence and hope."""
    number = TILE_NUMBER[id]
    tile = TILES[number]
    worth = f"{tile.vp} VP" if number >= FIRST_BUILDING else "starter"
    found = [f"{ICONS[tile.icon]} icon", worth, effect_words(id)]
    if tile.influence:
        found.append(f"influence {tile.influence}")
    if tile.hope:
        found.append(f"hope {tile.hope}")
    return "; ".join(found)


def objective_words(id: str) -> str:
    """Returns what an objective is worth."""
    objective = OBJECTIVES[OBJECTIVE_NUMBER[id]]
    return f"{objective.id} {objective.name}: {objective.about}, at most {objective.cap}"


def _digits(places: list[float], y: float, digits: str) -> str:
    """Returns one text with a place for each digit."""
    return f'<text x="{" ".join([f"{x:g}" for x in places])}" y="{y:g}">{digits}</text>'


def _price_svg(price: Price, x: float, y: float) -> str:
    """Returns a price as tokens with their numbers, from left to right; no number has two digits."""
    found: list[str] = []
    places: list[float] = []
    scale, step = (0.85, 31) if all(price) else (1, 35)
    for kind, count in enumerate(price):
        if count:
            found.append(use(TOKEN_IDS[KINDS[kind]], x, y + 10 * (1 - scale), scale))
            places.append(x + 20.2 * scale)
            x += step
    return "".join(found) + _digits(places, y + 16, "".join([str(count) for count in price if count]))


def _effect_svg(tile: Tile, y: float) -> str:
    """Returns the effect as tokens; what a leader costs is always one of a kind, so it goes without numbers."""
    found: list[str] = []
    places: list[float] = []
    digits = ""
    x = 6.0
    if tile.leader_cost is not None:
        for kind, count in enumerate(tile.leader_cost):
            for _ in range(count):
                found.append(use(TOKEN_IDS[KINDS[kind]], x, y))
                x += 20
        found.append(f'<path class="rl-arrow" d="M{x + 2:g} {y + 11:g}h9m-4-4 4 4-4 4"/>')
        found.append(use("L", x + 13, y))
        x += 36
    else:
        found.append(use("plus"))
        x += 12
    for _, amounts in _by_verb(tile):
        for kind, count in amounts:
            found.append(use(TOKEN_IDS[KINDS[kind]], x, y))
            places.append(x + 21)
            digits += str(count)
            x += 36
    if digits:
        found.append(_digits(places, y + 16, digits))
    if tile.score:
        found.append(use("v", x, y) + text("rl-vp-text", x + 12.8, y + 16, str(tile.score)))
    return "".join(found)


@lru_cache(64)
def face(id: str) -> str:
    """Returns a tile without the label beside its icon and its lowest line."""
    number = TILE_NUMBER[id]
    tile = TILES[number]
    found = [
        use(f"t-{ICONS[tile.icon]}"),
        text("rl-tile", 7, 47, tile.name, _NAME_SIZE, TILE_WIDTH - 13),
        _effect_svg(tile, 54),
    ]
    x = TILE_WIDTH - 4.0
    if number >= FIRST_BUILDING:
        x -= 31
        found.append(use("vp", x, 3) + text("rl-vp-text", x + 15, 21, str(tile.vp)))
    for symbol, count in (("n", tile.influence), ("h", tile.hope)):
        for _ in range(count):
            x -= 17
            found.append(use(symbol, x - 2, 7))
    return "".join(found)


def label(words: str) -> str:
    """Returns the label beside the icon: the number of the space or the id of the tile."""
    return text("rl-label", 31, 21, words)


@lru_cache(64)
def offer(id: str) -> str:
    """Returns a tile that can be built, with its cost."""
    tile = TILES[TILE_NUMBER[id]]
    return face(id) + label(id) + use("cost") + _price_svg(tile.cost, 3, TILE_HEIGHT - 23)
