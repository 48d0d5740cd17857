"""Tables drawn as text, so that an example can be read like a position in a rulebook.

    table = draw('''
        2e  3 players  year 1908  card A1 2nd  map 1 2 3 / 4 5 6 all A
        order: orange black blue    pawns: orange 1, black 2
        orange  $5  stock 1  permits P07 P20  at (2,3)  built Y5c Y5d G5a-G5c  rubble 1  lighting 2  parks A
        black   hidden O03  objectives O10
        permit row: P01 P02 -   deck: P04 P05 …   discards: P10
        objective row: O01 O02 -   objective deck: none   common: O17 O22 O23
        rubble: Y5a G2b   urbanism left: lighting 0 park 2
    ''')

The first line is the head; the other lines are optional and may come in any order. Missing parts have simple defaults:

* head: edition (1e, 2e) and players (``2 players`` … or ``solo``) are required; ``year 1907``, ``card A1`` and the
  map M2, M3, M4 or MS (solo) are usual. ``card A1 6th`` lays that card sixth in the ring. Instead of a card:
  ``earnings`` (the earnings area), ``final`` (the final benefit) or ``over``. ``map 1 2 / 3 4 sides ABAB`` chooses
  sides. Solo options: ``hard``, ``blocked $4``, ``divisor 3``.
* order: by seat. The first player in it without a pawn has the turn. Pawns stand on spaces (``black 2``), in the
  earnings area on money (``black $4``). For the final benefit ``turn: blue`` names the next player.
* a player: $0, at (0,0), nothing in hand. Buildings make eight: what is neither ``stock`` nor ``built`` lies in the
  ``pool``; two of the three can be given. The Committee (black in the solo game) has all eight at hand. ``objectives``
  have been seen by all, ``hidden`` ones have not.
* rows and decks: the lowest cards that are placed nowhere else. Decks are written from the top; ``…`` means that the
  rest follows. A deck written without it is complete, and cards that are not named are out of the game. ``-`` is a gap in
  a row.
* rubble: as printed on the sides that are up, except where a building stands; ``cleared:`` takes some away,
  ``rubble:`` names all of it.
* urbanism left: what the players do not hold. Best Builder: the only player with eight buildings on the map, or ``best
  builder: black``.
"""

import re
from collections.abc import Iterable
from typing import Final

from service.games.chance import seeds_of
from service.games.core import OptionValue, Refused
from service.games.sf1906 import actions, box, committee, rules
from service.games.sf1906.editions import FIRST, SECOND
from service.games.sf1906.state import (
    ASK_BENEFIT,
    ASK_EARN,
    ASK_PLACE,
    EMPTY,
    NOBODY,
    OVER,
    Player,
    Site,
    Solo,
    State,
    face_for,
    new_player,
    note_plot,
)
from service.games.sf1906.table import options_of, setup

ORANGE: Final = 0
BLACK: Final = 1
BLUE: Final = 2
WHITE: Final = 3
COMMITTEE: Final = BLACK  # in the solo game

#: Section 7 of the rules page: plot cards in reading order, side A up.
MAPS: Final = {
    "M2": (1, 2, 3, 4),
    "M3": (1, 2, 3, 4, 5, 6),
    "M4": (1, 2, 3, 4, 5, 6, 7, 8),
    "MS": (5, 6, 3, 4),
}
_LABELS: Final = (
    "objective row",
    "objective deck",
    "permit row",
    "permit deck",
    "deck",
    "discards",
    "common",
    "order",
    "pawns",
    "turn",
    "rubble",
    "cleared",
    "urbanism left",
    "best builder",
    "ring",
)
_LABEL: Final = re.compile("(?:^|(?<=\\s))(" + "|".join(_LABELS) + r")\s*:")
_ITEMS: Final = ("stock", "pool", "permits", "objectives", "hidden", "at", "built", "rubble", "parks", *box.ICONS[:3])


class BadDrawing(ValueError):
    """A picture cannot be read; the message names the words and what is expected."""

    def __init__(self, words: str, expected: str) -> None:
        super().__init__(f"cannot draw {words!r}; expected {expected}")


