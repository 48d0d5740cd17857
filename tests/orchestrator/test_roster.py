"""The roster file: what it may contain, and how its errors are reported."""

import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.app import run
from cli.games import describe
from cli.roster import example, facts_of
from orchestrator.roster import BadRoster, GameFacts, OptionFacts, Roster, plan_problem, read_roster
from orchestrator.roster.bots import BOT
from orchestrator.roster.checks import TOP
from orchestrator.roster.lines import lines_of
from orchestrator.roster.model import LONG_GAME
from orchestrator.schedule import BadPlan, secret_of
from rubble.v1 import common_pb2, game_pb2
from service.games import all_games
from service.games.chance import Draws, seeds_of
from service.games.core import AnyGame

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
)
HEAD = 'game = "harbor"\nplayers = 2\ndeals = 3\n'
TWO = '[[bots]]\nname = "a"\nbundled = "greedy"\n[[bots]]\nname = "b"\nbundled = "random"\n'
ONE = '[[bots]]\nname = "a"\nbundled = "greedy"\n'
ROSTERS = Path(__file__).parents[2] / "docs" / "rosters.md"


def read(text: str) -> Roster:
    return read_roster(text, GAMES)


def problems(text: str) -> list[str]:
    with pytest.raises(BadRoster) as caught:
        read(text)
    return [str(problem) for problem in caught.value.problems]


# ---------------------------------------------------------------------------------------------------- valid rosters


def test_a_short_roster_has_defaults_for_the_rest() -> None:
    roster = read(HEAD + TWO)

    assert (roster.name, roster.game, roster.game_version, roster.players) == ("tournament", "harbor", 3, 2)
    assert (roster.format, roster.deals, roster.budget, roster.seed) == ("round_robin", 3, None, None)
    assert (roster.duplicate, roster.rotations, roster.trusted, roster.sequential) == ("table", "all", False, None)
    assert dict(roster.options) == {"tide": "low", "crates": 12, "pilot": "no"}
    assert (roster.time_control.move_ms, roster.limits.match_seconds) == (10_000, 4_180)
    limits = roster.limits
    assert (limits.memory_mb, limits.processes, limits.files, limits.disk_mb) == (2048, 256, 1024, 512)
    assert [(bot.name, bot.bundled) for bot in roster.bots] == [("a", "greedy"), ("b", "random")]


def test_a_long_roster_is_read_completely() -> None:
    roster = read(
        """
        name = "spring-2.0"
        game = "harbor"
        players = 3
        format = "gauntlet"
        budget = 600
        seed = 7
        duplicate = "full"
        options = { tide = "high", crates = 24 }
        time_control.move_ms = 50
        time_control.bank_ms = 0

        [limits]
        memory_mb = 512
        files = 64

        [[bots]]
        name = "mine"
        command = [
            "./mine",  # built yesterday
            "--fast",
        ]
        env = { DEPTH = "3" }
        cwd = "bots"
        isolated = true
        challenger = true
        version = "2"

        [[bots]]
        name = "x"
        bundled = "random"
        isolated = true

        [[bots]]
        name = "y"
        bundled = "random"
        isolated = true
        """
    )

    assert dict(roster.options) == {"tide": "high", "crates": 24, "pilot": "no"}
    assert (roster.time_control.move_ms, roster.time_control.bank_ms) == (50, 0)
    assert (roster.limits.memory_mb, roster.limits.files) == (512, 64)
    assert roster.challengers == {"mine"}
    assert roster.bots[0].command == ("./mine", "--fast")
    assert dict(roster.bots[0].env) == {"DEPTH": "3"}
    assert roster.plan("t", secret_of(7)).matches == 600


def test_a_comparison_has_a_sequential_test_and_a_maximum() -> None:
    text = 'game = "harbor"\nplayers = 4\nformat = "compare"\nalpha = 0.01\neffect = { t0 = -0.1, t1 = 0.1 }\nmax_blocks = 9\n'
    roster = read(text + TWO)

    assert roster.sequential is not None
    assert (roster.sequential.alpha, roster.sequential.beta) == (0.01, 0.05)
    assert (roster.sequential.t0, roster.sequential.t1) == (-0.1, 0.1)
    assert roster.plan("t", secret_of(0)).blocks == 9


