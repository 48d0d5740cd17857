"""The years and the end of the solo game, its scoring, its three options, and whole games of it."""

from typing import Final

import pytest

from service import games
from service.games.chance import Draws, seeds_of
from service.games.core import BadSetup
from service.games.sf1906 import box, committee, rules, scoring
from service.games.sf1906.state import ASK_EARN, ASK_PLACE, NOBODY, OVER, State, to_plain
from tests.games.sf1906.drawing import (
    BLACK,
    COMMITTEE,
    ORANGE,
    after,
    area,
    committee_turn,
    discards,
    draw,
    objective_row,
    order_of,
    permit_deck,
    permit_row,
    refusal,
    texts,
)
from tests.games.sf1906.solo import LEFT, MIDDLE, RIGHT, final, set_up, sheet


# --------------------------------------------------------------------------------------------------------------- years
def test_in_1907_the_committee_takes_the_permit_and_the_row_is_filled_at_once() -> None:
    """T113, R54, R77"""
    state = draw("""
        2e  solo  earnings  year 1907
        order: black orange
        black   permits P21 P22
        permit row: P31 P32 P33   deck: P09 P17 P18
    """)

    new = committee_turn(state)

    assert area(new, COMMITTEE) == "$4  stock 8  permits P21 P22 P31"
    assert permit_row(new) == "P17 P32 P33"
    assert (permit_deck(new), discards(new)) == ("P18", "P09")


def test_in_1907_three_permits_make_it_an_objective_and_that_row_is_filled_too() -> None:
    """R54, R75"""
    state = draw("""
        2e  solo  earnings  year 1907
        order: black orange
        black   permits P21 P22 P23
        deck: P09 …   objective row: O01 O02 O03   objective deck: O04 O05
    """)

    new = committee_turn(state)

    assert area(new, COMMITTEE) == "$4  stock 8  permits P21 P22 P23  objectives O01"
    assert objective_row(new) == "O04 O02 O03"


def test_in_1907_without_an_objective_left_three_permits_give_nothing() -> None:
    """R49: a benefit has no dollar below it; the earnings are kept."""
    state = draw("""
        2e  solo  earnings  year 1907
        order: black orange
        black   permits P21 P22 P23
        deck: P09 …   objective row: - - -   objective deck: none
    """)

    assert area(committee_turn(state), COMMITTEE) == "$4  stock 8  permits P21 P22 P23"


@pytest.mark.parametrize(
    ("year", "built", "result"),
    [
        ("1908", "R5a R5c R5d R5e", "$10"),  # $2 of earnings and $2 for each of four
        ("1908", "", "$2"),
        ("1909", "", "$2 at (1,0)"),
        ("1910", "R5a", "$5"),
        ("1911", "R5a P2b R5c R5d R5e P3b", "$8"),  # and not a permit or an objective
    ],
)
def test_each_year_the_committee_takes_the_benefit_furthest_to_the_right(year: str, built: str, result: str) -> None:
    """T114, R31, R54, R77: a one points to the right, which is $2."""
    state = draw(f"""
        2e  solo  earnings  year {year}
        order: black orange
        black   permits P21 {"built " + built if built else ""}
        deck: P01 …
    """)

    new = committee_turn(state)

    money, *development = result.split(" ", 1)
    words = [money, f"stock {8 - len(built.split())}", "permits P21", *development]
    assert area(new, COMMITTEE) == "  ".join(words + (["built " + built] if built else []))
    assert discards(new) == "P01"


def test_in_1915_the_committee_takes_two_dollars_without_drawing() -> None:
    """T114, R54, R77: it could build, but never does."""
    state = draw("""
        2e  solo  final
        order: black orange    turn: black
        black   $1  permits P21
        permit row: P31 P32 P33   deck: P09 P10
    """)

    new = committee_turn(state)

    assert area(new, COMMITTEE) == "$3  stock 8  permits P21"
    assert (permit_deck(new), discards(new)) == ("P09 P10", "")


def test_the_final_benefit_goes_round_and_ends_the_game() -> None:
    """R30, R77: the Committee first, then the human chooses, then nobody."""
    state = draw("""
        2e  solo  final
        order: black orange
        orange  $3  stock 1  permits P25
        black   $1  permits P21
    """)

    assert texts(state, ORANGE) == ["benefit build", "benefit money"]
    new = after(state, ORANGE, "benefit money")

    assert (new.players[ORANGE].money, new.players[COMMITTEE].money) == (5, 3)
    assert final(new).ending == "FINAL_YEAR"


