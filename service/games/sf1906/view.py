"""What one viewer knows: built up from the open table, never by removing parts of the full state.

A viewer has a perfect memory (R72): an objective taken from the row was seen by all, so it is shown although it lies
face down. Hidden are the order of both decks, the objectives dealt or drawn from the deck to others, and nothing else. When
the game is over the objectives are revealed.

A view has the shape of its message, ``Sf1906View`` in protos/rubble/v1/sf1906.proto, which says what each field means. Parts
with few values are made once and shared by all views.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from service.games.sf1906 import box
from service.games.sf1906.rules import settle
from service.games.sf1906.scoring import development_points
from service.games.sf1906.state import NOBODY, OVER, PHASES, Player, State, face_for


class ActionSpaceView(NamedTuple):
    """One space of an action card."""

    kind: str
    amount: int


class ActionCardView(NamedTuple):
    """One action card of the ring: its spaces from left to right."""

    card: str
    spaces: tuple[ActionSpaceView, ...]


class PlotCardView(NamedTuple):
    """One plot card of the map."""

    card: int
    side: str


class SpaceView(NamedTuple):
    """One construction space, in the reading order of the map."""

    space: str
    owner: int | None
    rubble: bool


class HeldObjectiveView(NamedTuple):
    """An objective in a play area; ``card`` is empty if the viewer does not know it."""

    card: str
    seen: bool  # by all players


class PlayerView(NamedTuple):
    """One play area."""

    name: str
    money: int
    pool: int
    stock: int
    built: int
    permits: tuple[str, ...]
    objectives: tuple[HeldObjectiveView, ...]
    rubble: int
    urbanism: tuple[int, ...]  # by the order of box.ICONS
    parks: str
    development_column: int
    development_row: int
    development_points: int
    pawn: int | None  # its space on the current card or in the earnings area


class SoloView(NamedTuple):
    """The options of the solo game."""

    aid: str
    blocked: int
    divisor: int


class View(NamedTuple):
    """All that one viewer knows."""

    edition: str
    seats: int
    you: int | None
    phase: str
    to_act: int | None
    year: str
    build_cost: int
    card: int | None  # index of the current card in the ring; None in the earnings area
    order: tuple[int, ...]  # players in order of play on this card; the Committee is player 1 of a solo game
    turn: int
    start: int
    ring: tuple[ActionCardView, ...]
    columns: int
    plot_cards: tuple[PlotCardView, ...]
    spaces: tuple[SpaceView, ...]
    common_objectives: tuple[str, ...]
    permit_row: tuple[str, ...]  # an empty text is a gap
    permit_deck: int
    permit_discards: tuple[str, ...]
    reshuffles: int
    objective_row: tuple[str, ...]
    objective_deck: int
    urbanism: tuple[int, ...]  # by the order of box.ICONS
    players: tuple[PlayerView, ...]
    best_builder: int | None
    solo: SoloView | None
    by_benefit: bool
    grant: bool
    discarded: tuple[str, ...]


def _action_cards(players: int) -> list[ActionCardView]:
    return [
        ActionCardView(
            box.CARD_IDS[card],
            tuple([ActionSpaceView(box.ACTIONS[kind], amount if kind == box.EARNINGS else 0) for kind, amount in face]),
        )
        for card, face in enumerate(face_for(players))
    ]


#: By the number of players.
_ACTION_CARDS: Final = [_action_cards(players) for players in range(len(box.PLAYER_COLOURS) + 1)]
_PLOT_CARDS: Final = {(card, side): PlotCardView(card, side) for card in box.PLOT_CARD for side in "AB"}
#: [space][owner][rubble]; NOBODY is -1 and comes last.
_SPACES: Final = [
    [(SpaceView(name, owner, False), SpaceView(name, owner, True)) for owner in (*range(len(box.PLAYER_COLOURS)), None)]
    for name in box.SPACE_IDS
]
_OBJECTIVES: Final = [(HeldObjectiveView(name, False), HeldObjectiveView(name, True)) for name in box.OBJECTIVE_IDS]
_HIDDEN: Final = HeldObjectiveView("", False)
#: By the set of letters as bits.
_PARKS: Final = [
    "".join([letter for index, letter in enumerate(box.PARK_LETTERS) if letters >> index & 1])
    for letters in range(1 << len(box.PARK_LETTERS))
]
#: Ids by number; EMPTY is -1 and finds the empty text at the end.
_PERMITS: Final = [*box.PERMIT_IDS, ""]
_OBJECTIVE_IDS: Final = [*box.OBJECTIVE_IDS, ""]


@lru_cache(4096)
def _spaces(reading: tuple[int, ...], owner: tuple[int, ...], rubble: int) -> tuple[SpaceView, ...]:
    """All spaces in reading order; most decisions leave the map as it is."""
    return tuple([_SPACES[space][owner[space]][rubble >> space & 1] for space in reading])


def _player(state: State, who: int, player: Player, viewer: int | None) -> PlayerView:
    open_to_viewer = who == viewer or state.phase == OVER
    is_committee = state.solo is not None and who >= state.seats
    return PlayerView(
        "Committee" if is_committee else box.PLAYER_COLOURS[who],
        player.money,
        player.pool,
        player.stock,
        player.built(),
        tuple([_PERMITS[permit] for permit in player.permits]),
        tuple(
            [
                _OBJECTIVES[card][seen] if seen or open_to_viewer else _HIDDEN
                for card, seen in zip(player.objectives, player.known, strict=True)
            ]
        ),
        player.rubble,
        tuple(player.urbanism),
        _PARKS[player.parks],
        player.column,
        player.row,
        development_points(player),
        None if state.pawns[who] < 0 else state.pawns[who],
    )


def view(state: State, viewer: int | None) -> View:
    """Returns what this seat, or a spectator, knows."""
    settle(state)
    site, solo = state.site, state.solo
    action_cards = _ACTION_CARDS[len(state.players)]
    return View(
        state.edition.id,
        state.seats,
        viewer,
        PHASES[state.phase],
        None if state.phase == OVER else state.current(),
        state.edition.year_name(state.year),
        box.YEAR_COST[state.year],
        None if state.card < 0 else state.card,
        tuple(state.order),
        state.turn,
        state.start,
        tuple([action_cards[card] for card in state.ring]),
        site.columns,
        tuple([_PLOT_CARDS[card, side] for card, side in zip(site.cards, site.sides, strict=True)]),
        _spaces(site.reading, tuple(state.owner), state.rubble),
        tuple([_OBJECTIVE_IDS[card] for card in state.common]),
        tuple([_PERMITS[permit] for permit in state.permit_row]),
        len(state.permit_deck),
        tuple([_PERMITS[permit] for permit in state.permit_discards]),
        state.reshuffles,
        tuple([_OBJECTIVE_IDS[card] for card in state.objective_row]),
        len(state.objective_deck),
        tuple(state.urbanism),
        tuple([_player(state, who, player, viewer) for who, player in enumerate(state.players)]),
        None if state.best_builder == NOBODY else state.best_builder,
        None if solo is None else SoloView(box.AIDS[solo.aid], box.EARNING_SPACES[solo.blocked], solo.divisor),
        state.by_benefit,
        state.grant,
        tuple([_PERMITS[permit] for permit in state.discarded]),
    )


def together(views: Sequence[View]) -> View:
    """Returns one view with what all seats know: each play area as its owner sees it."""
    first = views[0]
    own = [one.players[seat] for seat, one in enumerate(views)]
    return first._replace(you=None, players=(*own, *first.players[len(own) :]))