@pytest.mark.parametrize(
    ("bots", "duplicate"),
    [
        (TWO, "full"),
        ("trusted = true\n" + TWO.replace('bundled = "random"', "remote = true"), "full"),
        (TWO.replace('bundled = "random"', 'command = ["./bot"]\nisolated = true'), "full"),
        (TWO.replace('bundled = "random"', 'command = ["./bot"]'), "table"),
        (TWO.replace('bundled = "random"', "remote = true"), "table"),
        ('duplicate = "full"\n' + TWO.replace('bundled = "random"', "remote = true"), "full"),
    ],
)
def test_games_with_one_seat_share_cards_only_if_bots_cannot_remember(bots: str, duplicate: str) -> None:
    assert read('game = "harbor"\nplayers = 1\ndeals = 3\n' + bots).duplicate == duplicate


def test_a_match_limit_that_the_clocks_may_exceed_gives_a_warning() -> None:
    assert read(HEAD + "limits = { match_seconds = 4180 }\n" + TWO).caution == ""
    caution = read(HEAD + "limits = { match_seconds = 4179 }\n" + TWO).caution
    assert "match_seconds = 4179" in caution and "the clocks allow 4180 s" in caution
    assert read(HEAD + "[time_control]\nmove_ms = 3600000\n" + TWO).caution == "", (
        "the default never contradicts the clocks"
    )


@pytest.mark.parametrize("game", all_games().values(), ids=lambda game: game.id)
def test_a_long_game_fits_into_the_default_limit(game: AnyGame) -> None:
    for seats in game.seats:
        state, chance = game.new(seats, {}, seeds_of(7, seats)), Draws(bytes(32), "players")
        asked: Counter[int] = Counter()
        while acting := game.to_act(state):
            asked[acting[0]] += 1
            game.apply(state, acting[0], game.players["greedy"](state, acting[0], chance))
        assert max(asked.values()) < 0.7 * LONG_GAME


def test_a_trusted_roster_may_use_full_duplicates() -> None:
    assert read(HEAD + 'duplicate = "full"\ntrusted = true\n' + TWO).duplicate == "full"


def test_a_new_version_changes_the_fingerprint_of_a_bot() -> None:
    one, two = (read(HEAD + TWO.replace('"greedy"', bot)).bots[0] for bot in ('"greedy"', '"greedy"\nversion = "2"'))

    assert one.fingerprint != two.fingerprint
    assert one.fingerprint == read(HEAD + TWO).bots[0].fingerprint


