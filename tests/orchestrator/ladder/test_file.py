"""The file of a ladder: what it may contain, how its errors are reported, and the file that `rubble ladder new` writes."""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from cli import ladder_file
from cli.roster import facts_of
from orchestrator.ladder.file import (
    BUNDLED_BOT,
    FINALS,
    QUOTAS,
    SEASON,
    TOP,
    BadLadder,
    default_bundled,
    default_ladder,
    read_ladder,
)
from orchestrator.ladder.spec import BundledBuild, LadderSpec, Quotas, finals_matches
from orchestrator.roster import BadFile, BadRoster, GameFacts, OptionFacts, TimeControl
from service.games import all_games
from service.games.core import BadSetup

GAMES = (
    GameFacts(
        "harbor",
        3,
        (1, 4),
        (
            OptionFacts("tide", "low", ("low", "high")),
            OptionFacts("crates", 12, range=(6, 24)),
            OptionFacts("pilot", "no", ("no", "yes"), seats=(1, 2)),
        ),
    ),
    GameFacts("duel", 1, (2, 2)),
    GameFacts("patience", 1, (1, 1)),
    GameFacts("crowd", 1, (2, 12)),
)
#: 2026-01-01T00:00:00Z
NOW_MS = 1_767_225_600_000
HEAD = 'name = "spring"\ngame = "harbor"\nplayers = 3\n'
BOTS = """
[[bundled]]
name = "random"
bundled = "random"
[[bundled]]
name = "greedy"
bundled = "greedy"
[[bundled]]
name = "mcts"
bundled = "mcts"
simulations = 8
"""
SHIPPED = tuple(facts_of(game) for game in all_games().values())


def read(text: str) -> LadderSpec:
    return read_ladder(text, GAMES, now_ms=NOW_MS)


def problems(text: str) -> list[str]:
    with pytest.raises(BadLadder) as caught:
        read(text)
    return [str(problem) for problem in caught.value.problems]


# ----------------------------------------------------------------------------------------------------------- good files
def test_a_short_file_has_defaults_for_the_rest() -> None:
    spec = read(HEAD)

    assert spec == LadderSpec(
        name="spring",
        game="harbor",
        game_version=3,
        options={"tide": "low", "crates": 12, "pilot": "no"},
        players=3,
        time_control=TimeControl(),
        match_seconds=6_240.0,
        signup="open",
        qualification_games=4,
        bundled=(
            BundledBuild("random", "random"),
            BundledBuild("greedy", "greedy"),
            BundledBuild("mcts-8", "mcts", 8),
        ),
        quotas=Quotas(builds=5, entries_a_day=10, challenges_a_day=50, signups_a_day=200),
        closing_ms=None,
        finals_ms=None,
        finals_builds=8,
        finals_deals=10,
    )


def test_a_long_file_is_read_completely_and_survives_the_book() -> None:
    spec = read(
        """
        name = "autumn-2"
        game = "harbor"
        players = 2
        options = { tide = "high", crates = 24, pilot = "yes" }
        time_control = { move_ms = 50, bank_ms = 1000, increment_ms = 5, seating_ms = 2000 }
        match_seconds = 120
        signup = "invite"
        qualification_games = 1
        quotas = { builds = 2, entries_a_day = 1, challenges_a_day = 0, signups_a_day = 7 }
        season = { closing = 2026-06-23T18:00:00Z, finals = 2026-06-30T18:00:00.250+02:00 }
        finals = { builds = 4, deals = 3 }

        [[bundled]]
        name = "anchor_low"
        bundled = "random"

        [[bundled]]
        name = "anchor-4"
        bundled = "mcts"
        simulations = 4

        [[bundled]]
        name = "Anchor-400"
        bundled = "mcts"
        simulations = 400
        """
    )

    assert spec == LadderSpec(
        name="autumn-2",
        game="harbor",
        game_version=3,
        options={"tide": "high", "crates": 24, "pilot": "yes"},
        players=2,
        time_control=TimeControl(50, 1000, 5, 2000),
        match_seconds=120.0,
        signup="invite",
        qualification_games=1,
        bundled=(
            BundledBuild("anchor_low", "random"),
            BundledBuild("anchor-4", "mcts", 4),
            BundledBuild("Anchor-400", "mcts", 400),
        ),
        quotas=Quotas(builds=2, entries_a_day=1, challenges_a_day=0, signups_a_day=7),
        closing_ms=1_782_237_600_000,
        finals_ms=1_782_835_200_250,
        finals_builds=4,
        finals_deals=3,
    )
    assert LadderSpec.from_json(spec.to_json()) == spec