# ------------------------------------------------------------------------------------------------------ turns and the end
def test_the_committee_plays_by_itself_between_the_humans_turns() -> None:
    """R1, R74: the human stands on the left of A1, the Committee goes right and is first on A2."""
    state = draw("""
        2e  solo  card A1 1st
        order: orange black
        deck: P01 P05 …
    """)

    new = after(state, ORANGE, "place 0 cash")

    assert order_of(new) == "black orange"
    assert new.card == 1
    assert new.pawns == [-1, MIDDLE]
    assert area(new, COMMITTEE).startswith("$3  stock 8  permits ")  # Earnings $3, then Obtain permit
    assert rules.to_act(new) == (ORANGE,)


def test_no_seat_acts_for_the_committee() -> None:
    """R74"""
    state = draw("2e  solo  card A1")

    assert texts(state, BLACK) == []
    assert refusal(state, BLACK, "place 0 cash") == "NOT_YOUR_TURN"


def test_the_committees_eighth_building_makes_it_best_builder_and_lets_the_human_finish_the_card() -> None:
    """R28, R55"""
    state = draw("""
        2e  solo  card A1  year 1909
        order: black orange
        black   permits P21  built Y1a G4b G4c G4d P2b P3b P3c
        deck: P09 …
    """)

    new = after(state, ORANGE)
    assert new.best_builder == COMMITTEE
    assert scoring.outcome(new) is None
    assert rules.to_act(new) == (ORANGE,)

    outcome = final(after(new, ORANGE, "place 1 cash"))
    assert outcome.ending == "EIGHTH_BUILDING"
    assert "Best Builder 3" in sheet(outcome.house[0])
    assert "Best Builder 0" in sheet(outcome.seats[0])


def test_the_humans_eighth_building_lets_the_committee_finish_the_card() -> None:
    """R28, R55: the Committee still earns on A1, then it is over."""
    state = draw("""
        2e  solo  card A1
        order: orange black
        orange  $1  stock 1  permits P25  built Y1a G4b G4c G4d P2b P3b P3c
        deck: P01 …
    """)

    new = after(state, ORANGE, "place 0 act", "at R3a")

    assert new.best_builder == ORANGE
    assert new.players[COMMITTEE].money == 3
    assert final(new).ending == "EIGHTH_BUILDING"


# --------------------------------------------------------------------------------------------------------------- score
T115: Final = """
    2e  solo  {switches}  over  year 1911  map MS
    orange  $10  at (4,4)  built Y1a Y4b R5a R5c G4b P3b G5b  lighting 1  parks A  hidden O02 O03
    black   $11  at (5,5)  built P2b R5d G4c G5c Y4d Y4c R3a P1a  lighting 2  cable-car 2  hydrant 1  objectives O12 O16
    common: O18 O19 O24
"""


def test_the_solo_score_in_full() -> None:
    """T115, R41, R55, R57, R78, R79"""
    outcome = final(draw(T115.format(switches="")))

    assert sheet(outcome.seats[0]) == [
        "common O18 4",
        "common O19 4",
        "common O24 2",
        "own O02 3",
        "own O03 12",
        "Best Builder 0",
        "development 6",
        "urbanism 3",
        "money 3",
    ]
    assert sheet(outcome.house[0]) == [
        "common O18 6",
        "common O19 4",
        "common O24 6",
        "own O12 3",
        "own O16 3",
        "Best Builder 3",
        "development 10",
        "urbanism 11",
        "money 2",
    ]
    assert (outcome.scores, outcome.house[0].score) == ((37,), 48)
    assert (outcome.ranks, outcome.house[0].rank) == ((2,), 1)
    assert outcome.house[0].name == "Committee of Fifty"


def test_with_the_harder_divisor_three_dollars_are_a_point_for_the_committee_too() -> None:
    """T115, R78: the human's own money does not change."""
    outcome = final(draw(T115.format(switches="divisor 3")))

    assert sheet(outcome.house[0])[-1] == "money 3"
    assert outcome.house[0].score == 49
    assert outcome.scores == (37,)


@pytest.mark.parametrize(
    ("money", "normal", "hard"), [(0, 0, 0), (3, 0, 1), (4, 1, 1), (7, 1, 2), (8, 2, 2), (11, 2, 3)]
)
def test_the_committee_counts_full_fours_or_threes(money: int, normal: int, hard: int) -> None:
    """R78"""
    for switch, points in (("", normal), ("divisor 3", hard)):
        state = draw(f"""
            2e  solo  {switch}  over
            orange  $11
            black   ${money}
        """)
        outcome = final(state)
        assert sheet(outcome.house[0])[-1] == f"money {points}"
        assert sheet(outcome.seats[0])[-1] == "money 3"


