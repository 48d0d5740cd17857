"""States consistent with a view: the table rebuilt from the view, with everything the viewer cannot see re-dealt."""

from service.games.chance import SEED_BYTES, Draws
from service.games.core import Seat, Viewer
from service.games.relief.box import (
    BOARD_KINDS,
    CARD_NUMBER,
    OBJECTIVE_NUMBER,
    OBJECTIVES,
    SPECIALS,
    TILE_NUMBER,
    cards_of_level,
    tiles_of_level,
)
from service.games.relief.state import OVER, Player, State, sites_of
from service.games.relief.view import PHASES, TRIGGERS, SeatView, View, counts_of, has_secret_leaders


def redeal(state: State, viewer: Viewer, draws: Draws) -> State:
    """Returns the same table with everything this viewer cannot know re-dealt."""
    twin = state.copy()
    twin.legal = None
    twin.deck_seed = draws.seed()
    if twin.phase == OVER:  # 5.19: nothing is hidden after the end
        return twin
    for pile in (*twin.tiles, *twin.cards):
        draws.shuffle(pile)
    others = [player for seat, player in enumerate(twin.players) if seat != viewer]
    _deal_specials(twin, others, draws)
    _deal_objectives(twin, others, draws)
    for player in others:
        if has_secret_leaders(twin, player):
            _place_leaders(player, draws)
    return twin


def _deal_specials(state: State, others: list[Player], draws: Draws) -> None:
    """5.19: an unseen special may be in another hand or left in the box."""
    seen = {tile for player in state.players for tile in player.tops}
    seen |= {tile for player in state.players for stack in player.under for tile in stack}
    seen |= {player.special for player in state.players if player not in others}
    unseen = [tile for tile in SPECIALS if tile not in seen]
    draws.shuffle(unseen)
    for player in others:
        if player.special >= 0:
            player.special = unseen.pop()


def _deal_objectives(state: State, others: list[Player], draws: Draws) -> None:
    seen = {state.objective} | {player.objective for player in state.players if player not in others}
    unseen = [number for number in range(len(OBJECTIVES)) if number not in seen]
    draws.shuffle(unseen)
    for player in others:
        player.objective = unseen.pop()


def _place_leaders(player: Player, draws: Draws) -> None:
    """5.23: a seat that has finished gets a complete assignment, any other seat a part of one of any length."""
    spaces = list(range(len(player.tops)))
    draws.shuffle(spaces)
    chosen = sorted(spaces[: player.leaders])
    if player.unplaced:
        chosen = chosen[: draws.below(player.leaders)]
        player.unplaced = player.leaders - len(chosen)
    player.led = sum(1 << space for space in chosen)


def sample(view: View, seat: Seat, draws: Draws) -> State:
    """Returns a whole state consistent with this view, made from the view alone."""
    if view.you != seat:
        raise ValueError(f"this is the view of seat {view.you}, not of seat {seat}")
    return redeal(rebuild(view), seat, draws)


def rebuild(view: View) -> State:
    """Returns the table of a view; what the view hides is filled with the remaining components, to be re-dealt."""
    players = [_player(seat) for seat in view.seats]
    _fill_hands(view, players)
    cards = view.cards
    used = [[CARD_NUMBER[card] for card in level.used] for level in cards]
    seen = {TILE_NUMBER[tile] for tile in (*view.row, *view.discarded)}
    for player in players:
        seen.update(player.tops)
        for under in player.under:
            seen.update(under)
    tiles = [[tile for tile in tiles_of_level(level, len(players)) if tile not in seen] for level in (1, 2)]
    piles: list[list[int]] = []
    for level in range(2):
        shown = cards[level].pile
        left = [card for card in cards_of_level(level + 1) if card not in used[level]]
        piles.append([CARD_NUMBER[card] for card in shown] if view.phase == PHASES[OVER] else left)
    return State(
        players=players,
        deck_seed=bytes(SEED_BYTES),
        stop_on_discard=view.end_on_discard == "stop",
        own_objectives=view.objectives == "own",
        round=view.round,
        phase=PHASES.index(view.phase),
        turn=view.turn,
        first=view.first,
        level_two=view.level_two,
        trigger=TRIGGERS.index(view.trigger),
        in_hand=view.in_hand,
        above=view.above - 1,
        board=counts_of(view.board)[: len(BOARD_KINDS)],
        supply=counts_of(view.supply),
        leader_supply=view.leader_supply,
        objective=OBJECTIVE_NUMBER[view.objective],
        row=[TILE_NUMBER[tile] for tile in view.row],
        discarded=[TILE_NUMBER[tile] for tile in view.discarded],
        tiles=(tiles[0], tiles[1]),
        cards=(piles[0], piles[1]),
        used_cards=(used[0], used[1]),
        reshuffles=[level.reshuffles for level in cards],
    )


def _player(seat: SeatView) -> Player:
    tops = [TILE_NUMBER[space.tile] for space in seat.mat]
    # Secret leaders: a placeholder for what is not shown, on the lowest spaces, all of them or none.
    secret = tuple(range(1, seat.leaders + 1)) if seat.settled else ()
    placed = secret if seat.placed is None else seat.placed.spaces
    return Player(
        goods=counts_of(seat.goods),
        tops=tops,
        under=[tuple(TILE_NUMBER[tile] for tile in space.under) for space in seat.mat],
        uses=[space.uses for space in seat.mat],
        sites=sites_of(tops),
        special=TILE_NUMBER[seat.special] if seat.special else -1,
        objective=OBJECTIVE_NUMBER[seat.objective] if seat.objective else -1,
        leaders=seat.leaders,
        led=sum(1 << space - 1 for space in placed),
        unplaced=0 if seat.settled else seat.leaders - len(placed),
        markers=seat.markers,
        track=seat.track,
        builds=seat.build_uses,
        spends=seat.spend_uses,
        trades=seat.trade_uses,
    )


def _fill_hands(view: View, players: list[Player]) -> None:
    """Gives every hidden hand a special and an objective that are not visible elsewhere."""
    on_mats = {tile for player in players for tile in player.tops}
    on_mats |= {tile for player in players for under in player.under for tile in under}
    held = {player.special for player in players}
    specials = [tile for tile in SPECIALS if tile not in on_mats and tile not in held]
    known = {player.objective for player in players} | {OBJECTIVE_NUMBER[view.objective]}
    objectives = [number for number in range(len(OBJECTIVES)) if number not in known]
    for seat, player in zip(view.seats, players, strict=True):
        if not seat.special and not seat.special_built:
            player.special = specials.pop()
        if player.objective < 0:
            player.objective = objectives.pop()
