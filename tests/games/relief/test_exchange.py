"""Press & Embassy, and the Port."""

import pytest

from tests.games.relief.tables import A, goods, offers, play, refusal, relief


@pytest.mark.parametrize(("text", "left"), [("spend T1", "T2 $6"), ("spend T2", "T1 $7"), ("spend T3", "$8")])
def test_stories_become_money(text: str, left: str) -> None:
    """C21"""
    assert goods(play(relief("A* T3 $5 | B"), text), A) == left


@pytest.mark.parametrize(("text", "left"), [("spend $2", "$3 N1"), ("spend $4", "$1 N2")])
def test_money_becomes_influence(text: str, left: str) -> None:
    """C21"""
    assert goods(play(relief("A* $5 | B"), text), A) == left


def test_spending_is_limited_by_what_the_supply_can_pay_out() -> None:
    """7.20, 5.7"""
    table = relief("supply: $2 N1 | A* T3 $5 | B")
    assert offers(table, A, "spend") == ["spend T1", "spend T2", "spend $2"]
    assert refusal(table, A, "spend T3") == "SUPPLY_TOO_SMALL"
    assert refusal(table, A, "spend $4") == "SUPPLY_TOO_SMALL"


def test_a_player_cannot_spend_more_than_they_hold() -> None:
    """5.22"""
    table = relief("A* T1 $1 | B")
    assert offers(table, A, "spend") == ["spend T1"]
    assert refusal(table, A, "spend T2") == "TOO_FEW_STORIES"
    assert refusal(table, A, "spend $2") == "TOO_LITTLE_MONEY"


def test_both_branches_share_one_count() -> None:
    """7.21, 5.5"""
    table = play(relief("A* T5 $4 | B"), "spend T2", "B:pass", "spend $2", "B:pass")
    assert offers(table, A, "spend") == []
    assert refusal(table, A, "spend T1") == "USED_TWICE"


@pytest.mark.parametrize(
    ("money", "supply", "mixes"),
    [
        (2, "W0 F5 S8 K1", 8),
        (3, "W0 F5 S8 K1", 15),
        (3, "W2 F2 S4 K1", 27),
        (3, "W3 F3 S3 K3", 34),
        (9, "W3 F3 S3 K3", 34),
        (3, "W0 F0 S0 K0", 0),
        (0, "W3 F3 S3 K3", 0),
    ],
)
def test_the_port_lists_every_mix_the_supply_can_give(money: int, supply: str, mixes: int) -> None:
    """7.19, C22, 5.7"""
    assert len(offers(relief(f"supply: {supply} | A* ${money} | B"), A, "trade")) == mixes


def test_the_order_of_the_mixes() -> None:
    """5.22: of 1, then 2, then 3 tokens, kinds in the order W F S K."""
    texts = offers(relief("A* $2 | B"), A, "trade")
    assert texts[:6] == ["trade W1", "trade F1", "trade S1", "trade K1", "trade W2", "trade W1 F1"]
    assert texts[-1] == "trade K2"


def test_the_port_takes_from_the_general_supply_and_sells_regular_workers() -> None:
    """C22, C34, 5.7, 5.20"""
    table = relief("board: W2 K2 D2 I2 | A* $3 | B")
    after = play(table, "trade W1 K2")
    assert goods(after, A) == "W1 K0/0/2"
    assert after.board == table.board
    assert (after.supply[0], after.supply[3], after.supply[7]) == (11, 7, 11)


def test_every_mix_shares_one_count() -> None:
    """5.5"""
    table = play(relief("A* $9 | B"), "trade W1", "B:pass", "trade K3", "B:pass")
    assert offers(table, A, "trade") == []
    assert refusal(table, A, "trade F1") == "USED_TWICE"


def test_a_trade_beyond_money_or_supply_is_refused() -> None:
    """5.7, 5.22"""
    table = relief("supply: W1 | A* $2 | B")
    assert refusal(table, A, "trade W2") == "SUPPLY_TOO_SMALL"
    assert refusal(table, A, "trade F3") == "TOO_LITTLE_MONEY"
