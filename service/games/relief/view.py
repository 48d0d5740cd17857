"""What one viewer knows: built up from nothing, so that a forgotten field stays hidden (5.19).

A view is complete for a player with perfect memory: ``sample`` needs nothing else. It has the shape of its message,
``ReliefView`` in protos/rubble/v1/relief.proto, which says what each field means.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from service.games.core import Viewer
from service.games.relief.box import CARDS, KINDS, OBJECTIVES, TILES
from service.games.relief.rules import to_act
from service.games.relief.state import LEADERS, OVER, Player, State, hope, influence

PHASES: Final = ("leaders", "markers", "new-leaders", "over")
#: Empty: the last tile has not entered yet.
TRIGGERS: Final = ("", "build", "refill")
_END_ON_DISCARD: Final = ("full_round", "stop")
_OBJECTIVES: Final = ("all", "own")


class TokensView(NamedTuple):
    """Tokens by kind; "distressed" and "injured" in a seat's goods are workers who were helped."""

    water: int
    food: int
    supply: int
    worker: int
    distressed: int
    injured: int
    influence: int
    story: int
    money: int


class SpaceView(NamedTuple):
    """One occupied space of a mat, counted from 1."""

    space: int
    tile: str
    #: What lies underneath, the lowest first.
    under: tuple[str, ...]
    uses: int


class LeadersView(NamedTuple):
    """The spaces with a leader."""

    spaces: tuple[int, ...]


class SeatView(NamedTuple):
    """One seat's side of the table."""

    seat: int
    goods: TokensView
    track: int
    markers: int
    #: Owned, waiting ones included.
    leaders: int
    #: None while the seat places them in secret.
    placed: LeadersView | None
    #: False while the seat still has leaders to place before a round.
    settled: bool
    mat: tuple[SpaceView, ...]
    #: Markers on the three middle squares this round.
    build_uses: int
    spend_uses: int
    trade_uses: int
    influence: int
    hope: int
    special_built: bool
    #: Empty if it is hidden from this viewer, or built.
    special: str
    #: Empty if it is hidden from this viewer.
    objective: str


class CardsView(NamedTuple):
    """The resupply cards of one level."""

    level: int
    left: int
    #: Since the last shuffle, the latest at the end.
    used: tuple[str, ...]
    reshuffles: int
    #: The pile from the bottom to the top, shown when the game is over; empty before.
    pile: tuple[str, ...]


class View(NamedTuple):
    """The whole table as one viewer sees it."""

    players: int
    #: The seat of the viewer, None for a spectator.
    you: int | None
    #: The options of 5.30.
    end_on_discard: str
    objectives: str
    round: int
    phase: str
    to_act: tuple[int, ...]
    turn: int
    first: int
    level_two: bool
    trigger: str
    #: New leaders still to be placed by the seat whose turn it is, and the lowest space they may go to.
    in_hand: int
    above: int
    board: TokensView
    supply: TokensView
    leader_supply: int
    objective: str
    #: From left to right.
    row: tuple[str, ...]
    discarded: tuple[str, ...]
    tiles_left_level_one: int
    tiles_left_level_two: int
    cards: tuple[CardsView, ...]
    seats: tuple[SeatView, ...]


def view(state: State, viewer: Viewer) -> View:
    """Returns all that this viewer knows, and nothing else."""
    return View(
        len(state.players),
        viewer,
        _END_ON_DISCARD[state.stop_on_discard],
        _OBJECTIVES[state.own_objectives],
        state.round,
        PHASES[state.phase],
        tuple(to_act(state)),
        state.turn,
        state.first,
        state.level_two,
        TRIGGERS[state.trigger],
        state.in_hand,
        state.above + 1,
        _tokens([*state.board, 0, 0, 0]),
        _tokens(state.supply),
        state.leader_supply,
        OBJECTIVES[state.objective].id,
        tuple([TILES[tile].id for tile in state.row]),
        tuple([TILES[tile].id for tile in state.discarded]),
        len(state.tiles[0]),
        len(state.tiles[1]),
        tuple([_cards(state, level) for level in range(2)]),
        tuple([_seat(state, seat, player, viewer) for seat, player in enumerate(state.players)]),
    )


def _tokens(counts: list[int]) -> TokensView:
    water, food, supply, worker, distressed, injured, story, money, influence = counts
    return TokensView(water, food, supply, worker, distressed, injured, influence, story, money)


def counts_of(tokens: TokensView) -> list[int]:
    """Returns the numbers of tokens in the order of KINDS."""
    return [getattr(tokens, kind) for kind in KINDS]


def _cards(state: State, level: int) -> CardsView:
    return CardsView(
        level + 1,
        len(state.cards[level]),
        tuple([CARDS[card].id for card in state.used_cards[level]]),
        state.reshuffles[level],
        tuple([CARDS[card].id for card in state.cards[level]]) if state.phase == OVER else (),
    )


def _seat(state: State, seat: int, player: Player, viewer: Viewer) -> SeatView:
    own = seat == viewer
    over = state.phase == OVER
    return SeatView(
        seat,
        _tokens(player.goods),
        player.track,
        player.markers,
        player.leaders,
        _leaders(player.led) if own or not has_secret_leaders(state, player) else None,
        not player.unplaced,
        _mat(tuple(player.tops), tuple(player.under), tuple(player.uses)),
        player.builds,
        player.spends,
        player.trades,
        influence(player),
        hope(player),
        player.special < 0,
        TILES[player.special].id if player.special >= 0 and (own or over) else "",
        OBJECTIVES[player.objective].id if own or over else "",
    )


@lru_cache(4096)
def _mat(tops: tuple[int, ...], under: tuple[tuple[int, ...], ...], uses: tuple[int, ...]) -> tuple[SpaceView, ...]:
    """Returns all occupied spaces; cached, because most decisions leave most mats unchanged."""
    return tuple(
        [
            SpaceView(space + 1, TILES[tile].id, tuple([TILES[low].id for low in covered]), used)
            for space, (tile, covered, used) in enumerate(zip(tops, under, uses, strict=True))
        ]
    )


def has_secret_leaders(state: State, player: Player) -> bool:
    """5.23: returns whether the seat's leaders are secret: in the leader phase, if it has fewer leaders than tiles."""
    return state.phase == LEADERS and player.leaders < len(player.tops)


@lru_cache(4096)
def _leaders(led: int) -> LeadersView:
    """Returns the spaces of a bit mask, counted from 1."""
    return LeadersView(tuple([space + 1 for space in range(led.bit_length()) if led >> space & 1]))


def together(views: Sequence[View]) -> View:
    """Returns one view with what all seats know: each side of the table as its owner sees it."""
    return views[0]._replace(you=None, seats=tuple([one.seats[seat] for seat, one in enumerate(views)]))
