"""Building: prices and discounts, paying, the tile on the mat, the row and its piles (5.7, 5.8, 5.12)."""

from typing import Final

from service.games.chance import Draws
from service.games.relief.box import (
    CARDS,
    DISTRESSED,
    INJURED,
    SPACES,
    STARTERS,
    TILES,
    WORKER,
    Price,
    cards_of_level,
)
from service.games.relief.state import BY_BUILD, BY_REFILL, MARKERS, Player, State

# Four amounts in one number, six bits each; the highest bit is a guard. A holding with all guards set, minus a price,
# keeps all guards exactly if the price can be paid: one subtraction instead of four comparisons.
GUARD: Final = 0b100000_100000_100000_100000


def packed(price: Price) -> int:
    """Returns a price as one number."""
    water, food, supplies, workers = price
    return water | food << 6 | supplies << 12 | workers << 18


def holding(player: Player) -> int:
    """Returns what a player can pay with, as one number with guards; workers of every origin count."""
    goods = player.goods
    workers = goods[WORKER] + goods[DISTRESSED] + goods[INJURED]
    return GUARD | goods[0] | goods[1] << 6 | goods[2] << 12 | workers << 18


def can_pay(held: int, price: int) -> bool:
    """Returns whether a holding covers a packed price."""
    return (held - price) & GUARD == GUARD


def _price(new: int, covered: int) -> Price:
    """5.12: returns, for each kind, the printed cost minus that of the tile directly covered, but never below 0."""
    cost, less = TILES[new].cost, TILES[covered].cost
    return max(0, cost[0] - less[0]), max(0, cost[1] - less[1]), max(0, cost[2] - less[2]), max(0, cost[3] - less[3])


#: PRICES[new][covered]; a starter or an open space gives no discount.
PRICES: Final = tuple(tuple(_price(new, covered) for covered in range(len(TILES))) for new in range(len(TILES)))
PACKED_PRICES: Final = tuple(tuple(packed(price) for price in row) for row in PRICES)
PACKED_COSTS: Final = tuple(packed(tile.cost) for tile in TILES)
#: The sixth bit of a field is the guard.
assert all(max(tile.cost) < 32 for tile in TILES)


def price_at(player: Player, tile: int, space: int) -> Price:
    """Returns what this tile costs on that space of this mat."""
    tops = player.tops
    return PRICES[tile][tops[space]] if space < len(tops) else TILES[tile].cost


def pay(state: State, player: Player, price: Price) -> None:
    """5.7: returns tokens to their supply; of the workers the once distressed first, then the once injured."""
    goods, supply = player.goods, state.supply
    for kind in range(WORKER):
        count = price[kind]
        if count:
            goods[kind] -= count
            supply[kind] += count
    due = price[WORKER]
    if due:
        for origin in (DISTRESSED, INJURED, WORKER):
            count = min(due, goods[origin])
            goods[origin] -= count
            supply[origin] += count
            due -= count


def put(player: Player, tile: int, space: int) -> None:
    """5.12: places the tile, active and unused; a leader on the covered tile moves to the new one."""
    tops = player.tops
    if space < len(tops):
        player.under[space] = (*player.under[space], tops[space])
        tops[space] = tile
        player.uses[space] = 0  # 5.5: the count belongs to the tile
    else:
        assert len(tops) < SPACES
        tops.append(tile)
        player.under.append(())
        player.uses.append(0)
        icon = TILES[tile].icon
        player.sites[icon] = (*player.sites[icon], space)


def refill(state: State) -> None:
    """5.8: adds one tile at the left end, from level 1 until it is empty; with both piles empty the row stays short."""
    level_one, level_two = state.tiles
    if level_one:
        state.row.insert(0, level_one.pop())
        return
    if not level_two:
        return
    if not state.level_two:
        state.level_two = True  # C17: the sixth marker is handed out at once
        for player in state.players:
            player.markers += 1
    state.row.insert(0, level_two.pop())
    if not level_two:  # 5.10
        state.trigger = BY_BUILD if state.phase == MARKERS else BY_REFILL


def turn_card(state: State) -> None:
    """5.21: turns the next card of the current level; 5.7: the supply limits each kind."""
    level = 1 if state.level_two else 0
    pile, used = state.cards[level], state.used_cards[level]
    if not pile:  # 5.8: all six are shuffled again, the latest included
        state.reshuffles[level] += 1
        pile.extend(cards_of_level(level + 1))
        used.clear()
        Draws(state.deck_seed, f"cards-{level + 1}/{state.reshuffles[level]}").shuffle(pile)
    card = pile.pop()
    used.append(card)
    place_card(state, card)


def place_card(state: State, card: int) -> None:
    """5.7: places what the card brings; what the supply lacks is lost."""
    board, supply = state.board, state.supply
    for kind, printed in enumerate(CARDS[card].brings):
        count = min(printed, supply[kind])
        supply[kind] -= count
        board[kind] += count


def starting_tops() -> list[int]:
    """Returns the tiles printed on every mat."""
    return list(range(STARTERS))
