"""Sentences of 1906: examples for every kind of action, and whole games in which nothing told is wrong or missing."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from service import games
from service.engine import engine_kind
from service.games import words
from service.games.chance import seeds_of
from service.games.core import Viewer
from service.games.playing import player_draws
from service.games.sf1906 import actions, box, committee, legal, rules
from service.games.sf1906.sentences import points, say, tell
from service.games.sf1906.sentences_committee import committee_turn
from service.games.sf1906.state import State
from service.games.sf1906.view import View, view
from tests.games.sf1906.drawing import BLACK, COMMITTEE, ORANGE, after, draw

NAMES: Final = ("Anna", "Ben", "Cleo", "Dimitri")


def story(picture: str, moves: list[str], eye: Viewer = None) -> list[str]:
    """Returns what this viewer is told of these moves; events begin with a dash."""
    table = after(draw(picture), ORANGE)
    told: list[str] = []
    for move in moves:
        name, text = move.split(": ")
        seat, action = box.PLAYER_COLOURS.index(name), actions.read(text)
        moved = after(table, seat, text)
        before, then = view(table, eye), view(moved, eye)
        told.append(words.told(say(before, seat, action), seat, NAMES))
        told += [f"- {words.event(event, NAMES)}" for event in tell(before, then, seat, action)]
        table = moved
    return told


class Story(NamedTuple):
    """A table, actions, and what a spectator is told of each."""

    name: str
    picture: str
    moves: list[str]
    told: list[str]


def _stories() -> Iterator[Story]:
    text = (Path(__file__).parent / "stories.txt").read_text(encoding="utf-8")
    for block in text.split("\n## ")[1:]:
        name, *rows = block.strip().splitlines()
        first = next(index for index, row in enumerate(rows) if row.startswith("> "))
        moves = [row[2:] for row in rows if row.startswith("> ")]
        yield Story(name, "\n".join(rows[:first]), moves, [row for row in rows[first:] if not row.startswith("> ")])


@pytest.mark.parametrize("written", list(_stories()), ids=lambda written: written.name)
def test_a_turn_is_told_by_the_rules(written: Story) -> None:
    """Each story names the rulings it was checked against."""
    assert story(written.picture, written.moves) == written.told


def test_an_objective_from_the_deck_is_named_to_its_owner_alone() -> None:
    """R72"""
    picture = "2e  2 players  year 1907  card A6\nobjective row: O01 O02 O03   objective deck: O11 …"
    moves = ["orange: place 1 act", "orange: objective deck"]
    drawn = "Anna draws an objective from the deck in secret"

    assert story(picture, moves, ORANGE)[1:] == [drawn, "- The card is objective O11 (Rubble cleared)"]
    for eye in (BLACK, None):
        assert story(picture, moves, eye)[1:] == [drawn]


def test_a_refill_that_the_committee_takes_at_once_is_told_before_it() -> None:
    """R10, T102: the permit of the right slot enters, and the Committee takes it on the next card."""
    told = story(
        """
            2e  solo  card A4
            order: black orange
            pawns: black 1
            black permits P40
            permit row: P01 P02 -   deck: P05 P03 …
        """,
        ["orange: place 0 cash"],
    )

    entered = next(index for index, line in enumerate(told) if "row is filled with P05" in line)
    taken = next(index for index, line in enumerate(told) if "takes permit P05" in line)
    assert entered < taken


# ------------------------------------------------------------------------------------------------------------ whole games
TABLES: Final = [
    ("sf1906-1e", 2, {}),
    ("sf1906-1e", 3, {}),
    ("sf1906-1e", 4, {}),
    ("sf1906-2e", 1, {}),
    ("sf1906-2e", 1, {"solo_aid": "hard", "solo_blocked": 4}),
    ("sf1906-2e", 2, {}),
    ("sf1906-2e", 3, {}),
    ("sf1906-2e", 4, {}),
]
SERIES: Final = 4


class Step(NamedTuple):
    """One action with the views around it, and all that is told of it to a spectator."""

    before: View
    after: View
    seat: int
    action: Any
    told: list[str]


def steps(game_id: str, seats: int, options: dict[str, Any], number: int) -> Iterator[tuple[State, Step]]:
    """Plays a game; bundled players of both kinds take part."""
    game = games.get(game_id)
    state = game.new(seats, options, seeds_of(number))
    draws = player_draws(number, seats, seats)
    while acting := game.to_act(state):
        seat = acting[0]
        player = "random" if (seat + number) % 3 == 0 else "greedy"
        action = game.players[player](state, seat, draws[seat])
        before = game.view(state, None)
        game.apply(state, seat, action)
        then = game.view(state, None)
        told = [words.told(say(before, seat, action), seat, NAMES)]
        told += [words.event(event, NAMES) for event in tell(before, then, seat, action)]
        yield state, Step(before, then, seat, action, told)


def told_of(step: Step, who: int) -> list[str]:
    """Returns the sentences about one player."""
    name = "The Committee" if step.before.solo is not None and who == COMMITTEE else NAMES[who]
    return [sentence for sentence in step.told if sentence.startswith(f"{name} ")]


def money_in(sentences: list[str]) -> int:
    """Returns what a player has more after what is told: gains less payments."""
    text = " ".join(sentences)
    gained = re.findall(r"\b(?:takes|earns|gets?) \$(\d+)", text)
    paid = re.findall(r"\bpays \$(\d+)", text) + re.findall(r"for its rubble and \$(\d+) for the building", text)
    return sum(map(int, gained)) - sum(map(int, paid))


@pytest.mark.parametrize(("game_id", "seats", "options"), TABLES)
def test_the_money_and_steps_told_are_those_of_the_views(game_id: str, seats: int, options: dict[str, Any]) -> None:
    """R9, R26, R27: what all sentences about a player add up to is what the table shows."""
    for number in range(SERIES):
        for _, step in steps(game_id, seats, options, number):
            for who, (old, new) in enumerate(zip(step.before.players, step.after.players, strict=True)):
                told = told_of(step, who)
                assert new.money - old.money == money_in(told), told
                assert old.pool - new.pool == sum(sentence.count("a building from the pool") for sentence in told)
                moves = re.findall(r"\((-?\d+) to (-?\d+) points?\)", " ".join(told))
                moves += [("", end) for end in re.findall(r"reaches (-?\d+) points?", " ".join(told))]
                if moves:
                    assert moves[0][0] in ("", str(old.development_points)), told
                    assert moves[-1][1] == str(new.development_points), told
                else:
                    assert new.development_points == old.development_points, told


@pytest.mark.parametrize(("game_id", "seats", "options"), TABLES)
def test_every_card_that_enters_a_row_and_every_new_building_is_told(
    game_id: str, seats: int, options: dict[str, Any]
) -> None:
    """R10: nothing on the table changes in silence."""
    for number in range(SERIES):
        for _, step in steps(game_id, seats, options, number):
            told = " ".join(step.told)
            is_over = step.after.phase == "over"
            for name in (*step.after.permit_row, *step.after.objective_row):
                is_new = name not in (*step.before.permit_row, *step.before.objective_row)
                assert is_over or not name or not is_new or f"{name} (" in told, (name, step.told)
            for old, new in zip(step.before.spaces, step.after.spaces, strict=True):
                assert old.owner == new.owner or re.search(rf"builds on [^;]*{new.space} \(", told), (new, step.told)


@pytest.mark.skipif(
    engine_kind() == "compiled", reason="compiled rules call each other directly: nothing can be recorded"
)
@pytest.mark.parametrize(("game_id", "seats", "options"), TABLES)
def test_forced_answers_and_turns_of_the_committee_are_told_as_the_rules_play_them(
    game_id: str, seats: int, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the rules do between two questions is recorded, and told from the views right before and after it."""
    expected: list[str] = []
    is_recording = False
    true_legal, take_turn = legal.legal, committee.take_turn

    def now(state: State) -> View:
        kept = state.copy()
        kept.legal = []  # keeps the view from playing on
        return view(kept, None)

    def recorded_legal(state: State) -> list[actions.Action]:
        nonlocal is_recording
        found = true_legal(state)
        if is_recording and len(found) < 2:
            is_recording = False
            who = state.current()
            if found:
                expected.append(f"{words.told(say(now(state), who, found[0]), who, NAMES)} (the only choice)")
            else:
                expected.append(f"{NAMES[who]} can take no benefit of {state.edition.year_name(state.year)}")
            is_recording = True
        return found

    def recorded_turn(state: State) -> None:
        before = now(state)
        take_turn(state)
        if is_recording:
            then = now(state)
            expected.append(committee_turn(before, then, before, then.players[COMMITTEE].pawn, set()))

    monkeypatch.setattr(rules, "legal", recorded_legal)
    monkeypatch.setattr(committee, "take_turn", recorded_turn)
    game = games.get(game_id)
    compared = 0
    for number in range(SERIES):
        state = game.new(seats, options, seeds_of(number))
        draws = player_draws(number, seats, seats)
        while acting := game.to_act(state):
            seat = acting[0]
            action = game.players["random" if number % 3 == 0 else "greedy"](state, seat, draws[seat])
            before = game.view(state, None)
            expected.clear()
            is_recording = True
            game.apply(state, seat, action)
            is_recording = False
            then = game.view(state, None)
            told = [words.event(event, NAMES) for event in tell(before, then, seat, action)]
            if before.reshuffles != then.reshuffles and before.solo is not None:
                continue  # which turn did what is not known after a reshuffle
            found = [sentence for sentence in told if _is_automatic(sentence)]
            assert found == expected
            compared += len(expected)
    assert compared > 20


def _is_automatic(sentence: str) -> bool:
    if sentence.startswith("The Committee"):
        return "has built all eight" not in sentence
    return sentence.endswith("(the only choice)") or "can take no benefit" in sentence


@pytest.mark.parametrize(("game_id", "seats", "options"), TABLES)
def test_points_at_the_end_are_the_final_scores(game_id: str, seats: int, options: dict[str, Any]) -> None:
    """R79: when the game is over, nothing is hidden."""
    game = games.get(game_id)
    for number in range(2):
        *_, (state, step) = steps(game_id, seats, options, number)
        outcome = game.outcome(state)
        assert outcome is not None
        assert tuple(points(step.after)) == outcome.scores


def test_a_seat_sees_more_of_its_own_points_than_others_do() -> None:
    """R72: an objective that a viewer does not know is not counted for it."""
    table = draw("2e  2 players  year 1908  card A1\norange stock 1  built Y5a Y5b  hidden O01\ncommon: O17 O18 O19")

    own, others = points(view(table, ORANGE)), points(view(table, None))

    assert own[ORANGE] == others[ORANGE] + 2  # O01: a point for each building
    assert own[BLACK] == others[BLACK]
