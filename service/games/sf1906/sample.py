"""States consistent with a view: the table is rebuilt from the view alone, then everything unknown is re-dealt."""

from service.games.chance import SEED_BYTES, Draws
from service.games.sf1906 import box
from service.games.sf1906.editions import EDITIONS
from service.games.sf1906.state import EMPTY, NOBODY, OVER, PHASES, Player, Site, Solo, State, face_for, note_plot
from service.games.sf1906.view import PlayerView, View

_PERMIT = {name: index for index, name in enumerate(box.PERMIT_IDS)}
_OBJECTIVE = {name: index for index, name in enumerate(box.OBJECTIVE_IDS)}
_SPACE = {name: index for index, name in enumerate(box.SPACE_IDS)}
_UNKNOWN = -1


def redeal(state: State, viewer: int | None, draws: Draws) -> State:
    """Returns the same table with the decks shuffled and every objective this viewer has not seen re-dealt."""
    world = state.copy()
    world.deck_seed = draws.seed()
    draws.shuffle(world.permit_deck)
    unseen: list[tuple[Player, int]] = []
    if state.phase != OVER:  # after the end the objectives are revealed
        for who, player in enumerate(world.players):
            if who != viewer:
                unseen += [(player, index) for index, seen in enumerate(player.known) if not seen]
    pool = world.objective_deck + [player.objectives[index] for player, index in unseen]
    draws.shuffle(pool)
    for player, index in unseen:
        player.objectives[index] = pool.pop()
    world.objective_deck = pool
    world.legal = None
    return world


def sample(view: View, seat: int, draws: Draws) -> State:
    """Returns a whole state that gives that seat exactly this view, each possible one equally likely."""
    return redeal(rebuild(view), seat, draws)


def rebuild(view: View) -> State:
    """Returns the table of a view, with the unknown cards in a fixed order."""
    state = State()
    state.edition = next(edition for edition in EDITIONS if edition.id == view.edition)
    state.seats = view.seats
    solo = view.solo
    state.solo = None
    if solo is not None:
        blocked = box.EARNING_SPACES.index(solo.blocked)
        state.solo = Solo(box.AIDS.index(solo.aid), blocked, solo.divisor)
    cards = view.plot_cards
    state.site = Site([card.card for card in cards], [card.side for card in cards], view.columns)
    state.ring = [box.CARD_IDS.index(card.card) for card in view.ring]
    state.face = face_for(len(view.players))
    state.common = [_OBJECTIVE[name] for name in view.common_objectives]
    state.start = view.start
    state.players = [_player(player) for player in view.players]
    _lay_map(state, view)
    state.permit_row = [_PERMIT[name] if name else EMPTY for name in view.permit_row]
    state.permit_discards = [_PERMIT[name] for name in view.permit_discards]
    state.objective_row = [_OBJECTIVE[name] if name else EMPTY for name in view.objective_row]
    state.urbanism = list(view.urbanism)
    state.deck_seed = bytes(SEED_BYTES)
    state.reshuffles = view.reshuffles
    state.year = next(year for year in range(box.FINAL + 1) if state.edition.year_name(year) == view.year)
    state.card = -1 if view.card is None else view.card
    state.order = list(view.order)
    state.turn = view.turn
    state.pawns = [-1 if player.pawn is None else player.pawn for player in view.players]
    state.phase = PHASES.index(view.phase)
    state.by_benefit = view.by_benefit
    state.grant = view.grant
    state.discarded = [_PERMIT[name] for name in view.discarded]
    state.best_builder = NOBODY if view.best_builder is None else view.best_builder
    state.legal = None
    _lay_unseen(state)
    return state


def _player(view: PlayerView) -> Player:
    player = Player()
    player.money = view.money
    player.pool = view.pool
    player.stock = view.stock
    player.permits = [_PERMIT[name] for name in view.permits]
    player.objectives = [_OBJECTIVE[held.card] if held.card else _UNKNOWN for held in view.objectives]
    player.known = [held.seen for held in view.objectives]
    player.rubble = view.rubble
    player.urbanism = list(view.urbanism)
    letters = [box.PARK_LETTERS.index(letter) for letter in view.parks]
    player.parks = sum(1 << letter for letter in letters)
    player.park_points = sum(box.URBANISM_POINTS[box.PARK][letter] for letter in letters)
    player.column = view.development_column
    player.row = view.development_row
    return player


def _lay_map(state: State, view: View) -> None:
    state.owner = [NOBODY] * box.SPACES
    state.rubble = 0
    for spot in view.spaces:
        space = _SPACE[spot.space]
        if spot.owner is not None:
            state.owner[space] = spot.owner
        if spot.rubble:
            state.rubble |= 1 << space
    state.clean_plots = 0
    state.rubble_plots = 0
    for plot in state.site.plots:
        note_plot(state, plot)


def _lay_unseen(state: State) -> None:
    """Puts the unseen cards into decks and hands; they are known by elimination, since all know the components."""
    held = [permit for player in state.players for permit in player.permits]
    seen = {*held, *state.permit_row, *state.permit_discards, *(box.GRANTS if state.solo is not None else [])}
    state.permit_deck = [permit for permit in range(box.PERMITS) if permit not in seen]
    owned = [card for player in state.players for card in player.objectives]
    seen = {*owned, *state.objective_row, *state.common}
    unseen = [card for card in range(box.BEST_BUILDER) if card not in seen]
    for player in state.players:
        for index, card in enumerate(player.objectives):
            if card == _UNKNOWN:
                player.objectives[index] = unseen.pop()
    state.objective_deck = unseen
