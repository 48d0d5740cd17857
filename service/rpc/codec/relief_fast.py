"""Relief as bytes, straight from the state: the same messages as ``relief`` makes, for a fraction of the price.

What has few values (a tile in a row, the number of a round) is encoded once. What has many but seldom changes (a mat, the
cards that were used) is looked up by its values. A seat changes with every decision and is joined anew, from parts that are
all at hand.
"""

from typing import Final

from rubble.v1 import common_pb2, relief_pb2
from service.games.core import Eye
from service.games.relief.actions import Action
from service.games.relief.box import CARDS, KINDS, MOST_SEATS, OBJECTIVES, TILES
from service.games.relief.rules import to_act
from service.games.relief.state import OVER, Player, State, hope, influence
from service.games.relief.view import PHASES, TRIGGERS, has_secret_leaders, spaces_of
from service.rpc.codec import relief, wire
from service.rpc.codec.memo import Memo, Table
from service.rpc.codec.public import Public, join

_VIEW: Final = wire.fields(relief_pb2.ReliefView)
_SEAT: Final = wire.fields(relief_pb2.ReliefSeat)
_SPACE: Final = wire.fields(relief_pb2.ReliefSpace)
_PILE: Final = wire.fields(relief_pb2.ReliefCards)
_TOKENS: Final = wire.fields(relief_pb2.ReliefTokens)
_LEADERS: Final = wire.fields(relief_pb2.ReliefLeaders)

# ---------------------------------------------------------------------------------------------------------- of the table
_PLAYERS: Final = wire.numbers(_VIEW["players"])
_YOU: Final = [wire.present(_VIEW["you"], seat) for seat in range(MOST_SEATS)]
_END_ON_DISCARD: Final = [wire.text(_VIEW["end_on_discard"], word) for word in ("full_round", "stop")]
_SCORED: Final = [wire.text(_VIEW["objectives"], word) for word in ("all", "own")]
_ROUND: Final = wire.numbers(_VIEW["round"])
_PHASE: Final = [wire.uint(_VIEW["phase"], relief.phase(word)) for word in PHASES]
_TO_ACT: Final = wire.lists(_VIEW["to_act"])
_TURN: Final = wire.numbers(_VIEW["turn"])
_FIRST: Final = wire.numbers(_VIEW["first"])
_LEVEL_TWO: Final = (b"", wire.uint(_VIEW["level_two"], True))
_TRIGGER: Final = [wire.uint(_VIEW["trigger"], relief.trigger(word)) for word in TRIGGERS]
_IN_HAND: Final = wire.numbers(_VIEW["in_hand"])
_ABOVE: Final = wire.numbers(_VIEW["above"])
_BOARD: Final = wire.frame(_VIEW["board"])
_SUPPLY: Final = wire.frame(_VIEW["supply"])
_LEADER_SUPPLY: Final = wire.numbers(_VIEW["leader_supply"])
_OBJECTIVE: Final = [wire.text(_VIEW["objective"], objective.id) for objective in OBJECTIVES]
_ROW: Final = [wire.item(_VIEW["row"], tile.id) for tile in TILES]
_DISCARDED: Final = [wire.item(_VIEW["discarded"], tile.id) for tile in TILES]
_LEFT_ONE: Final = wire.numbers(_VIEW["tiles_left_level_one"])
_LEFT_TWO: Final = wire.numbers(_VIEW["tiles_left_level_two"])

#: How many of each kind lie in a heap; the kinds on the board are the first six of all.
_COUNTS: Final = [wire.numbers(_TOKENS[kind]) for kind in KINDS]

# -------------------------------------------------------------------------------------------------------------- of a seat
_NUMBER: Final = wire.numbers(_SEAT["seat"])
_GOODS: Final = wire.frame(_SEAT["goods"])
_TRACK: Final = wire.numbers(_SEAT["track"])
_MARKERS: Final = wire.numbers(_SEAT["markers"])
_LEADERS_OWNED: Final = wire.numbers(_SEAT["leaders"])
_SETTLED: Final = (b"", wire.uint(_SEAT["settled"], True))
_BUILDS: Final = wire.numbers(_SEAT["build_uses"])
_SPENDS: Final = wire.numbers(_SEAT["spend_uses"])
_TRADES: Final = wire.numbers(_SEAT["trade_uses"])
_INFLUENCE: Final = wire.numbers(_SEAT["influence"])
_HOPE: Final = wire.numbers(_SEAT["hope"])
_SPECIAL_BUILT: Final = wire.uint(_SEAT["special_built"], True)
_SPECIAL: Final = [wire.text(_SEAT["special"], tile.id) for tile in TILES]
_OWN_OBJECTIVE: Final = [wire.text(_SEAT["objective"], objective.id) for objective in OBJECTIVES]
_PLACE: Final = wire.frame(_VIEW["seats"])

_WHOLE: Final = wire.frame(wire.fields(common_pb2.View)["relief"])


# ----------------------------------------------------------------------------------------------------------------- views
def _make_heap(tokens: tuple[int, ...]) -> bytes:
    """A heap of tokens, of all kinds or of those that lie on the board; whoever asks frames it."""
    return b"".join([counts[count] for counts, count in zip(_COUNTS, tokens, strict=False)])


def _make_pile(key: tuple[int, int, tuple[int, ...], int, tuple[int, ...]]) -> bytes:
    """The resupply cards of one level."""
    level, left, used, reshuffles, pile = key
    parts = [
        wire.uint(_PILE["level"], level + 1),
        wire.uint(_PILE["left"], left),
        *(wire.item(_PILE["used"], CARDS[card].id) for card in used),
        wire.uint(_PILE["reshuffles"], reshuffles),
        *(wire.item(_PILE["pile"], CARDS[card].id) for card in pile),
    ]
    return wire.sub(_VIEW["cards"], b"".join(parts))


