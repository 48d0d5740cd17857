"""Attempts to know cards that nobody may know yet: from a small seed, from ids, from a block that is still being played."""

from pathlib import Path
from typing import Any, Final

from orchestrator import planning, schedule
from orchestrator.book import Book, Match, Tournament
from orchestrator.roster import UNPROTECTED, GameFacts, read_roster
from orchestrator.schedule.ids import seeds_of
from service.sessions.session import commitment
from tests.orchestrator.harness import roster_text

_RELIEF: Final = GameFacts("relief", 1, (2, 3))
_SEED: Final = 1906
#: More seeds than people think of; each costs the attacker microseconds.
_TRIED: Final = range(5000)


def _entered(folder: Path, extra: str = "", **settings: Any) -> tuple[Book, Tournament]:
    book = Book(f"sqlite:///{folder / 'book.sqlite'}")
    given = {"name": "cup", "game": "relief", "players": 2, "deals": 2, "seed": _SEED} | settings
    text = roster_text({"ann": "random", "bob": "random"}, extra, **given)
    return book, planning.enter(book, read_roster(text, [_RELIEF]))


def _guessed(match: Match) -> int | None:
    """The seed that an attacker finds who knows the roster's shape and has seen the commitments of the first session."""
    public = commitment(match.table_seed), commitment(match.deck_seed)
    for seed in _TRIED:
        found = seeds_of(schedule.secret_of(seed), 0, 0, 0, "table")
        if (commitment(found.table), commitment(found.deck)) == public:
            return seed
    return None


def test_a_small_seed_is_not_found_from_the_commitments(tmp_path: Path) -> None:
    book, tournament = _entered(tmp_path)
    assert _guessed(book.block(tournament.id, 0)[0]) is None
    assert not tournament.is_reproducible


def test_a_small_seed_is_not_found_from_the_id_of_the_tournament(tmp_path: Path) -> None:
    _, tournament = _entered(tmp_path)
    roster = read_roster(tournament.roster, [_RELIEF])
    tried = (
        schedule.content_id(
            [schedule.SPEC_VERSION, roster.name, roster.text, roster.rules, schedule.secret_of(seed).hex()]
        )
        for seed in _TRIED
    )
    assert not any(id_.startswith(tournament.id) for id_ in tried)


def test_a_reproducible_run_can_be_guessed_and_says_so(tmp_path: Path) -> None:
    book, tournament = _entered(tmp_path, reproducible=True)
    assert _guessed(book.block(tournament.id, 0)[0]) == _SEED, "that is what the organiser asked for"
    assert tournament.is_reproducible and book.notes(tournament.id) == [UNPROTECTED]