# --------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEAD + TWO.replace("greedy", "gready"), "roster.toml:6: bots[0].bundled = 'gready'; expected one of random, greedy, mcts"),
        (HEAD + TWO.replace('"b"', '"a"'), "roster.toml:8: bots[1].name = 'a'; expected another name: bots[0] has this name"),
        (HEAD + TWO.replace('"b"', '"b!"'), "roster.toml:8: bots[1].name = 'b!'; expected a letter or digit, then up to"),
        (HEAD + TWO.replace('name = "b"\n', ""), "roster.toml:7: bots[1].name is missing; expected a letter or digit, then up to"),
        (HEAD + "dealz = 3\n" + TWO, "roster.toml:4: unknown key dealz; did you mean deals?"),
        (HEAD + TWO + "enw = {}", "roster.toml:10: unknown key bots[1].enw; did you mean env?"),
        (HEAD + "options.tide = 3\n" + TWO, "roster.toml:4: options.tide = 3; expected one of 'low', 'high'"),
        (HEAD + "[options]\ncrates = 5\n" + TWO, "roster.toml:5: options.crates = 5; expected a whole number from 6 to 24"),
        (HEAD + "[options]\ncrates = true\n" + TWO, "roster.toml:5: options.crates = true; expected a whole number"),
        (HEAD + "[options]\ntyde = 5\n" + TWO, "roster.toml:5: unknown key options.tyde; did you mean tide?"),
        (
            HEAD.replace("2", "3") + 'options = { pilot = "yes" }\n' + TWO + '[[bots]]\nname = "c"\nbundled = "greedy"',
            "roster.toml:4: options.pilot = 'yes'; expected 'no': it only matters with 1 or 2 at the table",
        ),
        (HEAD.replace("harbor", "harbour") + TWO, "roster.toml:1: game = 'harbour'; expected one of harbor, duel"),
        (HEAD.replace("2", "7") + TWO, "roster.toml:2: players = 7; expected a whole number from 1 to 4"),
        (HEAD.replace("= 2", "= 2.0") + TWO, "roster.toml:2: players = 2.0; expected a whole number from 1 to 4"),
        (HEAD.replace("= 2", "= 2020-01-01") + TWO, "roster.toml:2: players = 2020-01-01; expected a whole number"),
        (HEAD.replace("deals = 3\n", "") + TWO, "roster.toml:1: deals is missing; expected deals (per table) or budget"),
        (HEAD + "budget = 3\n" + TWO, "roster.toml:4: both budget and deals are given; expected only one of them"),
        (
            HEAD + "limits = { match_seconds = 60 }\n" + TWO,
            "roster.toml:4: limits.match_seconds = 60; expected at least 130: by time_control one seat may take that long",
        ),
        (HEAD + "reproducible = true\n" + TWO, "roster.toml:4: reproducible = true without a seed; expected the seed"),
        (HEAD + "seed = -1\n" + TWO, "roster.toml:4: seed = -1; expected a whole number from 0 to"),
        (HEAD + "trusted = 1\n" + TWO, "roster.toml:4: trusted = 1; expected true or false"),
        (HEAD + "alpha = 0.1\n" + TWO, "roster.toml:4: alpha has a meaning only with format = 'compare'"),
        (HEAD + 'format = "swiss"\n' + TWO, "roster.toml:4: format = 'swiss'; expected one of round_robin, gauntlet, compare"),
        (HEAD + 'format = "compare"\n' + TWO, "roster.toml:3: deals has no meaning in a comparison, which stops by itself"),
        (HEAD + 'format = "gauntlet"\n' + TWO, "roster.toml:5: 0 challengers; expected at least one bot with challenger"),
        (HEAD + TWO + "challenger = true", "roster.toml:10: bots[1].challenger has a meaning only with format = 'gauntlet'"),
        (HEAD.replace("2", "4") + TWO, "roster.toml:4: 2 bots; expected at least 4, one for each seat"),
        (HEAD + ONE, "roster.toml:4: 1 bot; expected at least 2, one for each seat"),
        (HEAD, "roster.toml:1: bots is missing; expected 1 to 1000 tables [[bots]]"),
        (HEAD + "bots = [1]", "roster.toml:4: bots = [1]; expected 1 to 1000 tables [[bots]]"),
        (HEAD + TWO + "remote = true", "roster.toml:7: bots[1] has bundled and remote; expected exactly one of"),
        (HEAD + TWO.replace('bundled = "random"', ""), "roster.toml:7: bots[1] has none of them; expected exactly one of"),
        (HEAD + TWO.replace('bundled = "random"', "remote = false"), "roster.toml:9: bots[1].remote = false; expected true"),
        (HEAD + TWO.replace('bundled = "random"', "command = []"), "roster.toml:9: bots[1].command = []; expected a list of"),
        (
            HEAD + TWO.replace('bundled = "random"', 'command = [\n"x",\n3]'),
            "roster.toml:11: bots[1].command[1] = 3; expected a text",
        ),
        (
            HEAD + TWO.replace('bundled = "random"', "remote = true\nisolated = true"),
            "roster.toml:10: bots[1].isolated has no meaning: a remote bot is not started here",
        ),
        (HEAD + TWO + "[bots.env]\nA = 1", "roster.toml:11: bots[1].env.A = 1; expected a text"),
        (HEAD + "[time_control]\nmove_ms = 3600001\n" + TWO, "roster.toml:5: time_control.move_ms = 3600001; expected a whole"),
        (HEAD + "time_control = {move_ms = 0, bank_ms = 0}\n" + TWO, "roster.toml:4: time_control leaves no time at all"),
        (HEAD + "time_control = 3\n" + TWO, "roster.toml:4: time_control = 3; expected a table"),
        (HEAD + "limits.unconfined = true\n" + TWO, "roster.toml:4: limits.unconfined = true; expected a reason: a text"),
        (HEAD + 'limits.readable = ["models"]\n' + TWO, "roster.toml:4: limits.readable = ['models']; expected a list of"),
        (HEAD + "limits.memory_mb = 0\n" + TWO, "roster.toml:4: limits.memory_mb = 0; expected a whole number from 1"),
        (HEAD + 'name = "a b"\n' + TWO, "roster.toml:4: name = 'a b'; expected a letter or digit, then up to"),
        (HEAD + "seed = \n" + TWO, "roster.toml:4: Invalid value (column 8)"),
        (HEAD + "seed = 1\nseed = 2\n" + TWO, "roster.toml:5: Cannot overwrite a value"),
        (HEAD + 'name = """x', "roster.toml:4: "),
    ],
)  # fmt: skip
def test_an_error_names_its_line(text: str, expected: str) -> None:
    assert any(problem.startswith(expected) for problem in problems(text)), problems(text)


