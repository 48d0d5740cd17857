"""What one eye knows: built up from the open table, never stripped down from the truth.

An eye has a perfect memory (R72): an objective taken out of the row was seen by everybody, so it is shown although it lies
face down. Hidden are the order of both decks, the objectives dealt or drawn from the deck to others, and nothing else. When
the game is over the objectives are revealed.
"""

from typing import TypedDict

from service.games.sf1906 import box
from service.games.sf1906.rules import settle
from service.games.sf1906.scoring import development_points
from service.games.sf1906.state import EMPTY, NOBODY, OVER, PHASES, Player, State


class HeldObjective(TypedDict):
    """An objective in a play area; ``card`` is None where the eye does not know it."""

    card: str | None
    seen: bool  # by everybody


class PlayerView(TypedDict):
    """One play area."""

    name: str
    money: int
    pool: int
    stock: int
    built: int
    permits: list[str]
    objectives: list[HeldObjective]
    rubble: int
    urbanism: dict[str, int]
    parks: list[str]
    development: list[int]  # column and row of the token
    development_points: int
    pawn: int | None  # its space on the current card or in the earnings area


class CardView(TypedDict):
    """One action card of the ring: its spaces from left to right."""

    card: str
    spaces: list[str]


class PlotCardView(TypedDict):
    """One plot card of the map."""

    card: int
    side: str


class SpaceView(TypedDict):
    """One construction space, in the reading order of the map."""

    space: str
    owner: int | None
    rubble: bool


class SoloView(TypedDict):
    """The switches of the solo game."""

    aid: str
    blocked: int
    divisor: int


class View(TypedDict):
    """All that one eye knows."""

    game: str
    seats: int
    you: int | None
    phase: str
    to_act: int | None
    year: str
    build_cost: int
    card: int | None  # place of the current card in the ring; None in the earnings area
    order: list[int]  # players in order of play on this card; seats first, the Committee is player 1 of a solo game
    turn: int
    start: int
    ring: list[CardView]
    columns: int
    plot_cards: list[PlotCardView]
    spaces: list[SpaceView]
    common: list[str]
    permit_row: list[str | None]
    permit_deck: int
    permit_discards: list[str]
    reshuffles: int
    objective_row: list[str | None]
    objective_deck: int
    urbanism: dict[str, int]
    players: list[PlayerView]
    best_builder: int | None
    solo: SoloView | None
    by_benefit: bool
    grant: bool
    discarded: list[str]


def space_text(kind: int, amount: int) -> str:
    """A space of an action card in words."""
    return f"earnings ${amount}" if kind == box.EARNINGS else box.ACTIONS[kind]


def _row(row: list[int], ids: list[str]) -> list[str | None]:
    return [None if card == EMPTY else ids[card] for card in row]


def _player(state: State, who: int, player: Player, eye: int | None) -> PlayerView:
    open_to_eye = who == eye or state.phase == OVER
    is_committee = state.solo is not None and who >= state.seats
    return {
        "name": "Committee" if is_committee else box.PLAYER_COLOURS[who],
        "money": player.money,
        "pool": player.pool,
        "stock": player.stock,
        "built": player.built(),
        "permits": [box.PERMIT_IDS[permit] for permit in player.permits],
        "objectives": [
            {"card": box.OBJECTIVE_IDS[card] if seen or open_to_eye else None, "seen": seen}
            for card, seen in zip(player.objectives, player.known, strict=True)
        ],
        "rubble": player.rubble,
        "urbanism": {icon: player.urbanism[index] for index, icon in enumerate(box.ICONS)},
        "parks": [letter for index, letter in enumerate(box.PARK_LETTERS) if player.parks >> index & 1],
        "development": [player.column, player.row],
        "development_points": development_points(player),
        "pawn": None if state.pawns[who] < 0 else state.pawns[who],
    }


def view(state: State, eye: int | None) -> View:
    """What this seat, or a spectator, knows."""
    settle(state)
    over = state.phase == OVER
    solo = state.solo
    return {
        "game": state.edition.id,
        "seats": state.seats,
        "you": eye,
        "phase": PHASES[state.phase],
        "to_act": None if over else state.current(),
        "year": state.edition.year_name(state.year),
        "build_cost": box.YEAR_COST[state.year],
        "card": None if state.card < 0 else state.card,
        "order": state.order[:],
        "turn": state.turn,
        "start": state.start,
        "ring": [
            {"card": box.CARD_IDS[card], "spaces": [space_text(kind, amount) for kind, amount in state.face[card]]}
            for card in state.ring
        ],
        "columns": state.site.columns,
        "plot_cards": [
            {"card": card, "side": side} for card, side in zip(state.site.cards, state.site.sides, strict=True)
        ],
        "spaces": [
            {
                "space": box.SPACE_IDS[space],
                "owner": None if state.owner[space] == NOBODY else state.owner[space],
                "rubble": bool(state.rubble >> space & 1),
            }
            for space in state.site.reading
        ],
        "common": [box.OBJECTIVE_IDS[card] for card in state.common],
        "permit_row": _row(state.permit_row, box.PERMIT_IDS),
        "permit_deck": len(state.permit_deck),
        "permit_discards": [box.PERMIT_IDS[permit] for permit in state.permit_discards],
        "reshuffles": state.reshuffles,
        "objective_row": _row(state.objective_row, box.OBJECTIVE_IDS),
        "objective_deck": len(state.objective_deck),
        "urbanism": {icon: state.urbanism[index] for index, icon in enumerate(box.ICONS)},
        "players": [_player(state, who, player, eye) for who, player in enumerate(state.players)],
        "best_builder": None if state.best_builder == NOBODY else state.best_builder,
        "solo": None
        if solo is None
        else {"aid": box.AIDS[solo.aid], "blocked": box.EARNING_SPACES[solo.blocked], "divisor": solo.divisor},
        "by_benefit": state.by_benefit,
        "grant": state.grant,
        "discarded": [box.PERMIT_IDS[permit] for permit in state.discarded],
    }
