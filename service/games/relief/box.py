"""The components: the data files, read and validated once and turned into tables of small numbers.

Tiles have consecutive numbers: the seven starters printed on every mat, then the 35 buildings, then the seven specials.
Kinds of token are numbered in the order W F S K D I T $ N; in a player's goods D and I stand for *workers* who were
helped, because a flipped token is still the same token (5.7).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from service.games.components import BadComponents, Component, read_components

WATER: Final = 0
FOOD: Final = 1
SUPPLIES: Final = 2
WORKER: Final = 3
DISTRESSED: Final = 4
INJURED: Final = 5
STORY: Final = 6
MONEY: Final = 7
INFLUENCE: Final = 8

KINDS: Final = ("water", "food", "supply", "worker", "distressed", "injured", "story", "money", "influence")
#: What a building costs; a worker of any origin pays for a worker.
PAID_KINDS: Final = KINDS[:4]
#: What lies on a square of the game board.
BOARD_KINDS: Final = KINDS[:6]
ICONS: Final = ("water", "food", "supply", "people", "media", "civic")
#: What an objective may count.
COUNTS: Final = ("icons", "covered", "variety", "leaders", "goods")

SPACES: Final = 14
STARTERS: Final = 7
MOST_SEATS: Final = 3
ROW: Final = 5
#: Prices are compared in fields of five bits (building.py); no player can hold more workers, or more of one kind, than this.
MOST_HELD: Final = 31

Price = tuple[int, int, int, int]
Amounts = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Tile:
    """One tile, its amounts by kind."""

    id: str
    name: str
    level: int
    cost: Price
    take: Amounts
    help: Amounts
    gain: Amounts
    score: int
    #: What a leader costs here; None for a tile that trains no leaders.
    leader_cost: Price | None
    vp: int
    icon: int
    influence: int
    hope: int
    three: bool


@dataclass(frozen=True)
class Card:
    """One resupply card: what it brings to the six squares."""

    id: str
    level: int
    brings: tuple[int, ...]


@dataclass(frozen=True)
class Objective:
    """One objective: what it counts and how many points that gives."""

    id: str
    name: str
    about: str
    counts: str
    icons: tuple[int, ...]
    each: int
    per: int
    steps: tuple[int, ...]
    cap: int


@dataclass(frozen=True)
class Token:
    """One kind of token: how many exist, and how many every player starts with."""

    id: str
    letter: str
    name: str
    count: int
    start: int


def _price(entry: Component, name: str) -> Price:
    amounts = entry.amounts(name, PAID_KINDS)
    return amounts.get("water", 0), amounts.get("food", 0), amounts.get("supply", 0), amounts.get("worker", 0)


def _amounts(entry: Component, name: str, kinds: Sequence[str]) -> Amounts:
    amounts = entry.amounts(name, kinds)
    return tuple((kind, amounts[word]) for kind, word in enumerate(KINDS) if word in amounts)


def _number(entry: Component, name: str, low: int, high: int) -> int:
    """Returns a number; 0 if the field is missing."""
    return entry.number(name, low, high) if name in entry.values else 0


def _tile(entry: Component) -> Tile:
    tile = Tile(
        id=entry.id,
        name=entry.sentence("name"),
        level=_number(entry, "level", 1, 2),
        cost=_price(entry, "cost"),
        take=_amounts(entry, "take", KINDS[:4]),
        help=_amounts(entry, "help", ("distressed", "injured")),
        gain=_amounts(entry, "gain", ("story", "money")),
        score=_number(entry, "score", 1, 9),
        leader_cost=_price(entry, "leader_cost") if "leader_cost" in entry.values else None,
        vp=_number(entry, "vp", 0, 20),
        icon=ICONS.index(entry.word("icon", ICONS)),
        influence=_number(entry, "influence", 0, 3),
        hope=_number(entry, "hope", 0, 3),
        three=entry.flag("three") if "three" in entry.values else False,
    )
    if not (tile.take or tile.help or tile.gain or tile.score or tile.leader_cost):
        raise entry.fail("the tile does nothing; expected take, help, gain, score or leader_cost")
    if entry.kind != "starter" and not any(tile.cost):
        raise entry.fail("cost is missing")
    return tile


def _card(entry: Component) -> Card:
    brings = entry.amounts("brings", BOARD_KINDS)
    return Card(entry.id, entry.number("level", 1, 2), tuple(brings.get(kind, 0) for kind in BOARD_KINDS))


def _objective(entry: Component) -> Objective:
    counts = entry.word("counts", COUNTS)
    icons = tuple(ICONS.index(icon) for icon in entry.words("icons", ICONS)) if counts == "icons" else ()
    steps = tuple(entry.numbers("steps", len(ICONS) + 1, 0, 20)) if counts == "variety" else ()
    each = 0 if steps else entry.number("each", 1, 9)
    per = 1 if steps else entry.number("per", 1, 9)
    cap = entry.number("cap", 1, 99)
    return Objective(entry.id, entry.sentence("name"), entry.sentence("about"), counts, icons, each, per, steps, cap)


def _token(entry: Component) -> Token:
    count = entry.number("count", 1, MOST_HELD)
    start = entry.number("start", 0, count // MOST_SEATS)
    return Token(entry.id, entry.sentence("letter"), entry.sentence("name"), count, start)


def _expect(file: str, what: str, found: object, expected: object) -> None:
    if found != expected:
        raise BadComponents(f"{file}: {what}: {found}, expected {expected}")


class Box:
    """Everything the data files say."""

    def __init__(self, folder: Path) -> None:
        tiles = read_components(folder / "tiles.toml", ("starter", "building", "special"))
        cards = read_components(folder / "cards.toml", ("card",))
        objectives = read_components(folder / "objectives.toml", ("objective",))
        supply = read_components(folder / "supply.toml", ("token", "piece", "square", "exchange"))
        self.components: tuple[Component, ...] = tuple(
            entry for file in (tiles, cards, objectives, supply) for entries in file.values() for entry in entries
        )
        self.tiles = tuple(_tile(entry) for kind in ("starter", "building", "special") for entry in tiles[kind])
        self.cards = tuple(_card(entry) for entry in cards["card"])
        self.objectives = tuple(_objective(entry) for entry in objectives["objective"])
        self.tokens = tuple(_token(entry) for entry in supply["token"])
        pieces = {entry.id: entry for entry in supply["piece"]}
        squares = {entry.id: entry for entry in supply["square"]}
        exchanges = {entry.id: entry for entry in supply["exchange"]}
        _expect("tiles.toml", "starters", len(tiles["starter"]), STARTERS)
        _expect("tiles.toml", "buildings", len(tiles["building"]), 35)
        _expect("tiles.toml", "specials", len(tiles["special"]), 7)
        _expect("cards.toml", "cards", len(self.cards), 12)
        _expect("objectives.toml", "objectives", len(self.objectives), 7)
        _expect("supply.toml", "tokens", [token.id for token in self.tokens], list(KINDS))
        _expect("supply.toml", "pieces", sorted(pieces), ["leader", "marker"])
        _expect("supply.toml", "exchanges", sorted(exchanges), ["influence", "port", "stories"])
        _expect("supply.toml", "squares that hold tokens", sorted(set(squares) & set(KINDS)), sorted(BOARD_KINDS))
        _expect("supply.toml", "squares", len(squares), 9)
        workers = sum(self.tokens[kind].count for kind in (WORKER, DISTRESSED, INJURED))
        _expect("supply.toml", f"workers beyond {MOST_HELD} in all", max(0, workers - MOST_HELD), 0)
        ids = [tile.id for tile in self.tiles]
        _expect("tiles.toml", "tiles whose id is used twice", sorted({id for id in ids if ids.count(id) > 1}), [])
        for number, entry in enumerate(tiles["starter"]):
            if entry.number("space", 1, SPACES) != number + 1:
                raise entry.fail(f"space = {entry.values['space']}, expected {number + 1}: starters lie in order")
        _expect(
            "tiles.toml", "icons on starters", {tile.icon for tile in self.tiles[:STARTERS]}, set(range(len(ICONS)))
        )
        for entry in exchanges.values():
            entry.word("square", tuple(squares))
        self.squares = tuple((entry.id, entry.sentence("name")) for entry in squares.values())
        #: The common supply of leaders, without the coloured ones (5.28).
        self.leaders = pieces["leader"].number("count", 1, 99)
        self.starting_leaders = pieces["leader"].number("start", 1, 9)
        self.starting_markers = pieces["marker"].number("start", 1, 9)
        self.all_markers = pieces["marker"].number("count", 1, 99) // MOST_SEATS
        self.most_stories = exchanges["stories"].number("most", 1, 3)
        self.most_influence = exchanges["influence"].number("most", 1, 3)
        self.money_for_influence = exchanges["influence"].amounts("pay", ("money",)).get("money", 0)
        self.most_traded = exchanges["port"].number("most", 1, 3)
        _expect("supply.toml", "markers of a player, later and at first", self.all_markers, self.starting_markers + 1)


BOX: Final = Box(Path(__file__).parent / "data")
TILES: Final = BOX.tiles
CARDS: Final = BOX.cards
OBJECTIVES: Final = BOX.objectives
TOKENS: Final = BOX.tokens
LETTERS: Final = tuple(token.letter for token in TOKENS)

FIRST_BUILDING: Final = STARTERS
FIRST_SPECIAL: Final = STARTERS + 35
SPECIALS: Final = tuple(range(FIRST_SPECIAL, len(TILES)))
TILE_NUMBER: Final = {tile.id: number for number, tile in enumerate(TILES)}
CARD_NUMBER: Final = {card.id: number for number, card in enumerate(CARDS)}
OBJECTIVE_NUMBER: Final = {objective.id: number for number, objective in enumerate(OBJECTIVES)}


def tiles_of_level(level: int, seats: int) -> list[int]:
    """Returns the buildings of one level; two players play without those with a 3 in the corner."""
    return [
        number
        for number, tile in enumerate(TILES)
        if FIRST_BUILDING <= number < FIRST_SPECIAL and tile.level == level and (seats > 2 or not tile.three)
    ]


def cards_of_level(level: int) -> list[int]:
    """Returns the resupply cards of one level."""
    return [number for number, card in enumerate(CARDS) if card.level == level]
