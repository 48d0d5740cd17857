"""The rules in the order of the rulebook: setup, a round, a marker, the end. Numbers cite docs/games/relief.md."""

from collections.abc import Sequence

from service.games.chance import Draws, Seeds
from service.games.core import Options, Seat
from service.games.relief import refusals
from service.games.relief.actions import Action, Build, Keep, Lead, Spend, Trade, Use
from service.games.relief.box import (
    BOX,
    MONEY,
    OBJECTIVES,
    ROW,
    SPECIALS,
    STARTERS,
    TILES,
    TOKENS,
    cards_of_level,
    tiles_of_level,
)
from service.games.relief.building import pay, place_card, price_at, put, refill, starting_tops, turn_card
from service.games.relief.legal import free_spaces, legal_actions
from service.games.relief.state import (
    LEADERS,
    MARKERS,
    NEW_LEADERS,
    NO_TRIGGER,
    OVER,
    Player,
    State,
    influence,
    sites_of,
)

# --- Setup ----------------------------------------------------------------------------------------


def setup(seats: int, options: Options, seeds: Seeds) -> State:
    """Returns the table before the first move: the table seed deals what lies open, the deck seed the rest (5.1, 5.31)."""
    first_tiles, tiles_one = _open_and_pile("tiles-1", tiles_of_level(1, seats), ROW, seeds)
    _, tiles_two = _open_and_pile("tiles-2", tiles_of_level(2, seats), 0, seeds)
    first_card, cards_one = _open_and_pile("cards-1/0", cards_of_level(1), 1, seeds)
    _, cards_two = _open_and_pile("cards-2/0", cards_of_level(2), 0, seeds)
    _, specials = _open_and_pile("special", list(SPECIALS), 0, seeds)
    face_up, objectives = _open_and_pile("objective", list(range(len(OBJECTIVES))), 1, seeds)

    players = [_player(special, objective) for special, objective in zip(specials, objectives[:seats], strict=False)]
    state = State(
        players=players,
        deck_seed=seeds.deck,
        stop_on_discard=options["end_on_discard"] == "stop",
        own_objectives=options["objectives"] == "own",
        round=1,
        phase=LEADERS,
        turn=0,
        first=0,
        level_two=False,
        trigger=NO_TRIGGER,
        in_hand=0,
        above=0,
        board=[0] * 6,
        supply=[token.count - token.start * seats for token in TOKENS],
        leader_supply=BOX.leaders,
        objective=face_up[0],
        row=first_tiles[::-1],  # the first drawn is the rightmost
        discarded=[],
        tiles=(tiles_one, tiles_two),
        cards=(cards_one, cards_two),
        used_cards=(first_card, []),
        reshuffles=[0, 0],
    )
    place_card(state, first_card[0])  # 5.2: this is the card of round 1
    return state


def _open_and_pile(purpose: str, cards: list[int], faces: int, seeds: Seeds) -> tuple[list[int], list[int]]:
    """Returns ``faces`` cards face up by the table seed, and the rest shuffled by the deck seed."""
    if faces:
        Draws(seeds.table, purpose).shuffle(cards)
    pile = sorted(cards[faces:])
    Draws(seeds.deck, purpose).shuffle(pile)
    return cards[:faces], pile


def _player(special: int, objective: int) -> Player:
    tops = starting_tops()
    return Player(
        goods=[token.start for token in TOKENS],
        tops=tops,
        under=[()] * STARTERS,
        uses=[0] * STARTERS,
        sites=sites_of(tops),
        special=special,
        objective=objective,
        leaders=BOX.starting_leaders,
        led=0,
        unplaced=BOX.starting_leaders,
        markers=BOX.starting_markers,
        track=0,
        builds=0,
        spends=0,
        trades=0,
    )


# --- Who acts, and how ----------------------------------------------------------------------------


def to_act(state: State) -> Sequence[Seat]:
    """Returns the seats that may act now: in the leader phase all that still have a leader to place (5.3)."""
    phase = state.phase
    if phase == LEADERS:
        return [seat for seat, player in enumerate(state.players) if player.unplaced]
    return () if phase == OVER else (state.turn,)


def is_secret(state: State) -> bool:
    """5.19: a seat's pending leaders are hidden from all others."""
    return state.phase == LEADERS


def apply(state: State, seat: Seat, action: Action) -> None:
    """Carries out the action, or raises Refused and leaves the state unchanged."""
    if action not in legal_actions(state, seat):
        raise refusals.refusal(state, seat, action)
    state.legal = None
    player = state.players[seat]
    if state.phase == MARKERS:
        player.markers -= 1
        if isinstance(action, Use):
            _use(state, player, action.space)
        elif isinstance(action, Build):
            _build(state, player, action.tile, action.space)
        elif isinstance(action, Trade):
            _trade(state, player, action)
        elif isinstance(action, Spend):
            _spend(state, player, action)
        if state.phase == MARKERS:
            _next_turn(state)
    elif state.phase == LEADERS:
        assert isinstance(action, Lead)
        player.led |= 1 << action.space
        player.unplaced -= 1
        _reveal_when_all_have_spoken(state)
    else:
        _place_new_leader(state, player, action)


