"""The types all games share: Game, Seat, Outcome, Refused, Option, and what a game must implement."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from service.games.chance import Draws, Seeds
from service.games.components import Component

Seat = int
#: The viewer of a table: a seat, or None for a spectator.
Viewer = Seat | None
OptionValue = str | int
Options = Mapping[str, OptionValue]
#: Nested dicts and lists of str, int, bool and None: what JSON can carry.
Plain = Any
#: A drawing: lines of (text, style) pieces. Styles are names that Rich knows ("bold yellow", "dim").
Picture = list[list[tuple[str, str]]]

S = TypeVar("S")
A = TypeVar("A")


class Unreadable(Exception):
    """A text is not an action in any state of the game."""

    def __init__(self, text: str, expected: str) -> None:
        super().__init__(f"cannot read {text!r} as an action; expected {expected}")
        self.text = text
        self.expected = expected


class Refused(Exception):
    """The rules do not allow the action now. The state is unchanged."""

    def __init__(self, reason: str, rule: str, message: str) -> None:
        super().__init__(f"{message} ({reason}, rule {rule})")
        self.reason = reason
        self.rule = rule
        self.message = message


class BadSetup(ValueError):
    """A game cannot be set up as requested: names the value given and the values that are valid."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        super().__init__(f"{field}: {value!r} is not possible; expected {expected}")
        self.field = field
        self.value = value
        self.expected = expected


@dataclass(frozen=True)
class Option:
    """One option of a game. Either ``choices`` or ``range`` gives the valid values."""

    name: str
    default: OptionValue
    about: str
    choices: tuple[OptionValue, ...] = ()
    range: tuple[int, int] | None = None
    #: The seat counts for which the option has an effect; empty means all of them.
    seats: tuple[int, ...] = ()

    @property
    def expected(self) -> str:
        """The valid values, as an error message lists them."""
        if self.range is not None:
            return f"a number from {self.range[0]} to {self.range[1]}"
        return "one of " + ", ".join(repr(choice) for choice in self.choices)

    def check(self, value: object) -> OptionValue:
        """Returns the value; raises BadSetup if it is not valid."""
        if isinstance(value, int) and not isinstance(value, bool):
            if value in self.choices or (self.range is not None and self.range[0] <= value <= self.range[1]):
                return value
        elif isinstance(value, str) and value in self.choices:
            return value
        raise BadSetup(f"option {self.name}", value, self.expected)


@dataclass(frozen=True)
class Line:
    """One line of the score sheet, in the order of the rulebook."""

    label: str
    points: int


@dataclass(frozen=True)
class Result:
    """The score of one player. Ranks start at 1; equals share the better rank and the next one is skipped."""

    name: str
    rank: int
    score: int
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Outcome:
    """The ranks and scores of all players, and why the game ended."""

    seats: tuple[Result, ...]
    #: Why the game ended: one UPPER_SNAKE word a program can branch on.
    ending: str
    #: Players without a seat, such as the Committee of Fifty: a sentence puts "the" before their names. They take part in the
    #: ranking.
    house: tuple[Result, ...] = ()

    @property
    def scores(self) -> tuple[int, ...]:
        return tuple(result.score for result in self.seats)

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(result.rank for result in self.seats)


def rank(keys: Sequence[tuple[int, ...]]) -> list[int]:
    """Ranks for sort keys of which the greatest is best: equals share the better rank (1, 1, 3)."""
    return [1 + sum(other > key for other in keys) for key in keys]


@dataclass(frozen=True)
class Board(Generic[A]):
    """How a game is drawn in a browser. Everything is made from a view, so it cannot show more than the view."""

    #: (view, name of each seat, marked parts) -> one ``<svg>`` element. It uses classes of ``css`` and no inline styles.
    draw: Callable[[Plain, Sequence[str], Collection[str]], str]
    #: (view before the action, seat, action) -> the parts of the drawing that it concerns: the values of their ``data-part``.
    parts: Callable[[Plain, Seat, A], Sequence[str]]
    #: The style sheet: light and dark, and strong contrast.
    css: str


def _no_events(before: Plain, after: Plain, seat: Seat, action: object) -> Sequence[str]:
    return ()


def _no_points(view: Plain) -> Sequence[int]:
    return ()


