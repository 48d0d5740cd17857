"""Sentences of Relief: examples for every kind of action, and whole games in which nothing told is wrong or missing."""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest

from service.games import words
from service.games.chance import seeds_of
from service.games.core import Viewer
from service.games.playing import player_draws
from service.games.relief import RELIEF
from service.games.relief.actions import Build, Lead, Spend, Trade, read
from service.games.relief.box import KINDS
from service.games.relief.sentences import points, say, tell
from service.games.relief.state import State
from service.games.relief.view import View, counts_of
from tests.games.relief.tables import A, relief

NAMES: Final = ("Anna", "Ben", "Cleo")
#: The words of each kind, in the order of KINDS.
NOUNS: Final = ("water", "food", "building suppl", "worker", "distressed", "injured", "stor", "money", "influence")
WORKERS: Final = tuple(KINDS.index(kind) for kind in ("worker", "distressed", "injured"))


def story(drawing: str, *moves: str, eye: Viewer = None) -> list[str]:
    """Returns what this viewer is told of these moves; events begin with a dash."""
    table = relief(drawing)
    told: list[str] = []
    for move in moves:
        name, text = move.split(": ")
        seat, action = "ABC".index(name), read(text)
        before = RELIEF.view(table, eye)
        RELIEF.apply(table, seat, action)
        then = RELIEF.view(table, eye)
        told.append(words.told(say(before, seat, action), seat, NAMES))
        told += [f"- {words.event(event, NAMES)}" for event in tell(before, then, seat, action)]
    return told


@pytest.mark.parametrize(
    ("drawing", "move", "expected"),
    [
        (
            "board: I2 | A* start @4 T12 ! | B",
            "use @4",
            "Anna uses the Field Clinic (T12) on space 4, where a leader stands, "
            "and helps no distressed people and 2 injured people instead of 3",
        ),
        (
            "board: W1 | A* start @1 ! | B",
            "use @1",
            "Anna uses the Water Point (P1) on space 1, where a leader stands, and takes 1 water instead of 2",
        ),
        ("board: W3 | A* start | B", "use @1", "Anna uses the Water Point (P1) on space 1 and takes 1 water"),
        (
            "board: D5 | A* start @4 ! | B",
            "use @4",
            "Anna uses the Relief Tent (P4) on space 4, where a leader stands, and helps 2 distressed people",
        ),
        (
            "supply: T1 | A* start | B",
            "use @5",
            "Anna uses the Press Tent (P5) on space 5 and gains 1 story instead of 2",
        ),
        (
            "A* start | B",
            "use @7",
            "Anna uses the Training Tent (P7) on space 7 and pays 1 water, 1 food and 1 worker to train 1 leader",
        ),
        (
            "A* start @7 T17 | B",
            "use @7",
            "Anna uses the Training Center (T17) on space 7, pays 1 water and 1 food to train 1 leader and scores 1 point",
        ),
        (
            "row: T02 T14 T07 T10 T05 | A* start @1 T01 | B",
            "build T02 @1",
            "Anna builds the Well (T02, 3 points) over the Water Station (T01) on space 1 for 1 building supply and 1 worker",
        ),
        (
            "A* start S4 X7 | B",
            "build X7 @8",
            "Anna builds the special tile Stadium (X7, 10 points) on the open space 8 "
            "for 1 water, 1 food, 4 building supplies and 3 workers",
        ),
        ("A* T3 | B", "spend T1", "Anna spends 1 story for 1 money at Press & Embassy"),
        ("A* $4 | B", "spend $4", "Anna spends 4 money for 2 influence at Press & Embassy"),
        ("A* $3 | B", "trade W1 K2", "Anna buys 1 water and 2 workers for 3 money at the Port"),
        ("A* start | B", "pass", "Anna passes, placing a marker without effect"),
        ("phase: new | hand: 1 | A* L3 | B", "lead @3", "Anna places a new leader on space 3, the Supply Depot (P3)"),
        ("phase: new | hand: 2 | A* L4 | B", "keep", "Anna keeps 2 new leaders beside the mat until the next round"),
        ("phase: new | hand: 1 | A* L3 | B", "keep", "Anna keeps the new leader beside the mat until the next round"),
    ],
)
def test_an_action_is_told_with_what_it_costs_and_gives(drawing: str, move: str, expected: str) -> None:
    """5.7, 5.12, 5.24, 5.29, 4.2"""
    assert story(drawing, f"A: {move}")[0] == expected


