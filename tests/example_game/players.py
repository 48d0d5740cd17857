"""The bundled players. They use only their own hand and the open table."""

from service.games.chance import Draws
from service.games.core import Seat, random_player
from tests.example_game.actions import Action, Draw, Send, Take
from tests.example_game.box import CREWS, FINDS
from tests.example_game.rules import legal_actions
from tests.example_game.state import SENDING, State

random = random_player(legal_actions)


def greedy(state: State, seat: Seat, draws: Draws) -> Action:
    """Sends the strongest crew for a valuable find, the weakest for a cheap one; hires what is better than an average draw."""
    if state.phase == SENDING:
        dear = FINDS[state.finds[state.round]].worth >= 3
        hand = sorted(state.hands[seat], key=lambda crew: (CREWS[crew].strength, crew))
        return Send(hand[-1] if dear else hand[0])
    return Take() if CREWS[state.open].strength >= 6 else Draw()
