"""The games that a report lists: they are the right ones, and their links lead to replays."""

import csv
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from cli.app import run
from cli.export import write_export
from orchestrator.book import Book
from orchestrator.report.games import MOST_GAMES, Loss, listed_games, replay_commands, worst_losses
from orchestrator.report.page import page
from orchestrator.report.report_data import ReportData, read_report_data
from orchestrator.report.words import visible
from orchestrator.tournaments import Tournaments
from service.sessions.replay import write_replay
from tests.orchestrator.report.simulated import NAMES, book_of
from tests.sessions.scripted_sessions import ScriptedSession

HOSTILE = ("<script>alert(1)</script>", '"><img src=x>', "' onmouseover='x", "\x1b[31mred\u202e", "--bot $(reboot) `x`")


class Section(HTMLParser):
    """The section of games of a page: its text and its links."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[tuple[str, str]] = []
        self.rows: list[str] = []
        self._text: list[str] = []
        self.feed(text[text.index('<section id="games">') : text.index('<section id="repeat">')])
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "a":
            self.links.append((dict(attrs)["href"] or "", ""))
        if tag == "tr":
            self.rows.append("")
        if tag in ("td", "th"):
            self.handle_data(" ")

    def handle_data(self, data: str) -> None:
        self._text.append(data)
        if self.rows:
            self.rows[-1] += data
        if self.links and not self.links[-1][1]:
            self.links[-1] = (self.links[-1][0], data)

    @property
    def text(self) -> str:
        return " ".join("".join(self._text).split())

    def row(self, first: str) -> str:
        """The last row that begins with this word."""
        return next(" ".join(row.split()) for row in reversed(self.rows) if row.split()[:1] == [first])


def with_replays(book: Book, tournament: str) -> None:
    """Store a text for every match that was played: its position in the schedule."""
    for match, game in book.matches(tournament, limit=100_000):
        if game is not None:
            book.keep_replay(match, f"{match.order}\n", has_seeds=True)


def exported(book: Book, tournament: str, out: Path, **options: Any) -> tuple[str, Section]:
    write_export(Tournaments(book), tournament, out, **options)
    text = (out / "report.html").read_text(encoding="utf-8")
    return text, Section(text)


def read(tmp_path: Path, **wanted: Any) -> ReportData:
    return read_report_data(*book_of(tmp_path, **wanted))


# ----------------------------------------------------------------------------------------------------------------- links
def test_every_link_leads_to_the_replay_of_its_game(tmp_path: Path) -> None:
    book, tournament = book_of(tmp_path, names=NAMES[:4], blocks=10, faulty={1: 0.2})
    with_replays(book, tournament)

    _, section = exported(book, tournament, tmp_path / "out")

    assert len(section.links) > 30
    for href, shown in section.links:
        assert (tmp_path / "out" / href).is_file()
        order = int(shown.removeprefix("game "))
        assert (tmp_path / "out" / href).read_text() == f"{order}\n"
    assert "A link leads to the replay of a game" in section.text


def test_only_games_with_a_replay_are_links(tmp_path: Path) -> None:
    """Three replays are stored."""
    book, tournament = book_of(tmp_path, names=NAMES[:3], blocks=10)

    _, section = exported(book, tournament, tmp_path / "out")

    assert {shown.removeprefix("game ") for _, shown in section.links} == {"0", "1", "2"}
    assert all((tmp_path / "out" / href).is_file() for href, _ in section.links)
    assert section.row("29").startswith("29 1 ")


def test_without_replays_nothing_is_a_link_and_the_page_says_how_to_get_them(tmp_path: Path) -> None:
    book, tournament = book_of(tmp_path, names=NAMES[:3], blocks=4)

    text, section = exported(book, tournament, tmp_path / "out", without_replays=True)

    assert section.links == []
    assert "This page was written without replays. rubble tournament export writes them beside the page" in section.text
    assert text == Tournaments(book).report(tournament), "nor are there any beside a page alone"
    with (tmp_path / "out" / "results.csv").open(newline="") as file:
        assert {row["replay"] for row in csv.DictReader(file)} == {""}


def test_a_tournament_without_games_lists_none(tmp_path: Path) -> None:
    text = page(read(tmp_path, blocks=10, played=0))

    assert '<section id="games">' not in text
    assert 'href="#games"' not in text


def test_the_commands_of_the_page_work_in_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    book, tournament = book_of(tmp_path / "book", names=("mine", "other"), players=2, blocks=3)
    for match, game in book.matches(tournament):
        assert game is not None
        bots = tuple(f"f3ea02cf86c2.{('mine', 'other')[entrant]}.0" for entrant in match.seats)
        table = ScriptedSession("relief", 2, id=match.session, bots=bots)
        table.seat_all()
        table.play(2)
        table.adjudicate(*game.ranks)
        book.keep_replay(match, write_replay(table.session, table.entries), has_seeds=True)
    text, _ = exported(book, tournament, tmp_path / "out")
    monkeypatch.chdir(tmp_path / "out")
    commands = re.findall("^(?:<pre>)?(rubble replay (?:show|list) .*)$", text, re.MULTILINE)

    assert len(commands) == 2
    assert commands[1] == "rubble replay list replays --bot other --lost"
    for command in commands:
        assert run(shlex.split(command)[1:]) == 0
        assert "other" in capsys.readouterr().out


# ---------------------------------------------------------------------------------------------------------- the right games
@pytest.mark.parametrize("players", [2, 3])
def test_the_worst_losses_have_the_last_rank_and_then_the_most_points_behind_the_winner(
    tmp_path: Path, players: int
) -> None:
    report_data = read(tmp_path, players=players, blocks=40, faulty={2: 0.3})

    for line, losses in zip(report_data.standings.entrants, worst_losses(report_data), strict=True):
        every = []
        for game in report_data.games:
            if line.entrant in game.seats:
                seat = game.seats.index(line.entrant)
                winner = game.ranks.index(1)
                if game.ranks[seat] > 1:
                    every.append((-game.ranks[seat], game.scores[seat] - game.scores[winner], game.order))
        assert [(-loss.rank, -loss.behind, loss.game.order) for loss in losses] == sorted(every)[:3]
        assert len(losses) == 3
        for loss in losses:
            (game,) = [game for game in report_data.games if game.order == loss.game.order]
            seat = game.seats.index(line.entrant)
            assert (loss.score, loss.fault) == (game.scores[seat], game.faults[seat])


def test_an_entrant_that_never_lost_has_no_losses(tmp_path: Path) -> None:
    book, tournament = book_of(tmp_path, names=NAMES[:3], players=2, blocks=3, all_tie=True)

    assert worst_losses(read_report_data(book, tournament)) == [[], [], []]
    assert Section(page(read_report_data(book, tournament))).row("brick") == "brick none"


def test_games_are_listed_in_schedule_order_with_their_players_by_rank(tmp_path: Path) -> None:
    report_data = read(tmp_path, names=NAMES[:4], blocks=20, faulty={1: 0.3})

    found = listed_games(report_data)

    assert [game.order for game in found] == list(range(60))
    for listed, game in zip(found, report_data.games, strict=True):
        assert [player.rank for player in listed.players] == sorted(game.ranks)
        seated = zip(game.ranks, game.seats, game.scores, game.faults, strict=True)
        assert sorted((player.rank, player.name, player.score, player.fault) for player in listed.players) == sorted(
            (rank, report_data.names[entrant], score, fault) for rank, entrant, score, fault in seated
        )
    section = Section(page(report_data))
    first = found[0].players
    shown = " ".join(f"{player.rank} {player.name} {player.score} {player.fault}".strip() for player in first)
    assert section.row("0") == f"0 {shown} {found[0].ending} 80"


def test_copies_of_a_bot_count_as_the_bot_and_its_best_seat_counts(tmp_path: Path) -> None:
    """Both sides of a comparison have copies at one table."""
    names = ("mine", "mine#2", "other", "other#2")
    spec = {"format": "compare", "bot_of": ["mine", "mine", "other", "other"], "question": None}
    report_data = read(tmp_path, names=names, players=3, blocks=12, spec=spec)

    assert report_data.names == ("mine", "other")
    for line, losses in zip(report_data.standings.entrants, worst_losses(report_data), strict=True):
        for loss in losses:
            (game,) = [game for game in report_data.games if game.order == loss.game.order]
            own = [seat for seat in range(3) if game.seats[seat] == line.entrant]
            assert loss.rank == min(game.ranks[seat] for seat in own) > 1
            assert len(loss.game.players) == 3
    shown = {player.name for game in listed_games(report_data) for player in game.players}
    assert shown == {"mine", "other"}


def test_solo_games_have_lowest_scores_and_no_ranks(tmp_path: Path) -> None:
    book, tournament = book_of(tmp_path, names=NAMES[:3], players=1, blocks=8)
    with_replays(book, tournament)
    report_data = read_report_data(book, tournament)

    _, section = exported(book, tournament, tmp_path / "out")

    for line, losses in zip(report_data.standings.entrants, worst_losses(report_data), strict=True):
        scores = sorted(game.scores[0] for game in report_data.games if game.seats == (line.entrant,))
        assert [loss.score for loss in losses] == scores[:3]
    assert "Lowest scores" in section.text
    assert "--lost" not in section.text
    assert not re.search(r"\brank\b|behind", section.text)
    assert re.fullmatch(r"0 granite -?[0-9]+ NORMAL 80", section.row("0"))


# ------------------------------------------------------------------------------------------------------------ the page
def test_hostile_names_stay_text_in_the_page_and_in_its_commands(tmp_path: Path) -> None:
    book, tournament = book_of(tmp_path, names=HOSTILE, players=2, blocks=10)
    with_replays(book, tournament)

    text, section = exported(book, tournament, tmp_path / "out")

    assert section.tags <= {
        "section", "h2", "h3", "p", "code", "pre", "div", "table", "thead", "tbody", "tr", "th", "td", "span", "small",
        "a", "details", "summary",
    }  # fmt: skip
    assert section.attributes <= {"id", "class", "scope", "title", "href", "open"}
    assert not re.search("[\x00-\x08\x1b\u202e]", text)
    for href, _ in section.links:
        assert re.fullmatch(r"replays/[A-Za-z0-9_-]+\.jsonl", href)
        assert (tmp_path / "out" / href).is_file()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_one_word_of_a_command(tmp_path: Path, name: str) -> None:
    book, tournament = book_of(tmp_path, names=("winner", name), players=2, blocks=4, faulty={1: 1.0})
    match = book.match_ids(tournament)[0]

    commands = replay_commands(read_report_data(book, tournament, replays={match: "replays/0000-x.jsonl"}))

    assert [shlex.split(command) for command in commands] == [
        ["rubble", "replay", "show", "replays/0000-x.jsonl"],
        ["rubble", "replay", "list", "replays", "--bot", visible(name), "--lost"],
    ]


def test_a_page_of_many_games_lists_the_first_and_stays_small(tmp_path: Path) -> None:
    book, tournament = book_of(
        tmp_path / "many", names=[f"{name}-with-a-long-name-v1.27" for name in NAMES], blocks=120
    )
    with_replays(book, tournament)

    text, section = exported(book, tournament, tmp_path / "out")

    assert MOST_GAMES == 200
    assert "The first 200 of 360 games" in section.text
    assert "The others are in results.csv, whose last column names their replays." in section.text
    assert [shown for _, shown in section.links[-200:]] == [str(order) for order in range(200)]
    assert len(text[text.index('<section id="games">') : text.index('<section id="repeat">')].encode()) < 150_000
    assert "<details>\n<summary>200 games" in text
    with (tmp_path / "out" / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 360
    assert all((tmp_path / "out" / row["replay"]).is_file() for row in rows)
    assert [row["replay"] for row in rows] == sorted(row["replay"] for row in rows)


def test_a_loss_by_forfeit_shows_its_cause(tmp_path: Path) -> None:
    report_data = read(tmp_path, players=2, blocks=30, faulty={0: 1.0})
    line = next(place for place, line in enumerate(report_data.standings.entrants) if line.entrant == 0)
    losses: list[Loss] = worst_losses(report_data)[line]

    assert losses
    assert all(loss.fault for loss in losses)
    told = f"game {losses[0].game.order} rank 2, {losses[0].score}, {losses[0].fault}"
    assert told in Section(page(report_data)).text
