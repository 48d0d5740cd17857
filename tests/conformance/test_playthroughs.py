"""The committed playthroughs are the games that the rules play."""

from itertools import zip_longest

import pytest

from tests.conformance.checks_shelf import check_playthroughs_exist
from tests.conformance.playthroughs import COMMAND, expected, strays
from tests.conformance.subjects import Subject, subjects

MOST_BYTES = 60_000


def test_every_seat_count_has_a_playthrough(subject: Subject) -> None:
    check_playthroughs_exist(subject)


def test_playthroughs_are_what_is_played(subject: Subject) -> None:
    for path, text in expected(subject).items():
        assert len(text.encode()) <= MOST_BYTES, f"{path} is too long to be read"
        kept = path.read_bytes().decode() if path.exists() else ""
        pairs = enumerate(zip_longest(kept.split("\n"), text.split("\n")), start=1)
        change = next((f"line {at}: {old!r} is now {new!r}" for at, (old, new) in pairs if old != new), "")
        if kept != text:
            pytest.fail(f"{path} differs at {change}; if that is meant, rewrite it and read the diff: {COMMAND}")


def test_every_playthrough_belongs_to_a_game() -> None:
    assert not strays(subjects()), f"remove them: {COMMAND}"
