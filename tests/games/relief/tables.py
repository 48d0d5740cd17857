"""Tables drawn as text, and short functions to play at them.

A table is written in segments, parted by ``|`` or by lines::

    relief("row: T14 T07 T01 T10 T05 | pile: T02 T16 | A* start @1 T01 ! x1 @8 T15 | B K1/2/3 $4")

``A* start @1 T01 ! x1`` reads: seat A is to act, holds the starting goods, and on its space 1 the tile T01 covers the
starter, with a leader on it and one use this round. Goods are W F S T $ N with a number; workers are K3 (regular) or
K1/2/3 (once distressed / once injured / regular). ``L5`` leaders owned, ``m3`` markers, ``vp7`` track, ``b1 s2 t0``
markers on Build, Spend and Trade, ``X1`` the special in hand (``X-`` built), ``O4`` the objective. What no player holds
lies in the supply, unless ``supply:`` is given.
"""

import re
from collections.abc import Sequence

from service.games.chance import Draws, seeds_of
from service.games.core import Outcome, Refused, Seat
from service.games.relief import RELIEF
from service.games.relief.actions import read
from service.games.relief.box import (
    BOX,
    CARD_NUMBER,
    LETTERS,
    OBJECTIVE_NUMBER,
    SPECIALS,
    TILE_NUMBER,
    TILES,
    TOKENS,
    cards_of_level,
    tiles_of_level,
)
from service.games.relief.state import BY_BUILD, BY_REFILL, LEADERS, MARKERS, NEW_LEADERS, OVER, Player, State, sites_of

A, B, C = 0, 1, 2
#: A special or an objective the drawing does not name.
UNDRAWN = -2
PHASES = {"leaders": LEADERS, "markers": MARKERS, "new": NEW_LEADERS, "over": OVER}
DEFAULTS: dict[str, str | int] = {"end_on_discard": "full_round", "objectives": "all"}


def new(seats: int, number: int = 1, **options: str | int) -> State:
    """Returns a new table."""
    return RELIEF.new(seats, {**DEFAULTS, **options}, seeds_of(number))


def relief(drawing: str) -> State:
    """Returns the table of a drawing."""
    segments = [segment.strip() for segment in re.split(r"[|\n]", drawing) if segment.strip()]
    facts: dict[str, list[str]] = {}
    seats: dict[int, list[str]] = {}
    turn = 0
    for segment in segments:
        head, *words = segment.split()
        if head[0] in "ABC" and head.strip("*") in ("A", "B", "C"):
            seats["ABC".index(head[0])] = words
            turn = "ABC".index(head[0]) if head.endswith("*") else turn
        else:
            facts[head.rstrip(":")] = words
    known = (
        "row pile cards used board supply round phase first level objective options trigger hand above seats discarded"
    )
    assert set(facts) <= set(known.split()), f"unknown words in the drawing: {set(facts) - set(known.split())}"
    count = max(2, 1 + max(seats, default=1), int(facts.get("seats", ["2"])[0]))
    players = [_player(seats.get(seat, [])) for seat in range(count)]
    objective = _objectives(players, facts.get("objective"))
    _specials(players)
    level_two = facts.get("level") == ["2"]
    phase = PHASES[facts.get("phase", ["markers"])[0]]
    state = new(count)
    state.players = players
    state.objective = objective
    state.stop_on_discard = "stop" in facts.get("options", [])
    state.own_objectives = "own" in facts.get("options", [])
    state.round = int(facts.get("round", ["2"])[0])
    state.phase, state.turn, state.level_two = phase, turn, level_two
    state.first = "ABC".index(facts["first"][0]) if "first" in facts else turn
    state.trigger = {"build": BY_BUILD, "refill": BY_REFILL, "none": 0}[facts.get("trigger", ["none"])[0]]
    state.in_hand, state.above = int(facts.get("hand", ["0"])[0]), int(facts.get("above", ["1"])[0]) - 1
    _lay_tiles(state, facts)
    _lay_cards(state, facts)
    state.board = [0] * 6
    for kind, number in _goods(facts.get("board", [])):
        state.board[kind] = number
    _fill_supply(state, facts.get("supply", []))
    for seat, player in enumerate(players):
        if not any(re.fullmatch(r"m\d+", word) for word in seats.get(seat, [])):
            player.markers = BOX.all_markers if level_two else BOX.starting_markers
        if phase == LEADERS:
            player.unplaced = player.leaders - player.led.bit_count() if player.leaders < len(player.tops) else 0
    return state


