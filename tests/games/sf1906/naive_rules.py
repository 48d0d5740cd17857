"""A second, slow and simple implementation that plays a whole game in the order of the rulebooks.

It shares no data and no code with the engine: cards are names, legality is found by trying, and ``course`` runs from 1906 to the
end in the order of the rulebook, stopping wherever a player has to choose. Only ``read`` and ``written`` know the engine's state;
the shuffle of a new permit deck comes from the same random stream, so that both draw the same cards.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from service.games.chance import Draws
from service.games.sf1906 import box
from service.games.sf1906.state import State
from tests.games.sf1906.naive_scorer import SPOTS

# ------------------------------------------------------------------------------------------------------- what is printed
#: Where rubble lies, by the side that is up.
RUBBLE: Final = {
    "A": "Y5a G2b P4b G3a G5a R2b Y4a R3b R5b P2a G4a P3a P5a Y2b R4b Y3c",
    "B": "Y5e R1a P4c G3c G5d P1a Y4d R3a R5c Y1a G4c P3c P5d G1a R4c Y3b",
}
#: Colours and numbers in the order of the ids, each twice; the icons of a pair of twins follow a pattern of three.
TWINS: Final = (("LP", "CH"), ("LC", "HP"), ("LH", "CP"))
PERMITS: Final = {
    f"P{10 * place + 2 * number - 1 + twin:02}": (colour, number, TWINS[(place + number) % 3][twin])
    for place, colour in enumerate("YGRP")
    for number in range(1, 6)
    for twin in (0, 1)
} | {"P41": ("", 0, "LP"), "P42": ("", 0, "CH")}
NAMES: Final = {"L": "lighting", "C": "cable-car", "H": "hydrant", "P": "park"}
WIDE: Final = {
    "A1": "build materials $3 pass clear-up",
    "A2": "grant permit $2 pass urban",
    "A3": "build objective permit pass $2",
    "A4": "materials permit urban pass objective",
    "A5": "build clear-up materials pass permit",
    "A6": "materials objective clear-up pass urban",
}
NARROW: Final = {
    "A1": "build materials $3",
    "A2": "grant permit urban",
    "A3": "build objective $2",
    "A4": "materials permit urban",
    "A5": "materials clear-up permit",
    "A6": "materials objective clear-up",
}
EARNINGS: Final = (4, 3, 2, 1)
COST: Final = (0, 1, 1, 2, 2, 3, 3)
BENEFITS: Final = (
    "",
    "objective permit",
    "materials money",
    "permit development",
    "materials money",
    "permit objective money",
    "build money",
)
AID: Final = {
    "normal": (
        "",
        "right middle left",
        "right middle left",
        "middle right left",
        "left middle right",
        "left middle right",
    ),
    "hard": (
        "",
        "right middle left",
        "middle left right",
        "middle left right",
        "left middle right",
        "left middle right",
    ),
}
FINAL: Final = 6
COMMITTEE: Final = 1

#: Yields a player and the legal actions, and is sent the choice.
Course = Generator[tuple[int, list[str]], str, None]
Choice = Generator[tuple[int, list[str]], str, str]


@dataclass
class Area:
    """One play area, and the buildings that have not reached it."""

    money: int = 0
    pool: int = 8
    at_hand: int = 0
    permits: list[str] = field(default_factory=list)
    objectives: list[tuple[str, bool]] = field(default_factory=list)  # and whether all players have seen it
    rubble: int = 0
    urbanism: list[str] = field(default_factory=list)  # L, C, H, or PA to PD
    column: int = 0
    row: int = 0


@dataclass
class Table:
    """Everything on the table. Decks are written from the top."""

    edition: int
    solo: str  # the face of the aid, "" with more players
    blocked: int  # the earnings space no player may take, 0 if all are open
    seed: bytes
    reading: list[str]
    rubble: set[str]
    ring: list[str]
    permit_row: list[str]
    permit_deck: list[str]
    objective_row: list[str]  # "" is a gap in a row
    objective_deck: list[str]
    order: list[int]
    areas: list[Area]
    pawns: list[int | None]
    discards: list[str] = field(default_factory=list)
    reshuffles: int = 0
    owner: dict[str, int] = field(default_factory=dict)
    piles: dict[str, int] = field(default_factory=lambda: {"L": 5, "C": 4, "H": 4, "P": 4})
    year: int = 0
    best_builder: int | None = None

    def built(self, who: int) -> int:
        return list(self.owner.values()).count(who)

    def is_committee(self, who: int) -> bool:
        return self.solo != "" and who == COMMITTEE


def read(state: State) -> Table:
    """The table before the first move, as the engine has dealt it."""
    solo = state.solo
    places = {card: divmod(place, len(state.players)) for place, card in enumerate(state.site.cards)}
    sides = dict(zip(state.site.cards, state.site.sides, strict=True))

    def where(space: str) -> tuple[int, int]:
        spot = SPOTS[space]
        row, column = places[spot.card]
        return 5 * row + spot.row, 5 * column + spot.column

    reading = sorted((space for space in SPOTS if SPOTS[space].card in places), key=where)
    table = Table(
        edition=state.edition.index + 1,
        solo="" if solo is None else box.AIDS[solo.aid],
        blocked=0 if solo is None else EARNINGS[solo.blocked],
        seed=state.deck_seed,
        reading=reading,
        rubble={space for space in reading if space in RUBBLE[sides[SPOTS[space].card]]},
        ring=[f"A{card + 1}" for card in state.ring],
        permit_row=[_permit(card) for card in state.permit_row],
        permit_deck=[_permit(card) for card in reversed(state.permit_deck)],
        objective_row=[_objective(card) for card in state.objective_row],
        objective_deck=[_objective(card) for card in reversed(state.objective_deck)],
        order=[(state.start + step) % state.seats for step in range(state.seats)],
        areas=[Area(objectives=[(_objective(card), False) for card in player.objectives]) for player in state.players],
        pawns=[None] * len(state.players),
    )
    if table.solo:
        (first,) = state.players[COMMITTEE].permits
        table.areas[COMMITTEE] = Area(money=3, pool=0, at_hand=8, permits=[_permit(first)])
        table.pawns[COMMITTEE] = EARNINGS.index(3)
    return table


def _permit(card: int) -> str:
    return "" if card < 0 else f"P{card + 1:02}"


def _objective(card: int) -> str:
    return "" if card < 0 else f"O{card + 1:02}"


def written(state: State) -> list[object]:
    """Returns a state of the engine in the form of ``said_by``."""
    areas = []
    for player in state.players:
        parks = [f"P{letter}" for place, letter in enumerate("ABCD") if player.parks >> place & 1]
        cards = [icon for icon, count in zip("LCH", player.urbanism, strict=False) for _ in range(count)] + parks
        objectives = [(_objective(card), seen) for card, seen in zip(player.objectives, player.known, strict=True)]
        permits = [_permit(card) for card in player.permits]
        money, place = player.money, (player.column, player.row)
        areas.append([money, player.pool, player.stock, permits, objectives, player.rubble, sorted(cards), *place])
    return [
        areas,
        [[_permit(card) for card in cards] for cards in (state.permit_row, state.permit_deck[::-1])],
        [_permit(card) for card in state.permit_discards],
        [[_objective(card) for card in cards] for cards in (state.objective_row, state.objective_deck[::-1])],
        {box.SPACE_IDS[space]: who for space, who in enumerate(state.owner) if who >= 0},
        {box.SPACE_IDS[space] for space in range(box.SPACES) if state.rubble >> space & 1},
        dict(zip("LCHP", state.urbanism, strict=True)),
        [state.year, state.reshuffles, None if state.best_builder < 0 else state.best_builder],
    ]


def said_by(table: Table) -> list[object]:
    """The whole table, for comparing."""
    areas = [
        [
            one.money,
            one.pool,
            one.at_hand,
            one.permits,
            one.objectives,
            one.rubble,
            sorted(one.urbanism),
            one.column,
            one.row,
        ]
        for one in table.areas
    ]
    return [
        areas,
        [table.permit_row, table.permit_deck],
        table.discards,
        [table.objective_row, table.objective_deck],
        table.owner,
        table.rubble,
        table.piles,
        [table.year, table.reshuffles, table.best_builder],
    ]


# ------------------------------------------------------------------------------------------------------- the whole course
def course(table: Table) -> Course:
    """From the first earnings area to the end of the game."""
    while True:
        yield from _earnings_area(table)
        for name in table.ring:
            yield from _action_card(table, (WIDE if len(table.areas) > 2 else NARROW)[name].split())
            if table.best_builder is not None:
                return  # no refill, no further card, no year
            _fill_rows(table)
            _read_order(table)
        table.year += 1
        if table.year == FINAL:
            for who in table.order:
                yield from _final_benefit(table, who)
            return


def _ask(who: int, options: list[str]) -> Choice:
    """Asks only if there is more than one option."""
    if len(options) == 1:
        return options[0]
    said = yield who, options
    return said


def _read_order(table: Table) -> None:
    """From right to left; then the pawns are taken up."""
    standing = sorted(((pawn, who) for who, pawn in enumerate(table.pawns) if pawn is not None), reverse=True)
    table.order = [who for _, who in standing]
    table.pawns = [None] * len(table.pawns)


def _earnings_area(table: Table) -> Course:
    for who in [who for who in table.order if table.pawns[who] is None]:  # in 1906 the Committee stands there already
        area = table.areas[who]
        if table.is_committee(who):
            _committee_year(table, area)
        else:
            free = [place for place in range(4) if place not in table.pawns and EARNINGS[place] != table.blocked]
            said = yield from _ask(who, [f"earn {EARNINGS[place]}" for place in free])
            amount = int(said.split()[1])
            table.pawns[who] = EARNINGS.index(amount)
            _gain(table, area, amount)
            yield from _benefit(table, who)
        _fill_rows(table)
    _read_order(table)


def _benefit(table: Table, who: int) -> Course:
    area = table.areas[who]
    if table.year == 0:
        _fetch_building(area)
        _take(table, area, (yield from _ask(who, _permits(table, benefit=True))))
        return
    possible = {
        "objective": bool(_objectives(table, benefit=True)),
        "permit": len(area.permits) < 5 and bool(_permits(table, benefit=True)),
        "materials": area.pool > 0,
    }
    offered = [f"benefit {kind}" for kind in BENEFITS[table.year].split() if possible.get(kind, True)]
    if not offered:
        return
    said = yield from _ask(who, offered)
    if said == "benefit objective":
        _take(table, area, (yield from _ask(who, _objectives(table, benefit=True))))
    elif said == "benefit permit":
        _take(table, area, (yield from _ask(who, _permits(table, benefit=True))))
    elif said == "benefit materials":
        _fetch_building(area)
    elif said == "benefit development":
        _step_right(table, area)
    else:
        _gain(table, area, {2: 2 * table.built(who), 4: 3, 5: table.built(who)}[table.year])


def _final_benefit(table: Table, who: int) -> Course:
    area = table.areas[who]
    build = ["benefit build"] if not table.is_committee(who) and _sets(table, area, False, area.money) else []
    said = yield from _ask(who, [*build, "benefit money"])
    if said == "benefit build":
        yield from _build(table, who, False)
    else:
        _gain(table, area, 2)


def _action_card(table: Table, card: Sequence[str]) -> Course:
    for who in table.order:
        if table.is_committee(who):
            _committee_turn(table, table.areas[who], card)
        else:
            yield from _turn(table, who, card)


def _turn(table: Table, who: int, card: Sequence[str]) -> Course:
    area = table.areas[who]
    options = []
    for place in [place for place in range(len(card)) if place not in table.pawns]:
        if card[place] == "pass":
            options.append(f"place {place} pass")
        if card[place] != "pass" or table.edition == 1:  # one dollar: any turn there, printed below an action here
            options.append(f"place {place} cash")
        for other, kind in enumerate(card):
            if kind != "pass" and _can(table, area, kind, area.money - 2 * abs(place - other)):
                options.append(f"place {place} act" if other == place else f"place {place} buy {other}")
    _, chosen, how, *bought = (yield from _ask(who, options)).split()
    place = table.pawns[who] = int(chosen)
    if how == "cash":
        _gain(table, area, 1)
    elif how != "pass":
        target = int(bought[0]) if bought else place
        area.money -= 2 * abs(place - target)
        yield from _act(table, who, card[target])


def _act(table: Table, who: int, kind: str) -> Course:
    area = table.areas[who]
    if kind.startswith("$"):
        _gain(table, area, int(kind[1:]))
    elif kind == "materials":
        _fetch_building(area)
    elif kind == "permit":
        _take(table, area, (yield from _ask(who, _permits(table, benefit=False))))
    elif kind == "objective":
        _take(table, area, (yield from _ask(who, _objectives(table, benefit=False))))
    elif kind == "urban":
        area.money -= 2
        _step_right(table, area)
    elif kind == "clear-up":
        tokens = [f"clear {space}" for space in table.rubble] if area.money >= 3 else []
        _, space = (yield from _ask(who, ["clear none", *tokens])).split()
        area.money -= 2 if space == "none" else 3
        if space != "none":
            _take_rubble(table, area, space)
        _step_up(table, area)
    else:
        yield from _build(table, who, kind == "grant")


# ------------------------------------------------------------------------------------------------------------ what is legal
def _can(table: Table, area: Area, kind: str, money: int) -> bool:
    """Returns whether the action could be carried out with that money after the fee."""
    if money < 0:
        return False
    if kind == "materials":
        return area.pool > 0
    if kind == "permit":
        return len(area.permits) < 5 and bool(_permits(table, benefit=False))
    if kind == "objective":
        return bool(_objectives(table, benefit=False))
    if kind in ("clear-up", "urban"):
        return money >= 2
    return kind.startswith("$") or bool(_sets(table, area, kind == "grant", money))


def _permits(table: Table, *, benefit: bool) -> list[str]:
    deck = table.edition == 2 and not (benefit and table.year == 0) and bool(table.permit_deck or table.discards)
    return [f"permit {slot}" for slot in range(3) if table.permit_row[slot]] + ["permit deck"] * deck


def _objectives(table: Table, *, benefit: bool) -> list[str]:
    deck = bool(table.objective_deck) and not (benefit and table.edition == 1)
    return [f"objective {slot}" for slot in range(3) if table.objective_row[slot]] + ["objective deck"] * deck


def _opens(permits: Sequence[str], grant: bool, space: str) -> bool:
    """One source for the colour, one for the number; a joker can be one of them, a normal permit both."""
    normal = [PERMITS[permit] for permit in permits if PERMITS[permit][0]]
    jokers = len(permits) - len(normal) + grant
    colour, number = space[0], int(space[1])
    return jokers >= all(one[0] != colour for one in normal) + all(one[1] != number for one in normal)


def _can_pay(table: Table, area: Area, space: str, money: int) -> bool:
    """Rubble first, then the year cost; in the top-right space a dollar comes in between."""
    if space in table.rubble:
        if money < 3:
            return False
        money += -3 + ((area.column, area.row) == (5, 5))
    return money >= COST[table.year]


def _spaces(table: Table, area: Area, permits: Sequence[str], grant: bool, money: int) -> list[str]:
    return [
        space
        for space in table.reading
        if space not in table.owner and _opens(permits, grant, space) and _can_pay(table, area, space, money)
    ]


def _sets(table: Table, area: Area, grant: bool, money: int) -> list[tuple[str, ...]]:
    if area.at_hand == 0:
        return []
    held = sorted(area.permits)
    sets = [*combinations(held, 1), *combinations(held, 2)]
    return [permits for permits in sets if _spaces(table, area, permits, grant, money)]


# -------------------------------------------------------------------------------------------------------------- small moves
def _gain(table: Table, area: Area, amount: int) -> None:
    area.money += amount
    if table.edition == 1 and area.money > 15:
        area.money = 15


def _fetch_building(area: Area) -> None:
    area.pool -= 1
    area.at_hand += 1


def _step_up(table: Table, area: Area) -> None:
    if area.row < 5:
        area.row += 1
    elif area.column < 5:
        area.column += 1
    else:
        _gain(table, area, 1)


def _step_right(table: Table, area: Area) -> None:
    if area.column < 5:
        area.column += 1
    elif area.row < 5:
        area.row += 1
    else:
        _gain(table, area, 1)


def _draw(table: Table) -> str:
    """The top permit; an empty deck is made of the discards first."""
    if not table.permit_deck:
        table.reshuffles += 1
        cards = [int(permit[1:]) - 1 for permit in table.discards]
        Draws(table.seed, f"permits/{table.reshuffles}").shuffle(cards)
        table.permit_deck, table.discards = [_permit(card) for card in reversed(cards)], []
    return table.permit_deck.pop(0)


def _fill_rows(table: Table) -> None:
    for slot in range(3):
        if not table.permit_row[slot]:
            table.permit_row[slot] = _draw(table)
    for slot in range(3):
        if not table.objective_row[slot] and table.objective_deck:
            table.objective_row[slot] = table.objective_deck.pop(0)


def _take(table: Table, area: Area, said: str) -> None:
    kind, where = said.split()
    if kind == "permit":
        area.permits.append(_draw(table) if where == "deck" else table.permit_row[int(where)])
    else:
        card = table.objective_deck.pop(0) if where == "deck" else table.objective_row[int(where)]
        area.objectives.append((card, where != "deck"))
    if where != "deck":
        (table.permit_row if kind == "permit" else table.objective_row)[int(where)] = ""


def _take_rubble(table: Table, area: Area, space: str) -> None:
    table.rubble.remove(space)
    area.rubble += 1


def _put_building(table: Table, who: int, space: str) -> None:
    table.areas[who].at_hand -= 1
    table.owner[space] = who
    if table.best_builder is None and table.built(who) == 8:
        table.best_builder = who


def _take_urbanism(table: Table, area: Area, icon: str) -> None:
    area.urbanism.append(f"P{'ABCD'[4 - table.piles['P']]}" if icon == "P" else icon)
    table.piles[icon] -= 1


def _common(permit: str, other: str) -> list[str]:
    return [icon for icon in "LCHP" if icon in PERMITS[permit][2] and icon in PERMITS[other][2]]


def _build(table: Table, who: int, grant: bool) -> Course:
    area = table.areas[who]
    sets = _sets(table, area, grant, area.money)
    _, *permits = (yield from _ask(who, ["discard " + " ".join(one) for one in sets])).split()
    spaces = _spaces(table, area, permits, grant, area.money)
    _, space = (yield from _ask(who, [f"at {one}" for one in spaces])).split()
    if space in table.rubble:
        area.money -= 3
        _take_rubble(table, area, space)
        _step_up(table, area)
    area.money -= COST[table.year]
    for permit in permits:
        area.permits.remove(permit)
        table.discards.append(permit)
    _put_building(table, who, space)
    if len(permits) == 2:
        yield from _reward(table, who, _common(*permits))


def _reward(table: Table, who: int, icons: list[str]) -> Course:
    area = table.areas[who]
    icons = [icon for icon in icons if table.piles[icon] and (icon != "C" or area.money >= 1)]
    if not icons:
        return
    _, name = (yield from _ask(who, [*(f"reward {NAMES[icon]}" for icon in icons), "reward none"])).split()
    for icon in icons:
        if NAMES[icon] == name:
            area.money -= icon == "C"
            _take_urbanism(table, area, icon)
            _step_right(table, area)


# ------------------------------------------------------------------------------------------------------------ the Committee
def _reference(table: Table) -> tuple[str, list[int]]:
    """The card drawn for this turn, and the positions it points to, in the order in which they are tried."""
    card = _draw(table)
    table.discards.append(card)
    return card, [("left", "middle", "right").index(word) for word in AID[table.solo][PERMITS[card][1]].split()]


def _committee_turn(table: Table, area: Area, card: Sequence[str]) -> None:
    reference, positions = _reference(table)
    place = next(position for position in positions if position not in table.pawns)
    table.pawns[COMMITTEE] = place
    kind = card[place]
    if kind.startswith("$"):
        _gain(table, area, int(kind[1:]))
    elif kind == "urban":
        _step_right(table, area)
    elif kind == "clear-up":
        for space in [space for space in table.reading if space in table.rubble][:1]:
            _take_rubble(table, area, space)
        _step_up(table, area)
    elif kind in ("build", "grant"):
        if not _committee_builds(table, area, reference):
            _gain(table, area, 1)
    elif not _committee_takes(table, area, positions):
        _gain(table, area, 1)


def _committee_takes(table: Table, area: Area, positions: list[int]) -> bool:
    kind, row = ("permit", table.permit_row) if len(area.permits) < 3 else ("objective", table.objective_row)
    slots = [position for position in positions if row[position]]
    if slots:
        _take(table, area, f"{kind} {slots[0]}")
    return bool(slots)


def _committee_builds(table: Table, area: Area, reference: str) -> bool:
    for permit in area.permits:
        free = [space for space in table.reading if space[0] == PERMITS[permit][0] and space not in table.owner]
        for space in [*(space for space in free if space not in table.rubble), *free][:1]:
            if space in table.rubble:
                _take_rubble(table, area, space)
                _step_up(table, area)
            _put_building(table, COMMITTEE, space)
            for icon in _common(permit, reference):
                if table.piles[icon]:
                    _take_urbanism(table, area, icon)
                    _step_right(table, area)
            area.permits.remove(permit)
            table.discards.append(permit)
            return True
    return False


def _committee_year(table: Table, area: Area) -> None:
    _, positions = _reference(table)
    spaces = [place for place in range(4) if EARNINGS[place] != table.blocked]
    place = next(spaces[position] for position in positions if spaces[position] not in table.pawns)
    table.pawns[COMMITTEE] = place
    _gain(table, area, EARNINGS[place])
    if table.year == 1:
        _committee_takes(table, area, positions)
    elif table.year == 3:
        _step_right(table, area)
    else:
        _gain(table, area, {2: 2 * table.built(COMMITTEE), 4: 3, 5: table.built(COMMITTEE)}[table.year])
