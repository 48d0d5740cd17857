"""1906 San Francisco as messages, plainly: the reference that the bytes of ``sf1906_fast`` are held against."""

from typing import Final

from rubble.v1 import common_pb2, sf1906_pb2
from service.games.sf1906 import box
from service.games.sf1906.actions import (
    COLLECT,
    DECK,
    NONE,
    PASSING,
    Action,
    At,
    Benefit,
    Clear,
    Discard,
    Earn,
    Place,
    Reward,
    TakeObjective,
    TakePermit,
)
from service.games.sf1906.view import CardView, PlayerView, View

_EARNINGS: Final = "earnings $"  # how a view writes the one kind of space that has an amount


def _word(text: str) -> str:
    """A word of the game as enums spell it: cable-car, CABLE_CAR."""
    return text.upper().replace("-", "_")


def phase(word: str) -> sf1906_pb2.Sf1906Phase.ValueType:
    """What has to be decided."""
    return sf1906_pb2.Sf1906Phase.Value(f"SF1906_PHASE_{_word(word)}")


def action_kind(word: str) -> sf1906_pb2.Sf1906ActionKind.ValueType:
    """What a space of an action card offers."""
    return sf1906_pb2.Sf1906ActionKind.Value(f"SF1906_ACTION_KIND_{_word(word)}")


def icon(word: str) -> sf1906_pb2.Sf1906Icon.ValueType:
    """A type of urbanism card."""
    return sf1906_pb2.Sf1906Icon.Value(f"SF1906_ICON_{_word(word)}")


def benefit(word: str) -> sf1906_pb2.Sf1906Benefit.ValueType:
    """A benefit of a year."""
    return sf1906_pb2.Sf1906Benefit.Value(f"SF1906_BENEFIT_{_word(word)}")


# ----------------------------------------------------------------------------------------------------------------- views
def _card(card: CardView) -> sf1906_pb2.Sf1906ActionCard:
    spaces = []
    for space in card["spaces"]:
        if space.startswith(_EARNINGS):
            amount = int(space.removeprefix(_EARNINGS))
            spaces.append(sf1906_pb2.Sf1906ActionSpace(kind=action_kind("earnings"), amount=amount))
        else:
            spaces.append(sf1906_pb2.Sf1906ActionSpace(kind=action_kind(space)))
    return sf1906_pb2.Sf1906ActionCard(card=card["card"], spaces=spaces)


def _player(player: PlayerView) -> sf1906_pb2.Sf1906Player:
    column, row = player["development"]
    return sf1906_pb2.Sf1906Player(
        name=player["name"],
        money=player["money"],
        pool=player["pool"],
        stock=player["stock"],
        built=player["built"],
        permits=player["permits"],
        objectives=[
            sf1906_pb2.Sf1906HeldObjective(card=held["card"] or "", seen=held["seen"]) for held in player["objectives"]
        ],
        rubble=player["rubble"],
        urbanism=[player["urbanism"][icon] for icon in box.ICONS],
        parks="".join(player["parks"]),
        development_column=column,
        development_row=row,
        development_points=player["development_points"],
        pawn=player["pawn"],
    )


def view(plain: View) -> common_pb2.View:
    """What one eye knows."""
    solo = plain["solo"]
    message = sf1906_pb2.Sf1906View(
        edition=plain["game"],
        seats=plain["seats"],
        you=plain["you"],
        phase=phase(plain["phase"]),
        to_act=plain["to_act"],
        year=plain["year"],
        build_cost=plain["build_cost"],
        card=plain["card"],
        order=plain["order"],
        turn=plain["turn"],
        start=plain["start"],
        ring=[_card(card) for card in plain["ring"]],
        columns=plain["columns"],
        plot_cards=[sf1906_pb2.Sf1906PlotCard(card=plot["card"], side=plot["side"]) for plot in plain["plot_cards"]],
        spaces=[
            sf1906_pb2.Sf1906Space(space=space["space"], owner=space["owner"], rubble=space["rubble"])
            for space in plain["spaces"]
        ],
        common_objectives=plain["common"],
        permit_row=[card or "" for card in plain["permit_row"]],
        permit_deck=plain["permit_deck"],
        permit_discards=plain["permit_discards"],
        reshuffles=plain["reshuffles"],
        objective_row=[card or "" for card in plain["objective_row"]],
        objective_deck=plain["objective_deck"],
        urbanism=[plain["urbanism"][icon] for icon in box.ICONS],
        players=[_player(player) for player in plain["players"]],
        best_builder=plain["best_builder"],
        solo=None
        if solo is None
        else sf1906_pb2.Sf1906Solo(aid=solo["aid"], blocked=solo["blocked"], divisor=solo["divisor"]),
        by_benefit=plain["by_benefit"],
        grant=plain["grant"],
        discarded=plain["discarded"],
    )
    return common_pb2.View(sf1906=message)


