"""The checks of sentences and boards pass a game that has them, and catch every way of breaking it."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from service.games.core import AnyGame, Board, Plain, Seat
from tests.conformance import checks_display as ask
from tests.conformance.open_game import PEBBLES, Take
from tests.conformance.subjects import Setup, plain_tables
from tests.conformance.walks import remembered
from tests.example_game import GAME as SALVAGE


def _say(view: Plain, seat: Seat, take: Take) -> str:
    return f"{{take}} {take.count} of heap {take.heap}"


def _tell(before: Plain, after: Plain, seat: Seat, take: Take) -> Sequence[str]:
    return [] if any(after["table"][0]) else [f"{{{seat}}} {{take}} the last pebble"]


def _points(view: Plain) -> Sequence[int]:
    return [0] * view["table"][3]


def _together(views: Sequence[Plain]) -> Plain:
    return {**views[0], "viewer": None}


def _draw(view: Plain, names: Sequence[str], marked: Collection[str]) -> str:
    heaps = [
        f'<g data-part="heap:{heap}" role="img" class="{"marked" if f"heap:{heap}" in marked else "heap"}">'
        f"<title>Heap {heap}</title><text>{count}</text></g>"
        for heap, count in enumerate(view["table"][0])
    ]
    title = "<title>Pebbles</title>"
    return f'<svg xmlns="http://www.w3.org/2000/svg" role="group">{title}{"".join(heaps)}</svg>'


def _parts(view: Plain, seat: Seat, take: Take) -> Sequence[str]:
    return (f"heap:{take.heap}",)


BOARD: Final = Board(draw=_draw, parts=_parts, css="")
TOLD: Final = replace(PEBBLES, id="told-pebbles", say=_say, tell=_tell, points=_points, together=_together, board=BOARD)


#: What the boards of each game have drawn below their ids.
_IDS: Final[dict[str, dict[str, str]]] = {}


def ask_say(table: Setup) -> None:
    for state in remembered(table).states:
        ask.check_say(table, state)


def ask_tell(table: Setup) -> None:
    ask.check_walk_is_told(table, remembered(table))
    for state in remembered(table).states:
        ask.check_tell(table, state, actions_each=12)


def ask_points(table: Setup) -> None:
    ask.check_points(table, remembered(table).end)


def ask_together(table: Setup) -> None:
    for state in remembered(table).positions:
        ask.check_together(table, state)


def ask_board(table: Setup) -> None:
    ask.check_board(table, remembered(table).states[0])


def ask_ids(table: Setup) -> None:
    known = _IDS.setdefault(table.game.id, {})
    for state in remembered(table).positions:
        ask.check_ids(table, state, known)


def ask_parts(table: Setup) -> None:
    for state in remembered(table).states:
        ask.check_parts(table, state)


def ask_functions(table: Setup) -> None:
    ask.check_functions_of_views(table, remembered(table), positions=4)


QUESTIONS: Final = (ask_say, ask_tell, ask_points, ask_together, ask_board, ask_ids, ask_parts, ask_functions)


def _says(template: str) -> Callable[[Plain, Seat, Take], str]:
    return lambda view, seat, take: template.replace("N", f"{take.count} {take.heap}")


def _tells(*events: str) -> Callable[[Plain, Plain, Seat, Take], Sequence[str]]:
    return lambda before, after, seat, take: events


def _draws(old: str, new: str) -> Board[Take]:
    return replace(BOARD, draw=lambda view, names, marked: _draw(view, names, marked).replace(old, new))


_count: list[int] = []


def _remembering(view: Plain, seat: Seat, take: Take) -> str:
    _count.append(1)
    return f"{_say(view, seat, take)} as number {len(_count)}"


def _touching(view: Plain, seat: Seat, take: Take) -> str:
    view["table"][0][0] += 1
    return _say(view, seat, take)


def _blind(views: Sequence[Plain]) -> Plain:
    return {**_together(views), "table": [[0, 0, 0], *views[0]["table"][1:]]}


def _worded(view: Plain) -> Any:
    return ["1"] * view["table"][3]


def _with_names(view: Plain, names: Sequence[str], marked: Collection[str]) -> str:
    return _draw(view, names, marked).replace("<text>", f"<text>{names[0]} ")


def _with_ids(view: Plain, names: Sequence[str], marked: Collection[str]) -> str:
    """Draws a stone for each player under one id, whatever their number."""
    stones = '<circle r="2"/>' * view["table"][3]
    symbols = f'<defs><g id="stones">{stones}</g></defs><use href="#stones"/>'
    return _draw(view, names, marked).replace("</svg>", f"{symbols}</svg>")


BROKEN: Final[dict[str, tuple[Callable[[Setup], None], AnyGame]]] = {
    "says nothing": (ask_say, replace(TOLD, say=_says(" "))),
    "says the same twice": (ask_say, replace(TOLD, say=_says("{take} some pebbles"))),
    "says a full stop": (ask_say, replace(TOLD, say=_says("{take} N."))),
    "says two sentences": (ask_say, replace(TOLD, say=_says("{take} N. It {be} good"))),
    "says a conjugated verb": (ask_say, replace(TOLD, say=_says("{takes} N"))),
    "says no verb first": (ask_say, replace(TOLD, say=_says("now {take} N"))),
    "names a seat that is not there": (ask_say, replace(TOLD, say=_says("{take} N of {7}"))),
    "says a slot that is none": (ask_say, replace(TOLD, say=_says("{take} N of {Heap}"))),
    "says half a slot": (ask_say, replace(TOLD, say=_says("{take} N of {heap"))),
    "says control characters": (ask_say, replace(TOLD, say=_says("{take} N\n"))),
    "says a word twice": (ask_say, replace(TOLD, say=_says("{take} the the N"))),
    "changes the view": (ask_say, replace(TOLD, say=_touching)),
    "tells text, no list": (ask_tell, replace(TOLD, tell=lambda *_: "Nothing")),
    "tells an empty event": (ask_tell, replace(TOLD, tell=_tells(""))),
    "tells a clause": (ask_tell, replace(TOLD, tell=_tells("{take} a pebble"))),
    "tells who wins": (ask_tell, replace(TOLD, tell=_tells("{0} {win} with 1 point, and {1} {have} 0"))),
    "tells a component that is not shown": (ask_tell, replace(TOLD, tell=_tells("Somebody holds C07"))),
    "has points for one seat": (ask_points, replace(TOLD, points=lambda view: [1])),
    "has points that are no numbers": (ask_points, replace(TOLD, points=_worded)),
    "joins as a seat": (ask_together, replace(TOLD, together=lambda views: views[0])),
    "joins and forgets": (ask_together, replace(TOLD, together=_blind)),
    "draws a script": (ask_board, replace(TOLD, board=_draws("<title>", "<script/><title>"))),
    "draws a style": (ask_board, replace(TOLD, board=_draws("<text>", '<text style="fill:red">'))),
    "draws what is far away": (ask_board, replace(TOLD, board=_draws("<text>", '<text href="http://x">'))),
    "draws one name twice": (ask_board, replace(TOLD, board=_draws("heap:2", "heap:1"))),
    "draws parts without titles": (ask_board, replace(TOLD, board=_draws("<title>Heap 0</title>", ""))),
    "draws all in one image": (ask_board, replace(TOLD, board=_draws('role="group"', 'role="img"'))),
    "draws a table without a title": (ask_board, replace(TOLD, board=_draws("<title>Pebbles</title>", ""))),
    "draws parts without a role": (ask_board, replace(TOLD, board=_draws('heap:2" role="img"', 'heap:2"'))),
    "draws a part in an image": (ask_board, replace(TOLD, board=_draws("<text>", '<g role="img"/><text>'))),
    "draws an image without a title": (ask_board, replace(TOLD, board=_draws("</svg>", '<g role="img"/></svg>'))),
    "draws symbols that are read": (
        ask_board,
        replace(TOLD, board=_draws("</svg>", "<defs><text>3</text></defs></svg>")),
    ),
    "draws too much": (ask_board, replace(TOLD, board=_draws("<text>", f"<text>{'x' * 30_000}"))),
    "draws names as they are": (ask_board, replace(TOLD, board=replace(BOARD, draw=_with_names))),
    "draws different things under one id": (ask_ids, replace(TOLD, board=replace(BOARD, draw=_with_ids))),
    "draws one id twice": (ask_ids, replace(TOLD, board=_draws("<text>", '<text id="count">'))),
    "uses an id that is not there": (ask_ids, replace(TOLD, board=_draws("<text>", '<use href="#stone"/><text>'))),
    "draws no heap": (ask_parts, replace(TOLD, board=_draws("heap:", "pile:"))),
    "remembers": (ask_functions, replace(TOLD, say=_remembering)),
}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.__name__)
@pytest.mark.parametrize("game", [TOLD, PEBBLES, SALVAGE], ids=lambda game: game.id)
def test_a_game_with_or_without_sentences_and_a_board_passes(game: AnyGame, question: Callable[[Setup], None]) -> None:
    for table in plain_tables(game):
        question(table)


@pytest.mark.parametrize("name", BROKEN)
def test_a_game_is_caught_that(name: str) -> None:
    question, game = BROKEN[name]
    broken = replace(game, id=f"pebbles {name}")
    with pytest.raises((AssertionError, SyntaxError)):
        for table in plain_tables(broken):
            question(table)


def test_every_check_fails_for_some_broken_game() -> None:
    assert {question for question, _ in BROKEN.values()} == set(QUESTIONS)