def test_a_comparison_needs_two_bots_and_a_real_difference() -> None:
    text = 'game = "harbor"\nplayers = 2\nformat = "compare"\neffect = { t1 = -0.2 }\nbeta = 0.7\n'
    third = '[[bots]]\nname = "c"\nbundled = "greedy"\n'

    assert problems(text + TWO + third) == [
        "roster.toml:4: effect.t1 = -0.2; expected t0 below t1",
        "roster.toml:5: beta = 0.7; expected a number between 0 and 0.5",
        "roster.toml:6: 3 bots; expected exactly 2 for compare: A, then B",
    ]


def test_full_duplicates_are_refused_for_bots_that_may_remember() -> None:
    text = HEAD + 'duplicate = "full"\n' + TWO.replace('bundled = "random"', "remote = true")

    assert [problem.split(" may remember")[0] for problem in problems(text)] == [
        "roster.toml:6: bots[0] (a)",
        "roster.toml:10: bots[1] (b)",
    ]
    assert read(HEAD + 'duplicate = "full"\n' + TWO.replace("name", "isolated = true\nname")).duplicate == "full"


def test_all_errors_are_reported_at_once_in_file_order() -> None:
    lines = [
        int(problem.split(":")[1])
        for problem in problems(
            HEAD.replace("2", "9") + "colour = 1\n[limits]\ncpus = 2\n" + TWO.replace("greedy", "g")
        )
    ]

    assert lines == [2, 4, 6, 9]


def test_a_roster_that_cannot_be_planned_names_its_line() -> None:
    roster = read('game = "harbor"\nplayers = 2\nbudget = 1\n' + TWO)
    with pytest.raises(BadPlan) as caught:
        roster.plan("t", secret_of(0))

    assert str(plan_problem(caught.value, roster.text)) == "roster.toml:3: budget = 1; expected at least 2"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("seed = " + "9" * 5_000, "roster.toml:4: a number has thousands of digits; expected a shorter one"),
        ("seed = 0x" + "f" * 5_000, "roster.toml:4: seed = …; expected a whole number from 0 to"),
        ("name" + ".a" * 3_000 + " = 1", "roster.toml:4: name = …; expected a letter or digit, then up to"),
        ("name = " + "[" * 5_000, "roster.toml:1: brackets are nested too deep"),
    ],
    ids=["digits", "hex digits", "dots", "brackets"],
)
def test_a_value_too_large_to_be_shown_is_an_error_like_any_other(line: str, expected: str) -> None:
    assert any(problem.startswith(expected) for problem in problems(HEAD + line + "\n" + TWO))


