"""What one eye knows: built up from nothing, so that a forgotten field stays hidden (5.19).

A view is JSON-ready and complete for a player with perfect memory: ``sample`` needs nothing else.
"""

from typing import Final, TypedDict

from service.games.core import Eye
from service.games.relief.box import BOARD_KINDS, CARDS, KINDS, OBJECTIVES, TILES
from service.games.relief.rules import to_act
from service.games.relief.state import LEADERS, OVER, Player, State, hope, influence

PHASES: Final = ("leaders", "markers", "new leaders", "over")
TRIGGERS: Final = ("none", "build", "refill")


class SpaceView(TypedDict):
    """One occupied space of a mat, counted from 1."""

    space: int
    tile: str
    #: What lies underneath, the lowest first.
    under: list[str]
    uses: int


class SquareUses(TypedDict):
    """A seat's markers on the three middle squares this round."""

    build: int
    spend: int
    trade: int


class SeatView(TypedDict):
    """One seat's side of the table."""

    seat: int
    #: Tokens by kind; "distressed" and "injured" are workers who were helped.
    goods: dict[str, int]
    track: int
    markers: int
    #: Owned, waiting ones included.
    leaders: int
    #: The spaces with a leader; None while the seat places them in secret.
    placed: list[int] | None
    #: False while the seat still has leaders to place before a round.
    settled: bool
    mat: list[SpaceView]
    squares: SquareUses
    influence: int
    hope: int
    special_built: bool
    #: None if it is hidden from this eye, or built and lying on the mat.
    special: str | None
    #: None if it is hidden from this eye.
    objective: str | None


class CardsView(TypedDict):
    """The resupply cards of one level."""

    level: int
    left: int
    #: Since the last shuffle, the latest at the end.
    used: list[str]
    reshuffles: int
    #: The pile from the bottom to the top, shown when the game is over; None before.
    pile: list[str] | None


class OptionsView(TypedDict):
    """The switches of 5.30."""

    end_on_discard: str
    objectives: str


class View(TypedDict):
    """The whole table as one eye sees it."""

    game: str
    players: int
    #: The seat that looks, None for a spectator.
    you: int | None
    options: OptionsView
    round: int
    phase: str
    to_act: list[int]
    turn: int
    first: int
    level_two: bool
    trigger: str
    #: New leaders still to be placed by the seat whose turn it is, and the lowest space they may go to.
    in_hand: int
    above: int
    board: dict[str, int]
    supply: dict[str, int]
    leader_supply: int
    objective: str
    #: From left to right.
    row: list[str]
    discarded: list[str]
    #: Tiles left in the piles of level 1 and 2.
    tiles_left: list[int]
    cards: list[CardsView]
    seats: list[SeatView]


def view(state: State, eye: Eye) -> View:
    """All that this eye knows, and nothing more."""
    return {
        "game": "relief",
        "players": len(state.players),
        "you": eye,
        "options": {
            "end_on_discard": "stop" if state.stop_on_discard else "full_round",
            "objectives": "own" if state.own_objectives else "all",
        },
        "round": state.round,
        "phase": PHASES[state.phase],
        "to_act": list(to_act(state)),
        "turn": state.turn,
        "first": state.first,
        "level_two": state.level_two,
        "trigger": TRIGGERS[state.trigger],
        "in_hand": state.in_hand,
        "above": state.above + 1,
        "board": dict(zip(BOARD_KINDS, state.board, strict=True)),
        "supply": dict(zip(KINDS, state.supply, strict=True)),
        "leader_supply": state.leader_supply,
        "objective": OBJECTIVES[state.objective].id,
        "row": [TILES[tile].id for tile in state.row],
        "discarded": [TILES[tile].id for tile in state.discarded],
        "tiles_left": [len(pile) for pile in state.tiles],
        "cards": [_cards(state, level) for level in range(2)],
        "seats": [_seat(state, seat, player, eye) for seat, player in enumerate(state.players)],
    }


def _cards(state: State, level: int) -> CardsView:
    return {
        "level": level + 1,
        "left": len(state.cards[level]),
        "used": [CARDS[card].id for card in state.used_cards[level]],
        "reshuffles": state.reshuffles[level],
        "pile": [CARDS[card].id for card in state.cards[level]] if state.phase == OVER else None,
    }


def _seat(state: State, seat: int, player: Player, eye: Eye) -> SeatView:
    own = seat == eye
    over = state.phase == OVER
    return {
        "seat": seat,
        "goods": dict(zip(KINDS, player.goods, strict=True)),
        "track": player.track,
        "markers": player.markers,
        "leaders": player.leaders,
        "placed": spaces_of(player.led) if own or not has_secret_leaders(state, player) else None,
        "settled": not player.unplaced,
        "mat": [
            {"space": space + 1, "tile": TILES[tile].id, "under": [TILES[low].id for low in under], "uses": uses}
            for space, (tile, under, uses) in enumerate(zip(player.tops, player.under, player.uses, strict=True))
        ],
        "squares": {"build": player.builds, "spend": player.spends, "trade": player.trades},
        "influence": influence(player),
        "hope": hope(player),
        "special_built": player.special < 0,
        "special": TILES[player.special].id if player.special >= 0 and (own or over) else None,
        "objective": OBJECTIVES[player.objective].id if own or over else None,
    }


def has_secret_leaders(state: State, player: Player) -> bool:
    """5.23: in the leader phase only a seat with fewer leaders than tiles has anything to hide."""
    return state.phase == LEADERS and player.leaders < len(player.tops)


def spaces_of(led: int) -> list[int]:
    """The spaces of a set of bits, counted from 1."""
    return [space + 1 for space in range(led.bit_length()) if led >> space & 1]
