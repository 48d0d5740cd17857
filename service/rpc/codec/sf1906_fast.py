"""1906 San Francisco as bytes, straight from the state: the same messages as ``sf1906`` makes, for a fraction of the price.

What has few values (a space, a card in a row, an amount of money) is encoded once. What has many but seldom changes (the
whole map, what was laid out before the first move) is looked up by its values. A play area changes with every decision and is
joined anew, from parts that are all at hand. A gap, nobody and the deck are -1 in the rules; their bytes stand last in the
tables here, where -1 finds them.
"""

from typing import Final

from rubble.v1 import common_pb2, sf1906_pb2
from service.games.core import Eye
from service.games.sf1906 import box
from service.games.sf1906.actions import Action
from service.games.sf1906.editions import EDITIONS
from service.games.sf1906.rules import settle
from service.games.sf1906.state import OVER, PHASES, Player, State, face_for
from service.rpc.codec import sf1906, wire
from service.rpc.codec.memo import Memo, Table
from service.rpc.codec.public import Public, join

_MOST_PLAYERS: Final = len(box.PLAYER_COLOURS)

_VIEW: Final = wire.fields(sf1906_pb2.Sf1906View)
_PLAYER: Final = wire.fields(sf1906_pb2.Sf1906Player)
_SPACE: Final = wire.fields(sf1906_pb2.Sf1906Space)
_HELD: Final = wire.fields(sf1906_pb2.Sf1906HeldObjective)
_CARD: Final = wire.fields(sf1906_pb2.Sf1906ActionCard)
_CARD_SPACE: Final = wire.fields(sf1906_pb2.Sf1906ActionSpace)
_PLOT_CARD: Final = wire.fields(sf1906_pb2.Sf1906PlotCard)
_SOLO: Final = wire.fields(sf1906_pb2.Sf1906Solo)


def _optional(field: int, count: int) -> list[bytes]:
    """An optional number below count; the last entry, for -1, is left out."""
    return [*(wire.present(field, number) for number in range(count)), b""]


def _players(field: str) -> list[bytes]:
    return _optional(_VIEW[field], _MOST_PLAYERS)


def _cards(field: int, ids: list[str]) -> list[bytes]:
    """The cards of a list by number; a gap, the last, is an empty text."""
    return [*(wire.item(field, card) for card in ids), wire.item(field, "")]


# ---------------------------------------------------------------------------------------------------------- of the table
_YOU: Final = _players("you")
_TO_ACT: Final = _players("to_act")
_BEST_BUILDER: Final = _players("best_builder")
_PHASE: Final = [wire.uint(_VIEW["phase"], sf1906.phase(word)) for word in PHASES]
#: [edition][year]: its name and what building costs then.
_YEAR: Final = [
    [
        wire.text(_VIEW["year"], edition.year_name(year)) + wire.uint(_VIEW["build_cost"], cost)
        for year, cost in enumerate(box.YEAR_COST)
    ]
    for edition in EDITIONS
]
_AT_CARD: Final = _optional(_VIEW["card"], box.CARDS)
_ORDER: Final = wire.lists(_VIEW["order"])
_TURN: Final = wire.numbers(_VIEW["turn"])
_PERMIT_ROW: Final = _cards(_VIEW["permit_row"], box.PERMIT_IDS)
_PERMIT_DISCARDS: Final = _cards(_VIEW["permit_discards"], box.PERMIT_IDS)
_DISCARDED: Final = _cards(_VIEW["discarded"], box.PERMIT_IDS)
_OBJECTIVE_ROW: Final = _cards(_VIEW["objective_row"], box.OBJECTIVE_IDS)
_PERMIT_DECK: Final = wire.numbers(_VIEW["permit_deck"])
_RESHUFFLES: Final = wire.numbers(_VIEW["reshuffles"])
_OBJECTIVE_DECK: Final = wire.numbers(_VIEW["objective_deck"])
_URBANISM: Final = wire.lists(_VIEW["urbanism"])
_BY_BENEFIT: Final = (b"", wire.uint(_VIEW["by_benefit"], True))
_GRANT: Final = (b"", wire.uint(_VIEW["grant"], True))


def _space(space: int, owner: bytes, rubble: int) -> bytes:
    payload = wire.text(_SPACE["space"], box.SPACE_IDS[space]) + owner + wire.uint(_SPACE["rubble"], rubble)
    return wire.sub(_VIEW["spaces"], payload)


