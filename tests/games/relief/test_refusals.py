"""Every reason to refuse has an example here, with its ruling and a sentence that names the offending value."""

import re
from pathlib import Path

import pytest

from service.games.core import Refused
from service.games.relief import RELIEF, refusals
from service.games.relief.actions import ACTIONS, Action, Build, Lead, Pass, Spend, Trade, Use, read
from service.games.relief.state import State
from tests.games.relief.tables import A, B, draws, new, refusal, relief

LEADER_PHASE = "phase: leaders | A L3 | B"
NEW_LEADER = "phase: new | hand: 1 | above: 4 | A* L3 @1 ! @2 ! @6 ! | B"
POOR = "row: T19 T07 T10 T14 T18 | supply: $1 W1 N0 | A* W1 T2 $2 X7 @8 T15 x2 | B X6"
BUSY = "row: T07 T01 T10 T14 T18 | A* W5 F5 S5 K5 T5 $5 b2 s2 t2 | B"

EXAMPLES = [
    ("phase: over | trigger: build | A | B", A, "pass", "GAME_OVER", "5.10", "pass"),
    ("A* | B", 7, "pass", "NO_SUCH_SEAT", "5.1", "seat 7"),
    ("A* | B", B, "pass", "NOT_YOUR_TURN", "5.21", "seat 0"),
    ("phase: leaders | A L2 @1 ! @2 ! | B", A, "lead @3", "LEADERS_SETTLED", "5.23", "lead @3"),
    (LEADER_PHASE, A, "keep", "LEADERS_MUST_BE_PLACED", "5.3", "3 of your leaders"),
    (LEADER_PHASE, A, "use @1", "LEADERS_FIRST", "5.21", "use @1"),
    (LEADER_PHASE, A, "lead @8", "EMPTY_SPACE", "5.3", "@8"),
    ("phase: leaders | A L3 @3 ! | B", A, "lead @2", "OUT_OF_ORDER", "5.23", "@2 is not above @3"),
    (LEADER_PHASE, A, "lead @6", "NO_ROOM_ABOVE", "5.23", "the highest space for this one is @5"),
    (NEW_LEADER, A, "pass", "SETTLE_NEW_LEADERS", "5.24", "1 in hand"),
    (NEW_LEADER, A, "lead @9", "EMPTY_SPACE", "5.3", "@9"),
    (NEW_LEADER, A, "lead @6", "SPACE_HAS_LEADER", "5.14", "@6"),
    (NEW_LEADER, A, "lead @3", "OUT_OF_ORDER", "5.24", "@3"),
    (NEW_LEADER, B, "keep", "NOT_YOUR_TURN", "5.21", "seat 0"),
    ("A* | B", A, "keep", "NO_LEADER_IN_HAND", "5.14", "keep"),
    ("A* | B", A, "lead @1", "NO_LEADER_IN_HAND", "5.14", "lead @1"),
    ("A* | B", A, "use @8", "EMPTY_SPACE", "5.3", "@8"),
    (POOR, A, "use @8", "USED_TWICE", "5.5", "T15 on @8"),
    (POOR, A, "use @7", "CANNOT_PAY", "5.15", "you lack F1 K1"),
    ("supply: L0 | A* start | B", A, "use @7", "NO_LEADER_LEFT", "5.15", "P7"),
    (POOR, A, "use @2", "NOTHING_TO_GAIN", "5.16", "no food"),
    (BUSY, A, "build T07 @8", "USED_TWICE", "5.5", "the Works Office"),
    (POOR, A, "build X6 @9", "NOT_AVAILABLE", "5.12", "X6"),
    (POOR, A, "build T10 @8", "ICON_DIFFERS", "5.12", "T10 (people) cannot cover T15 (media)"),
    (POOR, A, "build T10 @11", "NOT_LOWEST_OPEN_SPACE", "5.12", "@11"),
    (POOR, A, "build T10 @9", "CANNOT_PAY", "5.12", "T10 on @9 costs W1 F1 S2, you lack F1 S2"),
    (BUSY, A, "spend T1", "USED_TWICE", "5.5", "Press & Embassy"),
    (POOR, A, "spend T3", "TOO_FEW_STORIES", "5.22", "you hold T2"),
    (POOR, A, "spend $4", "TOO_LITTLE_MONEY", "5.22", "you hold $2"),
    (POOR, A, "spend T2", "SUPPLY_TOO_SMALL", "5.7", "2 money asked for, 1 in the supply"),
    (POOR, A, "spend $2", "SUPPLY_TOO_SMALL", "5.7", "1 influence asked for, 0 in the supply"),
    (BUSY, A, "trade W1", "USED_TWICE", "5.5", "the Port"),
    (POOR, A, "trade F3", "TOO_LITTLE_MONEY", "5.22", "you hold $2"),
    (POOR, A, "trade W2", "SUPPLY_TOO_SMALL", "5.7", "2 water asked for, 1 in the supply"),
]


