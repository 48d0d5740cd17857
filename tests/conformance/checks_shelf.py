"""Checks of what comes with a game: components, options, notation, pictures, bundled players, page and playthroughs."""

import re
from pathlib import Path
from typing import Any

import pytest

from service.games.chance import seeds_of
from service.games.components import MARKS
from service.games.core import AnyGame, BadSetup
from tests.conformance.subjects import Setup, Subject, other_values
from tests.conformance.walks import Pool, viewers


def check_label(game: AnyGame) -> None:
    """The id can be a folder name and a command-line word; there are a title, a version and seats."""
    assert re.fullmatch(r"[a-z0-9][a-z0-9_-]*", game.id), f"{game.id!r} cannot be typed without quotes"
    assert game.title.strip() and game.version >= 1
    assert len(game.seats) and game.seats[0] >= 1 and game.seats.step == 1


def check_components(game: AnyGame) -> None:
    """Every value of every component has a mark."""
    assert game.components, f"{game.id}: nothing lies in the box"
    for entry in game.components:
        said = f"{game.id}: {entry.file}: {entry.kind} {entry.id}"
        assert entry.id and entry.values, f"{said} is empty"
        assert set(entry.marks) == set(entry.values), f"{said}: values and marks do not match"
        assert set(entry.marks.values()) <= set(MARKS), f"{said}: {entry.marks}"
    ids = [(entry.file, entry.kind, entry.id) for entry in game.components]
    assert len(set(ids)) == len(ids), f"{game.id}: a component occurs twice"


def check_options(game: AnyGame) -> None:
    """Defaults are valid, other values can be played, and invalid ones are refused by name."""
    seats = game.seats[0]
    names = [option.name for option in game.options]
    assert len(set(names)) == len(names), f"{game.id}: two options have one name"
    complete = game.complete(seats, {})
    assert list(complete) == names
    for option in game.options:
        said = f"{game.id}: option {option.name}"
        assert option.check(option.default) == option.default == complete[option.name]
        assert option.about.strip(), f"{said} does not say what it does"
        assert bool(option.choices) != (option.range is not None), f"{said} has choices or a range, not both"
        assert other_values(option), f"{said} leaves no choice"
        assert set(option.seats) <= set(game.seats), f"{said} matters for seat counts the game does not have"
        for bad in ("no such value", 10**9, True, None):
            with pytest.raises(BadSetup):
                game.new(seats, {option.name: bad}, seeds_of(0))  # type: ignore[dict-item]  # that is the point
    for count in (0, game.seats[0] - 1, game.seats[-1] + 1):
        with pytest.raises(BadSetup):
            game.new(count, {}, seeds_of(0))
    with pytest.raises(BadSetup):
        game.new(seats, {"no such option": 1}, seeds_of(0))


def check_notation_rows(game: AnyGame, pool: Pool) -> None:
    """Every verb that is ever legal has a row that explains it."""
    rows = [row for row, meaning in game.notation if row.strip() and meaning.strip()]
    assert len(rows) == len(game.notation), f"{game.id}: a row of the notation is empty"
    verbs = {row.split()[0] for row in rows}
    missing = sorted(set(pool.verbs) - verbs)
    assert not missing, f"{game.id}: the notation explains {sorted(verbs)} and not {missing}"


def check_built_in_players(game: AnyGame) -> None:
    """Every game has the bundled players "random" and "greedy"."""
    assert {"random", "greedy"} <= set(game.players), f"{game.id}: built-in players are {sorted(game.players)}"


def check_pictures(table: Setup, state: Any) -> None:
    """Every viewer gets a picture of printable lines without line breaks."""
    game = table.game
    for viewer in viewers(table):
        picture = game.picture(game.view(state, viewer))
        pieces = [piece for line in picture for piece in line]
        assert "".join(text for text, _ in pieces).strip(), f"{table}: the picture for viewer {viewer} is empty"
        for text, style in pieces:
            assert text.isprintable() and style.isprintable(), f"{table}: {text!r} cannot stand in a line"


def check_page(subject: Subject) -> None:
    """A page in docs/games names this game by its id."""
    pages = sorted(subject.pages.glob("*.md"))
    name = f"`{subject.game.id}`"
    found = [page for page in pages if name in page.read_text(encoding="utf-8")]
    assert found, f"{subject.game.id}: no page in {subject.pages} names it as {name}"


def check_playthroughs_exist(subject: Subject) -> list[Path]:
    """There is a playthrough for every seat count."""
    paths = [subject.playthrough(seats) for seats in subject.game.seats]
    missing = [str(path) for path in paths if not path.exists()]
    assert not missing, f"no playthrough {', '.join(missing)}; write it with: python -m tests.conformance.playthroughs"
    return paths
