"""The one source of legality: every action a seat may take now, in the order of 5.22 - 5.24."""

from typing import Final

from service.games.core import Seat
from service.games.relief.actions import (
    BUILDS,
    KEEP,
    LEADS,
    PASS,
    SPEND_MONEY,
    SPEND_STORIES,
    TRADES,
    USES,
    Action,
)
from service.games.relief.box import BOX, INFLUENCE, MONEY, SPACES, STORY, TILES
from service.games.relief.building import GUARD, PACKED_COSTS, PACKED_PRICES, holding, packed
from service.games.relief.state import LEADERS, MARKERS, NEW_LEADERS, Player, State

# What a tile needs to have any effect, as bits: a square or a supply that is not empty, or a leader that can be paid.
# A tile that scores needs nothing; a leader tile needs its payment even if it scores (5.15).
_ALWAYS: Final = 1 << 8
_LEADER_COSTS: Final = tuple(sorted({packed(tile.leader_cost) for tile in TILES if tile.leader_cost}))
#: (price, bit) for each price a leader may have.
_LEADER_BITS: Final = tuple((price, _ALWAYS << 1 + number) for number, price in enumerate(_LEADER_COSTS))


def _need(number: int) -> int:
    tile = TILES[number]
    if tile.leader_cost is not None:
        return dict(_LEADER_BITS)[packed(tile.leader_cost)]
    if tile.score:
        return _ALWAYS
    bits = 0
    for kind, _ in (*tile.take, *tile.help, *tile.gain):
        bits |= 1 << kind
    return bits


_NEEDS: Final = tuple(_need(number) for number in range(len(TILES)))
_ICON: Final = tuple(tile.icon for tile in TILES)


#: _LEADS_BETWEEN[low][high]: a leader onto one of these spaces.
_LEADS_BETWEEN: Final = tuple(tuple(LEADS[low : high + 1] for high in range(SPACES)) for low in range(SPACES + 1))


def _spends(stories: int, influence: int) -> tuple[Action, ...]:
    return (*SPEND_STORIES[:stories], *SPEND_MONEY[:influence])


#: By the most money for stories and the most influence for money that the seat can get.
_SPENDS: Final = tuple(
    tuple(_spends(stories, influence) for influence in range(BOX.most_influence + 1))
    for stories in range(BOX.most_stories + 1)
)
_MOST: Final = 3


def _trades(index: int) -> tuple[Action, ...]:
    limits = (index >> 6 & 3, index >> 4 & 3, index >> 2 & 3, index & 3)
    count = index >> 8
    return tuple(
        trade
        for trade in TRADES
        if trade.count <= count and all(wanted <= limit for wanted, limit in zip(trade.mix, limits, strict=True))
    )


#: By money and the supply of W, F, S, K, each at most 3, two bits each.
_TRADES: Final = tuple(_trades(index) for index in range(1 << 10))


def legal_actions(state: State, seat: Seat) -> "list[Action] | tuple[Action, ...]":
    """Returns every action ``apply`` accepts from this seat, in a stable order; empty exactly if the seat is not to act."""
    phase = state.phase
    if phase == LEADERS:
        if not 0 <= seat < len(state.players):
            return ()
        player = state.players[seat]
        # 5.23: each leader above the previous one, and low enough that the remaining ones fit above it
        return _LEADS_BETWEEN[player.led.bit_length()][len(player.tops) - player.unplaced] if player.unplaced else ()
    if seat != state.turn:
        return ()
    legal = state.legal
    if legal is None:
        if phase == MARKERS:
            legal = _markers(state, state.players[seat])
        elif phase == NEW_LEADERS:
            legal = _new_leaders(state, state.players[seat])
        else:
            legal = []
        state.legal = legal
    return legal


def free_spaces(player: Player, above: int) -> list[int]:
    """5.24: returns the spaces from ``above`` on whose tile has no leader."""
    led = player.led
    return [space for space in range(above, len(player.tops)) if not led >> space & 1]


def _new_leaders(state: State, player: Player) -> list[Action]:
    """5.24: keep, or an own tile without a leader."""
    return [KEEP, *[LEADS[space] for space in free_spaces(player, state.above)]]


def _markers(state: State, player: Player) -> list[Action]:
    """5.22: returns pass, uses, builds, spends and trades that can be paid and have an effect."""
    goods, supply = player.goods, state.supply
    held = holding(player)
    legal: list[Action] = [PASS]

    sources = _sources(state, held)
    for use, tile, used in zip(USES, player.tops, player.uses):  # noqa: B905  (a mat has at most as many tiles as spaces)
        if used < 2 and _NEEDS[tile] & sources:
            legal.append(use)

    if player.builds < 2:
        _builds(legal, player, held, state.row if player.special < 0 else [*state.row, player.special])

    money = goods[MONEY]
    if player.spends < 2 and (money or goods[STORY]):
        for_stories = min(goods[STORY], supply[MONEY], BOX.most_stories)
        for_money = min(money // BOX.money_for_influence, supply[INFLUENCE], BOX.most_influence)
        legal += _SPENDS[for_stories][for_money]

    if player.trades < 2 and money:
        water, food, supplies, workers = supply[0], supply[1], supply[2], supply[3]
        legal += _TRADES[
            (money if money < _MOST else _MOST) << 8
            | (water if water < _MOST else _MOST) << 6
            | (food if food < _MOST else _MOST) << 4
            | (supplies if supplies < _MOST else _MOST) << 2
            | (workers if workers < _MOST else _MOST)
        ]
    return legal


def _sources(state: State, held: int) -> int:
    """Returns as bits which squares and supplies are not empty and which leaders can be paid for."""
    sources = _ALWAYS
    bit = 1
    for count in state.board:
        if count:
            sources |= bit
        bit <<= 1
    if state.supply[STORY]:
        sources |= 1 << STORY
    if state.supply[MONEY]:
        sources |= 1 << MONEY
    if state.leader_supply:
        for price, leader in _LEADER_BITS:
            if (held - price) & GUARD == GUARD:
                sources |= leader
    return sources


def _builds(legal: list[Action], player: Player, held: int, offers: list[int]) -> None:
    """5.12: same-icon stacks ascending, then the lowest open space; the full price covers any lower one."""
    tops, sites = player.tops, player.sites
    open_space = len(tops)
    for tile in offers:
        builds = BUILDS[tile]
        if (held - PACKED_COSTS[tile]) & GUARD == GUARD:
            for space in sites[_ICON[tile]]:
                legal.append(builds[space])
            if open_space < SPACES:
                legal.append(builds[open_space])
        else:
            prices = PACKED_PRICES[tile]
            for space in sites[_ICON[tile]]:
                if (held - prices[tops[space]]) & GUARD == GUARD:
                    legal.append(builds[space])
