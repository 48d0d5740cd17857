"""Checks of what a game tells people: sentences, events, points, joined views and the board. A game may have none of them."""

import re
from collections.abc import Collection, Iterator
from typing import Any
from xml.etree import ElementTree

from service.games import core, words
from service.games.core import AnyGame, Board, Plain, Seat, Viewer
from tests.conformance.subjects import Setup
from tests.conformance.walks import Walk, canonical, draws, viewers

NAMES = ("Anna", "Ben", "Cleo", "Dimitri", "Eve", "Femi")
#: What a page pays for one drawing at most.
MOST_BYTES = 60_000
_SLOT = re.compile(r"\{([^{}]*)\}")
#: What only the session may tell: it ranks forfeited seats last, and the game does not know them.
_RESULT = re.compile(r"\b(wins?|won|winners?|victory|ranked)\b", re.IGNORECASE)
_TAG = re.compile(r"\{http://www\.w3\.org/2000/svg\}(\w+)")
_FORBIDDEN = {"style", "script", "foreignObject", "image", "a", "animate", "set"}
#: Names that a careless drawing would let through.
_HOSTILE = ("</text><script>alert(1)</script>", "\" onload='x' &amp; ]]>", "\x00\x1b\u202e", "W" * 3000)
_HIDDEN_LEAVES: tuple[Plain, ...] = (None, "", 0, False, [], {})


def eyes_of(table: Setup, state: Any) -> dict[str, Plain]:
    """Returns the views of a position by eye: every seat, a spectator, and all seats together if the game joins views."""
    game = table.game
    found = {str(viewer): game.view(state, viewer) for viewer in viewers(table)}
    if game.together is not None:
        found["all"] = game.together([game.view(state, seat) for seat in range(table.seats)])
    return found


# Templates


def check_template(template: Any, seats: int, where: str) -> None:
    """A template is one printable clause without a full stop. Its slots are infinitives and seats of the table."""
    assert isinstance(template, str) and template.strip(), f"{where} says {template!r}"
    assert template == template.strip() and "  " not in template, f"{where}: {template!r} has stray blanks"
    assert template.isprintable(), f"{where}: {template!r} has control characters"
    assert not template.endswith((".", "!", "?", ",", ":", ";")), f"{where}: {template!r} ends with punctuation"
    assert ". " not in template, f"{where}: {template!r} is more than one sentence"
    for slot in _SLOT.findall(template):
        if slot.isdigit():
            assert int(slot) < seats, f"{where}: {template!r} names seat {slot} of {seats}"
        else:
            assert re.fullmatch("[a-z]+", slot), f"{where}: {template!r} has the slot {slot!r}, neither verb nor seat"
            is_conjugated = slot.endswith("s") and not slot.endswith("ss")
            assert not is_conjugated, f"{where}: {template!r} has the slot {slot!r}, which is conjugated already"
    bare = _SLOT.sub("", template)
    assert "{" not in bare and "}" not in bare, f"{where}: {template!r} has a brace that belongs to no slot"


def check_doubled_words(sentence: str, where: str) -> None:
    """No word stands twice in a row."""
    doubled = re.search(r"\b([A-Za-z]+) \1\b", sentence)
    assert doubled is None, f"{where}: {sentence!r} says a word twice"


def check_say(table: Setup, state: Any) -> None:
    """Every legal action has its own sentence, for every eye, and the view is left as it was."""
    game = table.game
    if game.say is None:
        return
    for eye, view in eyes_of(table, state).items():
        before = canonical(view)
        for seat in game.to_act(state):
            said: dict[str, str] = {}
            for action in game.legal_actions(state, seat):
                where = f"{table}: {game.text(action)!r} by seat {seat}, seen by {eye}"
                template = game.say(view, seat, action)
                check_template(template, table.seats, where)
                assert re.match(r"\{[a-z]+\}", template), f"{where}: {template!r} does not begin with a verb"
                told = words.told(template, seat, NAMES)
                check_doubled_words(told, where)
                assert said.setdefault(told, game.text(action)) == game.text(action), (
                    f"{where}: {told!r} is also said of {said[told]!r}"
                )
                choice = words.choice(template, NAMES)
                assert choice[:1].isupper() and choice.isprintable(), f"{where} is offered as {choice!r}"
        assert canonical(view) == before, f"{table}: say changes the view of {eye}"


# Events


