"""The report is complete, contains every warning, and is the same bytes for the same book."""

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console
from scipy import stats

from cli.export import write_export
from orchestrator.book import Book
from orchestrator.messages import standings_of
from orchestrator.report.files import plain_standings, results_csv
from orchestrator.report.page import cautions, lead, page, verdict
from orchestrator.report.report_data import by_bot, read_report_data
from orchestrator.report.terminal import standings_table
from orchestrator.report.words import dates, short, signed, visible
from orchestrator.spec import Spec
from orchestrator.tournaments import Tournaments
from rubble.v1 import tournament_pb2
from tests.orchestrator.report.simulated import CREATED_MS, NAMES, book_of

VOID = {"meta", "br", "use", "path", "rect"}
HOSTILE = ("<script>alert(1)</script>", "</svg><b>x", 'a" onmouseover="x', "$x_1$ & {{ 7*7 }}", "\x1b[31mred\u202e")
Make = Callable[..., tuple[Book, str]]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(**wanted: Any) -> tuple[Book, str]:
        return book_of(tmp_path, **wanted)

    return made


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of six bots, one of which has faults."""
    return page(read_report_data(*book_of(tmp_path_factory.mktemp("usual"), faulty={4: 0.2})))


class Page(HTMLParser):
    """Reads a page strictly: every element is closed by its own name, and ids are unique."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.references: list[str] = []
        self.attributes: set[str] = set()
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []
        assert len(self.ids) == len(set(self.ids))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name == "id":
                self.ids.append(value or "")
            if name in {"href", "src", "xlink:href", "data", "action"}:
                self.references.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def page_of(book: Book, tournament: str) -> tuple[str, Page]:
    text = page(read_report_data(book, tournament))
    return text, Page(text)


# ------------------------------------------------------------------------------------------------------------------ page
def test_the_page_names_every_entrant_and_shows_every_plot(usual: str) -> None:
    text, read = usual, Page(usual)

    text_shown = "\n".join(read.text)
    assert all(name in text_shown for name in NAMES[:6])
    assert text.count('<svg class="plot" role="img" aria-label=') == 7  # all but the test of a comparison
    assert text.count("<figcaption>") == 7
    for heading in (
        "Ranking",
        "Head to head",
        "Seats",
        "Scores",
        "Rating over games",
        "Faults and time",
        "Who met whom",
    ):
        assert heading in text_shown
    for cause in ("TIMEOUT", "DISCONNECTED", "REFUSED_ACTION"):
        assert cause in text_shown


def test_the_page_counts_all_matches_of_the_plan(usual: str) -> None:
    """All of them are played."""
    assert re.search(r"<dt>games</dt><dd>([1-9][0-9,]*)</dd></div>\s*<div><dt>planned</dt><dd>\1</dd>", usual)


def test_the_page_is_self_contained(usual: str) -> None:
    text, read = usual, Page(usual)

    assert "http://" not in text
    assert "https://" not in text
    assert "script" not in read.tags
    assert "@import" not in text
    assert all(reference.startswith("#") for reference in read.references)
    assert {reference[1:] for reference in read.references} <= set(read.ids)
    assert re.findall(r"url\((?!#)", text) == []


def test_names_and_rosters_are_shown_as_text(make: Make) -> None:
    book, tournament = make(names=HOSTILE, players=3, faulty={0: 0.1})
    text, read = page_of(book, tournament)

    assert "script" not in read.tags
    assert "b" in read.tags  # the marks of the interval bars, and nothing else bold:
    assert text.count("<b") - text.count("<br") - text.count("<body") == text.count("<b style=")
    assert "onmouseover" not in read.attributes
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "{{ 7*7 }}" in text  # not evaluated
    assert "$x_1$" in "".join(read.text)  # not a formula either


def test_a_name_that_looks_like_a_colour_is_not_replaced(make: Make) -> None:
    _, read = page_of(*make(names=("#010101", "fill: #020202", "c"), players=2))

    assert {"#010101", "fill: #020202"} <= set(read.text)


def test_the_same_book_gives_the_same_bytes(make: Make, tmp_path: Path) -> None:
    book, tournament = make(players=4, blocks=15, faulty={1: 0.1})
    for folder in ("one", "other"):
        write_export(Tournaments(book), tournament, tmp_path / folder)

    files = [path.relative_to(tmp_path / "one") for path in sorted((tmp_path / "one").rglob("*")) if path.is_file()]
    assert [str(path) for path in files if path.parent == Path()] == [
        "report.html", "results.csv", "roster.toml", "standings.json",
    ]  # fmt: skip
    assert len([path for path in files if path.parent == Path("replays")]) == 3
    for path in files:
        assert (tmp_path / "one" / path).read_bytes() == (tmp_path / "other" / path).read_bytes()