# ------------------------------------------------------------------------------------------------------------- playing
def fresh(edition: str, seats: int, number: int = 1, **said: OptionValue) -> State:
    """Returns the table before the first move, as the series ``number`` deals it: set up by the rules, not drawn."""
    which = SECOND if edition == "2e" else FIRST
    options = {option.name: option.default for option in options_of(which)}
    for name, value in said.items():
        options[name] = next(option for option in options_of(which) if option.name == name).check(value)
    return setup(which, seats, options, seeds_of(number))


def texts(table: State, seat: int) -> list[str]:
    """Returns the texts of the seat's legal actions."""
    return [action.text for action in rules.legal_actions(table.copy(), seat)]


def after(table: State, seat: int, *said: str) -> State:
    """Returns a copy of the table after these actions of the seat; without actions, after all automatic steps."""
    new = table.copy()
    rules.settle(new)
    for text in said:
        rules.apply(new, seat, actions.read(text))
    return new


def play(table: State, *said: str) -> State:
    """Returns a copy of the table after actions of several seats: "orange: place 1 act", "black: …"."""
    new = table
    for sentence in said:
        name, _, text = sentence.partition(":")
        new = after(new, _index(name.strip(), box.PLAYER_COLOURS), text.strip())
    return new


def refused(table: State, seat: int, text: str) -> Refused:
    """Returns the refusal of that action; checks that the table is unchanged."""
    new = table.copy()
    rules.settle(new)
    before = sketch(new)
    try:
        rules.apply(new, seat, actions.read(text))
    except Refused as refusal:
        assert sketch(new) == before, "a refusal has moved something"
        return refusal
    raise AssertionError(f"{text!r} was accepted")


def refusal(table: State, seat: int, text: str) -> str:
    """Returns the reason why that action is refused."""
    return refused(table, seat, text).reason


def committee_turn(table: State) -> State:
    """Returns a copy of the table after the Committee's next step only: the turn is not passed on."""
    new = table.copy()
    committee.take_turn(new)
    return new


# ------------------------------------------------------------------------------------------------------------- looking
def area(table: State, seat: int) -> str:
    """Returns a player's area in the notation of a drawing, without what is empty or 0."""
    player = table.players[seat]
    said = [f"${player.money}"]
    if player.stock:
        said.append(f"stock {player.stock}")
    for word, names in (
        ("permits", permits_of(table, seat)),
        ("objectives", _objectives(player, True)),
        ("hidden", _objectives(player, False)),
        ("at", "" if (player.column, player.row) == (0, 0) else f"({player.column},{player.row})"),
        ("built", " ".join(box.SPACE_IDS[space] for space in table.site.reading if table.owner[space] == seat)),
    ):
        if names:
            said.append(f"{word} {names}")
    for word, count in zip(("rubble", *box.ICONS[:3]), (player.rubble, *player.urbanism[:3]), strict=True):
        if count:
            said.append(f"{word} {count}")
    if player.parks:
        said.append("parks " + " ".join(box.PARK_LETTERS[i] for i in range(4) if player.parks >> i & 1))
    return "  ".join(said)


def _objectives(player: Player, known: bool) -> str:
    return " ".join(
        box.OBJECTIVE_IDS[card] for card, seen in zip(player.objectives, player.known, strict=True) if seen is known
    )


def permits_of(table: State, seat: int) -> str:
    """Returns the permits in a play area, in the order in which they were taken."""
    return " ".join(box.PERMIT_IDS[permit] for permit in table.players[seat].permits)


def permit_row(table: State) -> str:
    return " ".join("-" if card == EMPTY else box.PERMIT_IDS[card] for card in table.permit_row)


def permit_deck(table: State) -> str:
    """From the top."""
    return " ".join(box.PERMIT_IDS[card] for card in reversed(table.permit_deck))


def discards(table: State) -> str:
    """From the bottom: the last one lies on top."""
    return " ".join(box.PERMIT_IDS[card] for card in table.permit_discards)


def objective_row(table: State) -> str:
    return " ".join("-" if card == EMPTY else box.OBJECTIVE_IDS[card] for card in table.objective_row)


def objective_deck(table: State) -> str:
    """From the top."""
    return " ".join(box.OBJECTIVE_IDS[card] for card in reversed(table.objective_deck))


def rubble_on(table: State) -> str:
    """The spaces with rubble, in reading order."""
    return " ".join(box.SPACE_IDS[space] for space in table.site.reading if table.rubble >> space & 1)


def order_of(table: State) -> str:
    """Who plays when on this card."""
    return " ".join(box.PLAYER_COLOURS[who] for who in table.order)


