"""Money, development steps, rows and decks: the small moves that players and the Committee share."""

from service.games.chance import Draws
from service.games.sf1906 import box
from service.games.sf1906.state import EMPTY, Player, State


def gain(state: State, player: Player, amount: int) -> None:
    """R9, R69: adds money; the tracker of the first edition ends at $15, and the excess is lost."""
    player.money = min(player.money + amount, state.edition.money_cap)


def step_up(state: State, player: Player) -> None:
    """Moves one level of clear up; at the top edge the arrow points right, in the top-right space it pays $1 (R26, R27)."""
    if player.row < box.TOP:
        player.row += 1
    elif player.column < box.TOP:
        player.column += 1
    else:
        gain(state, player, box.TOP_RIGHT_MONEY)


def step_right(state: State, player: Player) -> None:
    """Moves one level of urban development; at the right edge the arrow points up (R26, R27, R70)."""
    if player.column < box.TOP:
        player.column += 1
    elif player.row < box.TOP:
        player.row += 1
    else:
        gain(state, player, box.TOP_RIGHT_MONEY)


def draw_permit(state: State) -> int:
    """Draws the top of the permit deck. Only a draw from an empty deck reshuffles the discards (R13, R47, R64)."""
    if not state.permit_deck:
        state.reshuffles += 1
        state.permit_deck = state.permit_discards
        state.permit_discards = []
        Draws(state.deck_seed, f"permits/{state.reshuffles}").shuffle(state.permit_deck)
    return state.permit_deck.pop() if state.permit_deck else EMPTY


def refill_permits(state: State) -> None:
    """R10: fills the gaps from left to right; the other cards do not move."""
    row = state.permit_row
    for slot in range(box.ROW):
        if row[slot] == EMPTY:
            row[slot] = draw_permit(state)


def refill_objectives(state: State) -> None:
    """R10, R64: fills the gaps; the objective deck is never reshuffled."""
    row = state.objective_row
    for slot in range(box.ROW):
        if row[slot] == EMPTY and state.objective_deck:
            row[slot] = state.objective_deck.pop()


def take_permit(state: State, player: Player, slot: int) -> None:
    """Takes a permit from the row, or from the top of the deck for a slot below 0, face up into the play area (R14)."""
    if slot < 0:
        player.permits.append(draw_permit(state))
    else:
        player.permits.append(state.permit_row[slot])
        state.permit_row[slot] = EMPTY


def take_objective(state: State, player: Player, slot: int) -> None:
    """Takes an objective from the row, which all have seen (R72), or from the deck, which only its owner sees."""
    if slot < 0:
        player.objectives.append(state.objective_deck.pop())
        player.known.append(False)
    else:
        player.objectives.append(state.objective_row[slot])
        player.known.append(True)
        state.objective_row[slot] = EMPTY