@dataclass(frozen=True)
class Game(Generic[S, A]):
    """A game as a set of pure functions: no clock, no network, no hidden state."""

    id: str
    title: str
    #: Goes up with every change of rules that alters results; a running session keeps the version it began with.
    version: int
    seats: range
    options: tuple[Option, ...]
    #: (number of seats, complete options, seeds) -> the table before the first move. Call ``new`` instead: it checks first.
    #: What a spectator sees of it depends on the table seed alone.
    setup: Callable[[int, Options, Seeds], S]
    #: The seats that may act now; several only where the rulebook says "simultaneously"; none when the game is over.
    to_act: Callable[[S], Sequence[Seat]]
    #: Every action ``apply`` would accept from that seat, in a stable order. Empty exactly if the seat is not to act.
    legal_actions: Callable[[S, Seat], Sequence[A]]
    #: Changes the state, or raises Refused and leaves it unchanged; also for a seat that does not exist.
    apply: Callable[[S, Seat, A], None]
    #: None while the game goes on.
    outcome: Callable[[S], Outcome | None]
    #: All that this viewer knows, with perfect memory, and nothing else: plain data, or named tuples shaped like ``messages``.
    view: Callable[[S, Viewer], Plain]
    #: The notation of an action, which never changes, and back (raises Unreadable).
    text: Callable[[A], str]
    read: Callable[[str], A]
    #: A whole state that is consistent with this view. It gets nothing but the view, so it cannot leak anything else.
    sample: Callable[[Plain, Seat, Draws], S]
    #: The same table with everything this viewer cannot know re-dealt. Used to prove that nothing leaks.
    redeal: Callable[[S, Viewer, Draws], S]
    #: The bundled player that takes over a forfeited seat. It uses only what the seat may know.
    automaton: Callable[[S, Seat, Draws], A]
    #: An independent copy.
    copy: Callable[[S], S]
    #: State <-> nested lists of int, str and None, for stores. Equal states give equal lists.
    to_plain: Callable[[S], Plain]
    from_plain: Callable[[Plain], S]
    #: True while seats choose secretly: their actions are shown to no other viewer until this is False again. It must be True while
    #: several seats are to act, until the last one has acted; how often a seat is asked must not depend on its choices.
    is_secret: Callable[[S], bool]
    #: Called before the action is applied. True: the log shows others only that the seat acted, until the seeds are revealed after
    #: the end. For what no rule ever reveals, such as a card buried face down; what is revealed later needs ``is_secret`` alone.
    stays_secret: Callable[[S, Seat, A], bool]
    #: The table of a view, drawn for a person.
    picture: Callable[[Plain], Picture]
    #: The components, each value with its mark.
    components: tuple[Component, ...]
    #: One row for each verb: (notation, meaning).
    notation: tuple[tuple[str, str], ...]
    #: Bundled players by name: (state, seat, draws) -> action. Every game has "random" and "greedy".
    players: Mapping[str, Callable[[S, Seat, Draws], A]]
    #: The field of View and Action in the contract for this game's messages; empty: views travel as plain data, actions as text.
    messages: str = ""
    #: An action as plain data in the shape of its message, set exactly if ``messages`` is; equal actions are one object.
    typed: Callable[[A], Plain] | None = None
    #: (view before the action, seat, action) -> what the seat does and what it costs, as a template of ``words``; None: the
    #: notation is all there is.
    say: Callable[[Plain, Seat, A], str] | None = None
    #: (view before, view after, seat, action) -> what else happened, each a template of a whole sentence: forced answers, the turn
    #: of a player without a seat, cards turned over, the end of a round. Who wins is told by the session, which ranks forfeited
    #: seats last.
    tell: Callable[[Plain, Plain, Seat, A], Sequence[str]] = _no_events
    #: The points of each seat that this view shows, final scoring not included; empty: the game has none before its end.
    points: Callable[[Plain], Sequence[int]] = _no_points
    #: (the views of all seats of one state) -> one view with everything they know together; None: there is none.
    together: Callable[[Sequence[Plain]], Plain] | None = None
    #: None: the game is shown by its picture.
    board: Board[A] | None = None
    #: What the game calls its seats, as on its score sheets: colours, say. Empty: seat 0, seat 1 …
    seat_names: tuple[str, ...] = ()

    def names(self, seats: int) -> list[str]:
        """Returns what the game calls each seat at a table of this size."""
        return list(self.seat_names[:seats]) or [f"seat {seat}" for seat in range(seats)]

    def complete(self, seats: int, given: Options) -> dict[str, OptionValue]:
        """Returns all options with their values: the given ones, validated, and defaults for the others."""
        if isinstance(seats, bool) or seats not in self.seats:
            raise BadSetup("players", seats, f"{self.seats[0]} to {self.seats[-1]} for {self.id}")
        known = {option.name: option for option in self.options}
        complete = {option.name: option.default for option in self.options}
        for name, value in given.items():
            if name not in known:
                raise BadSetup("option", name, "one of " + ", ".join(sorted(known)) if known else "no option at all")
            option = known[name]
            complete[name] = option.check(value)
            if option.seats and seats not in option.seats and value != option.default:
                counts = " or ".join(str(count) for count in option.seats)
                raise BadSetup(
                    f"option {name}", value, f"{option.default!r}: it only matters with {counts} at the table"
                )
        return complete

    def new(self, seats: int, options: Options, seeds: Seeds) -> S:
        """Returns the table before the first move; raises BadSetup if the setup is not valid."""
        return self.setup(seats, self.complete(seats, options), seeds)


AnyGame = Game[Any, Any]


def never_secret(state: object, seat: Seat, action: object) -> bool:
    """The ``stays_secret`` of a game whose log is public as soon as no seat chooses secretly."""
    return False


def plain(view: Plain) -> Plain:
    """Returns a view as JSON data: a named tuple becomes a dict of its fields, any other tuple a list."""
    if isinstance(view, Mapping):
        return {name: plain(value) for name, value in view.items()}
    if isinstance(view, tuple | list):
        names = getattr(view, "_fields", None)
        values = [plain(value) for value in view]
        return values if names is None else dict(zip(names, values, strict=True))
    return view


def enum_word(name: str, unspecified: str) -> str:
    """Returns a view's word for an enum value of the contract: cable-car for SF1906_ICON_CABLE_CAR, empty if unspecified."""
    prefix = unspecified.removesuffix("UNSPECIFIED")
    return "" if name == unspecified else name.removeprefix(prefix).lower().replace("_", "-")


def random_player(game_legal: Callable[[S, Seat], Sequence[A]]) -> Callable[[S, Seat, Draws], A]:
    """Returns the bundled player that takes any legal action, each equally likely."""

    def choose(state: S, seat: Seat, draws: Draws) -> A:
        actions = game_legal(state, seat)
        return actions[draws.below(len(actions))]

    return choose
