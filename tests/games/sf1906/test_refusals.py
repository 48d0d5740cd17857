"""Every reason for a refusal has an example, and a message that names the offending value."""

import ast
from dataclasses import dataclass
from pathlib import Path

import pytest

from service.games import sf1906
from service.games.core import Refused
from service.games.sf1906 import rules
from service.games.sf1906.actions import PASS
from tests.games.sf1906.drawing import BLACK, ORANGE, WHITE, draw, play, refused

#: The source, also where the rules are compiled.
SOURCE = Path(sf1906.__file__).with_name("refusals.py")


@dataclass(frozen=True)
class Example:
    """An action at a drawn table, after some other actions, and its refusal."""

    reason: str
    picture: str
    said: str
    answer: str
    before: tuple[str, ...] = ()
    seat: int = ORANGE
    rule: str = ""


BUILDING = (
    "2e  2 players  year 1907  card A1  map M2\norange $1  stock 1  permits P07 P38\nblack permits P13  built Y4c"
)
REWARDED = "2e  2 players  year 1906  card A1  map M2\norange ${}  stock 1  permits P01 P37\nurbanism left: lighting {}"
CHOOSING = ("orange: place 0 act", "orange: discard P01 P37", "orange: at Y4b")

EXAMPLES = [
    Example("GAME_OVER", "2e  2 players  over", "place 0 cash", "the game is over", rule="R63"),
    Example("NOT_YOUR_TURN", "2e  2 players", "place 0 cash", "turn of seat 0, not of seat 1", seat=BLACK, rule="R1"),
    Example("OTHER_DECISION", "2e  2 players", "earn 4", "waits for 'place …', not for 'earn 4'", rule="R7"),
    Example(
        "OTHER_DECISION",
        BUILDING,
        "place 0 act",
        "waits for 'discard …', not for 'place 0 act'",
        before=("orange: place 0 act",),
    ),
    Example("SPACE_BLOCKED", "2e  solo  year 1908  earnings", "earn 1", "$1 space is blocked", rule="R61"),
    Example("SPACE_BLOCKED", "2e  solo  year 1908  earnings  blocked $4", "earn 4", "$4 space is blocked"),
    Example(
        "SPACE_OCCUPIED",
        "2e  2 players  year 1908  earnings\npawns: orange $3",
        "earn 3",
        "another pawn stands on the $3 space",
        seat=BLACK,
        rule="R61",
    ),
    Example(
        "SPACE_OCCUPIED", "2e  2 players\npawns: orange 2", "place 2 cash", "stands on space 2", seat=BLACK, rule="R7"
    ),
    Example(
        "NOT_THIS_YEAR",
        "2e  2 players  year 1909  earnings",
        "benefit money",
        "1909 offers permit, development, not money",
        before=("orange: earn 4",),
        rule="R15",
    ),
    Example(
        "NOT_THIS_YEAR",
        "1e  2 players  final  map M2\norange $3  stock 1  permits P07",
        "benefit permit",
        "1912 offers build, money, not permit",
    ),
    Example("NOT_AN_ACTION", "2e  3 players\norange $9", "place 4 buy 3", "neither bought nor carried out", rule="R69"),
    Example("NO_BUILDING_IN_POOL", "2e  3 players\norange pool 0", "place 1 act", "all eight", rule="R25"),
    Example(
        "PERMIT_LIMIT",
        "2e  3 players  card A4\norange permits P01 P02 P03 P04 P05",
        "place 1 act",
        "at most 5 permits",
        rule="R12",
    ),
    Example(
        "NO_PERMIT_LEFT",
        "1e  4 players  card A4\npawns: orange 0, black 2, blue 3\npermit row: - - -",
        "place 1 act",
        "the row of permits is empty",
        seat=WHITE,
        rule="R11",
    ),
    Example(
        "NO_OBJECTIVE_LEFT",
        "2e  3 players  card A3\nobjective row: - - -   objective deck: none",
        "place 1 act",
        "no objective left",
        rule="E12",
    ),
    Example("NO_BUILDING_AT_HAND", "2e  3 players\norange permits P07", "place 0 act", "play area", rule="R25"),
    Example(
        "NO_OPEN_PLOT",
        "2e  2 players  map M2\norange $9  stock 1  permits P01",
        "place 0 act",
        "opens a space on this map",
        rule="R67",
    ),
    Example(
        "NO_OPEN_PLOT",
        "2e  2 players  map M2\norange $9  stock 1  permits P01 P07",
        "discard P01",
        "P01",
        before=("orange: place 0 act",),
        rule="R71",
    ),
    Example(
        "NOT_ENOUGH_MONEY", "2e  3 players\norange $1", "place 1 buy 2", "needs $2 in hand, there is $1", rule="R6"
    ),
    Example("NOT_ENOUGH_MONEY", "2e  3 players  card A6\norange $1", "place 2 act", "needs $2 in hand, there is $1"),
    Example(
        "NOT_ENOUGH_MONEY",
        "2e  2 players  year 1906  map M2\norange $2  stock 1  permits P07 P13\nblack built G2a",
        "discard P13",
        "needs $3 in hand, there is $2",
        before=("orange: place 0 act",),
        rule="R67",
    ),
    Example(
        "NOT_ENOUGH_MONEY",
        BUILDING,
        "at Y4a",
        "building on the rubble of Y4a needs $4 in hand, there is $1",
        before=("orange: place 0 act", "orange: discard P07"),
        rule="R23",
    ),
    Example(
        "NOT_ENOUGH_MONEY",
        REWARDED.format(0, 5),
        "reward cable-car",
        "a cable-car card needs $1 in hand, there is $0",
        before=CHOOSING,
        rule="R22",
    ),
    Example("NO_SUCH_SPACE", "2e  2 players", "place 3 pass", "spaces 0 to 2, not 3", rule="C13"),
    Example("NO_SUCH_SPACE", "2e  2 players\norange $9", "place 1 buy 4", "spaces 0 to 2, not 4", rule="C13"),
    Example("NO_MONEY_HERE", "2e  3 players", "place 3 cash", "pass space 3", rule="R3"),
    Example(
        "NOT_FROM_DECK",
        "1e  3 players  card A4",
        "permit deck",
        "the permit cannot come from the deck",
        before=("orange: place 1 act",),
        rule="E9",
    ),
    Example(
        "NOT_FROM_DECK",
        "2e  3 players  year 1906  earnings",
        "permit deck",
        "the permit cannot come from the deck",
        before=("orange: earn 4",),
        rule="R62",
    ),
    Example(
        "NOT_FROM_DECK",
        "1e  3 players  year 1907  earnings",
        "objective deck",
        "the objective cannot come from the deck",
        before=("orange: earn 4", "orange: benefit objective"),
        rule="R16",
    ),
    Example(
        "NOT_FROM_DECK",
        "2e  3 players  card A3\nobjective deck: none",
        "objective deck",
        "the objective cannot come from the deck",
        before=("orange: place 1 act",),
        rule="E12",
    ),
    Example(
        "SLOT_EMPTY",
        "2e  3 players  card A4\npermit row: P01 - P03",
        "permit 1",
        "slot 1 of the permit row",
        before=("orange: place 1 act",),
        rule="R10",
    ),
    Example(
        "SLOT_EMPTY",
        "2e  3 players  card A3\nobjective row: O01 O02 -",
        "objective 2",
        "slot 2 of the objective row",
        before=("orange: place 1 act",),
        rule="R10",
    ),
    Example(
        "NO_RUBBLE_THERE",
        "2e  2 players  card A5\norange $3",
        "clear Y5b",
        "no rubble on Y5b",
        before=("orange: place 1 act",),
        rule="R68",
    ),
    Example("NOT_YOUR_PERMIT", BUILDING, "discard P13", "P13 is not", before=("orange: place 0 act",), rule="R17"),
    Example(
        "NOT_ON_MAP",
        BUILDING,
        "at Y1a",
        "Y1a is not on this map",
        before=("orange: place 0 act", "orange: discard P07"),
        rule="C9",
    ),
    Example(
        "SPACE_BUILT",
        BUILDING,
        "at Y4c",
        "a building stands on Y4c",
        before=("orange: place 0 act", "orange: discard P07"),
        rule="R24",
    ),
    Example(
        "PLOT_NOT_OPENED",
        BUILDING,
        "at Y5b",
        "plot Y5 is not opened by P07",
        before=("orange: place 0 act", "orange: discard P07"),
        rule="R71",
    ),
    Example(
        "NOT_ON_BOTH_PERMITS",
        REWARDED.format(1, 5),
        "reward park",
        "park is not on both",
        before=CHOOSING,
        rule="R66",
    ),
    Example(
        "TYPE_EXHAUSTED",
        REWARDED.format(1, 0),
        "reward lighting",
        "no lighting card is left",
        before=CHOOSING,
        rule="R66",
    ),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.reason} {example.said}")
