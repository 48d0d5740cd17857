"""From a typed view back to the plain one a game gave, value for value: what ``game.sample`` and ``game.picture`` read."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from google.protobuf.struct_pb2 import Struct, Value

from rubble.v1 import common_pb2, relief_pb2, sf1906_pb2
from service.games.core import Plain
from service.games.relief import view as relief_view
from service.games.relief.box import BOARD_KINDS, KINDS
from service.games.sf1906 import view as sf1906_view
from service.games.sf1906.box import ICONS

TypedView = sf1906_pb2.Sf1906View | relief_pb2.ReliefView | Struct


def plain_view(view: TypedView) -> Plain:
    """The plain view that travelled as this message."""
    match view:
        case sf1906_pb2.Sf1906View():
            return _sf1906(view)
        case relief_pb2.ReliefView():
            return _relief(view)
        case _:
            return _fields(view)


def plain(view: common_pb2.View) -> Plain:
    """The same, for the envelope."""
    match view.WhichOneof("game"):
        case "sf1906":
            return _sf1906(view.sf1906)
        case "relief":
            return _relief(view.relief)
        case _:
            return _fields(view.other)


def _words(values: Iterable[tuple[str, int]], prefix: str, gap: str) -> dict[int, str]:
    """The words of a game by the numbers of an enum: SF1906_ICON_CABLE_CAR, cable-car."""
    return {number: name.removeprefix(prefix).lower().replace("_", gap) for name, number in values}


# ---------------------------------------------------------------------------------------------------------------- sf1906
_PHASES: Final = _words(sf1906_pb2.Sf1906Phase.items(), "SF1906_PHASE_", "-")
_KINDS: Final = _words(sf1906_pb2.Sf1906ActionKind.items(), "SF1906_ACTION_KIND_", "-")


def _action_space(space: sf1906_pb2.Sf1906ActionSpace) -> str:
    if space.kind == sf1906_pb2.SF1906_ACTION_KIND_EARNINGS:
        return f"earnings ${space.amount}"
    return _KINDS[space.kind]


def _player(player: sf1906_pb2.Sf1906Player) -> sf1906_view.PlayerView:
    return {
        "name": player.name,
        "money": player.money,
        "pool": player.pool,
        "stock": player.stock,
        "built": player.built,
        "permits": list(player.permits),
        "objectives": [{"card": held.card or None, "seen": held.seen} for held in player.objectives],
        "rubble": player.rubble,
        "urbanism": dict(zip(ICONS, player.urbanism, strict=True)),
        "parks": list(player.parks),
        "development": [player.development_column, player.development_row],
        "development_points": player.development_points,
        "pawn": player.pawn if player.HasField("pawn") else None,
    }


def _solo(view: sf1906_pb2.Sf1906View) -> sf1906_view.SoloView | None:
    if not view.HasField("solo"):
        return None
    return {"aid": view.solo.aid, "blocked": view.solo.blocked, "divisor": view.solo.divisor}


def _sf1906(view: sf1906_pb2.Sf1906View) -> sf1906_view.View:
    return {
        "game": view.edition,
        "seats": view.seats,
        "you": view.you if view.HasField("you") else None,
        "phase": _PHASES[view.phase],
        "to_act": view.to_act if view.HasField("to_act") else None,
        "year": view.year,
        "build_cost": view.build_cost,
        "card": view.card if view.HasField("card") else None,
        "order": list(view.order),
        "turn": view.turn,
        "start": view.start,
        "ring": [{"card": card.card, "spaces": [_action_space(space) for space in card.spaces]} for card in view.ring],
        "columns": view.columns,
        "plot_cards": [{"card": plot.card, "side": plot.side} for plot in view.plot_cards],
        "spaces": [
            {
                "space": space.space,
                "owner": space.owner if space.HasField("owner") else None,
                "rubble": space.rubble,
            }
            for space in view.spaces
        ],
        "common": list(view.common_objectives),
        "permit_row": [card or None for card in view.permit_row],
        "permit_deck": view.permit_deck,
        "permit_discards": list(view.permit_discards),
        "reshuffles": view.reshuffles,
        "objective_row": [card or None for card in view.objective_row],
        "objective_deck": view.objective_deck,
        "urbanism": dict(zip(ICONS, view.urbanism, strict=True)),
        "players": [_player(player) for player in view.players],
        "best_builder": view.best_builder if view.HasField("best_builder") else None,
        "solo": _solo(view),
        "by_benefit": view.by_benefit,
        "grant": view.grant,
        "discarded": list(view.discarded),
    }


# ---------------------------------------------------------------------------------------------------------------- relief
_RELIEF_PHASES: Final = _words(relief_pb2.ReliefPhase.items(), "RELIEF_PHASE_", " ")
_TRIGGERS: Final = {
    **_words(relief_pb2.ReliefTrigger.items(), "RELIEF_TRIGGER_", " "),
    relief_pb2.RELIEF_TRIGGER_UNSPECIFIED: "none",
}
_OVER: Final = relief_pb2.RELIEF_PHASE_OVER


def _tokens(tokens: relief_pb2.ReliefTokens, kinds: Sequence[str] = KINDS) -> dict[str, int]:
    return {kind: getattr(tokens, kind) for kind in kinds}  # the fields are called as the kinds are


def _cards(cards: relief_pb2.ReliefCards, is_over: bool) -> relief_view.CardsView:
    return {
        "level": cards.level,
        "left": cards.left,
        "used": list(cards.used),
        "reshuffles": cards.reshuffles,
        "pile": list(cards.pile) if is_over else None,
    }


def _seat(seat: relief_pb2.ReliefSeat) -> relief_view.SeatView:
    return {
        "seat": seat.seat,
        "goods": _tokens(seat.goods),
        "track": seat.track,
        "markers": seat.markers,
        "leaders": seat.leaders,
        "placed": list(seat.placed.spaces) if seat.HasField("placed") else None,
        "settled": seat.settled,
        "mat": [
            {"space": space.space, "tile": space.tile, "under": list(space.under), "uses": space.uses}
            for space in seat.mat
        ],
        "squares": {"build": seat.build_uses, "spend": seat.spend_uses, "trade": seat.trade_uses},
        "influence": seat.influence,
        "hope": seat.hope,
        "special_built": seat.special_built,
        "special": seat.special or None,
        "objective": seat.objective or None,
    }


def _relief(view: relief_pb2.ReliefView) -> relief_view.View:
    is_over = view.phase == _OVER
    return {
        "game": "relief",
        "players": view.players,
        "you": view.you if view.HasField("you") else None,
        "options": {"end_on_discard": view.end_on_discard, "objectives": view.objectives},
        "round": view.round,
        "phase": _RELIEF_PHASES[view.phase],
        "to_act": list(view.to_act),
        "turn": view.turn,
        "first": view.first,
        "level_two": view.level_two,
        "trigger": _TRIGGERS[view.trigger],
        "in_hand": view.in_hand,
        "above": view.above,
        "board": _tokens(view.board, BOARD_KINDS),
        "supply": _tokens(view.supply),
        "leader_supply": view.leader_supply,
        "objective": view.objective,
        "row": list(view.row),
        "discarded": list(view.discarded),
        "tiles_left": [view.tiles_left_level_one, view.tiles_left_level_two],
        "cards": [_cards(cards, is_over) for cards in view.cards],
        "seats": [_seat(seat) for seat in view.seats],
    }


# ------------------------------------------------------------------------------------------------------------- any other
def _fields(struct: Struct) -> dict[str, Plain]:
    fields: Mapping[str, Value] = struct.fields
    return {name: _value(value) for name, value in fields.items()}


def _value(value: Value) -> Plain:
    """One value of a Struct. Its numbers are doubles; those of a view were whole."""
    match value.WhichOneof("kind"):
        case "number_value":
            return int(value.number_value)
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
        case "list_value":
            return [_value(item) for item in value.list_value.values]
        case "struct_value":
            return _fields(value.struct_value)
        case _:
            return None