@given(st.text())
def test_no_text_crashes_the_reader(text: str) -> None:
    with pytest.raises(BadRoster):
        read(text)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 10**6)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
KEYS = ("name", "game", "players", "options", "format", "deals", "budget", "duplicate", "rotations", "time_control",
        "limits", "effect", "bots", "alpha", "max_blocks", "seed", "trusted")  # fmt: skip


@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6))
def test_no_value_at_any_key_crashes_the_reader(changes: dict[str, Any]) -> None:
    good: dict[str, Any] = {
        "game": "harbor",
        "players": 2,
        "deals": 1,
        "bots": [{"name": "a", "bundled": "greedy"}] * 2,
    }
    text = "".join(f"{key} = {toml(value)}\n" for key, value in (good | changes).items() if value is not None)
    try:
        read(text)
    except BadRoster as bad:
        assert all(1 <= problem.line <= text.count("\n") for problem in bad.problems)


# ---------------------------------------------------------------------------------------------------------- the lines


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml(value: Any) -> str:
    """Write a value on one line."""
    match value:
        case dict():
            inside = ", ".join(f"{quoted(key)} = {toml(each)}" for key, each in value.items() if each is not None)
            return f"{{{inside}}}"
        case list():
            return "[" + ", ".join(toml(each) for each in value if each is not None) + "]"
        case str():
            return quoted(value)
        case _:
            return json.dumps(value)


def paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Yield the path of every key and list entry of a document."""
    found = []
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in parts:
        found += [(*path, key), *paths(each, (*path, key))]
    return found


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=6), st.lists(VALUES, max_size=4))
def test_every_key_is_found_on_its_line(data: dict[str, Any], listed: list[Any]) -> None:
    text, expected = "# a comment = with [everything] in it\n\n", {}
    for key, value in data.items():
        if value is not None and key != "list":
            expected[key] = text.count("\n") + 1
            text += f'{quoted(key)} = {toml(value)} # = ] }} "\n'
    for value in listed:
        text += f"\n[[list]] # ]]\nx = [\n {toml(0 if value is None else value)},\n]\n"
    document = tomllib.loads(text)
    lines = lines_of(text)

    assert set(lines) == {(), *paths(document)}
    assert {key: lines[key,] for key in expected} == expected
    for at in range(len(listed)):
        assert text.split("\n")[lines["list", at] - 1].startswith("[[list]]")
        assert lines["list", at, "x"] == lines["list", at] + 1
        assert lines["list", at, "x", 0] == lines["list", at] + 2


def test_headers_dots_quotes_and_long_texts_have_the_right_lines() -> None:
    text = '''a.b.c = 1
[a.b2]
"quoted key" = \'\'\'
[not.a.header]
x = 1\'\'\'
d = """ ] "" \\""" # """
[[t]]
[t.sub]
k = { l = [1, { m = 2 }], n = 1979-05-27T07:32:00Z }
[[t.sub.u]]
v = 1
[[t]]
w = 'x#y'
'''
    lines = lines_of(text)

    assert set(lines) == {(), *paths(tomllib.loads(text))}
    assert lines["a", "b", "c"] == 1
    assert lines["a", "b2", "quoted key"] == 3
    assert lines["a", "b2", "d"] == 6
    assert lines["t", 0, "sub", "k", "l", 1, "m"] == 9
    assert lines["t", 0, "sub", "u", 0, "v"] == 11
    assert lines["t", 1, "w"] == 13


# ---------------------------------------------------------------------------------------------------------- the games


def test_facts_are_the_same_from_json_from_the_service_and_from_the_rules() -> None:
    """JSON and message both leave out for how many players an option applies."""
    game = all_games()["relief"]
    message = game_pb2.GameSummary(id="relief", title="Relief", version=1, min_seats=2, max_seats=3)
    for option in game.options:
        message.options.add(
            name=option.name,
            default_value=common_pb2.OptionValue(text=str(option.default)),
            choices=[common_pb2.OptionValue(text=str(choice)) for choice in option.choices],
        )

    assert GameFacts.from_json(describe(game)) == GameFacts.from_message(message) == facts_of(game)


def test_a_number_from_the_service_stays_a_number() -> None:
    message = game_pb2.GameSummary(id="x", version=2, min_seats=1, max_seats=4)
    message.options.add(
        name="n", default_value=common_pb2.OptionValue(number=3), range=game_pb2.NumberRange(low=1, high=5)
    )

    assert GameFacts.from_message(message) == GameFacts("x", 2, (1, 4), (OptionFacts("n", 3, (), (1, 5)),))


# --------------------------------------------------------------------------------------------------- the command line


@pytest.mark.parametrize("game", all_games())
def test_a_new_roster_passes_its_check(game: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "new.toml")

    assert run(["roster", "new", "--game", game, file]) == 0
    capsys.readouterr()
    assert run(["roster", "check", file, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ok"]
    assert report["plan"]["game"] == game
    assert report["plan"]["matches"] == 180
    assert report["plan"]["games"] == {"greedy": 120, "random-1": 120, "random-2": 120}
    assert report["plan"]["seat_imbalance"] == 0
    assert run(["roster", "new", "--game", game, file]) == 2
    assert "expected a file that does not exist yet" in capsys.readouterr().err


@pytest.mark.parametrize("game", all_games())
def test_the_commented_options_of_a_new_roster_are_valid(game: str) -> None:
    text = example(all_games()[game])
    for option in all_games()[game].options:
        text = text.replace(f"# {option.name} = ", f"{option.name} = ")

    options = read_roster(text, [facts_of(all_games()[game])]).options
    assert dict(options) == {option.name: option.default for option in all_games()[game].options}


def test_a_check_prints_what_would_be_played(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "new.toml"
    file.write_text(example(all_games()["relief"]))

    assert run(["roster", "check", str(file)]) == 0
    page = capsys.readouterr().out
    assert "180 matches in 90 blocks of 2; 3 different tables" in page
    assert "seats: exactly balanced" in page
    assert "decisions a match" in page


def test_a_check_of_a_bad_roster_prints_one_error_per_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(example(all_games()["relief"]).replace('"greedy"\n\n', '"gready"\n\n').replace("deals", "dealz"))

    assert run(["roster", "check", str(file)]) == 2
    reply = capsys.readouterr().err
    assert f"{file}:7: unknown key dealz; did you mean deals?" in reply
    assert "bots[0].bundled = 'gready'; expected one of random, greedy, mcts" in reply
    assert reply.rstrip().endswith("has 3 problems")
    assert run(["roster", "check", str(file), "--json"]) == 2
    assert [problem["key"] for problem in json.loads(capsys.readouterr().out)["problems"]] == [
        "deals", "dealz", "bots[0].bundled",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "expected"),
    [(None, "a roster that can be read (No such file"), (b"a = 1\nb = \xff", "bad.toml:2: these bytes are not UTF-8 text")],
)  # fmt: skip
def test_the_error_names_a_file_that_cannot_be_read(
    content: bytes | None, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / "bad.toml").write_bytes(content)

    assert run(["roster", "check", str(tmp_path / "bad.toml")]) == 2
    assert expected in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------------------- the manual


def test_every_example_of_the_manual_can_be_planned() -> None:
    blocks = ROSTERS.read_text(encoding="utf-8").split("```toml\n")[1:]
    texts = [block.split("```")[0] for block in blocks]
    whole = [text for text in texts if text.startswith("# a whole roster")]
    facts = [facts_of(game) for game in all_games().values()]

    assert len(whole) >= 5
    for text in whole:
        assert read_roster(text, facts).plan("manual", secret_of(1)).matches > 0


def test_the_manual_names_every_key() -> None:
    text = ROSTERS.read_text(encoding="utf-8")
    names = {*TOP, *BOT, "move_ms", "bank_ms", "increment_ms", "seating_ms", "t0", "t1"}
    names |= {"cpu_seconds", "memory_mb", "processes", "files", "match_seconds"}
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []
