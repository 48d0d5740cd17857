"""Actions and events as sentences: templates of ``service.games.words``, without a full stop.

Everything is read from views, so a sentence tells no more than its reader may know. Numbers cite docs/games/relief.md.
"""

from collections.abc import Sequence
from typing import Final

from service.games.core import Seat
from service.games.relief.actions import Action, Build, Keep, Lead, Spend, Trade, Use
from service.games.relief.amounts import NOUNS, amount_words, amounts_words
from service.games.relief.box import (
    BOX,
    CARD_NUMBER,
    CARDS,
    FIRST_SPECIAL,
    KINDS,
    OBJECTIVE_NUMBER,
    OBJECTIVES,
    TILE_NUMBER,
    TILES,
    Amounts,
    Tile,
)
from service.games.relief.building import PRICES
from service.games.relief.view import SeatView, View, counts_of
from service.games.words import counted, listed

_SQUARES: Final = dict(BOX.squares)
_LEADERS: Final = "leaders"
_NEW_LEADERS: Final = "new-leaders"
_OVER: Final = "over"


def say(view: View, seat: Seat, action: Action) -> str:
    """Returns what a seat does with an action, what it costs and what it gives in this position."""
    own = view.seats[seat]
    if isinstance(action, Use):
        return _use(view, own, action.space)
    if isinstance(action, Build):
        return _build(own, action.tile, action.space)
    if isinstance(action, Spend):
        paid, gained = amount_words(action.paid_kind, action.pay), amount_words(action.gained_kind, action.gain)
        return f"{{spend}} {paid} for {gained} at {_SQUARES['spend']}"
    if isinstance(action, Trade):
        bought = amounts_words(action.mix)
        return f"{{buy}} {bought} for {amount_words(KINDS.index('money'), action.count)} at the {_SQUARES['port']}"
    if isinstance(action, Lead):
        new = "new " if view.phase == _NEW_LEADERS else ""
        return f"{{place}} a {new}leader on space {action.space + 1}, the {_named(own.mat[action.space].tile)}"
    if isinstance(action, Keep):
        leaders = "the new leader" if view.in_hand == 1 else f"{view.in_hand} new leaders"
        return f"{{keep}} {leaders} beside the mat until the next round"
    return "{pass}, placing a marker without effect"


def _named(id: str) -> str:
    """A tile by its name and its id."""
    return f"{TILES[TILE_NUMBER[id]].name} ({id})"


def _use(view: View, own: SeatView, space: int) -> str:
    """5.29: pays, takes, helps, gains, trains, scores; 5.13: a leader adds one to each; 5.7: no more than there is."""
    id = own.mat[space].tile
    tile = TILES[TILE_NUMBER[id]]
    led = own.placed is not None and space + 1 in own.placed.spaces
    board, supply = counts_of(view.board), counts_of(view.supply)
    parts: list[str] = []
    for verb, source, amounts in (("take", board, tile.take), ("help", board, tile.help), ("gain", supply, tile.gain)):
        if amounts:
            parts.append(f"{{{verb}}} {_found(amounts, int(led), source)}")
    if tile.leader_cost is not None:
        trained = min(1 + int(led), view.leader_supply)
        parts.append(f"{{pay}} {amounts_words(tile.leader_cost)} to train {counted(trained, 'leader')}")
    if tile.score:
        parts.append(f"{{score}} {counted(tile.score + int(led), 'point')}")
    where = f"{{use}} the {_named(id)} on space {space + 1}"
    if led:
        where += ", where a leader stands"
    joint = ", " if len(parts) > 1 else ", and " if led else " and "
    return where + joint + listed(parts)


def _found(amounts: Amounts, bonus: int, source: Sequence[int]) -> str:
    """What can be taken of each kind: ``2 water instead of 3`` if there is too little."""
    parts: list[str] = []
    for kind, printed in amounts:
        wanted, there = printed + bonus, source[kind]
        if there >= wanted:
            parts.append(amount_words(kind, wanted))
        elif there:
            parts.append(f"{amount_words(kind, there)} instead of {wanted}")
        else:
            parts.append(f"no {NOUNS[kind][1]}")
    return listed(parts)


def _build(own: SeatView, number: int, space: int) -> str:
    """5.12: the cost of the tile directly covered is a discount."""
    tile = TILES[number]
    if space < len(own.mat):
        covered = own.mat[space].tile
        price = PRICES[number][TILE_NUMBER[covered]]
        where = f"over the {_named(covered)} on space {space + 1}"
    else:
        price = tile.cost
        where = f"on the open space {space + 1}"
    special = "special tile " if number >= FIRST_SPECIAL else ""
    cost = f"for {amounts_words(price)}" if any(price) else "without any cost"
    return f"{{build}} the {special}{_worth(tile)} {where} {cost}"


def _worth(tile: Tile) -> str:
    return f"{tile.name} ({tile.id}, {counted(tile.vp, 'point')})"