def card_of(table: State) -> str:
    """The action card in play, or "earnings"."""
    return "earnings" if table.card < 0 else box.CARD_IDS[table.ring[table.card]]


def sketch(table: State) -> list[object]:
    """Everything on the table, for comparing."""
    seats = range(len(table.players))
    return [
        [area(table, seat) for seat in seats],
        [table.players[seat].pool for seat in seats],
        [permit_row(table), permit_deck(table), discards(table), objective_row(table), objective_deck(table)],
        [rubble_on(table), table.owner[:], table.urbanism[:], table.best_builder, table.reshuffles],
        [table.year, table.card, table.order[:], table.turn, table.pawns[:], table.phase, table.discarded[:]],
    ]


# ------------------------------------------------------------------------------------------------------------- drawing
def draw(picture: str) -> State:
    """Returns the table of a picture; raises BadDrawing."""
    lines = [line.strip() for line in picture.strip().splitlines() if line.strip()]
    head = _Head(lines[0].split())
    labelled: dict[str, list[str]] = {}
    player_lines: dict[int, list[str]] = {}
    for line in lines[1:]:
        words = line.split()
        if words[0] in box.PLAYER_COLOURS:
            who = _index(words[0], box.PLAYER_COLOURS[: head.players])
            if who in player_lines:
                raise BadDrawing(line, f"one line for {words[0]}")
            player_lines[who] = words[1:]
        else:
            _split_labels(line, labelled)
    state = _bare_table(head)
    for who in range(head.players):
        _Area(state, who, head.solo and who == COMMITTEE).fill(player_lines.get(who, []))
    _lay_rubble(state, labelled)
    _lay_cards(state, head, labelled)
    _lay_urbanism(state, labelled.get("urbanism left", []))
    _name_best_builder(state, labelled.get("best builder", []))
    _lay_pawns(state, head, labelled)
    return state


def _index(word: str, words: Iterable[str]) -> int:
    known = list(words)
    if word not in known:
        raise BadDrawing(word, "one of " + ", ".join(known))
    return known.index(word)


def _number(word: str) -> int:
    if not word.isdigit():
        raise BadDrawing(word, "a number")
    return int(word)


def _split_labels(line: str, labelled: dict[str, list[str]]) -> None:
    pieces = _LABEL.split(line)
    if pieces[0].strip():
        raise BadDrawing(line, "a player's colour or one of " + ", ".join(f"'{label}:'" for label in _LABELS))
    for label, words in zip(pieces[1::2], pieces[2::2], strict=True):
        name = "deck" if label == "permit deck" else label
        if name in labelled:
            raise BadDrawing(line, f"'{label}:' once")
        labelled[name] = words.replace(",", " ").split()