def check_tell(table: Setup, state: Any, actions_each: int) -> None:
    """After some legal actions of every seat, all eyes are told what happened."""
    game = table.game
    before = eyes_of(table, state)
    shown = {eye: canonical(view) for eye, view in before.items()}
    for seat in game.to_act(state):
        actions = list(game.legal_actions(state, seat))
        for action in actions[:: max(1, len(actions) // actions_each)]:
            moved = game.copy(state)
            game.apply(moved, seat, action)
            check_events(table, before, eyes_of(table, moved), seat, action)
    assert {eye: canonical(view) for eye, view in before.items()} == shown, f"{table}: tell changes a view"


def check_events(table: Setup, before: dict[str, Plain], after: dict[str, Plain], seat: Seat, action: Any) -> None:
    """Events are templates of whole sentences, name no component that neither of the two views shows, and no winner."""
    game = table.game
    for eye, view in before.items():
        where = f"{table}: after {game.text(action)!r} by seat {seat}, {eye} is told"
        events = game.tell(view, after[eye], seat, action)
        assert type(events) in (list, tuple), f"{where} {events!r}, no list"
        for template in events:
            check_template(template, table.seats, where)
            told = words.event(template, NAMES)
            assert told[:1].isupper() or told[:1].isdigit(), f"{where} {told!r}, which does not begin like a sentence"
            check_doubled_words(told, where)
            assert not _RESULT.search(told), f"{where} {told!r}, but who wins is told by the session"
        named = components_in(game, " ".join(events))
        if named:
            seen = canonical(view) + canonical(after[eye]) + game.text(action)
            unseen = sorted(id for id in named if id not in seen)
            assert not unseen, f"{where} of {unseen}, which its views do not show: {list(events)}"


def components_in(game: AnyGame, text: str) -> set[str]:
    """Returns the components that a text names by their ids."""
    said = {word for word in re.findall(r"\w+", text) if any(letter.isdigit() for letter in word)}
    return {entry.id for entry in game.components if entry.id in said}


def check_walk_is_told(table: Setup, walk: Walk) -> None:
    """Every ply of a game is told to all eyes, from the first to the last."""
    game = table.game
    states = walk.positions
    before = eyes_of(table, states[0])
    for ply, (seat, text) in enumerate(walk.moves):
        after = eyes_of(table, states[ply + 1])
        check_events(table, before, after, seat, game.read(text))
        before = after


# Points and joined views


def check_points(table: Setup, state: Any) -> None:
    """A view shows a number for each seat, or none at all."""
    for eye, view in eyes_of(table, state).items():
        found = list(table.game.points(view))
        assert len(found) in (0, table.seats), f"{table}: {eye} sees points {found} of {table.seats} seats"
        assert all(type(points) is int for points in found), f"{table}: {eye} sees points {found}"


def check_together(table: Setup, state: Any) -> None:
    """All seats together know what each knows, and nothing that none of them knows."""
    game = table.game
    if game.together is None:
        return
    own = [core.plain(game.view(state, seat)) for seat in range(table.seats)]
    shown = canonical(own)
    joined = core.plain(game.together([game.view(state, seat) for seat in range(table.seats)]))
    assert canonical(own) == shown, f"{table}: together changes a view"
    _check_joined(joined, own, f"{table}: together")


def _check_joined(joined: Plain, own: list[Plain], where: str) -> None:
    if all(one == joined for one in own):
        return
    if own == list(range(len(own))):
        assert joined is None, f"{where} is the view of seat {joined!r}"  # the seat of the viewer
    elif isinstance(joined, dict) and all(isinstance(one, dict) for one in own):
        for name in joined:
            _check_joined(joined[name], [one[name] for one in own], f"{where}.{name}")
    elif isinstance(joined, list) and all(isinstance(one, list) and len(one) == len(joined) for one in own):
        for index, value in enumerate(joined):
            _check_joined(value, [one[index] for one in own], f"{where}[{index}]")
    else:
        _check_leaf(joined, own, where)


def _check_leaf(joined: Plain, own: list[Plain], where: str) -> None:
    assert joined in own, f"{where} has {joined!r}, which no seat knows: {own}"
    lost = [one for one in own if one != joined and one not in _HIDDEN_LEAVES]
    assert not lost, f"{where} has {joined!r} and loses {lost}"


# The board


def board_of(game: AnyGame) -> Board[Any] | None:
    return game.board


def check_board(table: Setup, state: Any) -> None:
    """Every eye gets one plain SVG of moderate size, whose parts have names and titles; names of players cannot change it."""
    board = board_of(table.game)
    if board is None:
        return
    for eye, view in eyes_of(table, state).items():
        where = f"{table}: the board for {eye}"
        before = canonical(view)
        svg = board.draw(view, NAMES[: table.seats], ())
        assert len(svg.encode()) < MOST_BYTES, f"{where} has {len(svg.encode())} bytes"
        root = ElementTree.fromstring(svg)
        named = _check_elements(root, where)
        hostile = ElementTree.fromstring(board.draw(view, (_HOSTILE * 2)[: table.seats], ()))
        assert _check_elements(hostile, where) == named, f"{where} changes with the names of players"
        assert [element.tag for element in hostile.iter()] == [element.tag for element in root.iter()]
        some = sorted(named)[::7]
        marked = ElementTree.fromstring(board.draw(view, NAMES[: table.seats], some))
        found = {e.get("data-part") for e in marked.iter() if "marked" in (e.get("class") or "").split()}
        assert found <= set(some), f"{where} marks {sorted(map(str, found - set(some)))} too"
        assert canonical(view) == before, f"{where} changes the view"


def _check_elements(root: ElementTree.Element, where: str) -> set[str]:
    """Returns the names of the parts."""
    assert _TAG.fullmatch(root.tag), f"{where} is no SVG but {root.tag!r}"
    parts: list[str] = []
    _check_roles(root, where)
    for element in root.iter():
        tag = _TAG.fullmatch(element.tag)
        assert tag and tag[1] not in _FORBIDDEN, f"{where} has an element {element.tag!r}"
        for name, value in element.attrib.items():
            assert name != "style" and not name.startswith("on"), f"{where} has {name}={value!r}"
            assert not name.endswith("href") or value.startswith("#"), f"{where} refers to {value!r}"
        part = element.get("data-part")
        if part is not None:
            parts.append(part)
            title = next((child.text for child in element if child.tag.endswith("}title")), None)
            assert part and title, f"{where}: part {part!r} has no title"
    assert len(set(parts)) == len(parts), f"{where} has two parts of one name"
    return set(parts)


def _check_roles(root: ElementTree.Element, where: str) -> None:
    """A screen reader gets all titles: it reads nothing inside an image, and would read the texts of symbols."""
    assert root.get("role") == "group", (
        f"{where} has the role {root.get('role')!r}; only a group lets its parts be read"
    )
    assert (root.findtext("{*}title") or "").strip(), f"{where} has no title"
    for element in root.iter():
        inside = [other for other in element.iter() if other is not element]
        if element.get("data-part") is not None:
            assert element.get("role") in ("img", "group"), (
                f"{where}: {element.get('data-part')!r} is no image or group"
            )
        if element.get("role") == "img":
            hidden = [other for other in inside if other.get("role") or other.get("data-part") is not None]
            assert not hidden, f"{where}: a part lies in the image {element.findtext('{*}title')!r}"
        if element.get("role"):
            assert element.find("{*}title") is not None, f"{where} has a nameless {element.get('role')!r}"
        if element.tag.endswith("}defs") and any(other.tag.endswith("}text") for other in inside):
            assert element.get("aria-hidden") == "true", f"{where} has texts in its symbols that a screen reader reads"


def check_ids(table: Setup, state: Any, known: dict[str, str]) -> None:
    """An id has one content, also on other boards (``known``): a page may show several, and its ids are those of all of them."""
    board = board_of(table.game)
    if board is None:
        return
    for eye, view in eyes_of(table, state).items():
        where = f"{table}: the board for {eye}"
        svg = board.draw(view, NAMES[: table.seats], ())
        found = [(id, element) for element in ElementTree.fromstring(svg).iter() if (id := element.get("id"))]
        assert len(dict(found)) == len(found), f"{where} has an id twice"
        used = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))
        assert used <= set(dict(found)), f"{where} uses ids that it does not have: {sorted(used - set(dict(found)))}"
        for id, element in found:
            element.tail = None
            content = ElementTree.tostring(element, encoding="unicode")
            assert known.setdefault(id, content) == content, f"{where} has another content of {id!r} than another board"