def test_the_page_says_which_statements_hold_for_the_whole_table(usual: str) -> None:
    text = " ".join("".join(Page(usual).text).replace("\u00a0", " ").split())

    assert "95 % of rank ranges and groups are for the whole table together (Bonferroni over all pairs)" in text
    assert "95 % of points and Elo are for each line by itself" in text
    assert "excludes zero (95 % for all pairs together, Bonferroni)" in text


def test_few_blocks_give_a_caution(make: Make) -> None:
    shown = cautions(read_report_data(*make(blocks=12)))

    assert shown[0].startswith("Entrants with fewer than 30 blocks of their own: 6 of 6, the fewest 4.")


def test_enough_blocks_give_no_caution(usual: str) -> None:
    assert "first impression" not in usual


def test_an_unfinished_tournament_says_so(make: Make) -> None:
    shown = cautions(read_report_data(*make(blocks=40, played=100)))

    assert "The tournament is not over: 20 matches still to play." in shown


def test_a_cycle_is_reported(make: Make) -> None:
    text, _ = page_of(*make(names=NAMES[:4], players=2, blocks=180, circle=True))

    assert "No single order of strength" in text
    assert "granite → brick → cedar → granite" in text


def test_the_lead_sentence_matches_the_table(make: Make) -> None:
    book, tournament = make(names=NAMES[:3], players=2, blocks=30, all_tie=True)

    shown = lead(read_report_data(book, tournament))

    assert shown.startswith("granite, brick and cedar share the lead with 0.500 rank points per game")