@pytest.mark.parametrize("offset", ["Z", "+00:00", "-00:00"])
def test_a_time_is_the_same_whatever_the_offset_it_is_written_with(offset: str) -> None:
    there = read(HEAD + "[season]\nclosing = 2026-03-01T01:30:00+05:30\n")

    assert read(HEAD + f"[season]\nclosing = 2026-02-28T20:00:00{offset}\n").closing_ms == there.closing_ms


def test_a_match_may_last_as_long_as_its_clocks_and_at_least_an_hour() -> None:
    assert read(HEAD + "[time_control]\nmove_ms = 100\n").match_seconds == 3_600
    assert read(HEAD + "[time_control]\nmove_ms = 20000\n").match_seconds == 12_240


@pytest.mark.parametrize("players", range(2, 9))
def test_the_default_bundled_bots_fill_a_table_at_three_strengths_or_more(players: int) -> None:
    bots = read(f'name = "big"\ngame = "crowd"\nplayers = {players}\n').bundled

    assert len(bots) == max(3, players)
    assert len({(bot.bundled, bot.simulations) for bot in bots}) == len(bots)
    assert len({bot.name for bot in bots}) == len(bots)
    assert bots == default_bundled(players)


# --------------------------------------------------------------------------------------------------------------- errors
def with_bots(*lines: str) -> str:
    """A file whose third bundled bot, from line 11 on, has these lines."""
    return HEAD + BOTS.rsplit("[[bundled]]\n", 1)[0] + "[[bundled]]\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEAD.replace('name = "spring"\n', ""), "1: name is missing; expected 1-20 of [a-z0-9-], a letter or digit first"),
        (HEAD.replace("spring", "Spring"), "1: name = 'Spring'; expected 1-20 of [a-z0-9-], a letter or digit first"),
        (HEAD.replace("spring", "-spring"), "1: name = '-spring'; expected 1-20 of [a-z0-9-], a letter or digit first"),
        (HEAD.replace("spring", "s" * 21), f"1: name = '{'s' * 21}'; expected 1-20 of [a-z0-9-], a letter or digit first"),
        (HEAD.replace('"spring"', "3"), "1: name = 3; expected 1-20 of [a-z0-9-], a letter or digit first"),
        (HEAD.replace("harbor", "harbour"), "2: game = 'harbour'; expected one of harbor, duel, patience, crowd"),
        (HEAD.replace('game = "harbor"\n', ""), "1: game is missing; expected one of harbor, duel, patience, crowd"),
        (
            HEAD.replace("harbor", "patience"),
            "2: game = 'patience'; expected a game for two or more: a ladder compares builds that play each other",
        ),
        (HEAD.replace("players = 3\n", ""), "1: players is missing; expected a whole number from 2 to 4: a ladder compares "),
        (
            HEAD.replace("3", "1"),
            "3: players = 1; expected a whole number from 2 to 4: a ladder compares builds that play each other",
        ),
        (HEAD.replace("3", "5"), "3: players = 5; expected a whole number from 2 to 4"),
        (HEAD.replace("harbor", "duel"), "3: players = 3; expected a whole number from 2 to 2"),
        (HEAD.replace("3", "true"), "3: players = true; expected a whole number from 2 to 4"),
        (HEAD + "sign_up = 1\n", "4: unknown key sign_up; did you mean signup?"),
        (HEAD + "colour = 1\n", "4: unknown key colour; expected one of name, game, players, options, "),
        (HEAD + 'signup = "anybody"\n', "4: signup = 'anybody'; expected one of open, invite, closed"),
        (HEAD + "qualification_games = 101\n", "4: qualification_games = 101; expected a whole number from 1 to 100"),
        (HEAD + "qualification_games = 0\n", "4: qualification_games = 0; expected a whole number from 1 to 100"),
        (HEAD + "match_seconds = 129\n", "4: match_seconds = 129; expected at least 130: by time_control one seat may take"),
        (HEAD + "match_seconds = 1.5\n", "4: match_seconds = 1.5; expected a whole number from 1 to 1000000000"),
        (HEAD + "[options]\ntyde = 1\n", "5: unknown key options.tyde; did you mean tide?"),
        (HEAD + "[options]\ntide = 1\n", "5: options.tide = 1; expected one of 'low', 'high'"),
        (HEAD + '[options]\npilot = "yes"\n', "5: options.pilot = 'yes'; expected 'no': it only matters with 1 or 2"),
        (HEAD + "options = 3\n", "4: options = 3; expected a table"),
        (HEAD + "[time_control]\nmove = 1\n", "5: unknown key time_control.move; did you mean move_ms?"),
        (HEAD + "[time_control]\nmove_ms = -1\n", "5: time_control.move_ms = -1; expected a whole number from 0 to 3600000"),
        (HEAD + "[time_control]\nmove_ms = 0\nbank_ms = 0\n", "4: time_control leaves no time at all; expected move_ms or"),
        (HEAD + "[quotas]\nbuild = 3\n", "5: unknown key quotas.build; did you mean builds?"),
        (HEAD + "[quotas]\nbuilds = 1\n", "5: quotas.builds = 1; expected a whole number from 2 to 100"),
        (HEAD + "[quotas]\nentries_a_day = 0\n", "5: quotas.entries_a_day = 0; expected a whole number from 1 to 1000"),
        (HEAD + "[quotas]\nchallenges_a_day = -1\n", "5: quotas.challenges_a_day = -1; expected a whole number from 0 to 10000"),
        (HEAD + "[quotas]\nsignups_a_day = 0\n", "5: quotas.signups_a_day = 0; expected a whole number from 1 to 100000"),
        (HEAD + "quotas = []\n", "4: quotas = []; expected a table"),
        (HEAD + "[season]\nclose = 1\n", "5: unknown key season.close; did you mean closing?"),
        (HEAD + "season = 1\n", "4: season = 1; expected a table"),
        (
            HEAD + "[season]\nclosing = 2026-06-23T18:00:00\n",
            "5: season.closing = 2026-06-23 18:00:00; expected its offset from UTC too, such as 2026-06-23T18:00:00Z, or "
            "+02:00 instead of Z: a time without offset is another one on each machine",
        ),
        *(
            (
                HEAD + f"[season]\nclosing = {value}\n",
                f"5: season.closing = {shown}; expected a date, a time and its offset from UTC, without quotes, such as 2030-",
            )
            for value, shown in (
                ("2026-06-23", "2026-06-23"),
                ("18:00:00", "18:00:00"),
                ('"2026-06-23T18:00:00Z"', "'2026-06-23T18:00:00Z'"),
                ("1782237600", "1782237600"),
            )
        ),
        (
            HEAD + "[season]\nclosing = 2026-01-01T00:00:00Z\n",
            "5: season.closing = 2026-01-01 00:00:00+00:00; expected a time in the future; now it is 2026-01-01T00:00:00+00:00",
        ),
        (
            HEAD + "[season]\nclosing = 2026-01-02T00:00:00Z\nfinals = 2025-01-02T00:00:00Z\n",
            "6: season.finals = 2025-01-02 00:00:00+00:00; expected a time in the future; now it is 2026-01-01T00:00:00+00:00",
        ),
        (
            HEAD + "[season]\nclosing = 2026-01-02T00:00:00Z\nfinals = 2026-01-02T02:00:00+02:00\n",
            "6: season.finals = 2026-01-02 02:00:00+02:00; expected a time after season.closing, 2026-01-02 00:00:00+00:00",
        ),
        (
            HEAD + "[season]\nfinals = 2026-01-02T00:00:00Z\n",
            "5: season.finals without season.closing; expected both: the season stops taking builds before its finals",
        ),
        (HEAD + "[season]\nclosing = 2026-02-30T00:00:00Z\n", "5: Invalid date or datetime (column 11)"),
        (HEAD + "[finals]\nbuild = 1\n", "5: unknown key finals.build; did you mean builds?"),
        (HEAD + "[finals]\nbuilds = 2\n", "5: finals.builds = 2; expected a whole number from 3 to 100"),
        (HEAD + "[finals]\ndeals = 0\n", "5: finals.deals = 0; expected a whole number from 1 to 10000"),
        (
            HEAD + "[finals]\ndeals = 30\nbuilds = 25\n",
            "6: finals.builds = 25; expected fewer builds or deals: 25 builds with 3 at a table and 30 deals for each table "
            "are 207,000 matches, and finals have at most 100,000",
        ),
        (HEAD + "[finals]\ndeals = 596\n", "5: finals.deals = 596; expected fewer builds or deals: 8 builds with 3 at a table "),
        (HEAD + "bundled = 3\n", "4: bundled = 3; expected at most 20 tables [[bundled]]"),
        (HEAD + "bundled = [1]\n", "4: bundled = [1]; expected at most 20 tables [[bundled]]"),
        (HEAD + "bundled = []\n", "4: 0 bundled bots; expected at least 3, one for each seat, so that every build finds a table"),
        (HEAD + '[[bundled]]\nname = "a"\nbundled = "greedy"\n', "4: 1 bundled bot; expected at least 3, one for each seat"),
        (
            HEAD + BOTS.replace("\n", "", 1).replace('"mcts"\nsimulations = 8', '"greedy"'),
            "4: bundled bots of 2 strengths; expected at least 3, to which the others are compared",
        ),
        (HEAD.replace("3", "4") + BOTS, "5: 3 bundled bots; expected at least 4, one for each seat, so that every build finds"),
        (HEAD.replace("harbor", "crowd").replace("3", "9"), "1: 8 bundled bots; expected at least 9, one for each seat"),
        (with_bots('bundled = "mcts"', "simulations = 8"), "11: bundled[2].name is missing; expected 1-24 of [A-Za-z0-9_-]"),
        (with_bots('name = "a/b"', 'bundled = "random"'), "12: bundled[2].name = 'a/b'; expected 1-24 of [A-Za-z0-9_-], a letter"),
        (with_bots('name = "a.b"', 'bundled = "random"'), "12: bundled[2].name = 'a.b'; expected 1-24 of [A-Za-z0-9_-], a letter"),
        (
            with_bots('name = "Greedy"', 'bundled = "mcts"', "simulations = 1"),
            "12: bundled[2].name = 'Greedy'; expected another name: bundled[1] has this name (upper and lower case are the same)",
        ),
        (with_bots('name = "a"'), "11: bundled[2].bundled is missing; expected one of random, greedy, mcts"),
        (with_bots('name = "a"', 'bundled = "gready"'), "13: bundled[2].bundled = 'gready'; expected one of random, greedy, mcts"),
        (
            with_bots('name = "a"', 'bundled = "mcts"'),
            "11: bundled[2].simulations is missing; expected a whole number from 1 to 10000: without it the strength of mcts "
            "would depend on how fast this machine is, and the strength of bundled bots must stay the same",
        ),
        (
            with_bots('name = "a"', 'bundled = "mcts"', "simulations = 0"),
            "14: bundled[2].simulations = 0; expected a whole number from 1 to 10000: without it",
        ),
        (
            with_bots('name = "a"', 'bundled = "greedy"', "simulations = 8"),
            "14: bundled[2].simulations has no meaning for greedy; only mcts has simulations",
        ),
        (HEAD + "name = \n", "4: Invalid value (column 8)"),
        (HEAD + 'name = "again"\n', "4: Cannot overwrite a value"),
        (HEAD + "match_seconds = " + "9" * 5_000, "4: a number has thousands of digits; expected a shorter one"),
        (HEAD + "match_seconds = 0x" + "f" * 5_000, "4: match_seconds = …; expected a whole number from 1 to 1000000000"),
        (HEAD + "[" * 5_000, "4: "),
    ],
)  # fmt: skip
def test_an_error_names_its_line_and_is_the_only_one(text: str, expected: str) -> None:
    found = problems(text)

    assert len(found) == 1, found
    assert found[0].startswith(f"ladder.toml:{expected}"), found