def _make_space(key: tuple[int, int, tuple[int, ...], int]) -> bytes:
    """One occupied space of a mat."""
    space, tile, under, uses = key
    parts = [
        wire.uint(_SPACE["space"], space + 1),
        wire.text(_SPACE["tile"], TILES[tile].id),
        *(wire.item(_SPACE["under"], TILES[low].id) for low in under),
        wire.uint(_SPACE["uses"], uses),
    ]
    return wire.sub(_SEAT["mat"], b"".join(parts))


def _make_mat(key: tuple[tuple[int, ...], tuple[tuple[int, ...], ...], tuple[int, ...]]) -> bytes:
    """All occupied spaces of a mat: the visible tiles, what they cover, their markers."""
    tops, under, uses = key
    _SPACES.lookups += len(tops)
    return b"".join([_SPACES[space] for space in zip(range(len(tops)), tops, under, uses, strict=True)])


def _make_placed(led: int) -> bytes:
    """The spaces with a leader."""
    return wire.sub(_SEAT["placed"], wire.packed(_LEADERS["spaces"], spaces_of(led)))


#: Caps in entries; all of them full hold some 20 MB.
_HEAPS: Final = Memo("relief.tokens", _make_heap, 16384)
_PILES: Final = Memo("relief.cards", _make_pile, 4096)
_SPACES: Final = Memo("relief.space", _make_space, 16384)
_MATS: Final = Memo("relief.mat", _make_mat, 8192)
_PLACED: Final = Table(_make_placed, 4096)


def _pile(state: State, level: int) -> bytes:
    left = state.cards[level]
    pile = tuple(left) if state.phase == OVER else ()  # its order is known when nobody can use it any more
    return _PILES[level, len(left), tuple(state.used_cards[level]), state.reshuffles[level], pile]


def _table(state: State) -> bytes:
    """Everything but the eye and the seats."""
    _HEAPS.lookups += 2
    _PILES.lookups += 2
    board = _HEAPS[tuple(state.board)]
    supply = _HEAPS[tuple(state.supply)]
    return b"".join(
        [
            _PLAYERS[len(state.players)],
            _END_ON_DISCARD[state.stop_on_discard],
            _SCORED[state.own_objectives],
            _ROUND[state.round],
            _PHASE[state.phase],
            _TO_ACT[tuple(to_act(state))],
            _TURN[state.turn],
            _FIRST[state.first],
            _LEVEL_TWO[state.level_two],
            _TRIGGER[state.trigger],
            _IN_HAND[state.in_hand],
            _ABOVE[state.above + 1],
            _BOARD[len(board)],
            board,
            _SUPPLY[len(supply)],
            supply,
            _LEADER_SUPPLY[state.leader_supply],
            _OBJECTIVE[state.objective],
            *[_ROW[tile] for tile in state.row],
            *[_DISCARDED[tile] for tile in state.discarded],
            _LEFT_ONE[len(state.tiles[0])],
            _LEFT_TWO[len(state.tiles[1])],
            _pile(state, 0),
            _pile(state, 1),
        ]
    )


def _seat(state: State, seat: int, player: Player, is_own: bool) -> bytes:
    """One seat's side of the table; the special, the objective and secret leaders only where this eye may see them."""
    is_open = is_own or state.phase == OVER
    special = b""
    if player.special < 0:
        special = _SPECIAL_BUILT
    elif is_open:
        special = _SPECIAL[player.special]
    _HEAPS.lookups += 1
    _MATS.lookups += 1
    goods = _HEAPS[tuple(player.goods)]
    payload = b"".join(
        [
            _NUMBER[seat],
            _GOODS[len(goods)],
            goods,
            _TRACK[player.track],
            _MARKERS[player.markers],
            _LEADERS_OWNED[player.leaders],
            _PLACED[player.led] if is_own or not has_secret_leaders(state, player) else b"",
            _SETTLED[not player.unplaced],
            _MATS[tuple(player.tops), tuple(player.under), tuple(player.uses)],
            _BUILDS[player.builds],
            _SPENDS[player.spends],
            _TRADES[player.trades],
            _INFLUENCE[influence(player)],
            _HOPE[hope(player)],
            special,
            _OWN_OBJECTIVE[player.objective] if is_open else b"",
        ]
    )
    return _PLACE[len(payload)] + payload


def public(state: State) -> Public:
    """What all eyes see alike."""
    return Public(
        _table(state), tuple([_seat(state, seat, player, False) for seat, player in enumerate(state.players)])
    )


def view_bytes(state: State, eye: Eye, public: Public | None = None) -> bytes:
    """The View of one eye; ``public``, made from this very state, saves the part that all eyes share."""
    if public is not None:
        if eye is None:
            payload = b"".join((public.table, *public.places))
        else:
            payload = join(public, _YOU[eye], eye, _seat(state, eye, state.players[eye], True))
    else:
        seats = [_seat(state, seat, player, seat == eye) for seat, player in enumerate(state.players)]
        payload = b"".join((_table(state), b"" if eye is None else _YOU[eye], *seats))
    return _WHOLE[len(payload)] + payload


def _make_action(action: Action) -> bytes:
    return relief.action(action).SerializeToString()


#: Action -> its bytes. There is one object for each of some 700 actions, so the object itself is the key.
action_bytes: Final = Table(_make_action, 4096).__getitem__
