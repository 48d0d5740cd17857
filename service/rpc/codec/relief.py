"""Relief as messages, plainly: the reference that the bytes of ``relief_fast`` are held against."""

from rubble.v1 import common_pb2, relief_pb2
from service.games.relief.actions import Action, Build, Keep, Lead, Pass, Spend, Trade, Use
from service.games.relief.box import KINDS, LETTERS, MONEY, STORY, TILES
from service.games.relief.view import CardsView, SeatView, View


def phase(word: str) -> relief_pb2.ReliefPhase.ValueType:
    """What has to be decided."""
    return relief_pb2.ReliefPhase.Value(f"RELIEF_PHASE_{word.upper().replace(' ', '_')}")


def trigger(word: str) -> relief_pb2.ReliefTrigger.ValueType:
    """Whether the last tile has come, and when."""
    return relief_pb2.ReliefTrigger.Value(f"RELIEF_TRIGGER_{'UNSPECIFIED' if word == 'none' else word.upper()}")


# ----------------------------------------------------------------------------------------------------------------- views
def _tokens(tokens: dict[str, int]) -> relief_pb2.ReliefTokens:
    return relief_pb2.ReliefTokens(**tokens)  # the fields are called as the kinds are


def _cards(cards: CardsView) -> relief_pb2.ReliefCards:
    return relief_pb2.ReliefCards(
        level=cards["level"],
        left=cards["left"],
        used=cards["used"],
        reshuffles=cards["reshuffles"],
        pile=cards["pile"],
    )


def _seat(seat: SeatView) -> relief_pb2.ReliefSeat:
    placed = seat["placed"]
    return relief_pb2.ReliefSeat(
        seat=seat["seat"],
        goods=_tokens(seat["goods"]),
        track=seat["track"],
        markers=seat["markers"],
        leaders=seat["leaders"],
        placed=None if placed is None else relief_pb2.ReliefLeaders(spaces=placed),
        settled=seat["settled"],
        mat=[
            relief_pb2.ReliefSpace(space=space["space"], tile=space["tile"], under=space["under"], uses=space["uses"])
            for space in seat["mat"]
        ],
        build_uses=seat["squares"]["build"],
        spend_uses=seat["squares"]["spend"],
        trade_uses=seat["squares"]["trade"],
        influence=seat["influence"],
        hope=seat["hope"],
        special_built=seat["special_built"],
        special=seat["special"] or "",
        objective=seat["objective"] or "",
    )


def view(plain: View) -> common_pb2.View:
    """What one eye knows."""
    level_one, level_two = plain["tiles_left"]
    message = relief_pb2.ReliefView(
        players=plain["players"],
        you=plain["you"],
        end_on_discard=plain["options"]["end_on_discard"],
        objectives=plain["options"]["objectives"],
        round=plain["round"],
        phase=phase(plain["phase"]),
        to_act=plain["to_act"],
        turn=plain["turn"],
        first=plain["first"],
        level_two=plain["level_two"],
        trigger=trigger(plain["trigger"]),
        in_hand=plain["in_hand"],
        above=plain["above"],
        board=_tokens(plain["board"]),
        supply=_tokens(plain["supply"]),
        leader_supply=plain["leader_supply"],
        objective=plain["objective"],
        row=plain["row"],
        discarded=plain["discarded"],
        tiles_left_level_one=level_one,
        tiles_left_level_two=level_two,
        cards=[_cards(cards) for cards in plain["cards"]],
        seats=[_seat(seat) for seat in plain["seats"]],
    )
    return common_pb2.View(relief=message)


# --------------------------------------------------------------------------------------------------------------- actions
def _typed(action: Action) -> relief_pb2.ReliefAction:
    match action:
        case Pass():
            return relief_pb2.ReliefAction(**{"pass": True})  # type: ignore[arg-type]  # a word of Python
        case Use():
            return relief_pb2.ReliefAction(use=action.space + 1)
        case Build():
            build = relief_pb2.ReliefBuild(tile=TILES[action.tile].id, space=action.space + 1)
            return relief_pb2.ReliefAction(build=build)
        case Spend(paid_kind=kind) if kind == STORY:
            return relief_pb2.ReliefAction(spend_stories=action.pay)
        case Spend(paid_kind=kind) if kind == MONEY:
            return relief_pb2.ReliefAction(spend_money=action.pay)
        case Trade():
            return relief_pb2.ReliefAction(trade=_tokens(dict(zip(KINDS, action.mix, strict=False))))
        case Lead():
            return relief_pb2.ReliefAction(lead=action.space + 1)
        case Keep():
            return relief_pb2.ReliefAction(keep=True)
    raise TypeError(f"{action!r} has no message; ReliefAction needs a new choice")


def action(action: Action) -> common_pb2.Action:
    """An action, as text and typed."""
    return common_pb2.Action(text=action.text, relief=_typed(action))


def text_of(message: common_pb2.Action) -> str:
    """The notation of an action, from its typed form alone."""
    said = message.relief
    match said.WhichOneof("action"):
        case "pass" | "keep" as word:
            return word
        case "use":
            return f"use @{said.use}"
        case "build":
            return f"build {said.build.tile} @{said.build.space}"
        case "spend_stories":
            return f"spend {LETTERS[STORY]}{said.spend_stories}"
        case "spend_money":
            return f"spend {LETTERS[MONEY]}{said.spend_money}"
        case "trade":
            counts = [(letter, getattr(said.trade, kind)) for letter, kind in zip(LETTERS, KINDS, strict=True)]
            return " ".join(["trade", *(f"{letter}{count}" for letter, count in counts if count)])
        case "lead":
            return f"lead @{said.lead}"
    raise ValueError(f"{message.text!r} carries no typed action of this game")