class _Head:
    """The first line."""

    def __init__(self, words: list[str]) -> None:
        self.edition = -1
        self.players = 0
        self.solo = False
        self.year = 1
        self.place = "card"
        self.card = 0
        self.at = -1  # where in the ring that card lies
        self.cards: tuple[int, ...] = ()
        self.sides = ""
        self.aid = 0
        self.blocked = box.EARNING_SPACES.index(1)
        self.divisor = 4
        self._words = words
        while self._words:
            self._read(self._words.pop(0))
        if self.edition < 0 or self.players == 0:
            raise BadDrawing("the first line", "an edition and the players: '2e  3 players' or '2e  solo'")
        if not self.cards:
            self.cards = MAPS["MS" if self.solo else f"M{self.players}"]
        if not self.sides:
            self.sides = "A" * len(self.cards)
        if len(self.sides) != len(self.cards):
            raise BadDrawing(self.sides, f"{len(self.cards)} sides")

    def _next(self, after_word: str) -> str:
        if not self._words:
            raise BadDrawing(after_word, "something after it")
        return self._words.pop(0)

    def _read(self, word: str) -> None:
        if word in ("1e", "2e"):
            self.edition = int(word[0]) - 1
        elif word in ("2", "3", "4") and self._next(word) == "players":
            self.players = int(word)
        elif word == "solo":
            self.solo, self.players = True, 2
        elif word == "year":
            self.year = _index(self._next(word), box.YEAR_IDS[: box.FINAL])
        elif word == "card":
            self.card = _index(self._next(word), box.CARD_IDS)
            if self._words and re.fullmatch(r"[1-6](st|nd|rd|th)", self._words[0]):
                self.at = int(self._words.pop(0)[0]) - 1
        elif word in ("earnings", "final", "over"):
            self.place = word
            if word == "final":
                self.year = box.FINAL
        elif word == "map":
            self._read_map()
        elif word in box.AIDS:
            self.aid = box.AIDS.index(word)
        elif word == "blocked":
            self.blocked = _index(self._next(word), [f"${amount}" for amount in box.EARNING_SPACES])
        elif word == "divisor":
            self.divisor = _number(self._next(word))
        else:
            raise BadDrawing(
                word, "in the first line: an edition, players, year, card, earnings, final, over, map or a solo switch"
            )

    def _read_map(self) -> None:
        word = self._next("map")
        if word in MAPS:
            self.cards = MAPS[word]
            return
        rows: list[list[int]] = [[]]
        while True:
            if word == "/":
                rows.append([])
            else:
                rows[-1].append(_number(word))
            if not self._words or not re.fullmatch(r"[1-8]|/", self._words[0]):
                break
            if len(self._words) > 1 and self._words[1] == "players":
                break
            word = self._words.pop(0)
        self.cards = tuple(card for row in rows for card in row)
        if len(rows) != 2 or len(rows[0]) != len(rows[1]) or len(set(self.cards)) < len(self.cards):
            raise BadDrawing(f"map {rows}", "two rows of the same length, each card once: 'map 1 2 / 3 4'")
        if not set(self.cards) <= set(range(1, 9)):
            raise BadDrawing(f"map {rows}", "cards 1 to 8")
        if self._words and self._words[0] in ("all", "sides"):
            word = self._words.pop(0)
            sides = self._next(word)
            self.sides = sides * len(self.cards) if word == "all" else sides
            if not set(self.sides) <= {"A", "B"}:
                raise BadDrawing(sides, "sides A or B")


