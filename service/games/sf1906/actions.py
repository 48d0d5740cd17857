"""The actions of a seat. Every action is one object: compare with ``is``, write with ``.text``, read with ``read``.

| notation | meaning |
|---|---|
| ``earn 4`` | put the pawn on the $4 space of the earnings area |
| ``benefit permit`` | take this benefit of the new year |
| ``place 2 act`` | put the pawn on space 2 of the action card and carry out its action |
| ``place 2 cash`` | … and collect $1 instead |
| ``place 2 buy 0`` | … and pay for carrying out the action of space 0 |
| ``place 3 pass`` | … on the pass space, and do nothing |
| ``permit 1``, ``permit deck`` | take the permit in slot 1 of the row, or the top of the deck |
| ``objective 1``, ``objective deck`` | the same for an objective |
| ``clear Y5a``, ``clear none`` | clear up with the rubble of that space, or without rubble |
| ``discard P09 P13`` | build with these permits (one or two) |
| ``at Y5a`` | build on that space |
| ``reward park``, ``reward none`` | take an urbanism card of that type, or none |
"""

from typing import Final

from service.games.core import Plain, Unreadable
from service.games.sf1906 import box


class Action:
    """One action: ``text`` is its notation, ``typed`` has the shape of the message Sf1906Action."""

    __slots__ = ("text", "typed")

    def __init__(self, text: str, typed: Plain) -> None:
        self.text = text
        self.typed = typed

    def __repr__(self) -> str:
        return f"<{self.text}>"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return read, (self.text,)  # a copy of an action is the action itself


class Earn(Action):
    """N1: the earnings space, 0 ($4) to 3 ($1)."""

    __slots__ = ("space",)

    def __init__(self, space: int) -> None:
        super().__init__(f"earn {box.EARNING_SPACES[space]}", {"earn": box.EARNING_SPACES[space]})
        self.space = space


class Benefit(Action):
    """N2: one of box.BENEFITS."""

    __slots__ = ("kind",)

    def __init__(self, kind: int) -> None:
        super().__init__(f"benefit {box.BENEFITS[kind]}", {"benefit": box.BENEFITS[kind]})
        self.kind = kind


class Place(Action):
    """N3 and N4 in one: where the pawn goes, and the space whose action is carried out (COLLECT or PASSING for none)."""

    __slots__ = ("space", "target")

    def __init__(self, space: int, target: int) -> None:
        typed: Plain
        if target == COLLECT:
            how, typed = "cash", {"cash": True}
        elif target == PASSING:
            how, typed = "pass", {"pass": True}
        else:
            how, typed = "act" if target == space else f"buy {target}", {"action": target}
        super().__init__(f"place {space} {how}", {"place": {"space": space, **typed}})
        self.space = space
        self.target = target


def _take(slot: int) -> Plain:
    return {"deck": True} if slot == DECK else {"slot": slot}


class TakePermit(Action):
    """N5: a slot of the row, or DECK."""

    __slots__ = ("slot",)

    def __init__(self, slot: int) -> None:
        super().__init__("permit deck" if slot == DECK else f"permit {slot}", {"permit": _take(slot)})
        self.slot = slot


class TakeObjective(Action):
    """N6: a slot of the row, or DECK."""

    __slots__ = ("slot",)

    def __init__(self, slot: int) -> None:
        super().__init__("objective deck" if slot == DECK else f"objective {slot}", {"objective": _take(slot)})
        self.slot = slot


class Clear(Action):
    """N7: the space whose rubble is taken, or NONE."""

    __slots__ = ("space",)

    def __init__(self, space: int) -> None:
        name = "" if space == NONE else box.SPACE_IDS[space]
        super().__init__(f"clear {name or 'none'}", {"clear": name})
        self.space = space


class Discard(Action):
    """N8: one permit, or two in ascending order (``other`` is NONE for one)."""

    __slots__ = ("other", "permit")

    def __init__(self, permit: int, other: int) -> None:
        names = [box.PERMIT_IDS[card] for card in (permit, other) if card != NONE]
        super().__init__(" ".join(["discard", *names]), {"discard": {"permits": tuple(names)}})
        self.permit = permit
        self.other = other


class At(Action):
    """N9 and N10 in one: the space built on."""

    __slots__ = ("space",)

    def __init__(self, space: int) -> None:
        super().__init__(f"at {box.SPACE_IDS[space]}", {"at": box.SPACE_IDS[space]})
        self.space = space


class Reward(Action):
    """N11: the type of urbanism card, or NONE."""

    __slots__ = ("icon",)

    def __init__(self, icon: int) -> None:
        name = "" if icon == NONE else box.ICONS[icon]
        super().__init__(f"reward {name or 'none'}", {"reward": name})
        self.icon = icon


