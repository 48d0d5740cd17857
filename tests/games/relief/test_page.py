"""The page of the game agrees with the code."""

from pathlib import Path

import pytest

from service.games.relief import RELIEF
from service.games.relief.box import CARDS, ICONS, OBJECTIVES, TILES, Tile
from service.games.relief.picture import effect
from service.games.relief.refusals import priced
from tests.games.relief.test_every_ruling_is_cited import EXPECTED
from tests.games.relief.test_refusals import EXAMPLES

PAGE = (Path(__file__).parents[3] / "docs" / "games" / "relief.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("tile", TILES, ids=lambda tile: tile.id)
def test_the_page_lists_every_tile_as_it_is(tile: Tile) -> None:
    line = next(line for line in PAGE.splitlines() if f"| {tile.id} |" in line)
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert {tile.name, effect(tile.id), ICONS[tile.icon]} <= set(cells)
    if tile.vp:
        assert cells[2] == priced(tile.cost)
        assert cells[4] == str(tile.vp)
        assert cells[6:8] == [str(tile.influence or "-"), str(tile.hope or "-")]
    if tile.level:
        assert (cells[8] == "3") == tile.three


def test_the_page_lists_cards_and_objectives() -> None:
    for card in CARDS:
        assert f"| {card.id} | {card.level} | {' | '.join(str(count) for count in card.brings)} |" in PAGE
    for objective in OBJECTIVES:
        assert f"| {objective.id} | {objective.name} | {objective.about} |" in PAGE


def test_page_and_text_bot_explain_both_ways_in_which_the_last_tile_ends_the_game() -> None:
    """5.10: after a build the round is finished; after the end of a round one more is played."""
    summary = " ".join(PAGE.split("## Words")[0].split())
    text_bot = (Path(__file__).parents[3] / "bots/python/text_bot/rules.py").read_text(encoding="utf-8")
    for text in (summary, " ".join(text_bot.split())):
        assert "If a build brings the last tile into the row, the game ends with that round" in text
        assert "if the end of a round brings it, one more round is played" in text
        assert "that round is the last" not in text and "with the round in which the last tile" not in text


def test_the_page_explains_every_ruling_fact_refusal_option_and_verb() -> None:
    for number in EXPECTED:
        assert number.startswith("7.") or f"| {number} |" in PAGE
    for _, _, _, reason, _, _ in EXAMPLES:
        assert f"| `{reason}` |" in PAGE
    for option in RELIEF.options:
        assert f"| `{option.name}` |" in PAGE
    for notation, _ in RELIEF.notation:
        assert f"`{notation.split()[0]}" in PAGE