#: [space][owner][rubble]
_SPACES: Final = [
    [(_space(space, owner, 0), _space(space, owner, 1)) for owner in _optional(_SPACE["owner"], _MOST_PLAYERS)]
    for space in range(box.SPACES)
]

# ------------------------------------------------------------------------------------------------------------ of a player
_NAMES: Final = [wire.text(_PLAYER["name"], name) for name in (*box.PLAYER_COLOURS, "Committee")]
_COMMITTEE: Final = len(box.PLAYER_COLOURS)
_MONEY: Final = wire.numbers(_PLAYER["money"])
#: [in the pool][at hand]: where the eight buildings are.
_BUILDINGS: Final = [
    [
        wire.uint(_PLAYER["pool"], pool)
        + wire.uint(_PLAYER["stock"], stock)
        + wire.uint(_PLAYER["built"], box.BUILDINGS - pool - stock)
        for stock in range(box.BUILDINGS - pool + 1)
    ]
    for pool in range(box.BUILDINGS + 1)
]
_HELD_PERMITS: Final = _cards(_PLAYER["permits"], box.PERMIT_IDS)
_RUBBLE: Final = wire.numbers(_PLAYER["rubble"])
_HELD_URBANISM: Final = wire.lists(_PLAYER["urbanism"])
#: By the mask of park letters.
_PARKS: Final = [
    wire.text(_PLAYER["parks"], "".join([letter for i, letter in enumerate(box.PARK_LETTERS) if mask >> i & 1]))
    for mask in range(1 << len(box.PARK_LETTERS))
]
#: [row][column] of the development token, and the points under it.
_DEVELOPMENT: Final = [
    [
        wire.uint(_PLAYER["development_column"], column)
        + wire.uint(_PLAYER["development_row"], row)
        + wire.sint(_PLAYER["development_points"], points)
        for column, points in enumerate(line)
    ]
    for row, line in enumerate(box.DEVELOPMENT)
]
_PAWN: Final = _optional(_PLAYER["pawn"], 5)
_PLACE: Final = wire.frame(_VIEW["players"])


def _objective(card: str, seen: int) -> bytes:
    return wire.sub(_PLAYER["objectives"], wire.text(_HELD["card"], card) + wire.uint(_HELD["seen"], seen))


#: An objective in a play area, [seen by everybody][card].
_OBJECTIVES: Final = [[_objective(card, seen) for card in box.OBJECTIVE_IDS] for seen in range(2)]
_HIDDEN: Final = _objective("", 0)

_WHOLE: Final = wire.frame(wire.fields(common_pb2.View)["sf1906"])


# ----------------------------------------------------------------------------------------------------------------- views
_Setting = tuple[
    int,
    int,
    int,
    int,
    int,
    tuple[int, ...],
    tuple[str, ...],
    tuple[int, ...],
    tuple[int, ...],
    tuple[int, int, int] | None,
]


def _make_setting(key: _Setting) -> bytes:
    """What never changes in a game: edition, map, ring, common objectives, difficulty."""
    edition, seats, players, start, columns, plot_cards, sides, ring, common, solo = key
    face = face_for(players)
    parts = [
        wire.text(_VIEW["edition"], EDITIONS[edition].id),
        wire.uint(_VIEW["seats"], seats),
        wire.uint(_VIEW["start"], start),
        wire.uint(_VIEW["columns"], columns),
        *(wire.item(_VIEW["common_objectives"], box.OBJECTIVE_IDS[card]) for card in common),
    ]
    for card in ring:
        payload = wire.text(_CARD["card"], box.CARD_IDS[card])
        for kind, amount in face[card]:
            dollars = amount if kind == box.EARNINGS else 0
            space = wire.uint(_CARD_SPACE["kind"], sf1906.action_kind(box.ACTIONS[kind]))
            payload += wire.sub(_CARD["spaces"], space + wire.uint(_CARD_SPACE["amount"], dollars))
        parts.append(wire.sub(_VIEW["ring"], payload))
    for plot_card, side in zip(plot_cards, sides, strict=True):
        payload = wire.uint(_PLOT_CARD["card"], plot_card) + wire.text(_PLOT_CARD["side"], side)
        parts.append(wire.sub(_VIEW["plot_cards"], payload))
    if solo is not None:
        aid, blocked, divisor = solo
        payload = (
            wire.text(_SOLO["aid"], box.AIDS[aid])
            + wire.uint(_SOLO["blocked"], box.EARNING_SPACES[blocked])
            + wire.uint(_SOLO["divisor"], divisor)
        )
        parts.append(wire.sub(_VIEW["solo"], payload))
    return b"".join(parts)


