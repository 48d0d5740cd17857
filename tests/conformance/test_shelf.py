"""Every game comes with all its parts."""

from tests.conformance import checks_shelf as ask
from tests.conformance.subjects import Setup, Subject, plain_tables
from tests.conformance.walks import pool_of, remembered


def test_it_has_a_label_that_can_be_typed(subject: Subject) -> None:
    ask.check_label(subject.game)


def test_every_value_of_a_component_has_a_mark(subject: Subject) -> None:
    ask.check_components(subject.game)


def test_options_are_checked(subject: Subject) -> None:
    ask.check_options(subject.game)


def test_the_notation_explains_every_verb(subject: Subject) -> None:
    ask.check_notation_rows(subject.game, pool_of(plain_tables(subject.game)[0]))


def test_every_game_has_bundled_players(subject: Subject) -> None:
    ask.check_built_in_players(subject.game)


def test_a_page_names_the_game(subject: Subject) -> None:
    ask.check_page(subject)


def test_every_viewer_gets_a_picture(table: Setup) -> None:
    walk = remembered(table)
    for state in [*(walk.states[ply] for ply in walk.choose(12, "pictures")), walk.end]:
        ask.check_pictures(table, state)