def test_all_errors_are_reported_at_once_in_the_order_of_the_lines() -> None:
    found = problems(
        HEAD.replace("3", "9").replace("spring", "Spring")
        + "colour = 1\n[quotas]\nbuilds = 0\n[season]\nfinals = 2020-01-01T00:00:00Z\n[finals]\nbuilds = 0\n"
        + BOTS.replace("greedy", "g")
    )

    assert [int(problem.split(":")[1]) for problem in found] == [1, 3, 4, 6, 8, 8, 10, 17]


def test_a_misspelt_key_is_unknown_and_the_right_one_is_missing() -> None:
    found = problems(with_bots('name = "a"', 'bundled = "mcts"', "simulation = 3"))

    assert [problem.split(";")[0] for problem in found] == [
        "ladder.toml:11: bundled[2].simulations is missing",
        "ladder.toml:14: unknown key bundled[2].simulation",
    ]
    assert found[1].endswith("did you mean simulations?")


def test_a_wrong_bundled_bot_is_not_also_said_to_be_missing_as_a_strength() -> None:
    assert len(problems(with_bots('name = "a"', 'bundled = "gready"'))) == 1


def test_a_wrong_number_of_builds_is_not_also_said_to_be_too_many_matches() -> None:
    assert problems(HEAD + "[finals]\nbuilds = 101\ndeals = 10000\n") == [
        "ladder.toml:5: finals.builds = 101; expected a whole number from 3 to 100"
    ]