def test_a_personal_card_is_worth_three_to_the_committee_whatever_is_printed_on_it() -> None:
    """R78: O01 would give it eight, O12 nothing; the human's own card keeps its value."""
    state = draw("""
        2e  solo  over
        orange  built Y1a Y4b  hidden O06
        black   built R5a R5c R5d R5e R3a R3c P2b P3b  objectives O01 O12
        common: O17 O18 O23
    """)
    outcome = final(state)

    assert [text for text in sheet(outcome.house[0]) if text.startswith("own")] == ["own O01 3", "own O12 3"]
    assert [text for text in sheet(outcome.seats[0]) if text.startswith("own")] == ["own O06 4"]


def test_the_committee_is_the_rival_in_the_humans_objectives() -> None:
    """R41, R57: it is compared, it stands beside, it surrounds corners and disturbs who would be alone."""
    state = draw("""
        2e  solo  over
        orange  built Y4b R5c Y1a  rubble 1  hidden O03 O04 O05 O23 O19
        black   built Y4a Y4d R5d  rubble 2
        common: O17 O18 O24
    """)

    assert [text for text in sheet(final(state).seats[0]) if text.startswith("own")] == [
        "own O03 6",  # Y4b and R5c, at 3 as with two players
        "own O04 3",  # Y4b between Y4a and Y4d
        "own O05 2",  # Y1a
        "own O23 2",
        "own O19 4",  # two yellow ones each
    ]


def test_a_tie_with_the_committee_goes_to_more_buildings_and_then_is_shared() -> None:
    """R43, R56"""
    picture = """
        2e  solo  over
        orange  built {orange}
        black   built {black}
        common: O17 O18 O24
    """
    more = final(draw(picture.format(orange="R5a R5c", black="P2b")))
    fewer = final(draw(picture.format(orange="R5a", black="P2b P3b")))
    equal = final(draw(picture.format(orange="R5a", black="P2b")))

    for outcome in (more, fewer, equal):
        assert outcome.scores[0] == outcome.house[0].score
    assert (more.ranks, more.house[0].rank) == ((1,), 2)
    assert (fewer.ranks, fewer.house[0].rank) == ((2,), 1)
    assert (equal.ranks, equal.house[0].rank) == ((1,), 1)


# ------------------------------------------------------------------------------------------------ the three switches
@pytest.mark.parametrize(("face", "space"), [("normal", RIGHT), ("hard", LEFT)])
@pytest.mark.parametrize(("blocked", "open_spaces"), [(1, ["earn 4", "earn 2"]), (4, ["earn 2", "earn 1"])])
@pytest.mark.parametrize(("divisor", "money"), [(4, "money 2"), (3, "money 3")])
def test_each_difficulty_option_changes_only_its_own_part(
    face: str, space: int, blocked: int, open_spaces: list[str], divisor: int, money: str
) -> None:
    """R45, R73, R78: the way round a taken middle, the earnings spaces, the points for $11."""
    state = set_up(3, face, blocked, divisor)
    turn, over = state.copy(), state.copy()
    three = next(permit for permit in turn.permit_deck if box.PERMIT_NUMBER[permit] == 3)
    turn.permit_deck.remove(three)
    turn.permit_deck.append(three)
    turn.card, turn.order, turn.turn, turn.pawns, turn.phase = 0, [ORANGE, COMMITTEE], 1, [MIDDLE, -1], ASK_PLACE
    over.phase, over.players[COMMITTEE].money = OVER, 11

    assert committee_turn(turn).pawns[COMMITTEE] == space
    assert texts(state, ORANGE) == open_spaces
    assert sheet(final(over).house[0])[-1] == money


def test_the_solo_options_do_not_change_the_deal() -> None:
    """R58, R73: the same seeds give the same table at every difficulty."""
    easy, hard = set_up(5), set_up(5, "hard", 4, 3)

    assert to_plain(easy)[3:] == to_plain(hard)[3:]


@pytest.mark.parametrize("seats", [2, 3, 4])
@pytest.mark.parametrize(("option", "value"), [("solo_aid", "hard"), ("solo_blocked", 4), ("solo_divisor", 3)])
def test_the_solo_options_are_refused_with_more_than_one_player(seats: int, option: str, value: str | int) -> None:
    """R73: the error names the option, the value given, and when it would be valid."""
    game = games.get("sf1906-2e")

    with pytest.raises(BadSetup) as refused:
        game.new(seats, {option: value}, seeds_of(1906))

    assert refused.value.field == f"option {option}"
    assert refused.value.value == value
    assert "only matters with 1" in str(refused.value)
    assert game.new(1, {option: value}, seeds_of(1906)).solo is not None