LEADERS: Final = ("A: lead @1", "A: lead @2", "B: lead @3", "B: lead @4")


@pytest.mark.parametrize(
    ("drawing", "moves", "expected"),
    [
        ("phase: leaders | round: 1 | A | B", LEADERS, ["All leaders are placed and revealed", "Anna goes first"]),
        (
            "phase: leaders | round: 2 | first: B | cards: A6 | A N1 | B",
            LEADERS,
            [
                "All leaders are placed and revealed",
                "Anna has the most influence, 1, and takes the first player token",
                "Resupply card A6 brings 3 water, 3 food, 3 building supplies, 1 worker, 3 distressed people and 1 injured person",
            ],
        ),
        (
            "phase: leaders | round: 2 | cards: A6 | supply: D1 W0 | A | B",
            LEADERS,
            [
                "All leaders are placed and revealed",
                "Anna keeps the first player token and goes first, because the most influence is shared",
                "Resupply card A6 brings 3 food, 3 building supplies, 1 worker, 1 distressed person and 1 injured person; "
                "the supply lacks 3 water and 2 distressed people",
            ],
        ),
        (
            "A* start L7 @1 ! @2 ! @3 ! @4 ! @5 ! @6 ! @7 ! | B",
            ("A: use @7",),
            ["2 new leaders wait beside the mat of Anna, because every tile has a leader"],
        ),
        (
            "A* start L2 @1 ! @2 ! | B",
            ("A: use @7", "A: lead @7"),
            [],
        ),
        (
            "A* start L2 @6 ! @7 ! | B",
            ("A: use @7", "A: lead @5"),
            ["The other new leader waits beside the mat of Anna, because no higher space is without a leader"],
        ),
        (
            "row: T02 T14 T07 T10 T05 | pile: T19 T20 | A* start | B",
            ("A: build T02 @8",),
            ["The Water Tower (T19, 8 points) enters the row", "Level 2 begins, and every player gets a sixth marker"],
        ),
        (
            "row: T19 T20 T21 T22 T23 | level: 2 | pile: T24 | A* start S9 W9 F9 | B",
            ("A: build T21 @8",),
            [
                "The Construction Company (T24, 8 points) enters the row",
                "That was the last tile: the game ends with this round",
            ],
        ),
        (
            "row: T19 T20 T21 T22 T23 | level: 2 | pile: T24 | A* m1 | B m0",
            ("A: pass",),
            [
                "Round 2 ends: the Brickworks (T23) leaves the row, and the Construction Company (T24, 8 points) enters",
                "That was the last tile: one more round is played",
                "Round 3 begins",
            ],
        ),
        (
            "options: stop | row: T19 T20 T21 T22 T23 | level: 2 | pile: T24 | A* m1 O1 | B m0 O2",
            ("A: pass",),
            [
                "Round 2 ends: the Brickworks (T23) leaves the row, and the Construction Company (T24, 8 points) enters",
                "That was the last tile: the game ends at once",
                "The last round is over",
                "Anna reveals the objective Lifelines (O1)",
                "Ben reveals the objective Hands and Tools (O2)",
            ],
        ),
        (
            "level: 2 | trigger: build | A* m1 O1 vp3 | B m0 O2 vp9",
            ("A: pass",),
            [
                "The last round is over",
                "Anna reveals the objective Lifelines (O1)",
                "Ben reveals the objective Hands and Tools (O2)",
            ],
        ),
    ],
)
def test_what_follows_from_the_last_action_is_told(drawing: str, moves: tuple[str, ...], expected: list[str]) -> None:
    """5.4, 5.7, 5.9, 5.10, 5.21, 5.24, 5.30"""
    told = story(drawing, *moves)
    last = max(index for index, line in enumerate(told) if not line.startswith("- "))

    assert told[last + 1 :] == [f"- {event}" for event in expected]


def test_leaders_of_others_are_not_told_before_they_are_revealed() -> None:
    """5.23: an event of the leader phase says the same to all until the last leader is placed."""
    drawing = "phase: leaders | round: 2 | A | B"
    for eye in (A, 1, None):
        assert not [line for line in story(drawing, *LEADERS[:3], eye=eye) if line.startswith("- ")]