@pytest.mark.parametrize(
    "wanted",
    [
        {"names": NAMES[:2], "players": 2, "blocks": 1},
        {"names": NAMES[:4], "players": 2, "blocks": 8, "all_tie": True},
        {"names": NAMES[:4], "players": 3, "blocks": 20, "faulty": {2: 1.0}},
        {"names": NAMES[:3], "players": 3, "blocks": 10, "faulty": {0: 1.0, 1: 1.0, 2: 1.0}},
        {"names": NAMES[:4], "players": 1, "blocks": 20, "faulty": {1: 0.1}},
        {"names": NAMES[:1], "players": 1, "blocks": 5},
        {"names": NAMES[:4], "players": 2, "blocks": 4, "played": 0},
        {"names": NAMES[:5], "players": 2, "blocks": 12, "played": 1},
        {"names": [f"{'long ' * 30}{number}" for number in range(3)], "players": 2, "blocks": 6},
        {"names": [f"bot-{number}" for number in range(13)], "players": 4, "blocks": 6},
    ],
    ids=["two-bots", "ties", "one-fails", "all-fail", "solo", "alone", "no-game", "one-game", "long", "many"],
)
def test_unusual_tournaments_have_a_report(make: Make, tmp_path: Path, wanted: dict[str, Any]) -> None:
    book, tournament = make(**wanted)

    write_export(Tournaments(book), tournament, tmp_path / "report")

    read = Page((tmp_path / "report" / "report.html").read_text(encoding="utf-8"))
    assert all(name in "".join(read.text) for name in wanted["names"])
    json.loads((tmp_path / "report" / "standings.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)


# ------------------------------------------------------------------------------------------------------------ comparison
def test_a_comparison_shows_its_verdict_and_its_plot(make: Make) -> None:
    asked = {"t0": 0.0, "t1": 0.2, "alpha": 0.05, "beta": 0.05, "most_blocks": 2000}
    text, _ = page_of(*make(names=NAMES[:2], players=2, blocks=120, spec={"format": "compare", "question": asked}))

    assert "granite is better than brick." in text
    assert 'aria-label="Log likelihood ratio' in text


def test_a_comparison_before_its_first_check_is_running(make: Make) -> None:
    text, _ = page_of(*make(names=NAMES[:2], players=2, blocks=30, played=8, spec={"format": "compare"}))

    assert "Still running: granite against brick is not decided yet." in text
    assert "Too few whole blocks for a first check." in text


def test_a_comparison_that_ran_out_of_blocks_is_undecided(make: Make) -> None:
    book, tournament = make(names=NAMES[:2], players=2, blocks=20, all_tie=True, spec={"format": "compare"})

    assert verdict(read_report_data(book, tournament)).startswith("Undecided: all blocks were played")


def test_the_test_uses_the_settings_of_the_roster(make: Make) -> None:
    asked = {"t0": 0.1, "t1": 0.3, "alpha": 0.01, "beta": 0.02, "most_blocks": 2000}
    book, tournament = make(names=NAMES[:2], players=2, blocks=20, spec={"format": "compare", "question": asked})

    test = read_report_data(book, tournament).test

    assert test is not None
    assert (round(test.lower, 3), round(test.upper, 3)) == (-3.902, 4.585)


@pytest.mark.parametrize(("blocks", "verdict"), [(120, "better"), (20, "undecided")])
def test_programs_read_the_verdict_of_a_comparison(make: Make, blocks: int, verdict: str) -> None:
    book, tournament = make(names=NAMES[:2], players=2, blocks=blocks, all_tie=blocks == 20, spec={"format": "compare"})
    test = read_report_data(book, tournament).test
    assert test is not None

    plain = plain_standings(read_report_data(book, tournament))["comparison"]
    message = Tournaments(book).standings(tournament).comparison

    assert plain["verdict"] == verdict and plain["blocks"] == message.blocks == test.blocks
    assert (plain["llr"] >= plain["upper"]) == (verdict == "better")
    assert message.verdict == tournament_pb2.ComparisonVerdict.Value(f"COMPARISON_VERDICT_{verdict.upper()}")
    assert (message.llr, message.lower, message.upper) == (test.llr, test.lower, test.upper)


def test_copies_of_a_bot_are_one_entrant(make: Make) -> None:
    copies = {"bot_of": ["granite", "granite", "brick", "brick"], "format": "compare"}
    book, tournament = make(names=("granite", "granite#2", "brick", "brick#2"), players=4, blocks=40, spec=copies)

    report_data = read_report_data(book, tournament)

    assert report_data.names == ("granite", "brick")
    assert [line.games for line in report_data.standings.entrants] == [320, 320]
    assert report_data.test is not None


@pytest.mark.parametrize("is_reproducible", [True, False])
def test_only_a_reproducible_run_is_called_repeatable(make: Make, is_reproducible: bool) -> None:
    report_data = read_report_data(*make(blocks=4))
    spec = msgspec.structs.replace(report_data.tournament.spec, reproducible=is_reproducible)
    text = page(replace(report_data, tournament=replace(report_data.tournament, spec=spec)))
    assert ("give the same games again" in text) == is_reproducible
    assert ("playing again gives other games" in text) == (not is_reproducible)


def test_without_copies_games_stay_as_they_are() -> None:
    assert by_bot(Spec(game="relief", players=2, entrants=("a", "b")), []) == (("a", "b"), [])


# ----------------------------------------------------------------------------------------------------------------- files
def test_standings_have_the_promised_shape(make: Make) -> None:
    book, tournament = make(blocks=40, faulty={3: 0.2})

    plain = plain_standings(read_report_data(book, tournament))

    assert list(plain) == [
        "tournament",
        "game",
        "players",
        "matches",
        "entrants",
        "digest",
        "notes",
        "reproducible",
        "comparison",
    ]
    assert plain["comparison"] is None
    assert plain["matches"] == {"planned": 120, "recorded": 120, "void": 0}
    assert len(plain["entrants"]) == 6
    for line in plain["entrants"]:
        assert {"name", "games", "mean_points", "ci95", "rank", "rank_range", "faults"} <= set(line)
        low, high = line["ci95"]
        assert 0 <= low <= line["mean_points"] <= high <= 1
        best, worst = line["rank_range"]
        assert 1 <= best <= worst <= 6
        assert line["faults"] == sum(line["faults_by_cause"].values())
    assert sum(line["faults"] for line in plain["entrants"]) > 0
    assert sum(line["games"] for line in plain["entrants"]) == 360


def test_plus_minus_is_the_95_per_cent_interval_of_elo_everywhere(make: Make) -> None:
    book, tournament = make(blocks=80)
    report_data = read_report_data(book, tournament)
    text, out = page(report_data).replace("\u00a0", " "), io.StringIO()
    shown = standings_of(Tournaments(book).standings(tournament))  # as a remote client has it
    Console(file=out, width=140, color_system=None).print(standings_table(shown))

    for line, plain in zip(report_data.standings.entrants, plain_standings(report_data)["entrants"], strict=True):
        assert line.elo_se is not None and line.elo is not None
        half = stats.t.ppf(0.975, line.blocks - 1) * line.elo_se
        assert plain["elo_ci95"] == pytest.approx([line.elo - half, line.elo + half], abs=1e-5)
        assert f"{signed(line.elo, 0)} <small>± {half:.0f}</small>" in text
        assert f"{signed(line.elo, 0)} ±{half:.0f}" in out.getvalue()


def test_the_digest_does_not_depend_on_thinking_times(tmp_path: Path) -> None:
    """The book is written twice, the second time by slower bots."""
    digests = []
    for name, slower in (("quick", 1), ("slow", 7)):
        book, tournament = book_of(tmp_path / name, blocks=10, slower=slower)
        digests.append(plain_standings(read_report_data(book, tournament))["digest"])

    assert digests[0] == digests[1]


def test_one_block_says_nothing_about_ranks(make: Make) -> None:
    book, tournament = make(names=NAMES[:2], players=2, blocks=1)

    assert [line["rank_range"] for line in plain_standings(read_report_data(book, tournament))["entrants"]] == [
        [1, 2],
        [1, 2],
    ]


def test_results_can_be_read_back_from_csv(make: Make) -> None:
    book, tournament = make(names=('comma, "quote"', "line\nbreak", "plain"), players=2, blocks=6, faulty={1: 0.5})
    report_data = read_report_data(book, tournament)

    rows = list(csv.DictReader(io.StringIO(results_csv(report_data))))

    assert len(rows) == len(report_data.games)
    for row, game in zip(rows, report_data.games, strict=True):
        assert (int(row["order"]), int(row["block"]), row["match"]) == (
            game.order, game.block, report_data.match_ids[game.order],
        )  # fmt: skip
        for seat, entrant in enumerate(game.seats):
            read = [row[f"seat{seat + 1}_{key}"] for key in ("entrant", "rank", "score", "fault", "think_ms")]
            seated = [game.ranks[seat], game.scores[seat], game.faults[seat], game.think_ms[seat]]
            assert read == [report_data.names[entrant], *map(str, seated)]


def test_roster_and_replays_are_unchanged(make: Make, tmp_path: Path) -> None:
    """The last column of results.csv names the file of each stored replay."""
    book, tournament = make(blocks=4)

    write_export(Tournaments(book), tournament, tmp_path / "report")

    assert (tmp_path / "report/roster.toml").read_text(encoding="utf-8") == book.tournament(tournament).roster
    with (tmp_path / "report/results.csv").open(newline="") as file:
        named = {row["match"]: row["replay"] for row in csv.DictReader(file) if row["replay"]}
    replays = dict(book.replays(tournament))
    assert {match: (tmp_path / "report" / path).read_text(encoding="utf-8") for match, path in named.items()} == replays
    assert len(list((tmp_path / "report/replays").iterdir())) == len(replays) == 3


# -------------------------------------------------------------------------------------------------------------- terminal
def test_the_terminal_shows_the_same_table(make: Make) -> None:
    book, tournament = make(names=("[red]granite[/]", "\x1b[2Jbrick", "cedar"), players=2, blocks=40, faulty={2: 0.2})
    report_data = read_report_data(book, tournament)
    out = io.StringIO()

    Console(file=out, width=140, color_system=None).print(standings_table(report_data.standings, title="[b]cup"))

    assert "[red]granite[/]" in out.getvalue()  # a name, not a colour
    assert "[b]cup" in out.getvalue()
    assert "\x1b" not in out.getvalue()
    for line in report_data.standings.entrants:
        assert f"{line.mean_points:.3f}" in out.getvalue()


@pytest.mark.parametrize("width", [60, 80, 110])
def test_a_narrow_terminal_shortens_names_but_no_numbers(make: Make, width: int) -> None:
    names = ("granite-with-a-very-long-name", "brick-that-goes-on-for-ever", "cedar-of-the-last-terrace")
    book, tournament = make(names=names, players=2, blocks=40, faulty={2: 0.2})
    standings = read_report_data(book, tournament).standings
    out = io.StringIO()

    Console(file=out, width=width, color_system=None).print(standings_table(standings, width=width))

    rows = [line.split() for line in out.getvalue().splitlines()]
    for line in standings.entrants:
        row = next(row for row in rows if row[:1] == [str(line.rank)])
        assert f"{line.mean_points:.3f}" in row and f"{line.mean_score:.1f}" in row and f"{line.games:,}" in row
        assert [word for word in row if "…" in word] in ([], [row[2]]), "only the name is shortened"


def test_the_terminal_shows_an_empty_table(make: Make) -> None:
    book, tournament = make(blocks=2, played=0)
    out = io.StringIO()

    Console(file=out, width=140, color_system=None).print(standings_table(read_report_data(book, tournament).standings))

    assert all(name in out.getvalue() for name in NAMES[:6])


# ----------------------------------------------------------------------------------------------------------------- words
def test_long_names_keep_their_ends() -> None:
    assert short("granite-with-a-tail-v17", 12) == "granite…-v17"
    assert short("brick", 12) == "brick"


def test_invisible_characters_are_shown() -> None:
    assert visible("a\x1b[0m\nb\u202e") == "a�[0m�b�"


def test_differences_carry_a_real_sign() -> None:
    assert (signed(0.123), signed(-0.5), signed(-0.001)) == ("+0.12", "−0.50", "0.00")


def test_dates_are_one_day_or_two() -> None:
    assert dates(CREATED_MS, None) == "3 May 2026"
    assert dates(CREATED_MS, CREATED_MS + 3_600_000) == "3 May 2026"
    assert dates(CREATED_MS, CREATED_MS + 2 * 86_400_000) == "3 May 2026 to 5 May 2026"
