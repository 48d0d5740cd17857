"""Nothing a viewer is sent depends on what it cannot know."""

from tests.conformance import checks_hidden as ask
from tests.conformance.subjects import Setup
from tests.conformance.walks import pool_of


def test_redealing_what_a_viewer_cannot_see_changes_nothing_it_is_sent(table: Setup) -> None:
    ask.check_knowledge(table, 0, pool_of(table), positions=12, foreign=25)


def test_nor_in_games_of_better_players(plain_table: Setup) -> None:
    ask.check_knowledge(plain_table, 1, pool_of(plain_table), positions=24, foreign=25)


def test_a_redeal_deals_all_that_is_hidden(table: Setup) -> None:
    ask.check_deals(table, 0)


def test_states_with_equal_views_keep_equal_views_until_something_is_shown(plain_table: Setup) -> None:
    ask.check_steps(plain_table, 1, pool_of(plain_table), starts=8, limit=40)


def test_a_view_forgets_nothing_and_foresees_nothing(plain_table: Setup) -> None:
    ask.check_memories(plain_table, 1, positions=6, tries=48)


def test_bundled_players_are_legal_repeatable_and_use_no_hidden_information(table: Setup) -> None:
    ask.check_house(table, 1, positions=20)


def test_the_automaton_finishes_any_game(table: Setup) -> None:
    for number in range(3):
        ask.check_automaton(table, number)


def test_secret_choices_stay_secret(table: Setup) -> None:
    ask.check_secrets(table, 0, positions=4)


def test_sampled_worlds_are_possible_varied_and_honest(table: Setup) -> None:
    ask.check_worlds(table, 1, positions=6)