@pytest.mark.parametrize(("drawing", "seat", "text", "reason", "rule", "named"), EXAMPLES)
def test_a_refusal_names_its_reason_its_ruling_and_the_value(
    drawing: str, seat: int, text: str, reason: str, rule: str, named: str
) -> None:
    """5.5, 5.7, 5.12, 5.14, 5.15, 5.16, 5.22, 5.23, 5.24"""
    table = relief(drawing)
    assert refusal(table, seat, text) == reason
    with pytest.raises(Refused) as refused:
        RELIEF.apply(table, seat, read(text))
    assert refused.value.rule == rule
    assert named in refused.value.message


def test_every_reason_has_an_example() -> None:
    folder = Path(__file__).parents[3] / "service" / "games" / "relief"
    source = (folder / "refusals.py").read_text(encoding="utf-8")
    written = set(re.findall(r'"([A-Z]+(?:_[A-Z]+)+)"', source))
    assert written == {reason for _, _, _, reason, _, _ in EXAMPLES}


def test_every_action_that_is_not_listed_is_refused_with_a_reason() -> None:
    """5.22, 5.25: legality has one source, and every action outside of it is explained."""
    for table in [relief(drawing) for drawing, *_ in EXAMPLES] + [new(3)]:
        for seat in range(len(table.players)):
            legal = set(RELIEF.legal_actions(table, seat))
            for action in ACTIONS.values():
                assert nothing_against(table, seat, action) == (action in legal), action.text


def test_legal_actions_and_refusals_agree() -> None:
    """5.22, 5.23, 5.24: in random games an action is listed exactly if the refusals find no reason against it."""
    for number in range(4):
        table = new(2 + number % 2, number)
        chance = draws(f"opinions {number}")
        step = 0
        while RELIEF.to_act(table):
            acting = RELIEF.to_act(table)
            seat = acting[chance.below(len(acting))]
            if step % 9 == number:
                legal = set(RELIEF.legal_actions(table, seat))
                for action in ACTIONS.values():
                    assert nothing_against(table, seat, action) == (action in legal), action.text
            RELIEF.apply(table, seat, RELIEF.players["random"](table, seat, chance))
            step += 1


def nothing_against(table: State, seat: int, action: Action) -> bool:
    try:
        refusals.refusal(table, seat, action)
    except TypeError:
        return True
    return False


def test_a_refusal_does_not_reveal_who_holds_a_special() -> None:
    """5.25, 5.19"""
    messages = set()
    for special in ("X1", "X2"):
        table = relief(f"A* start X7 | B {special}")
        try:
            RELIEF.apply(table, A, read("build X2 @8"))
        except Refused as refused:
            messages.add(str(refused))
    assert len(messages) == 1


@pytest.mark.parametrize(
    ("drawing", "action"),
    [
        ("A* | B", Pass("pass", {"pass": True})),
        ("board: W1 | A* | B", Use(0)),
        ("A* start | B", Use(6)),
        ("A* start | B", Build(7, 7)),
        ("A* T3 | B", Spend(6, 1, 7, 1)),
        ("A* $3 | B", Trade((1, 0, 0, 0))),
        (LEADER_PHASE, Lead(0)),
        (NEW_LEADER, Lead(3)),
    ],
)
def test_an_action_made_elsewhere_raises_a_type_error(drawing: str, action: Action) -> None:
    with pytest.raises(TypeError, match="make it with read"):
        RELIEF.apply(relief(drawing), A, action)