def _goods(words: Sequence[str]) -> list[tuple[int, int]]:
    return [(LETTERS.index(word[0]), int(word[1:])) for word in words if word[0] in LETTERS]


def _player(words: Sequence[str]) -> Player:
    player = Player([0] * 9, list(range(7)), [()] * 7, [0] * 7, [], UNDRAWN, UNDRAWN, 2, 0, 0, 5, 0, 0, 0, 0)
    space = -1
    for word in words:
        if word == "start":
            player.goods = [token.start for token in TOKENS]
        elif word.startswith("@"):
            space = int(word[1:]) - 1
        elif word == "!":
            player.led |= 1 << space
        elif re.fullmatch(r"x\d", word):
            player.uses[space] = int(word[1:])
        elif space >= 0:
            _stack(player, TILE_NUMBER[word], space)
        else:
            _holding(player, word)
    player.sites = sites_of(player.tops)
    return player


def _stack(player: Player, tile: int, space: int) -> None:
    if space == len(player.tops):
        player.tops.append(tile)
        player.under.append(())
        player.uses.append(0)
    else:
        assert space < len(player.tops), "open spaces are filled from the lowest"
        assert TILES[player.tops[space]].icon == TILES[tile].icon, "a stack keeps its icon"
        player.under[space] = (*player.under[space], player.tops[space])
        player.tops[space] = tile


def _holding(player: Player, word: str) -> None:
    number = re.fullmatch(r"(\D+)(\d+)", word)
    if word == "X-":
        player.special = -1
    elif re.fullmatch(r"X\d", word):
        player.special = TILE_NUMBER[word]
    elif re.fullmatch(r"O\d", word):
        player.objective = OBJECTIVE_NUMBER[word]
    elif re.fullmatch(r"K\d+/\d+/\d+", word):
        player.goods[4], player.goods[5], player.goods[3] = (int(part) for part in word[1:].split("/"))
    else:
        assert number, f"cannot draw {word!r}"
        name, count = number[1], int(number[2])
        fields = {"L": "leaders", "m": "markers", "vp": "track", "b": "builds", "s": "spends", "t": "trades"}
        if name in fields:
            setattr(player, fields[name], count)
        else:
            player.goods[LETTERS.index(name)] = count


def _objectives(players: list[Player], words: list[str] | None) -> int:
    face_up = OBJECTIVE_NUMBER[words[0]] if words else UNDRAWN
    taken = {face_up} | {player.objective for player in players}
    free = [number for number in range(7) if number not in taken]
    for player in players:
        if player.objective == UNDRAWN:
            player.objective = free.pop()
    return face_up if words else free.pop()


def _specials(players: list[Player]) -> None:
    taken = {player.special for player in players} | {tile for player in players for tile in player.tops}
    taken |= {tile for player in players for stack in player.under for tile in stack}
    free = [tile for tile in SPECIALS if tile not in taken]
    for player in players:
        if player.special == UNDRAWN:
            player.special = free.pop()


def _lay_tiles(state: State, facts: dict[str, list[str]]) -> None:
    seen = {tile for player in state.players for tile in player.tops}
    seen |= {tile for player in state.players for stack in player.under for tile in stack}
    piles = [[tile for tile in tiles_of_level(level, len(state.players)) if tile not in seen] for level in (1, 2)]
    row = [TILE_NUMBER[tile] for tile in facts["row"]] if "row" in facts else []
    if "row" not in facts:
        row = (piles[0] + piles[1])[:5]
    state.row = row
    state.discarded = [TILE_NUMBER[tile] for tile in facts.get("discarded", [])]
    gone = {*row, *state.discarded}
    piles = [[tile for tile in pile if tile not in gone] for pile in piles]
    if "pile" in facts:  # exactly these, the first drawn first
        pile = [TILE_NUMBER[tile] for tile in facts["pile"]]
        piles = [[tile for tile in pile if TILES[tile].level == level] for level in (1, 2)]
    state.tiles = (piles[0][::-1], piles[1][::-1])


def _lay_cards(state: State, facts: dict[str, list[str]]) -> None:
    used = [CARD_NUMBER[card] for card in facts.get("used", [])]
    cards = [CARD_NUMBER[card] for card in facts.get("cards", [])]
    for level in range(2):
        all_cards = cards_of_level(level + 1)
        named = [card for card in cards if card in all_cards]
        rest = [card for card in all_cards if card not in named and card not in used]
        state.cards[level][:] = ([] if named else rest)[::-1] or named[::-1]
        state.used_cards[level][:] = [card for card in used if card in all_cards]


