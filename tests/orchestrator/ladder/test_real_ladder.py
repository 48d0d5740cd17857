"""A ladder as it is used: a whole arena, builds of many owners and three languages as processes, and a season to its end."""

import os
import re
import shutil
import signal
import time
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from cli.ladder_verify import BAD
from orchestrator.client import ServiceError
from rubble.v1 import ladder_pb2
from rubble.v1.ladder_pb2 import (
    BUILD_STATE_PARKED,
    LADDER_EVENT_KIND_FAILED,
    LADDER_EVENT_KIND_PARKED,
    LADDER_EVENT_KIND_RETURNED,
)
from rubble.v1.ladder_pb2 import LADDER_EVENT_KIND_QUALIFIED as QUALIFIED
from rubble.v1.tournament_pb2 import COMPARISON_VERDICT_BETTER
from tests.harness.bot_processes import STARTER
from tests.harness.languages import ToolMissing, build_starter
from tests.harness.processes import PYTHON, RUBBLE, check_output, run_command
from tests.harness.tournaments import script
from tests.orchestrator.ladder.real_ladder import Command, RealLadder, bundled, own_bot

#: A quiet machine with two cores needs half of it.
_LIMIT_S: Final = float(os.environ.get("RUBBLE_LADDER_LIMIT_S", "1200"))
#: Rated games that end between the qualification of a newcomer and its first rated table: a minute at one game a second.
_SOON: Final = 60
#: Games of every honest newcomer, and common deals of two equal builds, before the season ends.
_GAMES: Final = 12
_TRIALS: Final = 5
_MOST_FALSE_FLAGS: Final = 0.01
#: Starters that take part if they can be built here.
_STARTERS: Final = ("go", "cpp", "typescript")
_COLLUDERS: Final = {"helped/v1", "helper/v1"}
_COPIES: Final = ("greedy", "copy/v1", "twin/v1", "twin/v2")
_RANDOM: Final = ("random", "risen/v1", "idle/v1", "lazy/v1")
_FAULTY: Final = {"sleeper/v1", "crasher/v1", "mortal/v1"}
_LADDER: Final = """
name = "real"
game = "relief"
players = 3
qualification_games = 3
[time_control]
move_ms = 5000
bank_ms = 10000
[finals]
builds = 4
deals = 1
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


@pytest.mark.slow
def test_a_season_of_real_builds_in_three_languages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        started = time.monotonic()
        starters = _starters()
        with RealLadder(tmp_path, _LADDER, _LIMIT_S) as ladder:
            _colluders(ladder)
            _newcomers(ladder, starters)
            _check_table(ladder)
            _check_pairs(ladder)
            _check_matches(ladder)
            _end(ladder)
            season = ladder.season()
            print(
                f"{season.games} rated games, {time.monotonic() - started:.0f} s; {ladder.observer.looks} looks, "
                f"{ladder.observer.nameless} matches without names; {len(ladder.builds())} builds"
            )
            ladder.host.rubble("ladder", "export", ladder.name, "--out", str(tmp_path / "season"))
        _verify(tmp_path / "season")


def _starters() -> dict[str, Command]:
    """The starters that can be built on this machine; skips the test if there are fewer than two."""
    found: dict[str, Command] = {}
    lacking = []
    for language in _STARTERS:
        try:
            found[language] = (build_starter(language),)
        except ToolMissing as missing:
            lacking.append(str(missing))
    if len(found) < 2:
        pytest.skip("; ".join(lacking))
    return found


def _colluders(ladder: RealLadder) -> None:
    """Two builds that collude in a small field, so that they meet often; two that fail their qualification; and a new build."""
    ladder.enter("dan", "helped/v1")
    ladder.enter("eve", "helper/v1")
    ladder.start("helped/v1", own_bot("colluders"), {"RUBBLE_HELPER_KEY": ladder.key("helper/v1")})
    ladder.enter_and_start("bob", "copy/v1", bundled("greedy"))
    ladder.enter_and_start("ann", "risen/v1", bundled("random"))
    ladder.enter_and_start("fay", "sleeper/v1", script("bad_bot", "silent"))
    ladder.enter_and_start("gus", "crasher/v1", own_bot("crasher"))
    ladder.until({"risen/v1 has qualified": partial(_has, ladder, QUALIFIED, "risen/v1")})
    ladder.enter_and_start("ann", "risen/v2", bundled("greedy"))
    ladder.until(
        {
            "sleeper/v1 has failed": lambda: _has(ladder, LADDER_EVENT_KIND_FAILED, "sleeper/v1"),
            # Its clock runs out while it is away, or in one of the moments in which it is back.
            "crasher/v1 has failed": lambda: _has(ladder, LADDER_EVENT_KIND_FAILED, "crasher/v1"),
        }
    )
    ladder.bots["crasher/v1"].kill()  # it would try again and again
    (told,) = ladder.events(LADDER_EVENT_KIND_FAILED, "sleeper/v1")
    assert "its clock ran out while it was connected" in told.words and "TIMEOUT" in told.words, told
    ladder.until({"the colluders are flagged": lambda: _is_flagged(ladder)})


def _newcomers(ladder: RealLadder, starters: dict[str, Command]) -> None:
    """Builds that enter while the ladder runs: one hangs and comes back, and one gets a new build that is the same."""
    newcomers = {
        "mortal/v1": ("hal", bundled("greedy")),
        "twin/v1": ("cat", bundled("greedy")),
        "idle/v1": ("ida", bundled("random")),
        "lazy/v1": ("kim", bundled("random")),
        "wavering/v1": ("mia", own_bot("wavering", "0.3")),
        "starter/v1": ("lea", (PYTHON, STARTER)),
        **{f"{language}/v1": (f"owner-{language}", command) for language, command in starters.items()},
    }
    for build, (owner, command) in newcomers.items():
        ladder.enter_and_start(owner, build, command)
    ladder.until({f"{build} has qualified": partial(_has, ladder, QUALIFIED, build) for build in newcomers})
    ladder.enter_and_start("cat", "twin/v2", bundled("greedy"))
    assert [ladder.builds()[build].parent for build in ("twin/v2", "risen/v2")] == ["v1", "v1"]
    ladder.until({"mortal/v1 has played": lambda: ladder.builds()["mortal/v1"].games >= 3})
    # One that is killed is drawn no more, and perhaps never parked; one that hangs is drawn as long as it stays connected.
    ladder.bots["mortal/v1"].send_signal(signal.SIGSTOP)
    ladder.until({"mortal/v1 is parked": lambda: _has(ladder, LADDER_EVENT_KIND_PARKED, "mortal/v1")})
    parked = ladder.builds()["mortal/v1"]
    assert parked.state == BUILD_STATE_PARKED and parked.parkings == 1, parked
    assert re.search(r"3 forfeits in a row.*\((TIMEOUT|DISCONNECTED|NO_SHOW), match", parked.reason), parked.reason
    ladder.bots["mortal/v1"].kill()
    ladder.start("mortal/v1", bundled("greedy"))
    new = (*newcomers, "risen/v2", "twin/v2")
    ladder.until(
        {
            "mortal/v1 is back": lambda: _has(ladder, LADDER_EVENT_KIND_RETURNED, "mortal/v1"),
            **{f"{build} has {_GAMES} games": partial(_has_played, ladder, build) for build in new},
            f"{_TRIALS} trials of twin/v2": lambda: _verdict(ladder, "twin/v2").trials >= _TRIALS,
            "risen/v2 is better": lambda: _verdict(ladder, "risen/v2").verdict == COMPARISON_VERDICT_BETTER,
            "risen counts by v2": lambda: ladder.builds()["risen/v2"].counted,
            "there is a field for the finals": lambda: _finalists(ladder) >= 3,
        }
    )
    assert not ladder.builds()["risen/v1"].counted
    waited = {build: ladder.observer.waited(build) for build in new}
    print("rated games that ended before the first rated table:", waited)
    assert max(waited.values()) <= _SOON, waited


def _check_table(ladder: RealLadder) -> None:
    lines = ladder.lines()
    for line in lines.values():
        print(
            f"{line.rank:3} [{line.rank_low}-{line.rank_high}] {line.build:14} {line.elo:7.0f} {line.games:5} {line.provisional}"
        )
    for random in _RANDOM:
        for greedy in (*_COPIES, "risen/v2", "mortal/v1"):
            assert lines[greedy].elo > lines[random].elo, (greedy, random)
    ranked = [line for line in lines.values() if line.rank]
    assert all(one.elo >= other.elo for one, other in pairwise(ranked))
    assert all(line.rank_low <= line.rank <= line.rank_high for line in ranked)
    for same in (_COPIES, _RANDOM):
        copies = [lines[build] for build in same if lines[build].rank]
        assert len(copies) == 3
        assert max(line.rank_low for line in copies) <= min(line.rank_high for line in copies), copies
    verdict = _verdict(ladder, "twin/v2")
    print(verdict.sentence)
    assert verdict.verdict != COMPARISON_VERDICT_BETTER, verdict.sentence
    assert ladder.builds()["twin/v1"].counted


def _check_pairs(ladder: RealLadder) -> None:
    assert _is_flagged(ladder)
    measured = ladder.anybody.pairs(ladder.name).builds
    honest = [pair for pair in measured if {pair.one, pair.other} != _COLLUDERS]
    wrong = {frozenset((pair.one, pair.other)) for pair in honest if pair.flagged}
    print(f"{len(measured)} pairs measured, {len(wrong)} honest ones flagged")
    assert len(wrong) <= max(1, _MOST_FALSE_FLAGS * len(honest)), wrong


def _check_matches(ladder: RealLadder) -> None:
    """Only those who are at fault lose by it, and the observer has seen open blocks without names."""
    assert ladder.observer.nameless
    for entry in ladder.anybody.matches(ladder.name, 0, "", 1_000_000):
        faulty = {seat.entrant for seat in entry.match.seats if seat.fault and seat.entrant}
        assert faulty <= _FAULTY, entry
        if entry.kind == ladder_pb2.LADDER_MATCH_KIND_RATED:
            assert not {"sleeper/v1", "crasher/v1"} & {seat.entrant for seat in entry.match.seats}
    ladder.observer.check_owners(list(ladder.rated()))


def _end(ladder: RealLadder) -> None:
    """From open to closed, with finals."""
    ladder.operator.move_season(ladder.name, ladder_pb2.SEASON_STATE_CLOSING)
    with pytest.raises(ServiceError) as refused:
        ladder.enter("zoe", "late/v1")
    assert refused.value.reason == "BAD_SEASON_STATE"
    ladder.operator.move_season(ladder.name, ladder_pb2.SEASON_STATE_FINALS)
    ladder.until({"the season is closed": lambda: ladder.season().state == ladder_pb2.SEASON_STATE_CLOSED})
    assert ladder.season().finals, ladder.told()


def _verify(folder: Path) -> None:
    assert "everything holds" in check_output(*RUBBLE, "ladder", "verify", folder, patience_s=_LIMIT_S)
    results = folder / "results.jsonl"
    changed = re.sub(
        r'("scores":\[)(\d)', lambda found: f"{found[1]}{(int(found[2]) + 1) % 10}", results.read_text(), count=1
    )
    assert changed != results.read_text()
    results.write_text(changed)
    checked = run_command(*RUBBLE, "ladder", "verify", folder, patience_s=_LIMIT_S)
    assert checked.returncode == BAD, checked.stdout + checked.stderr
    shutil.rmtree(folder)


def _has(ladder: RealLadder, kind: "ladder_pb2.LadderEventKind.ValueType", build: str, words: str = "") -> bool:
    return any(words in event.words for event in ladder.events(kind, build))


def _is_flagged(ladder: RealLadder) -> bool:
    """Whether it is known that one of the colluders gains, or loses, when the other is at the table."""
    pairs = ladder.anybody.pairs(ladder.name, flagged=True).builds
    return any({pair.one, pair.other} == _COLLUDERS for pair in pairs)


def _verdict(ladder: RealLadder, build: str) -> ladder_pb2.BuildVerdict:
    return ladder.anybody.verdict(ladder.name, build)


def _finalists(ladder: RealLadder) -> int:
    """How many owners have a build that can play the finals."""
    lines = ladder.lines().values()
    return len({line.owner for line in lines if line.rank and not line.bundled and not line.provisional})


def _has_played(ladder: RealLadder, build: str) -> bool:
    return ladder.builds()[build].games >= _GAMES