def test_the_largest_finals_are_just_below_the_limit() -> None:
    """596 deals are too many, see above."""
    spec = read(HEAD + "[finals]\ndeals = 595\n")

    assert finals_matches(spec.finals_builds, spec.players, spec.finals_deals) == 99_960


def test_a_bad_ladder_has_the_facts_of_a_bad_roster_and_is_none() -> None:
    with pytest.raises(BadFile) as caught:
        read(HEAD + "colour = 1\nsignup = 3\n")

    assert caught.value.facts == {"problems": "2", "line": "4", "key": "colour"}
    assert isinstance(caught.value, BadLadder)
    assert not isinstance(caught.value, BadRoster)


# ----------------------------------------------------------------------------------------------------- the default file
def choices() -> list[tuple[str, int]]:
    """Every game and number of players that `rubble ladder new` writes."""
    return [(game.id, players) for game in all_games().values() for players in game.seats if players > 1]


def test_the_default_file_is_a_ladder_of_san_francisco_in_its_second_edition() -> None:
    spec = read_ladder(default_ladder(), SHIPPED, now_ms=NOW_MS)

    assert (spec.name, spec.game, spec.players, spec.signup) == ("bundled", "sf1906-2e", 3, "open")
    assert [bot.name for bot in spec.bundled] == ["random", "greedy", "mcts-8"]
    assert spec.time_control.longest_s(spec.players) <= spec.match_seconds


