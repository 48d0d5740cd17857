"""Set-up of both rulebooks: the map, the ring of action cards, the rows and decks, and what every player receives.

What lies open before the first move comes from the table seed, all that is turned up later from the deck seed. Every draw
has its own purpose, so the order of draws (R58) does not matter.
"""

from typing import Final

from service.games.chance import Draws, Seeds
from service.games.core import Option, Options
from service.games.sf1906 import box
from service.games.sf1906.editions import Edition
from service.games.sf1906.state import ASK_EARN, NOBODY, Player, Site, Solo, State, face_for, new_player, note_plot

COMMITTEE: Final = 1  # the Committee's index among the players of a solo game
_PAIRS: Final = ((1, 2), (3, 4), (5, 6), (7, 8))

MAP_OPTION: Final = Option(
    "map",
    "pairs",
    "How plot cards are chosen: whole pairs, which keeps all four colours on the map, or free, each card by itself.",
    choices=("pairs", "free"),
)
SOLO_OPTIONS: Final = (
    Option("solo_aid", "normal", "Face of the Committee's aid card.", choices=box.AIDS, seats=(1,)),
    Option(
        "solo_blocked",
        1,
        "The earnings space no player may take: $1, or $4 for a harder game.",
        choices=(1, 4),
        seats=(1,),
    ),
    Option(
        "solo_divisor",
        4,
        "Dollars the Committee needs for a point: 4, or 3 for a harder game.",
        choices=(4, 3),
        seats=(1,),
    ),
)


def options_of(edition: Edition) -> tuple[Option, ...]:
    """Returns the options of an edition; only the second has a solo game."""
    return (MAP_OPTION, *SOLO_OPTIONS) if 1 in edition.seats else (MAP_OPTION,)


def _lay_map(players: int, choice: str, seed: bytes) -> Site:
    """Step 1: 4, 6 or 8 cards in two rows, each with a side chosen at random, never turned."""
    count = 2 * max(players, 2)
    cards: list[int]
    if choice == "pairs":
        pairs = list(range(len(_PAIRS)))
        Draws(seed, "pairs").shuffle(pairs)
        cards = [card for pair in sorted(pairs[: count // 2]) for card in _PAIRS[pair]]
    else:
        cards = list(range(1, 9))
        Draws(seed, "plot-cards").shuffle(cards)
        cards = sorted(cards[:count])
    Draws(seed, "map").shuffle(cards)
    toss = Draws(seed, "sides")
    return Site(cards, ["AB"[toss.below(2)] for _ in cards], count // 2)


def _split(cards: list[int], count: int, draws: Draws) -> tuple[list[int], list[int]]:
    """Draws ``count`` cards; returns them and the rest, which keeps its order."""
    order = cards[:]
    draws.shuffle(order)
    drawn = order[:count]
    return drawn, [card for card in cards if card not in drawn]


def setup(edition: Edition, seats: int, options: Options, seeds: Seeds) -> State:
    """Returns the table before the first move."""
    solo = seats == 1
    players = 2 if solo else seats
    state = State()
    state.edition = edition
    state.seats = seats
    state.solo = None
    if solo:
        blocked = box.EARNING_SPACES.index(int(options["solo_blocked"]))
        state.solo = Solo(box.AIDS.index(str(options["solo_aid"])), blocked, int(options["solo_divisor"]))
    state.site = _lay_map(players, str(options["map"]), seeds.table)
    state.ring = list(range(box.CARDS))
    Draws(seeds.table, "ring").shuffle(state.ring)
    state.face = face_for(players)
    state.owner = [NOBODY] * box.SPACES
    state.rubble = state.site.initial_rubble
    state.clean_plots = 0
    state.rubble_plots = 0
    for plot in state.site.plots:
        note_plot(state, plot)
    state.players = [new_player() for _ in range(players)]
    state.urbanism = box.URBANISM_CARDS[:]
    state.deck_seed = seeds.deck
    state.reshuffles = 0
    _lay_objectives(state, seeds)
    _lay_permits(state, seeds)
    state.start = 0 if solo else Draws(seeds.table, "start").below(players)
    state.year = 0
    state.card = -1
    state.order = [(state.start + step) % players for step in range(players)]
    state.turn = 0
    state.pawns = [-1] * players
    state.phase = ASK_EARN
    state.by_benefit = False
    state.grant = False
    state.discarded = []
    state.best_builder = NOBODY
    state.legal = None
    if solo:
        _seat_committee(state)
    return state


def _lay_objectives(state: State, seeds: Seeds) -> None:
    """Three common cards out of eight; the other five and the sixteen green ones give the row, the hidden cards and the deck.

    The editions deal hidden cards and row in a different order (E7). Since the row lies open and the hidden cards do not, they come
    from different seeds, and the order has no effect.
    """
    state.common, rest = _split(box.INITIAL, 3, Draws(seeds.table, "common"))
    state.objective_row, deck = _split(box.GREEN + rest, box.ROW, Draws(seeds.table, "objective-row"))
    Draws(seeds.deck, "objectives").shuffle(deck)
    for player in state.players[: state.seats]:  # R81; the Committee gets none (R73)
        player.objectives.append(deck.pop())
        player.known.append(False)
    state.objective_deck = deck


def _lay_permits(state: State, seeds: Seeds) -> None:
    """A row of three; in the solo game without the grants, and the top card goes to the Committee, openly (R73)."""
    permits = list(range(box.PERMITS))
    if state.solo is not None:
        permits = [permit for permit in permits if permit not in box.GRANTS]
    state.permit_row, deck = _split(permits, box.ROW, Draws(seeds.table, "permit-row"))
    if state.solo is not None:
        first, deck = _split(deck, 1, Draws(seeds.table, "committee-permit"))
        state.players[COMMITTEE].permits = first
    Draws(seeds.deck, "permits/0").shuffle(deck)
    state.permit_deck = deck
    state.permit_discards = []


def _seat_committee(state: State) -> None:
    """R73: all eight buildings at hand, $3, and the pawn on $3; only the human chooses in 1906."""
    committee: Player = state.players[COMMITTEE]
    committee.pool = 0
    committee.stock = box.BUILDINGS
    committee.money = box.COMMITTEE_MONEY
    state.pawns[COMMITTEE] = box.EARNING_SPACES.index(box.COMMITTEE_EARNINGS)
    state.order = [0]
