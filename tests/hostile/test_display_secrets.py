"""Boards and sentences show no more than the view: what an eye cannot know is dealt anew, and the bytes it is sent stay equal.

Two sessions of one game are played side by side from the same position, except that in the second one everything the viewer cannot
know was dealt anew. While the viewer's views are equal, the whole message must be equal: board, picture, sentences, events, points,
choices and their parts.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from rubble.v1 import display_pb2
from service.games import all_games
from service.games.chance import Draws
from service.games.core import AnyGame, Plain, Seat, Viewer
from service.rpc.display_sessions import SeenSession, ShownSession, session_response
from service.sessions.entries import Entry
from service.sessions.session import Accepted, Refused, Session
from tests.conformance.checks_hidden import shown, unread
from tests.conformance.planted import Peek, hidden_places, peek_at
from tests.conformance.subjects import Setup, tables
from tests.conformance.walks import Pool, Walk, answer, draws, remembered, texts, viewers
from tests.lasting_game import CELLAR
from tests.sessions.scripted_sessions import START, header_of

_STEPS: Final = 20
_POSITIONS: Final = 8
#: Wrong answers that are tried before each action.
_WRONG: Final = 60


#: Every game of the service with every number of seats, and the game with a lasting secret.
_TABLES: Final = [table for game in (*all_games().values(), CELLAR) for table in tables(game) if not table.options]


class World:
    """A session that begins at a position, and what one viewer is shown of it."""

    def __init__(self, game: AnyGame, state: Any, seats: int, viewer: Viewer) -> None:
        begin = game.copy(state)
        self.game = replace(game, setup=lambda *_: game.copy(begin))
        header = header_of(seats=seats, game="relief", bots=("ada", "ben", "eve", "zoe")[:seats])
        self.session = Session(header, self.game, game.copy(state))
        self.entries: list[Entry] = []
        self.session.begin(START)
        for seat in range(seats):
            self.entries += self.session.take_seat(seat, START)
        self._viewer = viewer
        self._shown = ShownSession()

    @property
    def state(self) -> Any:
        return self.session.state

    def act(self, seat: Seat, text: str) -> None:
        """Let a seat answer its question."""
        reply, made = self.session.answer(seat, self.session.seats[seat].turn, text, f"a note beside {text}", START)
        assert isinstance(reply, Accepted), reply
        self.entries += made

    def err(self, seat: Seat, text: str) -> None:
        """Let a seat give an answer that is refused."""
        reply, made = self.session.answer(seat, self.session.seats[seat].turn, text, "", START)
        assert isinstance(reply, Refused), reply
        self.entries += made

    def message(self) -> display_pb2.ShowSessionResponse:
        """Return the whole answer to ShowSession, without the result of an ended game, which is public."""
        seen = SeenSession.of(self.session, list(self.entries), self._viewer, is_operator=False)
        response = session_response(self.session, seen, START, is_operator=False)
        response.session.ClearField("outcome")
        self._shown.fill(response, seen, 0)
        return response


def _difference(one: display_pb2.ShowSessionResponse, other: display_pb2.ShowSessionResponse) -> str:
    """Return the name of the first field that differs; empty if the bytes are equal."""
    if one.SerializeToString(deterministic=True) == other.SerializeToString(deterministic=True):
        return ""
    for name in ("position.svg", "position.picture", "position.points", "position", "question", "lines"):
        here, there = one, other
        for step in name.split("."):
            here, there = getattr(here, step), getattr(there, step)
        if here != there:
            return name
    return "session"


def _impossible(
    game: AnyGame,
    states: tuple[Any, Any],
    seat: Seat,
    pool: Sequence[str],
    offered: Sequence[Sequence[str]],
    chance: Draws,
) -> str:
    """Return an action that is refused in both worlds, for different reasons if one is found; empty if there is none."""
    found = ""
    for _ in range(_WRONG):
        text = pool[chance.below(len(pool))]
        if text in offered[0] or text in offered[1]:
            continue
        one, other = (answer(game, game.copy(state), seat, game.read(text)) for state in states)
        found = text
        if one is not None and other is not None and one[0] != other[0]:
            break
    return found


def check_side_by_side(
    table: Setup, walk: Walk, ply: int, viewer: Viewer, chance: Draws, shows: AnyGame | None = None
) -> int:
    """Play two worlds that this viewer cannot tell apart; returns how many messages were compared.

    ``shows``: the game whose boards and sentences are checked; ``table.game`` decides whether the worlds are alike.
    """
    rules, game = table.game, shows or table.game
    state = walk.states[ply]
    one = World(game, state, table.seats, viewer)
    other = World(game, rules.redeal(state, viewer, chance), table.seats, viewer)
    pool = Pool([walk]).texts
    for step in range(_STEPS):
        found = _difference(one.message(), other.message())
        assert not found, f"{table}: viewer {viewer}, ply {ply} + {step}: {found} depends on hidden cards"
        acting = list(rules.to_act(one.state))
        if not acting:
            return step + 1
        seat = acting[chance.below(len(acting))]
        hidden = unread(rules, one.state, seat, viewer), unread(rules, other.state, seat, viewer)
        offered = texts(rules, one.state, seat), texts(rules, other.state, seat)
        if seat != viewer and not one.session.seats[seat].refusals:
            wrong = _impossible(rules, (one.state, other.state), seat, pool, offered, chance)
            for world in (one, other) if wrong else ():
                world.err(seat, wrong)
        common = [text for text in offered[0] if text in offered[1]]
        if all(hidden):
            said = tuple(words[chance.below(len(words))] for words in hidden)
        elif common:
            said = (common[chance.below(len(common))],) * 2
        else:
            return step + 1
        one.act(seat, said[0])
        other.act(seat, said[1])
        if shown(rules, one.state, viewer) != shown(rules, other.state, viewer):
            return step + 1
    return _STEPS


@pytest.mark.parametrize("table", _TABLES, ids=str)
def test_what_an_eye_is_shown_does_not_depend_on_what_it_cannot_know(table: Setup) -> None:
    compared = 0
    walk = remembered(table, 1)
    for ply in walk.choose(_POSITIONS, "display"):
        for viewer in viewers(table):
            compared += check_side_by_side(table, walk, ply, viewer, draws("display", str(table), ply, viewer))
    assert compared > 2 * _POSITIONS, "the worlds were alike for some steps"


# --------------------------------------------------------------------------------------------------------------- planted leaks
Planter = Callable[[AnyGame, Callable[[], Plain]], AnyGame]


def in_a_sentence(game: AnyGame, leak: Callable[[], Plain]) -> AnyGame:
    def say(view: Plain, seat: Seat, action: Any) -> str:
        return f"{{play}} {game.text(action)} {leak()}"

    return replace(game, say=say)


def in_an_event(game: AnyGame, leak: Callable[[], Plain]) -> AnyGame:
    def tell(before: Plain, after: Plain, seat: Seat, action: Any) -> Sequence[str]:
        return [f"A card was turned over: {leak()}"]

    return replace(game, tell=tell)


def in_the_picture(game: AnyGame, leak: Callable[[], Plain]) -> AnyGame:
    return replace(game, picture=lambda view: [*game.picture(view), [(str(leak()), "")]])


def in_the_points(game: AnyGame, leak: Callable[[], Plain]) -> AnyGame:
    return replace(game, points=lambda view: [hash(str(leak())) % 1000])


def in_the_board(game: AnyGame, leak: Callable[[], Plain]) -> AnyGame:
    assert game.board is not None
    return replace(game, board=replace(game.board, draw=lambda view, names, marked: f"<svg>{leak()}</svg>"))


def in_the_parts(game: AnyGame, leak: Callable[[], Plain]) -> AnyGame:
    assert game.board is not None
    return replace(game, board=replace(game.board, parts=lambda view, seat, action: [f"card:{leak()}"]))


_PLANTERS: Final[Sequence[Planter]] = (
    in_a_sentence,
    in_an_event,
    in_the_picture,
    in_the_points,
    in_the_board,
    in_the_parts,
)


def _leaking(game: AnyGame, peek: Peek, plant: Planter) -> AnyGame:
    """Return a game that shows a hidden place. Its view notes the value on the side, because the view itself stays honest."""
    seen: list[Plain] = [None]

    def view(state: Any, viewer: Viewer) -> Plain:
        seen[0] = peek(state)
        return game.view(state, viewer)

    return plant(replace(game, view=view), lambda: seen[0])


@pytest.mark.parametrize("plant", _PLANTERS, ids=lambda plant: plant.__name__)
@pytest.mark.parametrize("table", [table for table in _TABLES if table.game.board is not None], ids=str)
def test_a_leak_planted_in_a_board_or_a_sentence_is_found(table: Setup, plant: Planter) -> None:
    walk = remembered(table, 1)
    ply = next(ply for ply, offer in enumerate(walk.offers) if any(len(options) > 1 for options in offer.values()))
    viewer = next(seat for seat, options in walk.offers[ply].items() if len(options) > 1)
    places = hidden_places(table.game, walk.states[ply], viewer, draws("places", str(table)))
    if not places:
        pytest.skip("nothing is hidden in this game")
    game = _leaking(table.game, peek_at(table.game, places[len(places) // 2]), plant)
    with pytest.raises(AssertionError, match="depends on hidden cards"):
        for number in range(16):
            check_side_by_side(table, walk, ply, viewer, draws("planted", str(table), number), game)
