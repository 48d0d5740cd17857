"""A starter bot that plays every game of the arena by a simple heuristic. To write your own bot, change ``choose``.

    RUBBLE_ADDRESS=127.0.0.1:50051 RUBBLE_BOT_KEY=… python bot.py

A Turn carries the view of the table and the legal actions, both typed (see protos/rubble/v1). The answer is the index of
an action in ``turn.legal_actions``, or its text.
"""

import random

from rubble_bot import Turn, run

from rubble.v1 import relief_pb2 as relief
from rubble.v1 import sf1906_pb2 as sf1906


def choose(turn: Turn) -> int:
    """Returns the action that seems worth most; a random one among equals."""
    match turn.view:
        case sf1906.Sf1906View() as city:
            worth = [sf1906_worth(city, action.sf1906) for action in turn.legal_actions]
        case relief.ReliefView() as camp:
            worth = [relief_worth(camp.seats[turn.seat], action.relief) for action in turn.legal_actions]
        case _:  # a game without its own messages: read turn.texts, or play anything
            worth = [0.0] * len(turn.legal_actions)
    best = max(worth)
    turn.note = f"worth {best:g}"  # stored with the action in the replay
    return random.choice([index for index, value in enumerate(worth) if value == best])


# --------------------------------------------------------------------------------------------- 1906 San Francisco
#: What a space of an action card is worth to a player who is going to build.
SPACE = {
    sf1906.SF1906_ACTION_KIND_GRANT_BUILD: 10.0,
    sf1906.SF1906_ACTION_KIND_BUILD: 9.0,
    sf1906.SF1906_ACTION_KIND_PERMIT: 5.0,
    sf1906.SF1906_ACTION_KIND_MATERIALS: 5.0,
    sf1906.SF1906_ACTION_KIND_OBJECTIVE: 4.0,
    sf1906.SF1906_ACTION_KIND_URBAN_DEVELOPMENT: 4.0,
    sf1906.SF1906_ACTION_KIND_CLEAR_UP: 3.0,
}


def sf1906_worth(city: sf1906.Sf1906View, action: sf1906.Sf1906Action) -> float:
    """Returns what an action is worth, roughly in points."""
    match action.WhichOneof("action"):
        case "earn":
            return action.earn
        case "place":
            place = action.place
            if place.WhichOneof("what") != "action":
                return 1.0 if place.cash else 0.0
            space = city.ring[city.card].spaces[place.action]
            fee = 2 * abs(place.action - place.space)
            return SPACE.get(space.kind, 0.5 * space.amount) - fee
        case "benefit":
            return 3.0 if action.benefit == sf1906.SF1906_BENEFIT_BUILD else 1.0
        case "clear":
            return 1.0 if action.clear else 0.0
        case "reward":
            return 1.0 if action.reward else 0.0
        case "discard":
            return -len(action.discard.permits)
        case _:
            return 0.0  # a choice of card or space: add your own idea here


# --------------------------------------------------------------------------------------------------------- Relief
def relief_worth(me: relief.ReliefSeat, action: relief.ReliefAction) -> float:
    """Returns what an action is worth, roughly in points."""
    match action.WhichOneof("action"):
        case "build":
            return 10.0
        case "use":
            space = next(space for space in me.mat if space.space == action.use)
            return 5.0 - space.uses + (2.0 if action.use in me.placed.spaces else 0.0) + 0.1 * len(space.under)
        case "lead":
            return action.lead  # higher spaces hold built tiles, which give more than printed ones
        case "spend_stories":
            return 1.0 + 0.1 * action.spend_stories
        case "spend_money":
            return 2.0 + 0.1 * action.spend_money
        case "trade":
            return 3.0 + action.trade.supply + action.trade.worker
        case "keep":
            return -1.0
        case _:
            return 0.0


if __name__ == "__main__":
    run(choose)
