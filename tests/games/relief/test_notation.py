"""How actions are written and read."""

import copy
import pickle

import pytest

from service.games.core import Unreadable
from service.games.relief import RELIEF
from service.games.relief.actions import ACTIONS, read
from tests.games.relief.tables import new, offers, relief


def test_every_action_is_made_once_and_read_by_its_text() -> None:
    """5.22, 5.23, 5.24"""
    assert len(ACTIONS) == 1 + 1 + 14 + 14 + 42 * 14 + 5 + 34
    for action in ACTIONS.values():
        assert read(RELIEF.text(action)) is action


def test_copies_and_pickles_are_the_same_action() -> None:
    action = read("build T02 @8")
    assert copy.copy(action) is copy.deepcopy(action) is pickle.loads(pickle.dumps(action)) is action


@pytest.mark.parametrize("text", ["trade W1 K2", "  TRADE   w1\tk2 ", "Trade W1 k2"])
def test_blanks_and_capitals_do_not_matter(text: str) -> None:
    assert read(text) is read("trade W1 K2")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "one of pass, use @s"),
        ("wait", "one of pass, use @s"),
        ("pass twice", "pass, alone"),
        ("keep @3", "keep, alone"),
        ("use", "a space from 1 to 14"),
        ("use @15", "a space from 1 to 14"),
        ("use 3", "use @3"),
        ("lead @0", "a space from 1 to 14"),
        ("build P1 @1", "a tile from T01 to X7"),
        ("build T36 @1", "a tile from T01 to X7"),
        ("build T02", "a space"),
        ("spend T4", "spend T1, spend T2, spend T3, spend $2, spend $4"),
        ("spend $3", "spend $2, spend $4"),
        ("trade", "1 to 3 tokens"),
        ("trade W4", "1 to 3 tokens"),
        ("trade W2 W1", "in the order W F S K"),
        ("trade K1 W1", "in the order W F S K"),
        ("trade D1", "in the order W F S K"),
    ],
)
def test_an_unreadable_text_names_what_is_expected(text: str, expected: str) -> None:
    """5.22, 5.20: there is no notation for buying distressed people."""
    with pytest.raises(Unreadable) as unreadable:
        read(text)
    assert expected in unreadable.value.expected
    assert unreadable.value.text == text


def test_the_list_comes_in_the_order_of_the_table() -> None:
    """5.22: pass, uses, builds, spends, trades."""
    table = relief("row: T07 T01 T10 T14 T18 | board: W3 | A* start T3 $4 X1 | B")
    verbs = [text.split()[0] for text in offers(table, 0)]
    assert list(dict.fromkeys(verbs)) == ["pass", "use", "build", "spend", "trade"]
    assert sorted(verbs, key=["pass", "use", "build", "spend", "trade"].index) == verbs


def test_the_list_is_kept_until_the_table_moves_and_shared_by_copies() -> None:
    table = relief("A* start | B")
    first = RELIEF.legal_actions(table, 0)
    twin = table.copy()
    assert RELIEF.legal_actions(table, 0) is first
    assert RELIEF.legal_actions(twin, 0) is first
    RELIEF.apply(twin, 0, read("pass"))
    assert RELIEF.legal_actions(twin, 0) == ()
    assert RELIEF.legal_actions(table, 0) is first


def test_every_verb_of_the_notation_can_be_read() -> None:
    examples = ["pass", "use @3", "build T02 @8", "spend T2", "spend $4", "trade W1 K2", "lead @3", "keep"]
    assert [read(text).text for text in examples] == examples
    assert [notation.split()[0] for notation, _ in RELIEF.notation] == [text.split()[0] for text in examples]
    assert new(2).legal is None