def tell(before: View, after: View, seat: Seat, action: Action) -> Sequence[str]:
    """Returns what else happened: tiles and cards, leaders that must wait, the rounds, the end."""
    events: list[str] = []
    if isinstance(action, Use | Lead):
        events += _waiting(before, after, seat, action)
    if isinstance(action, Build):
        events += _row_after_build(before, after)
    if after.round != before.round or (after.phase == _OVER and len(after.discarded) > len(before.discarded)):
        events += _row_after_round(before, after)
    if after.level_two and not before.level_two:
        # 5.9: in the middle of a round the sixth marker is placed in the same round
        events.append("Level 2 begins, and every player gets a sixth marker")
    if after.trigger != before.trigger:
        events.append(_last_tile(after))
    if after.round != before.round:
        events.append(f"Round {after.round} begins")
    is_revealed = before.phase == _LEADERS and after.phase != _LEADERS
    if is_revealed or (after.round != before.round and after.phase != _LEADERS):
        events += _revealed(before, after, is_revealed)
    if after.phase == _OVER:
        events += _end(after)
    return events


def _waiting(before: View, after: View, seat: Seat, action: Action) -> list[str]:
    """5.24: new leaders wait if no tile is left for them."""
    if before.phase == _LEADERS or after.phase == _NEW_LEADERS:
        return []
    if isinstance(action, Use):
        left = after.seats[seat].leaders - before.seats[seat].leaders
        why = "because every tile has a leader"
    else:
        left = before.in_hand - 1
        why = "because no higher space is without a leader"
    if left <= 0:
        return []
    if left > 1:
        subject = f"{left} new leaders wait"
    else:
        subject = "The new leader waits" if isinstance(action, Use) else "The other new leader waits"
    return [f"{subject} beside the mat of {{{seat}}}, {why}"]


def _entered(before: View, after: View) -> list[str]:
    """Names the tiles that have entered the row, from the right to the left: the latest last."""
    return [f"the {_worth(TILES[TILE_NUMBER[id]])}" for id in reversed(after.row) if id not in before.row]


def _row_after_build(before: View, after: View) -> list[str]:
    entered = _entered(before, after)
    if after.round != before.round and entered:
        entered = entered[:1]  # the other one enters at the end of the round
    if not before.tiles_left_level_one + before.tiles_left_level_two or not entered:
        return []
    return [_capital(f"{entered[0]} enters the row")]


def _row_after_round(before: View, after: View) -> list[str]:
    """5.21: the rightmost tile is discarded and another one enters."""
    gone = listed([f"the {_named(id)}" for id in after.discarded[len(before.discarded) :]])
    left = after.tiles_left_level_one + after.tiles_left_level_two
    newest = after.row[0] if after.row else ""
    if newest in before.row or not newest or left == before.tiles_left_level_one + before.tiles_left_level_two:
        return [f"Round {before.round} ends: {gone} leaves the row"]
    return [f"Round {before.round} ends: {gone} leaves the row, and the {_worth(TILES[TILE_NUMBER[newest]])} enters"]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _last_tile(after: View) -> str:
    """5.10, 5.30."""
    if after.trigger == "build":
        return "That was the last tile: the game ends with this round"
    if after.phase == _OVER:
        return "That was the last tile: the game ends at once"
    return "That was the last tile: one more round is played"


def _revealed(before: View, after: View, is_revealed: bool) -> list[str]:
    """5.21, 5.4: leaders, first player, card (from round 2 on)."""
    events = (
        ["All leaders are placed and revealed"]
        if is_revealed
        else ["Every tile has a leader, so no player has to place one"]
    )
    counts = [seat.influence for seat in after.seats]
    first = f"{{{after.first}}}"
    most = max(counts)
    if counts.count(most) == 1 and after.first != before.first:
        events.append(f"{first} has the most influence, {most}, and takes the first player token")
    elif counts.count(most) == 1:
        events.append(f"{first} has the most influence, {most}, and goes first again")
    elif after.round == 1:
        events.append(f"{first} goes first")
    else:
        events.append(f"{first} keeps the first player token and goes first, because the most influence is shared")
    for level, (old, new) in enumerate(zip(before.cards, after.cards, strict=True), 1):
        if new.reshuffles > old.reshuffles:
            events.append(f"The resupply cards of level {level} are shuffled again")
        if (new.used, new.reshuffles) != (old.used, old.reshuffles):
            events.append(_card(before, after, new.used[-1], is_revealed))
    return events


def _card(before: View, after: View, card: str, is_counted: bool) -> str:
    """5.7: what the supply lacks is lost. The board tells what came, unless the same action took something from it."""
    if not is_counted:
        brings = amounts_words(CARDS[CARD_NUMBER[card]].brings)
        return f"Resupply card {card} brings {brings}, as far as the supply has them"
    old, new = counts_of(before.board), counts_of(after.board)
    came, missing = [], []
    for kind, printed in enumerate(CARDS[CARD_NUMBER[card]].brings):
        count = new[kind] - old[kind]
        if count:
            came.append(amount_words(kind, count))
        if count < printed:
            missing.append(amount_words(kind, printed - count))
    lost = f"; the supply lacks {listed(missing)}" if missing else ""
    return f"Resupply card {card} brings {listed(came) or 'nothing'}{lost}"


def _end(after: View) -> list[str]:
    """5.11: the objectives are revealed; with the option of 5.30 each counts for its owner alone."""
    events = ["The last round is over"]
    for seat in after.seats:
        objective = OBJECTIVES[OBJECTIVE_NUMBER[seat.objective]]
        events.append(f"{{{seat.seat}}} reveals the objective {objective.name} ({objective.id})")
    return events


def points(view: View) -> Sequence[int]:
    """Returns the points on the victory point track. Buildings, objectives and bonuses are counted only at the end."""
    return [seat.track for seat in view.seats]