# ------------------------------------------------------------------------------------------------------------ whole games
class Step(NamedTuple):
    """One action with the views around it, and all that is told of it to a spectator."""

    before: View
    after: View
    seat: int
    action: Any
    sentence: str
    events: list[str]


def steps(seats: int, number: int, **options: str | int) -> Iterator[tuple[State, Step]]:
    """Plays a game; bundled players of both kinds take part."""
    state = RELIEF.new(seats, options, seeds_of(number))
    draws = player_draws(number, seats, seats)
    while acting := RELIEF.to_act(state):
        seat = acting[number % len(acting)]
        action = RELIEF.players["random" if (seat + number) % 3 == 0 else "greedy"](state, seat, draws[seat])
        before = RELIEF.view(state, None)
        RELIEF.apply(state, seat, action)
        after = RELIEF.view(state, None)
        sentence = words.told(say(before, seat, action), seat, NAMES)
        events = [words.event(event, NAMES) for event in tell(before, after, seat, action)]
        yield state, Step(before, after, seat, action, sentence, events)


def amounts(text: str) -> list[int]:
    """Returns the tokens that a text names, in the order of KINDS."""
    return [sum(int(count) for count in re.findall(rf"(\d+) {noun}", text)) for noun in NOUNS]


def gained(step: Step) -> list[int]:
    """Returns what the seat has more of each kind after what is told, less what it has paid."""
    sentence = step.sentence
    if isinstance(step.action, Build):
        paid, won = sentence.rpartition(" for ")[2], ""
    elif isinstance(step.action, Spend):
        paid, won = sentence.split(" for ")
    elif isinstance(step.action, Trade):
        won, paid = sentence.split(" for ")
    else:
        bought = re.search("pays (.*) to train", sentence)
        paid = bought[1] if bought else ""
        won = sentence.replace(paid, "")
    return [more - less for more, less in zip(amounts(won), amounts(paid), strict=True)]


def of_all_origins(counts: list[int]) -> list[int]:
    """Counts workers of any origin as one kind, because any of them pays for a worker."""
    return [*counts[:3], sum(counts[kind] for kind in WORKERS), *counts[6:]]


TABLES: Final = [(2, {}), (3, {}), (2, {"end_on_discard": "stop"}), (3, {"objectives": "own"})]


@pytest.mark.parametrize(("seats", "options"), TABLES)
def test_the_tokens_points_and_leaders_told_are_those_of_the_views(seats: int, options: dict[str, Any]) -> None:
    for number in range(4):
        for _, step in steps(seats, number, **options):
            old, new = step.before.seats[step.seat], step.after.seats[step.seat]
            change = [more - less for more, less in zip(counts_of(new.goods), counts_of(old.goods), strict=True)]
            if not isinstance(step.action, Lead):
                assert of_all_origins(change) == of_all_origins(gained(step)), step.sentence
            scored = re.search(r"scores (\d+) point", step.sentence)
            assert new.track - old.track == int(scored[1] if scored else 0), step.sentence
            trained = re.search(r"train (\d+) leader", step.sentence)
            assert new.leaders - old.leaders == int(trained[1] if trained else 0), step.sentence


@pytest.mark.parametrize(("seats", "options"), TABLES)
def test_tiles_resupply_and_rounds_told_are_those_of_the_views(seats: int, options: dict[str, Any]) -> None:
    for number in range(4):
        for _, step in steps(seats, number, **options):
            told = " ".join(step.events)
            for tile in step.after.row:
                assert tile in step.before.row or re.search(rf"\({tile}, \d+ points?\) enters", told), step.events
            assert (step.after.round != step.before.round) == ("begins" in told.replace("Level 2 begins", ""))
            assert ("sixth marker" in told) == (step.after.level_two and not step.before.level_two)
            card = re.search("Resupply card [AB][0-9] brings (.*)", told)
            if card and isinstance(step.action, Lead):
                brought = amounts(card[1].split(";")[0])
                old, new = counts_of(step.before.board), counts_of(step.after.board)
                assert brought == [more - less for more, less in zip(new, old, strict=True)]


def test_points_are_those_of_the_track() -> None:
    assert list(points(RELIEF.view(relief("A* vp4 | B vp11"), None))) == [4, 11]
