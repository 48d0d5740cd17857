"""The actions of a seat and their notation (5.22 - 5.24).

There are only a few hundred actions, so each is made once, here: two actions are equal exactly if they are the same
object. ``read`` finds an action by its text; copies and unpickled actions are the same object too.
"""

from collections.abc import Callable
from typing import Final

from service.games.core import Plain, Unreadable
from service.games.relief.box import BOX, FIRST_BUILDING, INFLUENCE, KINDS, LETTERS, MONEY, SPACES, STORY, TILES

#: The field of ReliefAction by the kind of token that is spent.
_SPENT: Final = {STORY: "spend_stories", MONEY: "spend_money"}


class Action:
    """One action: ``text`` is its notation, which never changes, ``typed`` has the shape of the message ReliefAction."""

    __slots__ = ("text", "typed")

    def __init__(self, text: str, typed: Plain) -> None:
        self.text = text
        self.typed = typed

    def __repr__(self) -> str:
        return f"<{self.text}>"

    def __reduce__(self) -> tuple[Callable[[str], "Action"], tuple[str]]:
        return read, (self.text,)


class Pass(Action):
    """A marker without effect."""

    __slots__ = ()


class Use(Action):
    """A marker on the visible tile of an own space. Spaces count from 0 inside and from 1 in the notation."""

    __slots__ = ("space",)

    def __init__(self, space: int) -> None:
        super().__init__(f"use @{space + 1}", {"use": space + 1})
        self.space = space


class Build(Action):
    """A marker on the Works Office: this tile, onto this space."""

    __slots__ = ("space", "tile")

    def __init__(self, tile: int, space: int) -> None:
        typed = {"build": {"tile": TILES[tile].id, "space": space + 1}}
        super().__init__(f"build {TILES[tile].id} @{space + 1}", typed)
        self.tile = tile
        self.space = space


class Spend(Action):
    """A marker on Press & Embassy: tokens of one kind for tokens of another."""

    __slots__ = ("gain", "gained_kind", "paid_kind", "pay")

    def __init__(self, paid_kind: int, pay: int, gained_kind: int, gain: int) -> None:
        super().__init__(f"spend {LETTERS[paid_kind]}{pay}", {_SPENT[paid_kind]: pay})
        self.paid_kind = paid_kind
        self.pay = pay
        self.gained_kind = gained_kind
        self.gain = gain


class Trade(Action):
    """A marker on the Port: one money for each token of this mix of water, food, supplies and workers."""

    __slots__ = ("count", "mix")

    def __init__(self, mix: tuple[int, int, int, int]) -> None:
        parts = [f"{LETTERS[kind]}{count}" for kind, count in enumerate(mix) if count]
        super().__init__("trade " + " ".join(parts), {"trade": dict(zip(KINDS, mix, strict=False))})
        self.mix = mix
        self.count = sum(mix)


class Lead(Action):
    """A leader onto an own space."""

    __slots__ = ("space",)

    def __init__(self, space: int) -> None:
        super().__init__(f"lead @{space + 1}", {"lead": space + 1})
        self.space = space


class Keep(Action):
    """Leaves all new leaders still in hand beside the mat."""

    __slots__ = ()


def _mixes(count: int) -> list[tuple[int, int, int, int]]:
    """Returns all mixes of ``count`` tokens: W2, W1 F1, W1 S1, …; mixes with more of an earlier kind come first."""
    found = [
        (water, food, supplies, count - water - food - supplies)
        for water in range(count + 1)
        for food in range(count - water + 1)
        for supplies in range(count - water - food + 1)
    ]
    return sorted(found, reverse=True)


PASS: Final = Pass("pass", {"pass": True})
KEEP: Final = Keep("keep", {"keep": True})
USES: Final[tuple[Action, ...]] = tuple(Use(space) for space in range(SPACES))
LEADS: Final[tuple[Action, ...]] = tuple(Lead(space) for space in range(SPACES))
#: By tile and space; starters are never built and have an empty row.
BUILDS: Final[tuple[tuple[Action, ...], ...]] = tuple(
    tuple(Build(tile, space) for space in range(SPACES)) if tile >= FIRST_BUILDING else () for tile in range(len(TILES))
)
SPEND_STORIES: Final[tuple[Action, ...]] = tuple(Spend(STORY, n, MONEY, n) for n in range(1, BOX.most_stories + 1))
SPEND_MONEY: Final[tuple[Action, ...]] = tuple(
    Spend(MONEY, BOX.money_for_influence * n, INFLUENCE, n) for n in range(1, BOX.most_influence + 1)
)
#: Every mix of 1, then 2, then 3 tokens.
TRADES: Final[tuple[Trade, ...]] = tuple(Trade(mix) for count in range(1, BOX.most_traded + 1) for mix in _mixes(count))


def _universe() -> list[Action]:
    found: list[Action] = [PASS, KEEP, *USES, *LEADS, *SPEND_STORIES, *SPEND_MONEY, *TRADES]
    for row in BUILDS:
        found.extend(row)
    return found


#: All actions by their text in lower case.
ACTIONS: Final = {action.text.lower(): action for action in _universe()}

_EXPECTED: Final = {
    "pass": "pass, alone",
    "keep": "keep, alone",
    "use": f"use @s with a space from 1 to {SPACES}, such as use @3",
    "lead": f"lead @s with a space from 1 to {SPACES}, such as lead @3",
    "build": f"build, a tile from {TILES[FIRST_BUILDING].id} to {TILES[-1].id} and a space, such as build T02 @8",
    "spend": "one of " + ", ".join(spend.text for spend in (*SPEND_STORIES, *SPEND_MONEY)),
    "trade": f"trade with 1 to {BOX.most_traded} tokens in the order W F S K, such as trade W1 K2",
}

NOTATION: Final = (
    ("pass", "place a marker without effect"),
    ("use @s", "use the visible tile on space s of your mat"),
    ("build T02 @s", "build a tile of the row, or your special, onto space s"),
    ("spend Tn", "discard n stories for n money"),
    ("spend $m", "pay 2 or 4 money for 1 or 2 influence"),
    ("trade W1 K2", "buy tokens at the Port, one money each"),
    ("lead @s", "put a leader onto space s"),
    ("keep", "let all new leaders in hand wait"),
)


def read(text: str) -> Action:
    """Returns the action with that notation; case and blanks do not matter. Raises Unreadable, which names what is expected."""
    words = text.lower().split()
    action = ACTIONS.get(" ".join(words))
    if action is None:
        verb = words[0] if words else ""
        verbs = "one of " + ", ".join(notation for notation, _ in NOTATION)
        raise Unreadable(text, _EXPECTED.get(verb, verbs))
    return action