# --------------------------------------------------------------------------------------------------------------- actions
def _take(slot: int) -> sf1906_pb2.Sf1906Take:
    return sf1906_pb2.Sf1906Take(deck=True) if slot == DECK else sf1906_pb2.Sf1906Take(slot=slot)


def _place(action: Place) -> sf1906_pb2.Sf1906Place:
    if action.target == COLLECT:
        return sf1906_pb2.Sf1906Place(space=action.space, cash=True)
    if action.target == PASSING:
        return sf1906_pb2.Sf1906Place(space=action.space, **{"pass": True})  # a word of Python
    return sf1906_pb2.Sf1906Place(space=action.space, action=action.target)


def _typed(action: Action) -> sf1906_pb2.Sf1906Action:
    match action:
        case Earn():
            return sf1906_pb2.Sf1906Action(earn=box.EARNING_SPACES[action.space])
        case Benefit():
            return sf1906_pb2.Sf1906Action(benefit=benefit(box.BENEFITS[action.kind]))
        case Place():
            return sf1906_pb2.Sf1906Action(place=_place(action))
        case TakePermit():
            return sf1906_pb2.Sf1906Action(permit=_take(action.slot))
        case TakeObjective():
            return sf1906_pb2.Sf1906Action(objective=_take(action.slot))
        case Clear():
            return sf1906_pb2.Sf1906Action(clear="" if action.space == NONE else box.SPACE_IDS[action.space])
        case Discard():
            permits = [permit for permit in (action.permit, action.other) if permit != NONE]
            discard = sf1906_pb2.Sf1906Discard(permits=[box.PERMIT_IDS[permit] for permit in permits])
            return sf1906_pb2.Sf1906Action(discard=discard)
        case At():
            return sf1906_pb2.Sf1906Action(at=box.SPACE_IDS[action.space])
        case Reward():
            taken = sf1906_pb2.SF1906_ICON_UNSPECIFIED if action.icon == NONE else icon(box.ICONS[action.icon])
            return sf1906_pb2.Sf1906Action(reward=taken)
    raise TypeError(f"{action!r} has no message; Sf1906Action needs a new choice")


def action(action: Action) -> common_pb2.Action:
    """An action, as text and typed."""
    return common_pb2.Action(text=action.text, sf1906=_typed(action))


def _taken(take: sf1906_pb2.Sf1906Take) -> str:
    return "deck" if take.WhichOneof("from") == "deck" else str(take.slot)


def _placed(place: sf1906_pb2.Sf1906Place) -> str:
    match place.WhichOneof("what"):
        case "cash" | "pass" as how:
            return f"place {place.space} {how}"
        case "action" if place.action == place.space:
            return f"place {place.space} act"
        case "action":
            return f"place {place.space} buy {place.action}"
    raise ValueError("a pawn was placed for nothing")


def _spelled(name: str, prefix: str) -> str:
    """A word of an enum as the game spells it: SF1906_ICON_CABLE_CAR, cable-car."""
    return name.removeprefix(prefix).lower().replace("_", "-")


def text_of(message: common_pb2.Action) -> str:
    """The notation of an action, from its typed form alone."""
    said = message.sf1906
    match said.WhichOneof("action"):
        case "earn":
            return f"earn {said.earn}"
        case "benefit":
            return f"benefit {_spelled(sf1906_pb2.Sf1906Benefit.Name(said.benefit), 'SF1906_BENEFIT_')}"
        case "place":
            return _placed(said.place)
        case "permit":
            return f"permit {_taken(said.permit)}"
        case "objective":
            return f"objective {_taken(said.objective)}"
        case "clear":
            return f"clear {said.clear or 'none'}"
        case "discard":
            return " ".join(["discard", *said.discard.permits])
        case "at":
            return f"at {said.at}"
        case "reward" if said.reward == sf1906_pb2.SF1906_ICON_UNSPECIFIED:
            return "reward none"
        case "reward":
            return f"reward {_spelled(sf1906_pb2.Sf1906Icon.Name(said.reward), 'SF1906_ICON_')}"
    raise ValueError(f"{message.text!r} carries no typed action of this game")
