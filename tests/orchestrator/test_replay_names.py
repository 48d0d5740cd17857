"""Names of replay files, arena names, and what an export leaves in its folder."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cli.export import write_export
from orchestrator.entrants import ISOLATED_NAME_PART, arena_key, arena_names, bot_of
from orchestrator.replay_names import players_in_name, replay_name, replay_paths
from orchestrator.tournaments import Tournaments
from tests.orchestrator.report.simulated import book_of

SAFE = re.compile(r"[0-9]{4,}-[A-Za-z0-9_][A-Za-z0-9_-]*-[0-9a-f]{8}\.jsonl")
MATCH_IDS = st.text("0123456789abcdef", min_size=32, max_size=32)
#: Names as rosters allow them, and any others: an earlier version, or somebody who edits a book, may have allowed more.
PLAYERS = st.lists(st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,39}\Z") | st.text(max_size=60), min_size=1, max_size=8)
#: Entrants that a roster can have: names, and "#" for a copy.
ENTRANTS = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,39}(#[2-9])?\Z")
HOSTILE = [
    "../../etc/passwd",
    "-rf",
    "a/b",
    "\x00\x1b[2J",
    "con",
    "ä" * 60,
    "",
    ".",
    "$(reboot)",
    "\ud800",
    "x\n.jsonl",
]


# ------------------------------------------------------------------------------------------------------------- the names
@given(st.integers(0, 9_999_999), PLAYERS, MATCH_IDS)
@example(0, HOSTILE, "0" * 32)
@example(9_999_999, ["W" * 40] * 8, "f" * 32)
@example(0, ["---"], "0" * 32)
@example(0, ["W" * 40] * 30, "0" * 32)
def test_every_name_is_one_safe_file_name_of_less_than_100_bytes(order: int, players: list[str], match: str) -> None:
    name = replay_name(order, 9_999_999, players, match)

    assert SAFE.fullmatch(name)
    assert len(name.encode()) < 100


@given(st.data(), st.integers(1, 20_000))
def test_names_of_a_tournament_are_distinct_and_sort_in_schedule_order(data: st.DataObject, last_order: int) -> None:
    """The position alone makes them distinct, for all players and ids."""
    one, other = sorted(data.draw(st.lists(st.integers(0, last_order), min_size=2, max_size=2, unique=True)))
    names = [replay_name(order, last_order, data.draw(PLAYERS), data.draw(MATCH_IDS)) for order in (one, other)]

    assert names[0] < names[1]
    assert names[0].lower() < names[1].lower(), "also where upper and lower case are the same"


def test_a_name_says_who_played_by_seat() -> None:
    assert replay_name(12, 300, ["greedy", "mine"], "1f0c22ab" + "0" * 24) == "0012-greedy-vs-mine-1f0c22ab.jsonl"
    assert replay_name(12, 30_000, ["mine-v1.2"], "1f0c22ab" + "0" * 24) == "00012-mine-v1_2-1f0c22ab.jsonl"


def test_long_names_lose_their_middle_and_short_ones_stay() -> None:
    long = "a-bot-with-a-very-long-name-version-1.27"

    shown = players_in_name([long, "greedy", long])

    assert len(shown) <= 66
    first, second, third = shown.split("-vs-")
    assert second == "greedy"
    assert first == third
    assert first.startswith("a-bot-with")
    assert first.endswith("1_27")


# ------------------------------------------------------------------------------------------------------------ arena names
@given(ENTRANTS, st.integers(0, 9999), st.sampled_from(["local", "remote", "isolated"]))
def test_every_arena_name_of_a_bot_is_found_by_its_name(entrant: str, slot: int, kind: str) -> None:
    key, tournament = arena_key(entrant), "f3ea02cf86c2"
    arena = {
        "local": f"{tournament}.{key}.{slot}",
        "remote": f"{tournament}.{key}",
        "isolated": f"{tournament}.{key[:ISOLATED_NAME_PART]}.{'0f' * 8}",
    }[kind]

    bot = entrant.partition("#")[0]
    assert arena_names(bot).fullmatch(arena)
    assert not arena_names(f"{bot}x").fullmatch(arena) or kind == "isolated"
    if kind == "local" and not re.search(r"\.copy[0-9]+\Z", bot):
        assert bot_of(arena) == bot


@pytest.mark.parametrize(
    ("arena", "bot"),
    [
        ("f3ea02cf86c2.mine.0", "mine"),
        ("f3ea02cf86c2.mine-v1.2.13", "mine-v1.2"),
        ("f3ea02cf86c2.mine.copy2.13", "mine"),
        ("f3ea02cf86c2.mine", "mine"),
        ("f3ea02cf86c2.mine.0123456789abcdef", "mine"),
        ("spring.mybot.v1", "spring.mybot.v1"),
        ("ada", "ada"),
        ("", ""),
    ],
)
def test_an_arena_name_shows_its_bot(arena: str, bot: str) -> None:
    assert bot_of(arena) == bot


# ---------------------------------------------------------------------------------------------------------------- exports
class _Cut(Exception):
    pass


class _Interrupted(Tournaments):
    """Breaks off after a number of files."""

    left = 0

    def export(self, name: str, *, without_replays: bool = False) -> Iterator[tuple[str, bytes]]:
        for file in super().export(name, without_replays=without_replays):
            if not self.left:
                raise _Cut
            self.left -= 1
            yield file


@pytest.fixture
def simulated(tmp_path: Path) -> tuple[Any, str]:
    """A tournament with three stored replays, whose headers name their matches; the second was void once."""
    book, tournament = book_of(tmp_path / "book", blocks=4)
    for number, (match, _) in enumerate(book.matches(tournament, limit=3)):
        session = f"{match.id}-1" if number == 1 else match.id
        book.keep_replay(match, f'{{"kind":"header","session":"{session}"}}\n', has_seeds=True)
    return book, tournament


def replays_in(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (folder / "replays").iterdir()}


def test_an_export_repeated_has_the_same_replays(simulated: tuple[Any, str], tmp_path: Path) -> None:
    book, tournament = simulated
    out = tmp_path / "out"
    write_export(Tournaments(book), tournament, out)
    first = replays_in(out)
    write_export(Tournaments(book), tournament, out)

    assert replays_in(out) == first
    assert [f"replays/{name}" for name in sorted(first)] == list(replay_paths(book, tournament).values())


def test_replays_that_an_earlier_version_wrote_are_replaced_and_other_files_stay(
    simulated: tuple[Any, str], tmp_path: Path
) -> None:
    book, tournament = simulated
    replays = tmp_path / "out" / "replays"
    replays.mkdir(parents=True)
    for match, text in book.replays(tournament):
        (replays / f"{match}.jsonl").write_text(text)
    (replays / f"{'0' * 32}.jsonl").write_text("the replay of another tournament")
    (replays / "notes.txt").write_text("mine")

    write_export(Tournaments(book), tournament, tmp_path / "out")

    own = {Path(path).name for path in replay_paths(book, tournament).values()}
    assert set(replays_in(tmp_path / "out")) == own | {f"{'0' * 32}.jsonl", "notes.txt"}


def test_an_interrupted_export_loses_nothing_and_can_be_repeated(simulated: tuple[Any, str], tmp_path: Path) -> None:
    book, tournament = simulated
    out = tmp_path / "out"
    (out / "replays").mkdir(parents=True)
    earlier = {f"{match}.jsonl": text for match, text in book.replays(tournament)}
    for name, text in earlier.items():
        (out / "replays" / name).write_text(text)
    interrupted = _Interrupted(book)
    interrupted.left = 5
    with pytest.raises(_Cut):
        write_export(interrupted, tournament, out)
    assert earlier.items() <= replays_in(out).items()

    write_export(Tournaments(book), tournament, out)

    assert sorted(f"replays/{name}" for name in replays_in(out)) == list(replay_paths(book, tournament).values())


def test_a_path_does_not_depend_on_which_replays_are_stored(tmp_path: Path) -> None:
    """A later export, when more was played, gives the same match the same name."""
    book, tournament = book_of(tmp_path, blocks=4)
    early = replay_paths(book, tournament)
    for match, _ in book.matches(tournament):
        book.keep_replay(match, "{}\n", has_seeds=True)
    late = replay_paths(book, tournament)

    assert len(early) == 3
    assert len(late) == 12
    assert early.items() <= late.items()


def test_copies_of_a_bot_have_its_name(tmp_path: Path) -> None:
    book, tournament = book_of(
        tmp_path, names=("mine", "mine#2", "other"), blocks=1, spec={"bot_of": ["mine", "mine", "other"]}
    )

    first = next(iter(replay_paths(book, tournament).values()))

    assert first == "replays/0000-mine-vs-mine-vs-other-19060000.jsonl"
