"""What people are told and shown is readable, complete, and made of their view alone; every game may leave it out."""

from tests.conformance import checks_display as ask
from tests.conformance.subjects import Setup, all_tables
from tests.conformance.walks import remembered


def test_every_legal_action_has_its_own_sentence(table: Setup) -> None:
    walk = remembered(table)
    for ply in walk.choose(16, "say"):
        ask.check_say(table, walk.states[ply])


def test_all_eyes_are_told_what_an_action_brings_about(plain_table: Setup) -> None:
    walk = remembered(plain_table)
    for ply in walk.choose(10, "tell"):
        ask.check_tell(plain_table, walk.states[ply], actions_each=3)


def test_a_whole_game_is_told_to_all_eyes(table: Setup) -> None:
    ask.check_walk_is_told(table, remembered(table))


def test_a_view_shows_points_of_all_seats_or_of_none(plain_table: Setup) -> None:
    walk = remembered(plain_table)
    for state in [*(walk.states[ply] for ply in walk.choose(10, "points")), walk.end]:
        ask.check_points(plain_table, state)


def test_joined_views_have_what_each_seat_knows_and_nothing_else(table: Setup) -> None:
    walk = remembered(table)
    for state in [*(walk.states[ply] for ply in walk.choose(5, "together")), walk.end]:
        ask.check_together(table, state)


def test_every_eye_gets_a_board(plain_table: Setup) -> None:
    walk = remembered(plain_table)
    for state in [*(walk.states[ply] for ply in walk.choose(1, "board")), walk.end]:
        ask.check_board(plain_table, state)


def test_an_id_has_one_content_on_all_boards_of_all_games() -> None:
    known: dict[str, str] = {}
    for table in all_tables():
        walk = remembered(table)
        for state in [*(walk.states[ply] for ply in walk.choose(10, "ids")), walk.end]:
            ask.check_ids(table, state, known)
    assert len(known) > 50


def test_the_board_has_the_parts_of_every_action(plain_table: Setup) -> None:
    walk = remembered(plain_table)
    for ply in walk.choose(8, "parts"):
        ask.check_parts(plain_table, walk.states[ply])


def test_what_is_told_and_shown_depends_on_nothing_but_views(plain_table: Setup) -> None:
    ask.check_functions_of_views(plain_table, remembered(plain_table), positions=4)
