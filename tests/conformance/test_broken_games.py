"""The checks work: they catch deliberately leaking games and every other kind of broken game."""

import pytest

from tests.conformance.broken import FAULTS, LEAKS, QUESTIONS, BrokenGame, Question, without_papers
from tests.conformance.checks_hidden import check_memories, check_secrets, check_steps
from tests.conformance.checks_shelf import check_page, check_playthroughs_exist
from tests.conformance.subjects import Setup, Subject, plain_tables, subjects
from tests.conformance.walks import pool_of
from tests.example_game import GAME


def caught(question: Question, tables: list[Setup]) -> bool:
    """Returns whether some table of the game fails the check, by an assertion or an exception of the rules."""
    for table in tables:
        try:
            question(table)
        except (AssertionError, ValueError, IndexError, KeyError, pytest.fail.Exception):
            return True
        except Exception as error:
            if type(error).__module__.startswith("service.games"):  # an unexpected BadSetup, Refused or Unreadable
                return True
            raise
    return False


@pytest.mark.parametrize("broken", LEAKS, ids=lambda broken: broken.game.id)
def test_a_leaking_game_is_caught(broken: BrokenGame) -> None:
    assert all(caught(question, broken.tables) for question in broken.caught_by)


@pytest.mark.parametrize("broken", FAULTS, ids=lambda broken: broken.game.id)
def test_a_broken_game_is_caught(broken: BrokenGame) -> None:
    assert all(caught(question, broken.tables) for question in broken.caught_by)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.__name__)
def test_the_game_they_were_made_of_passes(question: Question) -> None:
    for table in plain_tables(GAME):
        question(table)


def test_every_check_fails_for_some_broken_game() -> None:
    assert {question for broken in LEAKS + FAULTS for question in broken.caught_by} == set(QUESTIONS)


def test_the_comparisons_are_not_empty() -> None:
    """The example game has secrets to compare and states that stay alike for some plies."""
    for table in plain_tables(GAME):
        secret, compared = check_secrets(table, 0, positions=4)
        assert secret > 0 and compared > 0
        assert check_steps(table, 0, pool_of(table), starts=4, limit=25) > 5
        assert check_memories(table, 0, positions=30, tries=400) > 0


def test_a_game_without_papers_is_caught() -> None:
    example: Subject = without_papers(subjects()[-1])
    with pytest.raises(AssertionError, match="no page"):
        check_page(example)
    with pytest.raises(AssertionError, match="no playthrough"):
        check_playthroughs_exist(example)
