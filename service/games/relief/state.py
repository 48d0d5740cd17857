"""The state of the table, and how to copy, store and restore it."""

from collections.abc import Callable
from typing import Any, Final

from service.games.relief.actions import Action
from service.games.relief.box import FIRST_BUILDING, ICONS, TILES

#: The phases of 5.21.
LEADERS: Final = 0
MARKERS: Final = 1
NEW_LEADERS: Final = 2
OVER: Final = 3

#: How the last tile came into the row (5.10).
NO_TRIGGER: Final = 0
BY_BUILD: Final = 1
BY_REFILL: Final = 2

Plain = Any


class Player:
    """One seat's mat and the components beside it.

    Open spaces are always filled from the lowest (5.12), so ``tops`` holds the visible tiles of spaces 1, 2, 3 …
    without gaps.
    """

    __slots__ = (
        "builds",
        "goods",
        "leaders",
        "led",
        "markers",
        "objective",
        "sites",
        "special",
        "spends",
        "tops",
        "track",
        "trades",
        "under",
        "unplaced",
        "uses",
    )

    def __init__(
        self,
        goods: list[int],
        tops: list[int],
        under: list[tuple[int, ...]],
        uses: list[int],
        sites: list[tuple[int, ...]],
        special: int,
        objective: int,
        leaders: int,
        led: int,
        unplaced: int,
        markers: int,
        track: int,
        builds: int,
        spends: int,
        trades: int,
    ) -> None:
        #: Tokens by kind; D and I are helped workers.
        self.goods = goods
        self.tops = tops
        #: What each visible tile covers, the lowest first.
        self.under = under
        #: How often each visible tile was used this round (5.5).
        self.uses = uses
        #: The spaces of each icon; a stack keeps its icon for the whole game (5.27). Follows from ``tops``.
        self.sites = sites
        #: The special tile in hand, -1 once it is built.
        self.special = special
        self.objective = objective
        #: Leaders owned, waiting ones included.
        self.leaders = leaders
        #: The spaces with a leader, one bit each. In the leader phase: those chosen so far, hidden from others.
        self.led = led
        #: Leaders still to be placed in the leader phase; 0 outside of it.
        self.unplaced = unplaced
        self.markers = markers
        self.track = track
        #: Markers on the three middle squares this round (5.5).
        self.builds = builds
        self.spends = spends
        self.trades = trades

    def copy(self) -> "Player":
        """An independent copy."""
        return Player(
            self.goods[:],
            self.tops[:],
            self.under[:],
            self.uses[:],
            self.sites[:],
            self.special,
            self.objective,
            self.leaders,
            self.led,
            self.unplaced,
            self.markers,
            self.track,
            self.builds,
            self.spends,
            self.trades,
        )


class State:
    """The whole table, including hidden piles. Piles are drawn from their end."""

    __slots__ = (
        "above",
        "board",
        "cards",
        "deck_seed",
        "discarded",
        "first",
        "in_hand",
        "leader_supply",
        "legal",
        "level_two",
        "objective",
        "own_objectives",
        "phase",
        "players",
        "reshuffles",
        "round",
        "row",
        "stop_on_discard",
        "supply",
        "tiles",
        "trigger",
        "turn",
        "used_cards",
    )

    def __init__(
        self,
        players: list[Player],
        deck_seed: bytes,
        stop_on_discard: bool,
        own_objectives: bool,
        round: int,
        phase: int,
        turn: int,
        first: int,
        level_two: bool,
        trigger: int,
        in_hand: int,
        above: int,
        board: list[int],
        supply: list[int],
        leader_supply: int,
        objective: int,
        row: list[int],
        discarded: list[int],
        tiles: tuple[list[int], list[int]],
        cards: tuple[list[int], list[int]],
        used_cards: tuple[list[int], list[int]],
        reshuffles: list[int],
    ) -> None:
        self.players = players
        #: Used only for later reshuffles (5.31).
        self.deck_seed = deck_seed
        self.stop_on_discard = stop_on_discard
        self.own_objectives = own_objectives
        self.round = round
        self.phase = phase
        self.turn = turn
        #: Who holds the first player token.
        self.first = first
        #: Level 2 tiles have begun (5.8).
        self.level_two = level_two
        #: How the last tile came into the row (5.10).
        self.trigger = trigger
        #: New leaders still to be placed, and the lowest space they may go to (5.24).
        self.in_hand = in_hand
        self.above = above
        self.board = board
        self.supply = supply
        self.leader_supply = leader_supply
        #: The face-up objective.
        self.objective = objective
        #: From left to right.
        self.row = row
        self.discarded = discarded
        #: The piles of level 1 and level 2.
        self.tiles = tiles
        self.cards = cards
        #: Since the last shuffle, the latest at the end.
        self.used_cards = used_cards
        self.reshuffles = reshuffles
        #: The cached legal_actions of the seat whose turn it is; not part of the position.
        self.legal: list[Action] | None = None

    def copy(self) -> "State":
        """Returns an independent copy; only the cached list is shared, and it is never modified."""
        tiles, cards, used = self.tiles, self.cards, self.used_cards
        twin = State(
            [player.copy() for player in self.players],
            self.deck_seed,
            self.stop_on_discard,
            self.own_objectives,
            self.round,
            self.phase,
            self.turn,
            self.first,
            self.level_two,
            self.trigger,
            self.in_hand,
            self.above,
            self.board[:],
            self.supply[:],
            self.leader_supply,
            self.objective,
            self.row[:],
            self.discarded[:],
            (tiles[0][:], tiles[1][:]),
            (cards[0][:], cards[1][:]),
            (used[0][:], used[1][:]),
            self.reshuffles[:],
        )
        twin.legal = self.legal
        return twin

    def __reduce__(self) -> tuple[Callable[[Plain], "State"], tuple[Plain]]:
        return from_plain, (to_plain(self),)  # compiled classes cannot be pickled by their attributes


