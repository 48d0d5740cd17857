"""The page of the game agrees with the components and the rules, cell by cell."""

import re
from pathlib import Path
from typing import Final

from service import games
from service.games.sf1906 import box
from service.games.sf1906.editions import DIFFERENCES
from service.games.sf1906.picture import space_text
from service.games.sf1906.state import PHASES
from tests.games.sf1906.test_refusals import EXAMPLES

PAGE: Final = (Path(__file__).parents[3] / "docs" / "games" / "sf1906.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """Returns the text below a heading, up to the next one."""
    return re.split(r"\n#+ ", PAGE.split(f"# {title}\n", 1)[1], maxsplit=1)[0]


def rows(title: str) -> list[list[str]]:
    """Returns the cells of the tables below a heading, without emphasis marks."""
    lines = [line for line in section(title).splitlines() if line.startswith("|") and not line.startswith("|---")]
    return [[cell.strip() for cell in line.replace("*", "").strip("|").split("|")] for line in lines]


def icons(permit: int) -> str:
    return "".join(letter for place, letter in enumerate("LCHP") if box.PERMIT_ICONS[permit] >> place & 1)


def test_the_page_lists_every_permit_with_its_colour_number_and_icons() -> None:
    """C18: forty in the table, and both grants below it."""
    table = {row[0]: row[1:] for row in rows("Permits")[1:]}
    for permit, name in enumerate(box.PERMIT_IDS):
        if permit in box.GRANTS:
            assert f"{name} {icons(permit)}" in section("Permits")
        else:
            cell = table[box.COLOURS[box.PERMIT_COLOUR[permit]]][box.PERMIT_NUMBER[permit] - 1]
            assert f"{name} {icons(permit)}" in cell.split(", ")


def test_the_page_draws_every_space_where_it_is_with_its_rubble() -> None:
    """C8, C2: eight cards, two beside each other; the corners are those of the data files."""
    drawn: dict[str, tuple[int, int, int, str]] = {}
    for pair in section("Plot cards").split("```")[1].removeprefix("text\n").strip().split("\n\n"):
        head, *lines = pair.splitlines()
        middle = head.rindex("card")
        for row, line in enumerate(lines):
            for card, half in zip(re.findall(r"\d", head), (line[:middle], line[middle:]), strict=True):
                for column, word in enumerate(half.split()):
                    if word != ".":
                        space, _, side = word.partition(":")
                        drawn[space] = (int(card), column, row, side)
    expected = {
        name: (box.SPACE_CARD[space], *box.SPACE_AT[space], box.SPACE_RUBBLE[space])
        for space, name in enumerate(box.SPACE_IDS)
    }
    assert drawn == expected

    corners = re.split(r",\s+", section("Plot cards").split("The corners are ")[1].split(".")[0])
    assert sorted(corners) == sorted(name for space, name in enumerate(box.SPACE_IDS) if box.SPACE_CORNER[space])


def test_the_page_lists_both_faces_of_every_action_card() -> None:
    """C13, C14: the wide one first."""
    listed = [row for row in rows("Action cards") if row[0] in box.CARD_IDS]
    faces = [
        [box.CARD_IDS[card], *(space_text(box.ACTIONS[kind], amount) for kind, amount in face[card])]
        for face in (box.WIDE, box.NARROW)
        for card in range(box.CARDS)
    ]

    assert listed == faces


def test_the_page_shows_the_boards_as_they_are() -> None:
    """C16, C17, C3: development with both strips, costs of the years, and the tracker."""
    development = {row[0]: row[1:] for row in rows("Development board")}
    for row in range(box.TOP + 1):
        assert [int(cell) for cell in development[f"row {row}"]] == [*box.DEVELOPMENT[row], box.GREEN_COLUMN[row]]
    assert [int(cell) for cell in development["orange row"][:-1]] == box.ORANGE_ROW
    assert [row[1] for row in rows("Years, costs and benefits")[1:]] == [f"${cost}" for cost in box.YEAR_COST]
    assert [int(cell) for cell in rows("Money tracker (1e)")[1][1:]] == box.TRACKER


def test_the_page_lists_every_objective_with_the_points_of_both_editions() -> None:
    """C20, E22-E28: by number, frame and name; comparisons by place."""
    listed = {row[0]: row[1:] for row in rows("Objectives")[1:]}
    for edition, cards in enumerate(box.OBJECTIVE_CARDS):
        for card in cards:
            cells = listed[f"O24 ({edition + 1}e)" if card.id == "O24" else card.id]
            assert cells[:2] == [card.frame, card.name]
            points = "value" if card.kind in ("orange-row", "green-column") else "[by place](#comparisons)"
            if card.points:
                more = f"; with 2 players {card.points_for_two}" if card.points_for_two != card.points else ""
                points = f"{card.points}{more}"
            assert cells[3 + edition] == points
    for row in rows("Comparisons")[1:]:
        for edition in (0, 1):
            assert [int(cell) for cell in row[1 + edition].split("/")] == box.COMPARISON[edition][
                int(row[0].split()[0])
            ]


def test_the_page_shows_the_aid_of_the_committee() -> None:
    """C24: both faces, each with the whole order of places."""
    for row in rows("The aid")[1:]:
        for aid in (0, 1):
            tried = [box.POSITIONS.index(word) for word in row[1 + aid].split(", ")]
            assert tried == box.AID_ORDER[aid][int(row[0])]
    assert len(rows("The aid")) == 1 + box.NUMBERS


def test_the_page_explains_every_refusal_with_its_rules() -> None:
    """R7: each reason once, with all the rules it can quote."""
    listed = {row[0].strip("`"): row[1].split(", ") for row in rows("Refusals")[1:]}
    quoted = {example.reason for example in EXAMPLES}

    assert set(listed) == quoted | {"NO_PASS_HERE"}
    for example in EXAMPLES:
        assert not example.rule or example.rule in listed[example.reason]


def test_the_page_names_every_option_verb_phase_ruling_and_difference() -> None:
    """R80: everything that a bot can meet is there."""
    game = games.get("sf1906-2e")
    for option in game.options:
        values = ", ".join(f"`{choice}`" for choice in option.choices)
        assert f"| `{option.name}` | {values} |" in PAGE
        assert option.choices[0] == option.default  # the page says: default first
    for notation, _ in game.notation:
        assert f"| `{notation.split()[0]} " in section("Notation")
    for phase in PHASES[:-1]:
        assert f"| `{phase}` |" in section("Decisions")
    for number in range(1, 82):
        assert f"- **R{number}** " in section("Rulings")
    assert [row[0] for row in rows("Differences between the editions")[1:]] == [row.number for row in DIFFERENCES]


def test_the_page_warns_that_the_cards_are_not_the_printed_ones() -> None:
    """C8, C18: before anything else, and for every file of components in the list of marks."""
    assert "The cards here are not the printed ones." in PAGE.split("## Contents")[0]
    marked = {row[0] for row in rows("Known, derived, designed")[1:]}
    assert {"Permits", "Plot cards", "Action cards", "Development board", "Year Board", "Objectives"} <= marked
    assert {"Comparison points", "Urbanism", "Money tracker (1e)", "Solo aid (2e)"} <= marked
