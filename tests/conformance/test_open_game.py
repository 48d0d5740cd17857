"""A game without hidden information passes the checks, and a game with some is recognised."""

import pytest

from tests.conformance.broken import QUESTIONS, Question
from tests.conformance.checks_hidden import is_dealt_open
from tests.conformance.open_game import PEBBLES
from tests.conformance.subjects import Setup, all_tables, plain_tables
from tests.conformance.walks import draws


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.__name__)
def test_a_game_without_secrets_passes(question: Question) -> None:
    for table in plain_tables(PEBBLES):
        question(table)


@pytest.mark.parametrize("table", plain_tables(PEBBLES), ids=str)
def test_it_is_known_to_be_open(table: Setup) -> None:
    assert is_dealt_open(table, bytes(32), draws("open"))


def test_no_other_game_is() -> None:
    assert not [str(table) for table in all_tables() if is_dealt_open(table, bytes(32), draws("open"))]
