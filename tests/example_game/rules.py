"""The rules of Salvage, in the order of its rulebook.

1. *Set-up.* The finds are laid out in a row, one a round, and one crew beside them, open. Every seat is dealt two crews, hidden.
2. *Sending.* All seats secretly choose one crew of their hand, then all are shown and discarded. The strongest wins
   the find of the round; a tie is broken at random.
3. *Hiring.* Beginning with seat 0 in the first round, seat 1 in the second and so on, every seat hires one crew: it takes the open
   one, which is then replaced from the deck, or draws the top one of the deck unseen. After the last round no seat hires.
4. *End.* Finds count their worth; the seat with the strongest crew left adds 1 (scoring.py).
"""

from collections.abc import Sequence
from typing import Final

from service.games.chance import Draws, Seeds
from service.games.core import Options, Refused, Seat
from tests.example_game.actions import Action, Draw, Send, Take
from tests.example_game.box import CREWS, FINDS
from tests.example_game.state import HIRING, NOBODY, OVER, SENDING, State

HAND: Final = 2


def setup(seats: int, options: Options, seeds: Seeds) -> State:
    """1: what lies open comes from the table seed, what is hidden or comes later from the deck seed."""
    rounds = int(options["rounds"])
    table = Draws(seeds.table, "table")
    finds = list(range(len(FINDS)))
    table.shuffle(finds)
    open_ = table.below(len(CREWS))
    deck = [crew for crew in range(len(CREWS)) if crew != open_]
    Draws(seeds.deck, "deck").shuffle(deck)
    hands = [sorted(deck.pop() for _ in range(HAND)) for _ in range(seats)]
    empty: list[list[int]] = [[] for _ in range(seats)]
    won: list[list[int]] = [[] for _ in range(seats)]
    discards: list[list[int]] = [[] for _ in range(seats)]
    later = Draws(seeds.deck, "later").seed()
    return State(
        *(rounds, finds[:rounds], 0, SENDING, 0, 0, open_, deck, discards, hands, empty, [NOBODY] * seats, won, later)
    )


def to_act(state: State) -> list[Seat]:
    """2: all who have not sent yet; 3: one after the other."""
    if state.phase == SENDING:
        return [seat for seat in range(state.seats) if state.sent[seat] == NOBODY]
    return [state.turn] if state.phase == HIRING else []


def is_secret(state: State) -> bool:
    """2: what is sent stays face down until all have sent."""
    return state.phase == SENDING


def legal_actions(state: State, seat: Seat) -> Sequence[Action]:
    """Returns every action that apply accepts from that seat."""
    if seat not in to_act(state):
        return []
    if state.phase == SENDING:
        return [Send(crew) for crew in state.hands[seat]]
    return [Take(), Draw()]


def apply(state: State, seat: Seat, action: Action) -> None:
    """Carries out the action, or raises Refused and leaves the state unchanged."""
    if state.phase == OVER:
        raise Refused("GAME_OVER", rule="4", message="the game is over")
    if seat not in to_act(state):
        raise Refused("NOT_YOUR_TURN", rule="3" if state.phase == HIRING else "2", message="it is not your turn")
    match action:
        case Send(crew):
            _send(state, seat, crew)
        case Take() | Draw():
            _hire(state, seat, action)


def _send(state: State, seat: Seat, crew: int) -> None:
    if state.phase != SENDING:
        raise Refused("NOT_SENDING", rule="2", message="crews are sent before hiring begins")
    if crew not in state.hands[seat]:
        raise Refused("CREW_NOT_IN_HAND", rule="2", message=f"you do not hold {CREWS[crew].id}")
    state.sent[seat] = crew
    if NOBODY not in state.sent:
        _show(state)


def _show(state: State) -> None:
    """2: all crews are shown and discarded; the strongest wins the find, a tie is broken at random."""
    strengths = [CREWS[crew].strength for crew in state.sent]
    best = [seat for seat in range(state.seats) if strengths[seat] == max(strengths)]
    winner = best[Draws(state.seed, f"lot {state.round}").below(len(best))] if len(best) > 1 else best[0]
    state.won[winner].append(state.finds[state.round])
    for seat, crew in enumerate(state.sent):
        state.hands[seat].remove(crew)
        state.discards[seat] = sorted([*state.discards[seat], crew])
        if crew in state.seen[seat]:
            state.seen[seat].remove(crew)
    state.sent = [NOBODY] * state.seats
    state.turn, state.to_hire = state.round % state.seats, state.seats
    state.round += 1
    state.phase = OVER if state.round == state.rounds else HIRING


def _hire(state: State, seat: Seat, action: Take | Draw) -> None:
    """3: the open crew or the top one of the deck."""
    if state.phase != HIRING:
        raise Refused("NOT_HIRING", rule="3", message="crews are hired after all have sent one")
    if isinstance(action, Take):
        state.hands[seat] = sorted([*state.hands[seat], state.open])
        state.seen[seat] = sorted([*state.seen[seat], state.open])
        state.open = state.deck.pop()
    else:
        state.hands[seat] = sorted([*state.hands[seat], state.deck.pop()])
    state.turn = (state.turn + 1) % state.seats
    state.to_hire -= 1
    if state.to_hire == 0:
        state.phase = SENDING