def _fill_supply(state: State, words: Sequence[str]) -> None:
    for kind, token in enumerate(TOKENS):
        held = sum(player.goods[kind] for player in state.players)
        state.supply[kind] = token.count - held - (state.board[kind] if kind < len(state.board) else 0)
        assert state.supply[kind] >= 0, f"more {token.name} drawn than there are"
    owned = sum(player.leaders - BOX.starting_leaders for player in state.players)
    state.leader_supply = BOX.leaders - owned
    for word in words:
        if word[0] == "L":
            state.leader_supply = int(word[1:])
        else:
            state.supply[LETTERS.index(word[0])] = int(word[1:])


# What is done at a table


def play(state: State, *moves: str) -> State:
    """Returns the table after these moves of the seat to act; ``B: use @1`` names another seat."""
    table = state.copy()
    for move in moves:
        seat = RELIEF.to_act(table)[0]
        text = move
        if ":" in move:
            name, text = move.split(":")
            seat = "ABC".index(name)
        RELIEF.apply(table, seat, read(text))
    return table


def offers(state: State, seat: Seat, verb: str = "") -> list[str]:
    """Returns the texts of the legal actions, optionally of one verb."""
    texts = [action.text for action in RELIEF.legal_actions(state, seat)]
    return [text for text in texts if text.startswith(verb)]


def refusal(state: State, seat: Seat, text: str) -> str:
    """Returns the reason why this action is refused; checks that the table is unchanged."""
    before = RELIEF.to_plain(state)
    try:
        RELIEF.apply(state, seat, read(text))
    except Refused as refused:
        assert RELIEF.to_plain(state) == before, "a refusal moves nothing"
        assert re.fullmatch(r"5\.\d+", refused.rule)
        return refused.reason
    raise AssertionError(f"{text} was accepted")


def goods(state: State, seat: Seat) -> str:
    """Returns what a seat holds: ``W1 S2 K1/0/2 $3``; kinds it does not hold are left out."""
    held = state.players[seat].goods
    workers = f"K{held[4]}/{held[5]}/{held[3]}" if held[3] + held[4] + held[5] else ""
    words = [f"{LETTERS[kind]}{held[kind]}" for kind in (0, 1, 2) if held[kind]]
    words += [workers] if workers else []
    words += [f"{LETTERS[kind]}{held[kind]}" for kind in (6, 7, 8) if held[kind]]
    return " ".join(words)


def lying(counts: Sequence[int]) -> str:
    """Returns a board or a supply as ``W1 F2 D3``; empty kinds are left out."""
    return " ".join(f"{LETTERS[kind]}{count}" for kind, count in enumerate(counts) if count)


def row(state: State) -> str:
    """The row from left to right."""
    return " ".join(TILES[tile].id for tile in state.row)


def tile_on(state: State, seat: Seat, space: int) -> str:
    """The visible tile of a space, counted from 1."""
    return TILES[state.players[seat].tops[space - 1]].id


def leaders_on(state: State, seat: Seat) -> list[int]:
    """The spaces with a leader, counted from 1."""
    return [space + 1 for space in range(14) if state.players[seat].led >> space & 1]


def waiting(state: State, seat: Seat) -> int:
    """The leaders beside the mat."""
    player = state.players[seat]
    return player.leaders - player.led.bit_count()


def pass_round(state: State) -> State:
    """Lets all seats place the lowest leaders and pass until the next round begins or the game is over."""
    table = state.copy()
    number = table.round
    while table.round == number and RELIEF.to_act(table):
        seat = RELIEF.to_act(table)[0]
        RELIEF.apply(table, seat, RELIEF.legal_actions(table, seat)[0])
    return table


def pass_until_markers(state: State) -> State:
    """Lets all seats place the lowest leaders."""
    table = state.copy()
    while table.phase == LEADERS:
        seat = RELIEF.to_act(table)[0]
        RELIEF.apply(table, seat, RELIEF.legal_actions(table, seat)[0])
    return table


def ended(state: State) -> Outcome:
    """The outcome of a table that is over."""
    outcome = RELIEF.outcome(state)
    assert outcome is not None
    return outcome


def draws(purpose: str = "test") -> Draws:
    """A stream for players and redeals."""
    return Draws(bytes(range(32)), purpose)
