"""The components."""

from pathlib import Path

import pytest

from service.games.components import BadComponents
from service.games.core import BadSetup
from service.games.relief import RELIEF
from service.games.relief.box import BOX, CARDS, ICONS, OBJECTIVES, SPECIALS, TILES, TOKENS, Box, tiles_of_level
from tests.games.relief.tables import new

DATA = Path(__file__).parents[3] / "service" / "games" / "relief" / "data"


def test_two_or_three_sit_down() -> None:
    """C1"""
    assert list(RELIEF.seats) == [2, 3]
    for seats in (1, 4):
        with pytest.raises(BadSetup):
            new(seats)


def test_one_board_of_nine_squares_a_mat_for_each_player_one_first_player() -> None:
    """C2"""
    assert len(BOX.squares) == 9
    for seats in (2, 3):
        table = new(seats)
        assert [player.tops for player in table.players] == [list(range(7))] * seats
        assert table.first in range(seats)


def test_eighteen_markers_are_six_for_each_of_three() -> None:
    """C3"""
    marker = next(entry for entry in RELIEF.components if entry.kind == "piece" and entry.id == "marker")
    assert marker.values["count"] == 18 == 3 * BOX.all_markers


def test_there_are_35_buildings_in_two_levels() -> None:
    """C5"""
    assert (len(tiles_of_level(1, 3)), len(tiles_of_level(2, 3))) == (18, 17)


def test_seven_specials_seven_objectives_twelve_cards_six_a_level() -> None:
    """C6, C7, C10"""
    assert (len(SPECIALS), len(OBJECTIVES), len(CARDS)) == (7, 7, 12)
    assert [card.level for card in CARDS] == [1] * 6 + [2] * 6
    assert [sum(card.brings) for card in CARDS] == [14] * 6 + [18] * 6


def test_the_tokens_are_counted() -> None:
    """C11, C12, C13"""
    counts = {token.letter: token.count for token in TOKENS}
    assert counts == {"W": 14, "F": 14, "S": 17, "D": 9, "I": 10, "K": 11, "N": 5, "T": 12, "$": 11}


def test_two_players_leave_out_the_tiles_with_a_three() -> None:
    """C32"""
    threes = {tile.id for tile in TILES if tile.three}
    assert threes == {"T03", "T06", "T09", "T13", "T20", "T22", "T25", "T28"}
    assert (len(tiles_of_level(1, 2)), len(tiles_of_level(2, 2))) == (14, 13)
    table = new(2)
    around = {TILES[tile].id for tile in (*table.row, *table.tiles[0], *table.tiles[1])}
    assert len(around) == 27
    assert not around & threes


def test_the_icons_and_the_points_add_up_as_designed() -> None:
    """C5"""
    per_icon = [[sum(TILES[t].icon == i for t in tiles_of_level(n, 3)) for n in (1, 2)] for i in range(len(ICONS))]
    assert per_icon == [[3, 2], [3, 2], [3, 3], [4, 3], [3, 3], [2, 4]]
    all_tiles = tiles_of_level(1, 3) + tiles_of_level(2, 3)
    few_tiles = tiles_of_level(1, 2) + tiles_of_level(2, 2)
    assert [sum(TILES[t].influence for t in tiles) for tiles in (all_tiles, few_tiles, SPECIALS)] == [9, 9, 3]
    assert [sum(TILES[t].hope for t in tiles) for tiles in (all_tiles, few_tiles, SPECIALS)] == [19, 14, 4]


def test_no_special_can_be_built_from_the_starting_goods() -> None:
    """C6, C14"""
    assert all(sum(TILES[tile].cost) == 9 and max(TILES[tile].cost) >= 4 for tile in SPECIALS)


def test_every_value_has_a_mark_and_the_two_printed_names_are_known() -> None:
    """C26"""
    entries = {entry.id: entry for entry in RELIEF.components if entry.kind == "building"}
    assert entries["T01"].marks["name"] == entries["T02"].marks["icon"] == "known"
    assert entries["T01"].marks["cost"] == "derived"
    assert entries["T03"].marks["name"] == "designed"
    assert all(set(entry.marks) == set(entry.values) for entry in RELIEF.components)


BROKEN = [
    ("tiles.toml", 'id = "T02"', 'id = "T01"', "T01: the id occurs twice"),
    ("tiles.toml", 'id = "X7"', 'id = "T35"', "used twice"),
    ("tiles.toml", 'icon = "media"', 'icon = "press"', "'press'"),
    ("tiles.toml", "take = { water = 3 }", "take = { distressed = 3 }", "'distressed'"),
    ("tiles.toml", "gain = { story = 3 }\n", "", "T14: the tile does nothing"),
    ("tiles.toml", "cost = { supply = 1, worker = 1 }\n", "", "T01"),
    ("tiles.toml", "space = 3", "space = 4", "P3"),
    ("tiles.toml", "vp = 11", 'vp = "eleven"', "X5: vp"),
    ("cards.toml", 'id = "A6"\nlevel = 1', 'id = "A6"\nlevel = 3', "A6: level"),
    ("cards.toml", "water = 3", "wine = 3", "'wine'"),
    ("objectives.toml", 'counts = "goods"', 'counts = "gold"', "O7: counts"),
    ("objectives.toml", "steps = [0, 0, 1, 2, 4, 7, 10]", "steps = [0, 0, 1]", "O5: steps"),
    ("supply.toml", "count = 18", "count = 15", "markers"),
    ("supply.toml", 'id = "story"', 'id = "tale"', "tokens"),
    ("supply.toml", 'square = "port"', 'square = "harbour"', "'harbour'"),
    ("supply.toml", "count = 14", "count = 0", "count"),
    ("supply.toml", "count = 9", "count = 19", "workers beyond 31"),
]


@pytest.mark.parametrize(("file", "good", "bad", "named"), BROKEN)
def test_a_mistake_in_the_data_is_named_on_load(file: str, good: str, bad: str, named: str, tmp_path: Path) -> None:
    for path in DATA.glob("*.toml"):
        text = path.read_text(encoding="utf-8")
        assert path.name != file or good in text
        changed = text.replace(good, bad, 1) if path.name == file else text
        (tmp_path / path.name).write_text(changed, encoding="utf-8")
    with pytest.raises(BadComponents, match=file.replace(".", r"\.")) as mistake:
        Box(tmp_path)
    assert named in str(mistake.value)