NONE: Final = -1
DECK: Final = -1
COLLECT: Final = -1
PASSING: Final = -2
_WIDEST: Final = 5

EARN: Final = [Earn(space) for space in range(4)]
BENEFIT: Final = [Benefit(kind) for kind in range(1, len(box.BENEFITS))]  # 1906 leaves no choice
ACT: Final = [[Place(space, target) for target in range(_WIDEST)] for space in range(_WIDEST)]  # [pawn][action]
CASH: Final = [Place(space, COLLECT) for space in range(_WIDEST)]
PASS: Final = [Place(space, PASSING) for space in range(_WIDEST)]
TAKE_PERMIT: Final = [TakePermit(slot) for slot in range(box.ROW)]
PERMIT_DECK: Final = TakePermit(DECK)
TAKE_OBJECTIVE: Final = [TakeObjective(slot) for slot in range(box.ROW)]
OBJECTIVE_DECK: Final = TakeObjective(DECK)
CLEAR: Final = [Clear(space) for space in range(box.SPACES)]
CLEAR_NONE: Final = Clear(NONE)
DISCARD: Final = [Discard(permit, NONE) for permit in range(box.PERMITS)]
#: [lower][higher - lower - 1]; look up with ``discard_two``.
_DISCARD_TWO: Final = [
    [Discard(permit, other) for other in range(permit + 1, box.PERMITS)] for permit in range(box.PERMITS)
]
AT: Final = [At(space) for space in range(box.SPACES)]
REWARD: Final = [Reward(icon) for icon in range(len(box.ICONS))]
REWARD_NONE: Final = Reward(NONE)


def discard_two(permit: int, other: int) -> Discard:
    """Returns the discard of two permits; their order does not matter."""
    return _DISCARD_TWO[permit][other - permit - 1] if permit < other else _DISCARD_TWO[other][permit - other - 1]


def _universe() -> dict[str, Action]:
    everything: list[Action] = [*EARN, *BENEFIT, *CASH, PASS[3], *TAKE_PERMIT, PERMIT_DECK]
    everything += [*TAKE_OBJECTIVE, OBJECTIVE_DECK, *CLEAR, CLEAR_NONE, *DISCARD, *AT, *REWARD, REWARD_NONE]
    for acts in ACT:
        everything += acts
    for pairs in _DISCARD_TWO:
        everything += pairs
    return {action.text.lower(): action for action in everything}


#: All actions by their text in lower case.
UNIVERSE: Final = _universe()

_EXPECTED: Final = {
    "earn": "'earn 4', 'earn 3', 'earn 2' or 'earn 1'",
    "benefit": "'benefit' and one of " + ", ".join(box.BENEFITS[1:]),
    "place": "'place', a space 0-4, and 'act', 'cash' or 'buy' with another space 0-4; or 'place 3 pass'",
    "permit": "'permit 0', 'permit 1', 'permit 2' or 'permit deck'",
    "objective": "'objective 0', 'objective 1', 'objective 2' or 'objective deck'",
    "clear": "'clear none' or 'clear' and a space such as Y5a",
    "discard": "'discard' and one or two different permits such as P09 P13",
    "at": "'at' and a space such as Y5a",
    "reward": "'reward' and one of " + ", ".join(box.ICONS) + ", none",
}


def read(text: str) -> Action:
    """Returns the action with that notation; raises Unreadable. Case, blanks and the order of two permits do not matter."""
    words = text.lower().split()
    if len(words) == 3 and words[0] == "discard":
        words[1:] = sorted(words[1:])
    action = UNIVERSE.get(" ".join(words))
    if action is None:
        verb = words[0] if words else ""
        raise Unreadable(text, _EXPECTED.get(verb, "one of the verbs " + ", ".join(_EXPECTED)))
    return action


NOTATION: Final = (
    ("earn N", "place the pawn on the $N space of the earnings area (1-4)"),
    ("benefit KIND", "take this benefit of the year: " + ", ".join(box.BENEFITS[1:])),
    ("place K act", "place the pawn on space K (0 is left) of the action card and carry out its action"),
    ("place K cash", "place the pawn on space K and collect $1 instead"),
    ("place K buy J", "place the pawn on space K and pay $2 a step for the action of space J"),
    ("place 3 pass", "place the pawn on the pass space and do nothing"),
    ("permit N", "take the permit in slot N (0-2) of the row; 'permit deck' takes the top of the deck"),
    ("objective N", "take the objective in slot N (0-2) of the row; 'objective deck' takes the top of the deck"),
    ("clear SPACE", "clear up with the rubble of that space; 'clear none' clears up without rubble"),
    ("discard PERMIT [PERMIT]", "build with this permit, or with these two"),
    ("at SPACE", "build on that space"),
    ("reward TYPE", "take an urbanism card: " + ", ".join(box.ICONS) + ", or none"),
)
