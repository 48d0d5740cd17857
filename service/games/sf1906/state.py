"""The state of the table, and how to copy and store it."""

from typing import Final

from service.games.core import Plain
from service.games.sf1906 import box
from service.games.sf1906.actions import Action
from service.games.sf1906.editions import EDITIONS, Edition

NOBODY: Final = -1
EMPTY: Final = -1  # a gap in a row

#: What the player whose turn it is has to decide.
ASK_EARN: Final = 0
ASK_BENEFIT: Final = 1
ASK_PLACE: Final = 2
ASK_PERMIT: Final = 3
ASK_OBJECTIVE: Final = 4
ASK_CLEAR: Final = 5
ASK_DISCARD: Final = 6
ASK_AT: Final = 7
ASK_REWARD: Final = 8
OVER: Final = 9
PHASES: Final = ("earn", "benefit", "place", "permit", "objective", "clear", "discard", "at", "reward", "over")


class Site:
    """The map: which plot cards lie where and which side is up. It never changes, so copies share it."""

    __slots__ = ("cards", "columns", "initial_rubble", "plots", "present", "reading", "rubble", "sides")

    def __init__(self, cards: list[int], sides: list[str], columns: int) -> None:
        #: Card numbers 1-8 and their sides in reading order; two rows of cards.
        self.cards = cards
        self.sides = sides
        self.columns = columns
        place: dict[int, tuple[int, int]] = {}
        for index, card in enumerate(cards):
            place[card] = (index // columns, index % columns)
        spots: list[tuple[int, int, int]] = []
        for space in range(box.SPACES):
            if box.SPACE_CARD[space] in place:
                card_row, card_column = place[box.SPACE_CARD[space]]
                column, row = box.SPACE_AT[space]
                spots.append((card_row * box.GRID + row, card_column * box.GRID + column, space))
        #: All spaces by row, then column, of the whole map (R51).
        self.reading = tuple([space for _, _, space in sorted(spots)])
        side_of = dict(zip(cards, sides, strict=True))
        #: The spaces that start with a rubble token, in reading order.
        self.rubble = [space for space in self.reading if box.SPACE_RUBBLE[space] == side_of[box.SPACE_CARD[space]]]
        self.initial_rubble = sum(1 << space for space in self.rubble)
        self.plots = [plot for plot in range(box.PLOTS) if box.PLOT_CARD[plot] in place]
        self.present = sum(1 << plot for plot in self.plots)  # a mask of plots


class Player:
    """One player's area. The Committee of Fifty has one too."""

    __slots__ = (
        "column",
        "known",
        "money",
        "objectives",
        "park_points",
        "parks",
        "permits",
        "pool",
        "row",
        "rubble",
        "stock",
        "urbanism",
    )
    money: int
    pool: int  # own buildings in the common pool
    stock: int  # own buildings in the play area, ready to be built
    permits: list[int]
    objectives: list[int]
    known: list[bool]  # which of them all players have seen (R72)
    rubble: int
    urbanism: list[int]  # cards by type
    parks: int  # mask of park letters
    park_points: int
    column: int  # of the development token
    row: int

    def copy(self) -> "Player":
        """An independent copy."""
        new = Player()
        new.money = self.money
        new.pool = self.pool
        new.stock = self.stock
        new.permits = self.permits[:]
        new.objectives = self.objectives[:]
        new.known = self.known[:]
        new.rubble = self.rubble
        new.urbanism = self.urbanism[:]
        new.parks = self.parks
        new.park_points = self.park_points
        new.column = self.column
        new.row = self.row
        return new

    def built(self) -> int:
        """Own buildings on the map."""
        return box.BUILDINGS - self.pool - self.stock


def new_player() -> Player:
    """A player before 1906: no money, all buildings in the pool, the development token on -7."""
    player = Player()
    player.money = 0
    player.pool = box.BUILDINGS
    player.stock = 0
    player.permits = []
    player.objectives = []
    player.known = []
    player.rubble = 0
    player.urbanism = [0, 0, 0, 0]
    player.parks = 0
    player.park_points = 0
    player.column = 0
    player.row = 0
    return player


class Solo:
    """The three difficulty options of the solo game. They never change, so copies share them."""

    __slots__ = ("aid", "blocked", "divisor")

    def __init__(self, aid: int, blocked: int, divisor: int) -> None:
        self.aid = aid  # index into box.AIDS
        self.blocked = blocked  # the earnings space no player may take
        self.divisor = divisor  # Committee's dollars for one point


class State:
    """The whole table, including the hidden decks."""

    __slots__ = (
        "best_builder",
        "by_benefit",
        "card",
        "clean_plots",
        "common",
        "deck_seed",
        "discarded",
        "edition",
        "face",
        "grant",
        "legal",
        "objective_deck",
        "objective_row",
        "order",
        "owner",
        "pawns",
        "permit_deck",
        "permit_discards",
        "permit_row",
        "phase",
        "players",
        "reshuffles",
        "ring",
        "rubble",
        "rubble_plots",
        "seats",
        "site",
        "solo",
        "start",
        "turn",
        "urbanism",
        "year",
    )
    edition: Edition
    seats: int
    solo: Solo | None  # then players[1] is the Committee
    site: Site
    ring: list[int]  # the action cards in clockwise order; never changes
    face: list[list[tuple[int, int]]]  # the face of the action cards in use
    common: list[int]  # the three objectives that count for all players
    start: int  # the starting player
    players: list[Player]
    owner: list[int]  # by space: the player whose building stands there, or NOBODY
    rubble: int  # mask of spaces
    clean_plots: int  # mask of plots with a space that has neither building nor rubble
    rubble_plots: int  # mask of plots with a space under rubble
    permit_row: list[int]
    permit_deck: list[int]  # the last one is the top
    permit_discards: list[int]  # the last one is the top
    objective_row: list[int]
    objective_deck: list[int]
    urbanism: list[int]  # cards left by type
    deck_seed: bytes
    reshuffles: int
    year: int  # index into box.YEAR_IDS
    card: int  # index into ring, -1 in the earnings area
    order: list[int]  # players in order of play on this card
    turn: int  # index into order
    pawns: list[int]  # by player: the space on this card, or -1
    phase: int
    by_benefit: bool  # the current action comes from a year benefit: rows are refilled at once
    grant: bool  # the current build uses the grant
    discarded: list[int]  # the permits chosen for the current build
    best_builder: int
    legal: list[Action] | None  # the legal actions; None until they are computed

    def current(self) -> int:
        """The player whose turn it is."""
        return self.order[self.turn]

    def copy(self) -> "State":
        """An independent copy."""
        new = State()
        new.edition = self.edition
        new.seats = self.seats
        new.solo = self.solo
        new.site = self.site
        new.ring = self.ring
        new.face = self.face
        new.common = self.common
        new.start = self.start
        new.players = [player.copy() for player in self.players]
        new.owner = self.owner[:]
        new.rubble = self.rubble
        new.clean_plots = self.clean_plots
        new.rubble_plots = self.rubble_plots
        new.permit_row = self.permit_row[:]
        new.permit_deck = self.permit_deck[:]
        new.permit_discards = self.permit_discards[:]
        new.objective_row = self.objective_row[:]
        new.objective_deck = self.objective_deck[:]
        new.urbanism = self.urbanism[:]
        new.deck_seed = self.deck_seed
        new.reshuffles = self.reshuffles
        new.year = self.year
        new.card = self.card
        new.order = self.order[:]
        new.turn = self.turn
        new.pawns = self.pawns[:]
        new.phase = self.phase
        new.by_benefit = self.by_benefit
        new.grant = self.grant
        new.discarded = self.discarded[:]
        new.best_builder = self.best_builder
        new.legal = self.legal  # a list of legal actions is never changed, only replaced
        return new


def note_plot(state: State, plot: int) -> None:
    """Updates the masks of open plots after a building or a clearing on that plot."""
    clean = False
    rubble = False
    for space in box.PLOT_SPACES[plot]:
        if state.rubble >> space & 1:
            rubble = True
        elif state.owner[space] == NOBODY:
            clean = True
    bit = 1 << plot
    state.clean_plots = state.clean_plots | bit if clean else state.clean_plots & ~bit
    state.rubble_plots = state.rubble_plots | bit if rubble else state.rubble_plots & ~bit


def to_plain(state: State) -> Plain:
    """Returns the state as nested lists of numbers and texts."""
    solo = state.solo
    return [
        state.edition.index,
        state.seats,
        None if solo is None else [solo.aid, solo.blocked, solo.divisor],
        [state.site.cards, "".join(state.site.sides), state.site.columns],
        state.ring,
        state.common,
        state.start,
        [
            [
                player.money,
                player.pool,
                player.stock,
                player.permits[:],
                player.objectives[:],
                [int(known) for known in player.known],
                player.rubble,
                player.urbanism[:],
                player.parks,
                player.park_points,
                player.column,
                player.row,
            ]
            for player in state.players
        ],
        [state.owner[space] for space in state.site.reading],
        [space for space in state.site.rubble if state.rubble >> space & 1],
        state.permit_row[:],
        state.permit_deck[:],
        state.permit_discards[:],
        state.objective_row[:],
        state.objective_deck[:],
        state.urbanism[:],
        state.deck_seed.hex(),
        state.reshuffles,
        state.year,
        state.card,
        state.order[:],
        state.turn,
        state.pawns[:],
        state.phase,
        int(state.by_benefit),
        int(state.grant),
        state.discarded[:],
        state.best_builder,
    ]


def from_plain(plain: Plain) -> State:
    """Returns the state that ``to_plain`` wrote."""
    state = State()
    (
        edition,
        state.seats,
        solo,
        site,
        ring,
        common,
        state.start,
        players,
        owners,
        rubble,
        permit_row,
        permit_deck,
        permit_discards,
        objective_row,
        objective_deck,
        urbanism,
        deck_seed,
        state.reshuffles,
        state.year,
        state.card,
        order,
        state.turn,
        pawns,
        state.phase,
        by_benefit,
        grant,
        discarded,
        state.best_builder,
    ) = plain
    state.ring = list(ring)  # lists are copied, so the plain form stays unchanged
    state.common = list(common)
    state.permit_row = list(permit_row)
    state.permit_deck = list(permit_deck)
    state.permit_discards = list(permit_discards)
    state.objective_row = list(objective_row)
    state.objective_deck = list(objective_deck)
    state.urbanism = list(urbanism)
    state.order = list(order)
    state.pawns = list(pawns)
    state.discarded = list(discarded)
    state.edition = EDITIONS[edition]
    state.solo = None if solo is None else Solo(solo[0], solo[1], solo[2])
    state.site = Site(list(site[0]), list(site[1]), site[2])
    state.players = [_player(fields) for fields in players]
    state.face = face_for(len(state.players))
    state.owner = [NOBODY] * box.SPACES
    for space, owner in zip(state.site.reading, owners, strict=True):
        state.owner[space] = owner
    state.rubble = sum(1 << space for space in rubble)
    state.clean_plots = 0
    state.rubble_plots = 0
    for plot in state.site.plots:
        note_plot(state, plot)
    state.deck_seed = bytes.fromhex(deck_seed)
    state.by_benefit = bool(by_benefit)
    state.grant = bool(grant)
    state.legal = None
    return state


def _player(fields: Plain) -> Player:
    player = Player()
    (
        player.money,
        player.pool,
        player.stock,
        permits,
        objectives,
        known,
        player.rubble,
        urbanism,
        player.parks,
        player.park_points,
        player.column,
        player.row,
    ) = fields
    player.permits = list(permits)
    player.objectives = list(objectives)
    player.urbanism = list(urbanism)
    player.known = [bool(flag) for flag in known]
    return player


def face_for(players: int) -> list[list[tuple[int, int]]]:
    """Returns the narrow face for two players (a solo player and the Committee count as two), else the wide one (E5)."""
    return box.NARROW if players <= 2 else box.WIDE
