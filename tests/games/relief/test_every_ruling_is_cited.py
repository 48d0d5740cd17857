"""Every ruling has an example: its number is cited by the docstring of a test."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EXPECTED = (
    [f"C{number}" for number in range(1, 36)]
    + [f"5.{number}" for number in range(1, 32)]
    + [f"7.{number}" for number in range(1, 47)]
)


def docstrings() -> Iterator[str]:
    for path in sorted(HERE.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield ast.get_docstring(node) or ""


CITED = {number for text in docstrings() for number in re.findall(r"\b(?:C\d+|[57]\.\d+)\b", text)}


@pytest.mark.parametrize("number", EXPECTED)
def test_a_test_cites(number: str) -> None:
    assert number in CITED


def test_nothing_is_cited_that_does_not_exist() -> None:
    assert set(EXPECTED) >= CITED
