"""What a viewer knows: built up from nothing, drawn for a person, and turned back into consistent states."""

from service.games.chance import Draws
from service.games.core import Picture, Plain, Seat, Viewer
from tests.example_game import rules
from tests.example_game.box import CREW_NUMBER, CREWS, FIND_NUMBER, FINDS
from tests.example_game.state import NOBODY, OVER, State


def view(state: State, viewer: Viewer) -> Plain:
    """Returns all that this viewer knows, and nothing else. At the end everything is shown."""
    return {
        "viewer": viewer,
        "rounds": state.rounds,
        "round": state.round,
        "phase": state.phase,
        "to_act": rules.to_act(state),
        "to_hire": state.to_hire,
        "turn": state.turn,
        "finds": [FINDS[find].id for find in state.finds],
        "open": CREWS[state.open].id,
        "deck": len(state.deck),
        "seats": [_place(state, seat, seat == viewer or state.phase == OVER) for seat in range(state.seats)],
    }


def _place(state: State, seat: Seat, is_known: bool) -> Plain:
    sent = state.sent[seat]
    return {
        "crews": len(state.hands[seat]),
        "discards": _ids(state.discards[seat]),
        "seen": _ids(state.seen[seat]),
        "hand": _ids(state.hands[seat]) if is_known else None,
        "has_sent": sent != NOBODY,
        "sent": CREWS[sent].id if is_known and sent != NOBODY else None,
        "won": [FINDS[find].id for find in state.won[seat]],
    }


def _ids(crews: list[int]) -> list[str]:
    return [CREWS[crew].id for crew in crews]


def believe(view: Plain, draws: Draws) -> State:
    """Returns a whole state that is consistent with this view: hidden parts are dealt from the stream."""
    places = view["seats"]
    known = [[CREW_NUMBER[crew] for crew in place["hand"] or place["seen"]] for place in places]
    discards = [[CREW_NUMBER[crew] for crew in place["discards"]] for place in places]
    out = {CREW_NUMBER[view["open"]], *(crew for cards in discards + known for crew in cards)}
    deck = [crew for crew in range(len(CREWS)) if crew not in out]
    draws.shuffle(deck)
    hands, sent = [], []
    for place, cards in zip(places, known, strict=True):
        hand = sorted(cards + [deck.pop() for _ in range(place["crews"] - len(cards))])
        hands.append(hand)
        if not place["has_sent"]:
            sent.append(NOBODY)
        else:
            sent.append(CREW_NUMBER[place["sent"]] if place["sent"] else hand[draws.below(len(hand))])
    return State(
        rounds=view["rounds"],
        finds=[FIND_NUMBER[find] for find in view["finds"]],
        round=view["round"],
        phase=view["phase"],
        turn=view["turn"],
        to_hire=view["to_hire"],
        open=CREW_NUMBER[view["open"]],
        deck=deck,
        discards=discards,
        hands=hands,
        seen=[[CREW_NUMBER[crew] for crew in place["seen"]] for place in places],
        sent=sent,
        won=[[FIND_NUMBER[find] for find in place["won"]] for place in places],
        seed=draws.seed(),
    )


def sample(view: Plain, seat: Seat, draws: Draws) -> State:
    """Returns a state that is consistent with this view, made from the view alone."""
    return believe(view, draws)


def redeal(state: State, viewer: Viewer, draws: Draws) -> State:
    """Returns the same table with everything this viewer cannot know re-dealt."""
    return believe(view(state, viewer), draws)


def picture(view: Plain) -> Picture:
    """Draws the table for a person."""
    lines: Picture = [
        [(f"round {min(view['round'] + 1, view['rounds'])} of {view['rounds']}, {view['phase']}", "bold")]
    ]
    lines.append([("finds ", "dim"), (" ".join(view["finds"]), "yellow")])
    lines.append([("open ", "dim"), (view["open"], "cyan"), (f"  deck {view['deck']}", "dim")])
    for seat, place in enumerate(view["seats"]):
        hand = place["hand"] or place["seen"] + ["?"] * (place["crews"] - len(place["seen"]))
        lines.append(
            [
                (f"seat {seat}{'*' if seat in view['to_act'] else ' '} ", "bold"),
                (" ".join(hand), "cyan"),
                (f"  sent {place['sent'] or '?'}" if place["has_sent"] else "", "dim"),
                ("  won " + (" ".join(place["won"]) or "-"), "yellow"),
            ]
        )
    return lines