@pytest.mark.parametrize(
    ("option", "value"), [("solo_aid", "blue"), ("solo_blocked", 3), ("solo_blocked", "$4"), ("solo_divisor", 5)]
)
def test_unknown_values_of_a_solo_option_are_refused(option: str, value: str | int) -> None:
    """R45, R73"""
    with pytest.raises(BadSetup) as refused:
        games.get("sf1906-2e").new(1, {option: value}, seeds_of(1906))

    assert refused.value.field == f"option {option}"


def test_the_first_edition_has_no_solo_game_and_none_of_its_options() -> None:
    """R73, E1"""
    game = games.get("sf1906-1e")

    with pytest.raises(BadSetup, match="players: 1 is not possible; expected 2 to 4"):
        game.new(1, {}, seeds_of(1906))
    with pytest.raises(BadSetup, match="solo_aid"):
        game.new(2, {"solo_aid": "hard"}, seeds_of(1906))


# ----------------------------------------------------------------------------------------------------- whole games
def play_at_random(state: State, watch: list[State] | None = None) -> list[str]:
    """Plays to the end; returns the human's actions. Copies the tables where the human places the pawn into ``watch``."""
    draws = Draws(state.deck_seed, "test/solo")
    said = []
    while rules.to_act(state):
        actions = rules.legal_actions(state, ORANGE)
        action = actions[draws.below(len(actions))]
        if watch is not None and state.phase in (ASK_PLACE, ASK_EARN):
            watch.append(state.copy())
        rules.apply(state, ORANGE, action)
        said.append(action.text)
    return said


def switched(seed: int) -> State:
    """Returns a game with every combination of the options in turn."""
    return set_up(seed, ("normal", "hard")[seed % 2], (1, 4)[seed // 2 % 2], (4, 3)[seed // 4 % 2])


@pytest.mark.parametrize("seed", range(4))
def test_a_solo_game_replays_to_the_last_card(seed: int) -> None:
    """R58, R74: the Committee's play follows from the seed and from the human's actions."""
    first = switched(seed)
    said = play_at_random(first)
    second = switched(seed)

    replayed = after(second, ORANGE, *said)

    assert to_plain(replayed) == to_plain(first)
    assert final(replayed) == final(first)


def test_the_committee_never_pays_and_never_holds_a_fourth_permit() -> None:
    """R48, R74: tested on every card and in every year of random games, with much money or none."""
    tables: list[State] = []
    for seed in range(8):
        play_at_random(switched(seed), tables)
    for state in tables:
        for card in range(box.CARDS) if state.card >= 0 else [-1]:
            new = state.copy()
            new.card, new.order, new.turn, new.pawns = card, [COMMITTEE, ORANGE], 0, [-1, -1]
            held = new.players[COMMITTEE].money = state.turn  # next to nothing, so that a debt would show
            committee.take_turn(new)
            assert new.players[COMMITTEE].money >= held
            assert len(new.players[COMMITTEE].permits) <= 3
            assert new.players[ORANGE].money == state.players[ORANGE].money
            assert new.pawns[COMMITTEE] != -1
    assert len(tables) > 8 * 30


def test_whatever_happens_the_pieces_of_a_solo_game_stay_complete() -> None:
    """R48, R73, R78: 40 permits, 24 objectives besides Best Builder, 8 rubble tokens, 8 buildings, 17 urbanism cards."""
    for seed in range(8):
        tables: list[State] = []
        state = switched(seed)
        play_at_random(state, tables)
        for seen in [*tables, state]:
            human, committee_area = seen.players
            permits = [*seen.permit_row, *seen.permit_deck, *seen.permit_discards]
            permits += human.permits + committee_area.permits
            assert sorted(permit for permit in permits if permit >= 0) == list(range(40))
            objectives = [*seen.common, *seen.objective_row, *seen.objective_deck]
            objectives += human.objectives + committee_area.objectives
            assert sorted(card for card in objectives if card >= 0) == list(range(24))
            assert bin(seen.rubble).count("1") + human.rubble + committee_area.rubble == 8
            for who, player in enumerate(seen.players):
                assert player.pool + player.stock + seen.owner.count(who) == 8
            for icon, cards in enumerate(box.URBANISM_CARDS):
                assert seen.urbanism[icon] + human.urbanism[icon] + committee_area.urbanism[icon] == cards
            assert (seen.best_builder == NOBODY) == (max(human.built(), committee_area.built()) < 8)