# --- Beginning a round (5.21, steps 1 to 4) -------------------------------------------------------


def begin_round(state: State) -> None:
    """Takes all leaders off the tiles; a seat with a leader for every tile is not asked (5.23)."""
    state.phase = LEADERS
    for player in state.players:
        occupied = len(player.tops)
        asked = player.leaders < occupied
        player.led = 0 if asked else (1 << occupied) - 1
        player.unplaced = player.leaders if asked else 0
    _reveal_when_all_have_spoken(state)


def _reveal_when_all_have_spoken(state: State) -> None:
    """5.3, 5.21: after the last leader is placed: first player, card (not in round 1, 5.2), markers."""
    for player in state.players:
        if player.unplaced:
            return
    state.first = first_player(state)
    if state.round > 1:
        turn_card(state)
    state.phase = MARKERS
    state.turn = state.first


def first_player(state: State) -> Seat:
    """5.4: the seat with strictly the most influence takes the token; on a tie the token stays where it is."""
    counts = [influence(player) for player in state.players]
    most = max(counts)
    return counts.index(most) if counts.count(most) == 1 else state.first


# --- A marker (5.22) ------------------------------------------------------------------------------


def _use(state: State, player: Player, space: int) -> None:
    """5.13: a leader on the tile adds one to everything it gives; 5.29: pay, take, help, gain, leaders, points."""
    tile = TILES[player.tops[space]]
    bonus = player.led >> space & 1
    goods = player.goods
    player.uses[space] += 1
    if tile.leader_cost is not None:
        pay(state, player, tile.leader_cost)
    for source, amounts in ((state.board, tile.take), (state.board, tile.help), (state.supply, tile.gain)):
        for kind, count in amounts:  # 5.7: as many as there are; helping flips the token, which keeps its origin
            found = min(count + bonus, source[kind])
            source[kind] -= found
            goods[kind] += found
    if tile.leader_cost is not None:
        gained = min(1 + bonus, state.leader_supply)
        state.leader_supply -= gained
        player.leaders += gained
        _offer_places(state, player, gained, 0)
    if tile.score:
        player.track += tile.score + bonus


def _offer_places(state: State, player: Player, in_hand: int, above: int) -> None:
    """5.24: asks while a new leader is in hand and there is a tile without one above the last one filled."""
    if in_hand and free_spaces(player, above):
        state.phase, state.in_hand, state.above = NEW_LEADERS, in_hand, above
    else:
        state.phase, state.in_hand, state.above = MARKERS, 0, 0


def _place_new_leader(state: State, player: Player, action: Action) -> None:
    """5.14: the leader goes onto a tile at once, or waits until the next leader phase."""
    if isinstance(action, Lead):
        player.led |= 1 << action.space
        _offer_places(state, player, state.in_hand - 1, action.space + 1)
    else:
        assert isinstance(action, Keep)
        _offer_places(state, player, 0, 0)
    if state.phase == MARKERS:
        _next_turn(state)


def _build(state: State, player: Player, tile: int, space: int) -> None:
    """5.12: pays and places; a tile of the row is replaced at once, the own special does not change the row."""
    player.builds += 1
    pay(state, player, price_at(player, tile, space))
    put(player, tile, space)
    if tile == player.special:
        player.special = -1
    else:
        state.row.remove(tile)
        refill(state)


def _spend(state: State, player: Player, spend: Spend) -> None:
    """C21: stories into money, or money into influence."""
    player.spends += 1
    goods, supply = player.goods, state.supply
    goods[spend.paid_kind] -= spend.pay
    supply[spend.paid_kind] += spend.pay
    goods[spend.gained_kind] += spend.gain
    supply[spend.gained_kind] -= spend.gain


def _trade(state: State, player: Player, trade: Trade) -> None:
    """C22: buys tokens in any mix from the general supply, one money each; workers are regular ones (5.20)."""
    player.trades += 1
    goods, supply = player.goods, state.supply
    goods[MONEY] -= trade.count
    supply[MONEY] += trade.count
    for kind, count in enumerate(trade.mix):
        goods[kind] += count
        supply[kind] -= count


def _next_turn(state: State) -> None:
    """5.9: clockwise; all seats have equally many markers, so the round is over when the next seat has none left."""
    state.turn = (state.turn + 1) % len(state.players)
    if not state.players[state.turn].markers:
        _end_round(state)


# --- Ending a round, ending the game (5.21, steps 6 and 7) ----------------------------------------


def _end_round(state: State) -> None:
    """5.10: ends the game if the last tile has entered; otherwise collects markers, discards, slides, refills, begins a round."""
    if state.trigger != NO_TRIGGER:
        state.phase = OVER
        return
    for player in state.players:
        player.markers = BOX.all_markers if state.level_two else BOX.starting_markers
        player.uses = [0] * len(player.tops)
        player.builds = player.spends = player.trades = 0
    state.phase = LEADERS  # a refill from here on is no longer part of the marker phase
    state.discarded.append(state.row.pop())
    refill(state)
    if state.trigger != NO_TRIGGER and state.stop_on_discard:  # 5.30
        state.phase = OVER
        return
    state.round += 1
    begin_round(state)