def sites_of(tops: list[int]) -> list[tuple[int, ...]]:
    """Returns the spaces of each icon."""
    return [tuple(space for space, tile in enumerate(tops) if TILES[tile].icon == icon) for icon in range(len(ICONS))]


def buildings(player: Player) -> list[int]:
    """Returns the visible buildings and specials; a printed starter is not a building (4.7)."""
    return [tile for tile in player.tops if tile >= FIRST_BUILDING]


def influence(player: Player) -> int:
    """5.4: counts tokens and the icons on visible tiles."""
    return player.goods[8] + sum(TILES[tile].influence for tile in player.tops)


def hope(player: Player) -> int:
    """5.17: counts the hearts on visible tiles."""
    return sum(TILES[tile].hope for tile in player.tops)


def copy(state: State) -> State:
    """An independent copy."""
    return state.copy()


def to_plain(state: State) -> Plain:
    """Returns nested lists of int, str and None: equal states give equal lists."""
    players = [
        [
            player.goods[:],
            [[*under, top] for under, top in zip(player.under, player.tops, strict=True)],
            player.uses[:],
            player.special,
            player.objective,
            player.leaders,
            player.led,
            player.unplaced,
            player.markers,
            player.track,
            player.builds,
            player.spends,
            player.trades,
        ]
        for player in state.players
    ]
    return [
        players,
        state.deck_seed.hex(),
        int(state.stop_on_discard),
        int(state.own_objectives),
        state.round,
        state.phase,
        state.turn,
        state.first,
        int(state.level_two),
        state.trigger,
        state.in_hand,
        state.above,
        state.board[:],
        state.supply[:],
        state.leader_supply,
        state.objective,
        state.row[:],
        state.discarded[:],
        [pile[:] for pile in state.tiles],
        [pile[:] for pile in state.cards],
        [pile[:] for pile in state.used_cards],
        state.reshuffles[:],
    ]


def _player(plain: Plain) -> Player:
    goods, stacks, uses, special, objective, leaders, led, unplaced, markers, track, builds, spends, trades = plain
    tops = [stack[-1] for stack in stacks]
    under = [tuple(stack[:-1]) for stack in stacks]
    return Player(
        list(goods),
        tops,
        under,
        list(uses),
        sites_of(tops),
        special,
        objective,
        leaders,
        led,
        unplaced,
        markers,
        track,
        builds,
        spends,
        trades,
    )


def from_plain(plain: Plain) -> State:
    """Returns the state that to_plain wrote."""
    (
        players,
        deck_seed,
        stop_on_discard,
        own_objectives,
        round,
        phase,
        turn,
        first,
        level_two,
        trigger,
        in_hand,
        above,
        board,
        supply,
        leader_supply,
        objective,
        row,
        discarded,
        tiles,
        cards,
        used_cards,
        reshuffles,
    ) = plain
    return State(
        [_player(player) for player in players],
        bytes.fromhex(deck_seed),
        bool(stop_on_discard),
        bool(own_objectives),
        round,
        phase,
        turn,
        first,
        bool(level_two),
        trigger,
        in_hand,
        above,
        list(board),
        list(supply),
        leader_supply,
        objective,
        list(row),
        list(discarded),
        (list(tiles[0]), list(tiles[1])),
        (list(cards[0]), list(cards[1])),
        (list(used_cards[0]), list(used_cards[1])),
        list(reshuffles),
    )