@pytest.mark.parametrize(("game", "players"), choices())
def test_a_new_file_says_what_the_defaults_are(game: str, players: int) -> None:
    """Without its lines for name, game, players and clocks it would mean the same."""
    spec = read_ladder(ladder_file.example(all_games()[game], players), SHIPPED, now_ms=NOW_MS)
    clocks = "time_control = { move_ms = 2000, bank_ms = 60000, seating_ms = 15000 }\n"
    short = f'name = "{game}"\ngame = "{game}"\nplayers = {players}\n{clocks}'

    assert spec == read_ladder(short, SHIPPED, now_ms=NOW_MS)


@pytest.mark.parametrize(("game", "players"), choices())
def test_the_commented_lines_of_a_new_file_are_valid(game: str, players: int) -> None:
    text = re.sub(r"(?m)^# (?=[a-z_]+ = )", "", ladder_file.example(all_games()[game], players))
    spec = read_ladder(text, SHIPPED, now_ms=NOW_MS)

    known = [option.name for option in all_games()[game].options if not option.seats or players in option.seats]
    assert set(tomllib.loads(text)["options"]) == set(known)
    assert spec.closing_ms is not None and spec.finals_ms is not None


def test_a_new_file_explains_every_key() -> None:
    text = default_ladder()
    clocks = ("move_ms", "bank_ms", "increment_ms", "seating_ms")
    for key in (*TOP, *QUOTAS, *SEASON, *FINALS, *clocks):
        assert re.search(rf"(?m)^(# )?{key} = |^\[+{key}\]", text), key
    for line in text.splitlines():
        assert len(line) <= 120
        if re.match(r"\[(?!\[)|(# )?[a-z_]+ = ", line) and not re.match(r"(name|game|bundled|simulations) = ", line):
            assert re.search(r" # [a-z]", line), line