def _bare_table(head: _Head) -> State:
    """Returns boards and map without the players' pieces."""
    state = State()
    state.edition = SECOND if head.edition else FIRST
    state.seats = 1 if head.solo else head.players
    state.solo = Solo(head.aid, head.blocked, head.divisor) if head.solo else None
    state.site = Site(list(head.cards), list(head.sides), len(head.cards) // 2)
    state.face = face_for(head.players)
    state.players = [new_player() for _ in range(head.players)]
    state.owner = [NOBODY] * box.SPACES
    state.deck_seed = bytes(range(32))
    state.reshuffles = 0
    state.start = 0
    state.year = head.year
    state.by_benefit = False
    state.grant = False
    state.discarded = []
    state.legal = None
    return state


class _Area:
    """One player's line."""

    def __init__(self, state: State, who: int, is_committee: bool) -> None:
        self.state = state
        self.who = who
        self.player = state.players[who]
        self.is_committee = is_committee
        self.counts: dict[str, int] = {}

    def fill(self, words: list[str]) -> None:
        """Reads the items, then checks that there are eight buildings."""
        item = ""
        values: dict[str, list[str]] = {}
        for word in words:
            if re.fullmatch(r"\$\d+", word):
                self.player.money = int(word[1:])
                item = ""
            elif word in _ITEMS:
                item = word
                if values.setdefault(item, []):
                    raise BadDrawing(" ".join(words), f"'{item}' once")
            elif item:
                values[item].append(word)
            else:
                raise BadDrawing(word, "money such as $5 or one of " + ", ".join(_ITEMS))
        for item, said in values.items():
            self._item(item, said)
        self._count_buildings(len(_spaces(values.get("built", []))))

    def _item(self, item: str, said: list[str]) -> None:
        player = self.player
        if item == "permits":
            player.permits = [_index(word, box.PERMIT_IDS) for word in said]
        elif item in ("objectives", "hidden"):
            player.objectives += [_index(word, box.OBJECTIVE_IDS) for word in said]
            player.known += [item == "objectives"] * len(said)
        elif item == "built":
            for space in _spaces(said):
                self._put(space)
        elif item == "parks":
            for letter in said:
                index = _index(letter, box.PARK_LETTERS)
                player.parks |= 1 << index
                player.park_points += box.URBANISM_POINTS[box.PARK][index]
                player.urbanism[box.PARK] += 1
        elif len(said) != 1:
            raise BadDrawing(" ".join([item, *said]), f"one value after '{item}'")
        elif item == "at":
            match = re.fullmatch(r"\(([0-5]),([0-5])\)", said[0])
            if match is None:
                raise BadDrawing(said[0], "a development space such as (2,3)")
            player.column, player.row = int(match[1]), int(match[2])
        elif item == "rubble":
            player.rubble = _number(said[0])
        elif item in box.ICONS:
            player.urbanism[box.ICONS.index(item)] = _number(said[0])
        else:
            self.counts[item] = _number(said[0])

    def _put(self, space: int) -> None:
        name = box.SPACE_IDS[space]
        if space not in self.state.site.reading:
            raise BadDrawing(name, "a space of this map")
        if self.state.owner[space] != NOBODY:
            raise BadDrawing(name, "one building on a space")
        self.state.owner[space] = self.who

    def _count_buildings(self, built: int) -> None:
        usual = {"pool": 0} if self.is_committee else {"stock": 0}
        counts = self.counts or usual
        missing = box.BUILDINGS - built - sum(counts.values())
        if missing < 0 or (len(counts) == 2 and missing):
            raise BadDrawing(f"{counts}, {built} built", "eight buildings in all")
        self.player.pool = counts.get("pool", missing)
        self.player.stock = counts.get("stock", missing)


def _spaces(words: Iterable[str]) -> list[int]:
    """Y5a, or Y5a-Y5e for a run of spaces of one plot."""
    found: list[int] = []
    for word in words:
        first, _, last = word.partition("-")
        start = _index(first, box.SPACE_IDS)
        stop = _index(last, box.SPACE_IDS) if last else start
        if stop < start or box.SPACE_PLOT[start] != box.SPACE_PLOT[stop]:
            raise BadDrawing(word, "a run of spaces of one plot such as Y5a-Y5e")
        found += range(start, stop + 1)
    return found


def _lay_rubble(state: State, labelled: dict[str, list[str]]) -> None:
    said = labelled.get("rubble")
    if said is None:
        tokens = [space for space in state.site.rubble if state.owner[space] == NOBODY]
    else:
        tokens = [] if said == ["none"] else _spaces(said)
    for space in tokens:
        if space not in state.site.rubble or state.owner[space] != NOBODY:
            raise BadDrawing(box.SPACE_IDS[space], "rubble only where the map prints it and nobody has built")
    cleared = _spaces(labelled.get("cleared", []))
    for space in cleared:
        if space not in tokens:
            raise BadDrawing(f"cleared: {box.SPACE_IDS[space]}", "a space with rubble")
    state.rubble = sum(1 << space for space in tokens if space not in cleared)
    state.clean_plots = 0
    state.rubble_plots = 0
    for plot in state.site.plots:
        note_plot(state, plot)


def _row(said: list[str], names: list[str]) -> list[int]:
    if len(said) != box.ROW:
        raise BadDrawing(" ".join(said), "a row of three cards, '-' for a gap")
    return [EMPTY if word == "-" else _index(word, names) for word in said]


def _pile(said: list[str], names: list[str]) -> list[int]:
    return [] if said == ["none"] else [_index(word, names) for word in said if word not in ("…", "...")]


def _lay_cards(state: State, head: _Head, labelled: dict[str, list[str]]) -> None:
    """Lays rows, decks, discards and common objectives, filled up with cards that are not placed elsewhere."""
    ids = box.PERMIT_IDS
    row = _row(labelled["permit row"], ids) if "permit row" in labelled else None
    deck = _pile(labelled.get("deck", []), ids)
    state.permit_discards = _pile(labelled.get("discards", []), ids)
    placed = [card for player in state.players for card in player.permits]
    placed += [*(row or []), *deck, *state.permit_discards]
    boxed = box.GRANTS if head.solo else []
    free = _unplaced(placed, [card for card in range(box.PERMITS) if card not in boxed], ids)
    state.permit_row = row if row is not None else [free.pop(0) for _ in range(box.ROW)]
    state.permit_deck = _deck(deck, free, labelled.get("deck"))

    ids = box.OBJECTIVE_IDS
    common = _pile(labelled.get("common", []), ids)
    row = _row(labelled["objective row"], ids) if "objective row" in labelled else None
    deck = _pile(labelled.get("objective deck", []), ids)
    placed = [card for player in state.players for card in player.objectives]
    placed += [*(row or []), *deck, *common]
    free = _unplaced(placed, [*box.GREEN, *box.INITIAL], ids)
    if not common:
        common = [card for card in box.INITIAL if card in free][: box.ROW]
        free = [card for card in free if card not in common]
    if len(common) != box.ROW or not set(common) <= set(box.INITIAL):
        raise BadDrawing(f"common: {[ids[card] for card in common]}", "three of O17 to O24")
    state.common = common
    state.objective_row = row if row is not None else [free.pop(0) for _ in range(box.ROW)]
    state.objective_deck = _deck(deck, free, labelled.get("objective deck"))


def _unplaced(placed: list[int], cards: list[int], names: list[str]) -> list[int]:
    for card in placed:
        if card != EMPTY and placed.count(card) > 1:
            raise BadDrawing(names[card], "each card in one place")
        if card != EMPTY and card not in cards:
            raise BadDrawing(names[card], "a card that is used in this game")
    return [card for card in cards if card not in placed]


def _deck(named: list[int], free: list[int], said: list[str] | None) -> list[int]:
    complete = said is not None and not {"…", "..."} & set(said)
    return list(reversed(named if complete else named + free))


def _lay_urbanism(state: State, said: list[str]) -> None:
    state.urbanism = [
        cards - sum(player.urbanism[icon] for player in state.players) for icon, cards in enumerate(box.URBANISM_CARDS)
    ]
    for icon, count in zip(said[::2], said[1::2], strict=True):
        state.urbanism[_index(icon, box.ICONS)] = _number(count)
    if min(state.urbanism) < 0:
        raise BadDrawing(f"urbanism left {state.urbanism}", "no more cards in hand than there are")


def _name_best_builder(state: State, said: list[str]) -> None:
    finished = [who for who, player in enumerate(state.players) if player.built() == box.BUILDINGS]
    state.best_builder = finished[0] if len(finished) == 1 else NOBODY
    if said:
        state.best_builder = NOBODY if said == ["nobody"] else _index(said[0], box.PLAYER_COLOURS)


def _lay_pawns(state: State, head: _Head, labelled: dict[str, list[str]]) -> None:
    """Lays the ring and the pawns, and sets the order and whose turn it is."""
    state.ring = [_index(word, box.CARD_IDS) for word in labelled.get("ring", box.CARD_IDS)]
    if sorted(state.ring) != list(range(box.CARDS)):
        raise BadDrawing("ring", "each of the six cards once")
    if head.at >= 0:
        state.ring.remove(head.card)
        state.ring.insert(head.at, head.card)
    names = box.PLAYER_COLOURS[: head.players]
    state.order = [_index(word, names) for word in labelled.get("order", names)]
    if sorted(state.order) != list(range(head.players)):
        raise BadDrawing("order", "each player once: " + ", ".join(names))
    state.card = state.ring.index(head.card) if head.place == "card" else -1
    state.phase = {"card": ASK_PLACE, "earnings": ASK_EARN, "final": ASK_BENEFIT, "over": OVER}[head.place]
    state.pawns = [-1] * head.players
    said = labelled.get("pawns", [])
    for name, space in zip(said[::2], said[1::2], strict=True):
        state.pawns[_index(name, names)] = _pawn(head, state, space)
    acted = [who for who in state.order if state.pawns[who] >= 0]
    state.turn = len(acted)
    if acted != state.order[: state.turn] or (state.turn == head.players and head.place != "over"):
        raise BadDrawing(
            f"pawns: {' '.join(said)}", "pawns of those who come first in the order, and one player to act"
        )
    if head.place == "over":
        _lay_the_end(state)
    elif head.place == "final":
        state.by_benefit = True
        state.turn = 0 if "turn" not in labelled else state.order.index(_index(labelled["turn"][0], names))
    elif "turn" in labelled:
        raise BadDrawing("turn", "pawns instead: whoever comes first in the order without one has the turn")


def _pawn(head: _Head, state: State, space: str) -> int:
    if head.place == "earnings":
        return _index(space, [f"${amount}" for amount in box.EARNING_SPACES])
    index = _number(space)
    if index >= len(state.face[0]):
        raise BadDrawing(space, f"a space 0 to {len(state.face[0]) - 1}")
    return index


def _lay_the_end(state: State) -> None:
    """Sets the end: after the last year, or after an eighth building."""
    state.turn = 0
    if state.best_builder == NOBODY:
        state.year = box.FINAL
