"""The drawing of a table, in cases where it could mislead a person."""

from service.games.sf1906.picture import picture
from service.games.sf1906.view import view
from tests.games.sf1906.drawing import ORANGE, after, draw


def drawn(words: str) -> list[str]:
    """The lines that orange sees, without their styles."""
    table = after(draw(words), ORANGE)  # the Committee and the decisions with a single answer come first
    return ["".join(piece for piece, _ in line).rstrip() for line in picture(view(table, ORANGE))]


def earnings_line(words: str) -> list[str]:
    """The words of the earnings area, empty if it is not drawn."""
    return next((line.split() for line in drawn(words) if line.startswith("▶ earn")), [])


def test_the_blocked_earnings_space_of_a_solo_game_is_marked() -> None:
    """R61, R45: a free space and a blocked one do not look alike; nothing is blocked with two players."""
    assert earnings_line("2e  solo  year 1908  earnings") == ["▶", "earn", "$4", "$3", "$2", "$1", "blocked"]
    assert earnings_line("2e  solo  year 1908  earnings  blocked $4") == [
        "▶",
        "earn",
        "$4",
        "blocked",
        "$3",
        "$2",
        "$1",
    ]
    assert earnings_line("2e  2 players  year 1908  earnings") == ["▶", "earn", "$4", "$3", "$2", "$1"]


def test_a_pawn_is_drawn_on_the_space_where_it_stands() -> None:
    """R61: black took $2, so orange sees it there."""
    words = "2e  2 players  year 1908  earnings\norder: black orange   pawns: black $2"

    assert earnings_line(words) == ["▶", "earn", "$4", "$3", "$2Bk", "$1"]


def test_the_last_column_is_drawn_without_an_earnings_area() -> None:
    """R30, E33, E6: only the final benefit is left to decide."""
    for edition, year in (("1e", "1912"), ("2e", "1915")):
        words = f"{edition}  2 players  final  map M2\norange $3  stock 1  permits P07"
        assert f"year {year}, a building costs $3, final benefit:  orange  decides: benefit" in drawn(words)
        assert earnings_line(words) == []
        assert f"year {year}, a building costs $3, final benefit: the game is over" in drawn(
            f"{edition}  2 players  over"
        )


def test_spaces_that_touch_across_two_plot_cards_have_a_gap_between_them() -> None:
    """R80: R1a on card 1 and G5a on card 3 stand in the same row of the map and are no neighbours."""
    lines = drawn("2e  2 players  map 1 3 / 2 4 all B")

    assert "Y5a ·   Y5b ·   R1a▒   G5a G5b ·   ·   P1a▒" in lines
