"""Money, development steps, rows and decks: the small moves that players and the Committee share."""

from service.games.chance import Stream
from service.games.sf1906 import box
from service.games.sf1906.state import EMPTY, Player, State


def gain(state: State, player: Player, amount: int) -> None:
    """R9, R69: the tracker of the first edition ends at $15, and what is above is lost."""
    player.money = min(player.money + amount, state.edition.money_cap)


def step_up(state: State, player: Player) -> None:
    """One level of clear up; at the top edge the arrow points right, in the top-right space there is $1 instead (R26, R27)."""
    if player.row < box.TOP:
        player.row += 1
    elif player.column < box.TOP:
        player.column += 1
    else:
        gain(state, player, box.TOP_RIGHT_MONEY)


def step_right(state: State, player: Player) -> None:
    """One level of urban development; at the right edge the arrow points up (R26, R27, R70)."""
    if player.column < box.TOP:
        player.column += 1
    elif player.row < box.TOP:
        player.row += 1
    else:
        gain(state, player, box.TOP_RIGHT_MONEY)


def draw_permit(state: State) -> int:
    """The top of the permit deck. Only a draw from an empty deck reshuffles the discards (R13, R47, R64)."""
    if not state.permit_deck:
        state.reshuffles += 1
        state.permit_deck = state.permit_discards
        state.permit_discards = []
        Stream(state.deck_seed, f"permits/{state.reshuffles}").shuffle(state.permit_deck)
    return state.permit_deck.pop() if state.permit_deck else EMPTY


def refill_permits(state: State) -> None:
    """R10: fill the gaps from left to right; cards in place do not slide."""
    row = state.permit_row
    for slot in range(box.ROW):
        if row[slot] == EMPTY:
            row[slot] = draw_permit(state)


def refill_objectives(state: State) -> None:
    """R10, R64: the objective deck is never renewed."""
    row = state.objective_row
    for slot in range(box.ROW):
        if row[slot] == EMPTY and state.objective_deck:
            row[slot] = state.objective_deck.pop()


def take_permit(state: State, player: Player, slot: int) -> None:
    """A permit out of the row, or from the top of the deck for a slot below 0; it lies face up in the play area (R14)."""
    if slot < 0:
        player.permits.append(draw_permit(state))
    else:
        player.permits.append(state.permit_row[slot])
        state.permit_row[slot] = EMPTY


def take_objective(state: State, player: Player, slot: int) -> None:
    """An objective out of the row, which everybody has seen (R72), or from the top of the deck, which only its owner sees."""
    if slot < 0:
        player.objectives.append(state.objective_deck.pop())
        player.known.append(False)
    else:
        player.objectives.append(state.objective_row[slot])
        player.known.append(True)
        state.objective_row[slot] = EMPTY
