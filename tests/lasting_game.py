"""Cellar: every seat puts one card away face down, and no rule ever shows it. The example game has no secret that lasts.

1. Cards 1 to 12; every seat is dealt three, hidden. The others are not used.
2. Every seat buries one card of its hand in its cellar: all at once and in secret, or one after the other.
3. Then the seats lay their other cards in turn, openly. The game ends when all are laid; they count their numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from service.games.chance import Draws, Seeds
from service.games.core import (
    Game,
    Line,
    Option,
    Options,
    Outcome,
    Picture,
    Plain,
    Refused,
    Result,
    Seat,
    Unreadable,
    Viewer,
    random_player,
    rank,
)
from tests.example_game import GAME as SALVAGE

CARDS: Final = 12
HAND: Final = 3
NOTHING: Final = 0


@dataclass(slots=True)
class State:
    """By seat: its hand, the card in its cellar, and what it has laid. Hands are sorted."""

    hands: list[list[int]]
    buried: list[int]
    laid: list[list[int]]
    together: bool
    turn: Seat


@dataclass(frozen=True)
class Move:
    """``bury`` or ``lay`` a card."""

    verb: str
    card: int


MOVES: Final = {f"{verb} {card}": Move(verb, card) for verb in ("bury", "lay") for card in range(1, CARDS + 1)}


def _setup(seats: int, options: Options, seeds: Seeds) -> State:
    deck = list(range(1, CARDS + 1))
    Draws(seeds.deck, "deck").shuffle(deck)
    hands = [sorted(deck.pop() for _ in range(HAND)) for _ in range(seats)]
    return State(hands, [NOTHING] * seats, [[] for _ in hands], options["burying"] == "together", 0)


def _to_act(state: State) -> list[Seat]:
    if state.together and NOTHING in state.buried:
        return [seat for seat, card in enumerate(state.buried) if card == NOTHING]
    return [state.turn] if any(state.hands) else []


def _is_secret(state: State) -> bool:
    """2: seats that bury at the same time do not see the cards of the others."""
    return state.together and NOTHING in state.buried


def _stays_secret(state: State, seat: Seat, move: Move) -> bool:
    """2: no seat ever sees the card in another's cellar."""
    return move.verb == "bury"


def _legal_actions(state: State, seat: Seat) -> Sequence[Move]:
    if seat not in _to_act(state):
        return []
    verb = "bury" if state.buried[seat] == NOTHING else "lay"
    return [Move(verb, card) for card in state.hands[seat]]


def _apply(state: State, seat: Seat, move: Move) -> None:
    if move not in _legal_actions(state, seat):
        raise Refused("NOT_POSSIBLE", rule="2", message=f"{_text(move)} is not possible for seat {seat} now")
    state.hands[seat].remove(move.card)
    if move.verb == "bury":
        state.buried[seat] = move.card
    else:
        state.laid[seat].append(move.card)
    if not (state.together and move.verb == "bury"):
        state.turn = (seat + 1) % len(state.hands)


def _outcome(state: State) -> Outcome | None:
    if any(state.hands):
        return None
    scores = [sum(laid) for laid in state.laid]
    ranks = rank([(score,) for score in scores])
    results = [Result(f"seat {s}", ranks[s], scores[s], (Line("cards laid", scores[s]),)) for s in range(len(scores))]
    return Outcome(tuple(results), "ALL_LAID")


def _text(move: Move) -> str:
    return f"{move.verb} {move.card}"


def _read(line: str) -> Move:
    try:
        return MOVES[" ".join(line.split())]
    except KeyError:
        raise Unreadable(line, "bury 7 or lay 7") from None


def _to_plain(state: State) -> Plain:
    hands, laid = [list(hand) for hand in state.hands], [list(cards) for cards in state.laid]
    return [hands, list(state.buried), laid, int(state.together), state.turn]


def _from_plain(plain: Plain) -> State:
    hands, buried, laid, together, turn = plain
    return State([list(hand) for hand in hands], list(buried), [list(cards) for cards in laid], bool(together), turn)


def _copy(state: State) -> State:
    return _from_plain(_to_plain(state))


def _view(state: State, viewer: Viewer) -> Plain:
    return {
        "viewer": viewer,
        "together": state.together,
        "turn": state.turn,
        "to_act": _to_act(state),
        "seats": [
            {
                "cards": len(state.hands[seat]),
                "hand": list(state.hands[seat]) if seat == viewer else None,
                "has_buried": state.buried[seat] != NOTHING,
                "buried": state.buried[seat] if seat == viewer else None,
                "laid": list(state.laid[seat]),
            }
            for seat in range(len(state.hands))
        ],
    }


def _believe(seen: Plain, chance: Draws) -> State:
    places = seen["seats"]
    known = {card for place in places for card in [*(place["hand"] or ()), place["buried"], *place["laid"]]}
    deck = [card for card in range(1, CARDS + 1) if card not in known]
    chance.shuffle(deck)
    hands, buried = [], []
    for place in places:
        is_known = place["hand"] is not None
        hands.append(list(place["hand"]) if is_known else sorted(deck.pop() for _ in range(place["cards"])))
        buried.append(place["buried"] if is_known else deck.pop() if place["has_buried"] else NOTHING)
    return State(hands, buried, [list(place["laid"]) for place in places], seen["together"], seen["turn"])


def _sample(seen: Plain, seat: Seat, chance: Draws) -> State:
    return _believe(seen, chance)


def _redeal(state: State, viewer: Viewer, chance: Draws) -> State:
    return _believe(_view(state, viewer), chance)


def _picture(seen: Plain) -> Picture:
    return [[(f"seat {seat}: {place['laid']}", "bold")] for seat, place in enumerate(seen["seats"])]


def _greedy(state: State, seat: Seat, chance: Draws) -> Move:
    return _legal_actions(state, seat)[0]


CELLAR: Final = Game[State, Move](
    id="cellar",
    title="Cellar",
    version=1,
    seats=range(2, 4),
    options=(Option("burying", "together", "whether all bury at the same time", choices=("together", "in turn")),),
    setup=_setup,
    to_act=_to_act,
    legal_actions=_legal_actions,
    apply=_apply,
    outcome=_outcome,
    view=_view,
    text=_text,
    read=_read,
    sample=_sample,
    redeal=_redeal,
    automaton=_greedy,
    copy=_copy,
    to_plain=_to_plain,
    from_plain=_from_plain,
    is_secret=_is_secret,
    stays_secret=_stays_secret,
    picture=_picture,
    components=SALVAGE.components,
    notation=(("bury 7", "put that card of your hand away, for ever"), ("lay 7", "lay that card of your hand")),
    players={"random": random_player(_legal_actions), "greedy": _greedy},
)