def check_parts(table: Setup, state: Any) -> None:
    """The parts of every legal action are in the drawing, as the seat and as a spectator see it."""
    game, board = table.game, board_of(table.game)
    if board is None:
        return
    for seat in game.to_act(state):
        for viewer in (seat, None):
            view = game.view(state, viewer)
            svg = board.draw(view, NAMES[: table.seats], ())
            drawn = set(re.findall(r'data-part="([^"]*)"', svg))
            for action in game.legal_actions(state, seat):
                concerned = board.parts(view, seat, action)
                missing = sorted(set(concerned) - drawn)
                assert not missing, f"{table}: {game.text(action)!r} concerns {missing}, which {viewer} is not shown"


# Functions of views


def _answers(table: Setup, plies: Collection[int], walk: Walk, eye: Viewer) -> Iterator[tuple[int, str]]:
    """Everything a viewer is told at these plies, as one text each."""
    game, board = table.game, board_of(table.game)
    for ply in plies:
        before = game.view(walk.states[ply], eye)
        after = game.view(walk.positions[ply + 1], eye)
        seat, text = walk.moves[ply]
        action = game.read(text)
        told: list[object] = [game.say(before, seat, action)] if game.say is not None else []
        told += [list(game.tell(before, after, seat, action)), list(game.points(after))]
        if board is not None:
            told += [list(board.parts(before, seat, action)), board.draw(after, NAMES[: table.seats], ())]
        yield ply, canonical(told)


def check_functions_of_views(table: Setup, walk: Walk, positions: int) -> None:
    """The same views give the same answers in any order: nothing is remembered, and nothing else has an influence."""
    chosen = walk.choose(positions, "display")
    for eye in (None, 0):
        forward = dict(_answers(table, chosen, walk, eye))
        assert dict(_answers(table, chosen[::-1], walk, eye)) == forward, f"{table}: {eye} is told something else later"
    chance = draws("display", str(table))
    game = table.game
    for ply in chosen:
        other = Walk(table, [game.redeal(walk.states[ply], None, chance)], [walk.moves[ply]])
        other.end = walk.positions[ply + 1]
        [(_, told)] = _answers(table, [0], other, None)
        [(_, expected)] = _answers(table, [ply], walk, None)
        assert told == expected, f"{table}: a spectator is told what depends on hidden cards, at ply {ply}"
