"""Every ruling, difference, constraint, test vector and invariant of the rules page has a test that names it."""

import ast
import re
from pathlib import Path

import pytest

#: Rulings, differences, constraints, test vectors, and the items of section 4.11.
NUMBERED = {"R": range(1, 82), "E": range(1, 39), "C": range(1, 26), "T": range(1, 116), "I": range(1, 13)}
_CITED = re.compile(r"\b([RECTI])0?(\d{1,3})(?:\s*-\s*\1?0?(\d{1,3}))?\b")


def cited_in(docstring: str) -> set[str]:
    """Returns the numbers of a docstring; T60-T83 means all numbers between."""
    found: set[str] = set()
    for letter, first, last in _CITED.findall(docstring):
        found.update(f"{letter}{number}" for number in range(int(first), int(last or first) + 1))
    return found


def all_citations() -> dict[str, list[str]]:
    """Returns the tests of this folder by the numbers they cite."""
    found: dict[str, list[str]] = {}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        if path == Path(__file__):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for number in cited_in(ast.get_docstring(node) or ""):
                    found.setdefault(number, []).append(node.name)
    return found


def test_a_range_names_everything_between_its_ends() -> None:
    """How the citations above are read."""
    assert cited_in("T60-T62, R4, T08: a tie") == {"T60", "T61", "T62", "R4", "T8"}
    assert cited_in("E1-3") == {"E1", "E2", "E3"}
    assert cited_in("space R5a, permit P07, card A1") == set()


@pytest.mark.parametrize("letter", NUMBERED)
def test_each_number_of_the_rules_page_is_named_by_a_test(letter: str) -> None:
    """A number that no test cites has no example."""
    citations = all_citations()
    missing = [f"{letter}{number}" for number in NUMBERED[letter] if f"{letter}{number}" not in citations]

    assert missing == []


def test_no_test_names_a_number_that_does_not_exist() -> None:
    """A slip in a citation would prove nothing."""
    known = {f"{letter}{number}" for letter, numbers in NUMBERED.items() for number in numbers}
    unknown = {number: names for number, names in all_citations().items() if number not in known}

    assert unknown == {}


def test_every_test_of_the_folder_has_a_docstring() -> None:
    """Together with its name, it says what is proved."""
    silent = [
        node.name
        for path in Path(__file__).parent.glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not ast.get_docstring(node)
    ]

    assert silent == []