def test_a_refusal_names_its_reason_its_rule_and_the_value(example: Example) -> None:
    """R7, R15, R61: the message names the obstacle, and the table is unchanged."""
    answer = refused(play(draw(example.picture), *example.before), example.seat, example.said)

    assert answer.reason == example.reason
    assert example.answer in answer.message
    assert example.rule in ("", answer.rule)
    assert answer.reason in str(answer)


def test_a_pass_on_another_space_is_refused() -> None:
    """R2: there is no notation for it, but the rules do not rely on that."""
    table = draw("2e  3 players")
    with pytest.raises(Refused, match="space 1 is not the pass space") as answer:
        rules.apply(table, ORANGE, PASS[1])

    assert answer.value.reason == "NO_PASS_HERE"


def test_in_the_top_right_space_the_refusal_counts_the_dollar_that_comes_back() -> None:
    """R23: 1910, on rubble: $4 would do, so the sentence must not ask for $5."""
    table = play(
        draw("2e  2 players  year 1910  card A1  map M2\norange $3  at (5,5)  stock 1  permits P07"),
        "orange: place 0 act",
    )

    assert refused(table, ORANGE, "at Y4a").message == "building on the rubble of Y4a needs $4 in hand, there is $3"

    table = play(
        draw(
            "2e  2 players  year 1910  card A1  map M2\norange $3  at (5,5)  stock 1  permits P07 P13\nblack built G2a"
        ),
        "orange: place 0 act",
    )
    said = refused(table, ORANGE, "discard P13").message
    assert said == "every space that these permits open needs $4 in hand, there is $3"


def test_every_reason_has_an_example() -> None:
    """R7: read from the source, so that a new reason needs one."""
    calls = [
        node
        for node in ast.walk(ast.parse(SOURCE.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Refused"
    ]
    reasons = {call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)}

    assert len(reasons) > 20
    assert reasons == {example.reason for example in EXAMPLES} | {"NO_PASS_HERE"}
