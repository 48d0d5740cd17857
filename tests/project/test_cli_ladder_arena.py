"""A ladder from its file to a verified season, by the commands that its organiser and an author type."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.ladder_wait import ask_until
from orchestrator.api.ladder_client import LadderClient
from rubble.v1 import ladder_pb2
from tests.harness.bot_processes import remote_bot
from tests.harness.processes import RUBBLE, Process, check_output, clean_env
from tests.harness.tournaments import Host

pytestmark = pytest.mark.slow

LADDER = """name = "spring"
game = "relief"
players = 2
qualification_games = 2
[time_control]
move_ms = 5000
bank_ms = 60000
[[bundled]]
name = "random"
bundled = "random"
[[bundled]]
name = "greedy"
bundled = "greedy"
[[bundled]]
name = "mcts-1"
bundled = "mcts"
simulations = 1
"""


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    opened = Host(tmp_path_factory.mktemp("ladder"), ladder=True)
    try:
        opened.wait_until_up()
        (bundled,) = json.loads(opened.rubble("ladder", "list", "--json"))
        for state in ("closing", "finals"):  # draws no more tables
            opened.rubble("ladder", "season", "move", bundled["name"], state)
        yield opened
    finally:
        opened.stop()


def test_a_season_is_created_played_closed_exported_and_verified(arena: Host) -> None:
    folder = arena.folder
    (folder / "ladder.toml").write_text(LADDER)
    assert "season 1 is open" in arena.rubble("ladder", "create", str(folder / "ladder.toml"))
    assert "NAME_TAKEN" in arena.rubble("ladder", "create", str(folder / "ladder.toml"), code=2)
    arena.rubble("owner", "signup", "spring", "anna", "--out", str(folder))
    key = ("--owner-key", str(folder / "anna.owner-key"))
    enter = ("ladder", "enter", "spring", "--bot", "mybot", "--out", str(folder), *key)
    arena.rubble(*enter, "--build", "v1")
    assert "compared with mybot/v1" in arena.rubble(*enter, "--build", "v2")

    watching = (*RUBBLE, "ladder", "watch", "spring", "--json", "--state-dir", str(arena.state))
    with (
        remote_bot(folder / "spring.mybot.v1.env"),
        remote_bot(folder / "spring.mybot.v2.env"),
        Process(*watching, log=folder / "watch.out", env=clean_env()) as watch,
        LadderClient(arena.access(is_operator=False)) as client,
    ):
        for update in client.watch("spring"):  # ends when both builds have a rating
            rated = {line.build for line in update.standings.lines if line.games}
            if rated >= {"mybot/v1", "mybot/v2"}:
                break
        watch.wait_for('"mybot/v2"')
        assert watch.stop(signal.SIGINT) == 0, watch.said()
        assert all(json.loads(line)["ladder"]["name"] == "spring" for line in watch.said().splitlines())
        table = json.loads(arena.rubble("ladder", "standings", "spring", "--json"))
        assert {line["build"] for line in table["lines"]} == {"mybot/v1", "mybot/v2", "random", "greedy", "mcts-1"}
        assert "mybot/v2" in arena.rubble("ladder", "verdict", "spring", "mybot/v2", code=3)
        assert "mybot/v1 has qualified" in arena.rubble("ladder", "events", "spring")
        played = arena.rubble("ladder", "challenge", "spring", "mybot/v1", "greedy", "--wait", *key)
        assert "all games are over: 2 games" in played
        assert "rank" in arena.rubble("ladder", "history", "spring", "mybot/v1")
        match = json.loads(arena.rubble("ladder", "matches", "spring", "--build", "mybot/v1", "--json"))[0]["match"][
            "id"
        ]
        arena.rubble("ladder", "replay", "spring", match, "--out", str(folder / "game.jsonl"))
        assert "mybot" in check_output(*RUBBLE, "replay", "show", folder / "game.jsonl")

        arena.rubble("ladder", "season", "move", "spring", "closing")
        assert "BAD_SEASON_STATE" in arena.rubble(*enter, "--build", "v3", code=2)
        arena.rubble("ladder", "season", "move", "spring", "finals")
        # It closes by itself: finals need builds of two owners.
        ask_until(
            lambda: client.seasons("spring")[0], lambda season: season.state == ladder_pb2.SEASON_STATE_CLOSED, str
        )
    season = folder / "season-1"
    assert "ladder verify" in arena.rubble("ladder", "export", "spring", "--out", str(season))
    assert "everything holds" in check_output(*RUBBLE, "ladder", "verify", season)
    closed = arena.rubble("ladder", "standings", "spring", "--season", "1")
    assert "to swap" in closed and "mybot/v1" in closed

    assert "retired" in arena.rubble("ladder", "retire", "spring", "mybot/v2", *key)
    assert "1 build retired" in arena.rubble("owner", "revoke", "anna")
    assert "KEY_REVOKED" in arena.rubble("ladder", "key", "spring", "mybot/v1", *key, code=2)


def test_a_ladder_of_many_lines_is_sent_whole(arena: Host, tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_text("# a comment\n" * 2000 + LADDER.replace('"spring"', '"long"'))

    assert "long: season 1 is open" in arena.rubble("ladder", "create", str(file))