def _make_map(key: tuple[tuple[int, ...], tuple[int, ...], int]) -> bytes:
    """All spaces in reading order. Most decisions leave the map as it is."""
    reading, owner, rubble = key
    return b"".join([_SPACES[space][owner[space]][rubble >> space & 1] for space in reading])


_SETTINGS: Final = Memo("sf1906.setting", _make_setting, 2048)
_MAPS: Final = Memo("sf1906.map", _make_map, 4096)


def _table(state: State) -> bytes:
    """Everything but the eye and the players."""
    site, solo = state.site, state.solo
    setting = (
        state.edition.index,
        state.seats,
        len(state.players),
        state.start,
        site.columns,
        tuple(site.cards),
        tuple(site.sides),
        tuple(state.ring),
        tuple(state.common),
        None if solo is None else (solo.aid, solo.blocked, solo.divisor),
    )
    _SETTINGS.lookups += 1
    _MAPS.lookups += 1
    return b"".join(
        [
            _SETTINGS[setting],
            _PHASE[state.phase],
            b"" if state.phase == OVER else _TO_ACT[state.order[state.turn]],
            _YEAR[state.edition.index][state.year],
            _AT_CARD[state.card],
            _ORDER[tuple(state.order)],
            _TURN[state.turn],
            _MAPS[tuple(site.reading), tuple(state.owner), state.rubble],
            *[_PERMIT_ROW[card] for card in state.permit_row],
            _PERMIT_DECK[len(state.permit_deck)],
            *[_PERMIT_DISCARDS[card] for card in state.permit_discards],
            _RESHUFFLES[state.reshuffles],
            *[_OBJECTIVE_ROW[card] for card in state.objective_row],
            _OBJECTIVE_DECK[len(state.objective_deck)],
            _URBANISM[tuple(state.urbanism)],
            _BEST_BUILDER[state.best_builder],
            _BY_BENEFIT[state.by_benefit],
            _GRANT[state.grant],
            *[_DISCARDED[card] for card in state.discarded],
        ]
    )


def _place(state: State, who: int, player: Player, is_open: bool) -> bytes:
    """One play area; objectives that not everybody has seen are shown only if it is open."""
    is_committee = state.solo is not None and who >= state.seats
    payload = b"".join(
        [
            _NAMES[_COMMITTEE if is_committee else who],
            _MONEY[player.money],
            _BUILDINGS[player.pool][player.stock],
            *[_HELD_PERMITS[permit] for permit in player.permits],
            *[
                _OBJECTIVES[seen][card] if seen or is_open else _HIDDEN
                for card, seen in zip(player.objectives, player.known, strict=True)
            ],
            _RUBBLE[player.rubble],
            _HELD_URBANISM[tuple(player.urbanism)],
            _PARKS[player.parks],
            _DEVELOPMENT[player.row][player.column],
            _PAWN[state.pawns[who]],
        ]
    )
    return _PLACE[len(payload)] + payload


def public(state: State) -> Public:
    """What all eyes see alike."""
    if state.legal is None:
        settle(state)
    is_over = state.phase == OVER
    places = tuple([_place(state, who, player, is_over) for who, player in enumerate(state.players)])
    return Public(_table(state), places)


def view_bytes(state: State, eye: Eye, public: Public | None = None) -> bytes:
    """The View of one eye; ``public``, made from this very state, saves the part that all eyes share."""
    if state.legal is None:
        settle(state)
    if public is not None:
        if eye is None:
            payload = b"".join((public.table, *public.places))
        else:
            payload = join(public, _YOU[eye], eye, _place(state, eye, state.players[eye], True))
    else:
        is_over = state.phase == OVER
        places = [_place(state, who, player, is_over or who == eye) for who, player in enumerate(state.players)]
        payload = b"".join((_table(state), b"" if eye is None else _YOU[eye], *places))
    return _WHOLE[len(payload)] + payload


def _make_action(action: Action) -> bytes:
    return sf1906.action(action).SerializeToString()


#: Action -> its bytes. There is one object for each of some 1,100 actions, so the object itself is the key.
action_bytes: Final = Table(_make_action, 4096).__getitem__