WORDS = (
    "", "0", "-1", "1", "2", "101", "1e400", "nan", "true", '"x"', "'", '"', "[", "]", "[[", "]]", "{", "}", "{}", "[]", "=",
    "#", "\n", "\r\n", "\t", "\0", ".", ",", "name", "game", "players", "bundled", "[bundled]", "[[bundled]]", "[season]",
    "closing = ", "finals = ", "2026-01-01", "2030-01-01T00:00:00", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59",
    "12:00:00", "é", "\N{PILE OF POO}", '"""', "simulations = ", "mcts", "options.map = ", "[finals]\n", "season = ", "_", "0x",
)  # fmt: skip


@st.composite
def mutations(draw: st.DrawFn) -> str:
    """The default file after a few small accidents: words put in, parts left out, lines doubled or moved."""
    text = re.sub(r"(?m)^# (?=[a-z_]+ = )", "", default_ladder(players=draw(st.integers(2, 4))))
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        lines = text.splitlines(keepends=True)
        match draw(st.sampled_from(["word", "any text", "line twice", "line away", "value"])):
            case "word":
                text = text[:start] + draw(st.sampled_from(WORDS)) + text[end:]
            case "any text":
                text = text[:start] + draw(st.text(max_size=5)) + text[end:]
            case "line twice" if lines:
                text += draw(st.sampled_from(lines))
            case "line away" if lines:
                lines.remove(draw(st.sampled_from(lines)))
                text = "".join(lines)
            case "value":
                places = list(re.finditer(r"(?<= = )[^\s#]+", text))
                if places:
                    place = draw(st.sampled_from(places))
                    text = text[: place.start()] + draw(st.sampled_from(WORDS)) + text[place.end() :]
    return text


@given(mutations())
def test_no_accident_with_the_default_file_raises_anything_but_a_bad_ladder(text: str) -> None:
    try:
        spec = read_ladder(text, SHIPPED, now_ms=NOW_MS)
    except BadLadder as bad:
        last = text.count("\n") + 1
        assert all(1 <= problem.line <= last for problem in bad.problems)
        assert [problem.line for problem in bad.problems] == sorted(problem.line for problem in bad.problems)
    else:
        assert LadderSpec.from_json(spec.to_json()) == spec
        assert len(spec.bundled) >= spec.players


@given(st.text())
def test_no_text_crashes_the_reader(text: str) -> None:
    with pytest.raises(BadLadder):
        read(text)


# ----------------------------------------------------------------------------------------------------- the command line
def command(*arguments: str) -> tuple[int, str, str]:
    """Run `rubble ladder new` or `check`: the exit code, standard output and standard error."""
    app = typer.Typer()
    app.command("new")(ladder_file.new)
    app.command("check")(ladder_file.check)
    result = CliRunner().invoke(app, arguments, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.return_value, result.stdout, result.stderr


@pytest.mark.parametrize(("game", "players"), choices())
def test_a_new_file_passes_its_check(game: str, players: int, tmp_path: Path) -> None:
    file = str(tmp_path / "new.toml")

    assert command("new", "--game", game, "--players", str(players), file)[0] == 0
    code, out, _ = command("check", file, "--json")
    report = json.loads(out)
    assert (code, report["ok"], report["problems"]) == (0, True, [])
    assert (report["ladder"]["name"], report["ladder"]["game"], report["ladder"]["players"]) == (game, game, players)
    assert len(report["ladder"]["bundled"]) >= players
    with pytest.raises(BadSetup, match="expected a file that does not exist yet"):
        command("new", "--game", game, file)


def test_a_new_file_has_three_seats_if_the_game_allows_it() -> None:
    code, text, _ = command("new", "-")

    assert code == 0
    assert (tomllib.loads(text)["game"], tomllib.loads(text)["players"]) == ("sf1906-2e", 3)
    assert tomllib.loads(command("new", "-", "--name", "spring")[1])["name"] == "spring"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--players", "1"), "--players: '1' is not possible; expected a whole number from 2 to 4"),
        (("--game", "relief", "--players", "4"), "--players: '4' is not possible; expected a whole number from 2 to 3"),
        (("--game", "chess"), "game: 'chess' is not possible; expected one of"),
        (
            ("--name", "My ladder"),
            "--name: 'My ladder' is not possible; expected 1-20 of [a-z0-9-], a letter or digit first",
        ),
        (
            ("/nowhere/ladder.toml",),
            "FILE: '/nowhere/ladder.toml' is not possible; expected a file that can be written (No such file",
        ),
    ],
)
def test_what_cannot_be_written_is_said_in_one_line(arguments: tuple[str, ...], expected: str) -> None:
    with pytest.raises(BadSetup) as caught:
        command("new", *(arguments if "/" in arguments[0] else ("-", *arguments)))
    assert expected in str(caught.value)


def test_a_check_prints_what_the_file_says(tmp_path: Path) -> None:
    file = tmp_path / "good.toml"
    file.write_text(
        default_ladder().replace("# closing", "closing").replace("# match_seconds = 3600", "match_seconds = 99")
    )
    code, out, err = command("check", str(file))

    assert (code, err) == (0, "")
    for words in (
        "bundled · sf1906-2e · 3 players",
        "mcts-8",
        "sign-up: anybody",
        "qualification: 4 unrated games without a fault",
        "map = pairs",
        "2,000 ms for each answer, 60,000 ms in reserve",
        "an owner has 5 builds",
        "no new builds from 2030-06-23 18:00:00 UTC; the operator begins the finals",
        "the best 8 builds, 10 deals for each table: 1,680 matches",
        f"{file}:9: match_seconds = 99, but the clocks allow 1395 s",
    ):
        # Lines are wrapped, at other words in a folder with a longer name.
        assert words in " ".join(out.split()), out


def test_a_check_of_a_bad_file_prints_one_error_per_line(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(default_ladder().replace('"greedy"\n\n', '"gready"\n\n').replace("signup", "singup"))
    code, out, err = command("check", str(file))

    assert (code, out) == (2, "")
    assert f"{file}:7: unknown key singup; did you mean signup?" in err
    assert "bundled[1].bundled = 'gready'; expected one of random, greedy, mcts" in err
    assert err.rstrip().endswith("has 3 problems")
    code, out, _ = command("check", str(file), "--json")
    report: Mapping[str, Any] = json.loads(out)
    assert (code, report["ok"], report["ladder"]) == (2, False, None)
    assert [problem["line"] for problem in report["problems"]] == [7, 24, 44]


def test_a_check_says_why_a_file_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    code, _, told = command("check", str(file))
    assert code == 2 and "expected a ladder file that can be read (No such file" in told
    file.write_bytes(b"a = 1\nb = \xff")
    assert "bad.toml:2: these bytes are not UTF-8 text" in command("check", str(file))[2]
    file.write_bytes(b"#" * (2**20 + 1))
    code, _, told = command("check", str(file))
    assert code == 2 and "expected a ladder file of at most 1 MiB" in told


def test_the_manual_names_every_key() -> None:
    text = (Path(__file__).parents[3] / "docs" / "ladder.md").read_text(encoding="utf-8")
    names = {*TOP, *BUNDLED_BOT, *QUOTAS, *SEASON, *FINALS}
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []
