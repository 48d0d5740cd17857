"""Sessions whose bots choose by a fixed rule, so that an interrupted game can be compared with the same game in memory.

Whatever was killed in between, the answers of every seat and the outcome must be the same.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from rubble.v1 import common_pb2, session_pb2
from service import games
from service.games.chance import SEED_BYTES, Seeds
from service.games.core import Outcome
from service.sessions.entries import ACTIONS, Acted
from service.sessions.replay import Replay, read_replay
from service.sessions.replay_verify import Verification, verify_replay
from tests.harness.client import Client

#: Every game with every number of seats it allows.
TABLES: Final = [(game.id, seats) for game in games.all_games().values() for seats in game.seats]
#: Long enough that no clock runs out by accident.
EASY: Final = common_pb2.TimeControl(move_ms=60_000, bank_ms=600_000, seating_ms=600_000)

_unique: Counter[str] = Counter()


def fresh(prefix: str) -> str:
    """Return a name that is unique across all test processes."""
    _unique[prefix] += 1
    return f"{prefix}-{os.getpid()}-{_unique[prefix]}"


def choice_of(salt: str, session: str, seat: int, turn: int, legal: int) -> int:
    """Return the index of the scripted answer: pseudorandom, but the same in every run."""
    digest = hashlib.blake2b(f"{salt}/{session}/{seat}/{turn}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % legal


def seeds_of(session: str) -> common_pb2.Seeds:
    """Return both seeds of a session, derived from its id."""

    def seed(what: str) -> bytes:
        return hashlib.blake2b(f"{what}/{session}".encode(), digest_size=SEED_BYTES).digest()

    return common_pb2.Seeds(table=seed("table"), deck=seed("deck"))


@dataclass(frozen=True)
class Story:
    """The answers of every seat, in order, and the outcome."""

    said: tuple[tuple[str, ...], ...]
    outcome: Outcome | None


def undisturbed(session: str, game_id: str, seats: int, salt: str = "") -> Story:
    """Play the same game with the same choices in memory, with only the rules."""
    game = games.get(game_id)
    seeds = seeds_of(session)
    state = game.new(seats, {}, Seeds(seeds.table, seeds.deck))
    said: list[list[str]] = [[] for _ in range(seats)]
    while acting := game.to_act(state):
        seat = acting[0]
        legal = game.legal_actions(state, seat)
        action = legal[choice_of(salt, session, seat, len(said[seat]) + 1, len(legal))]
        said[seat].append(game.text(action))
        game.apply(state, seat, action)
    return Story(tuple(map(tuple, said)), game.outcome(state))


def story_of(replay: Replay) -> Story:
    """Read the story of a replay."""
    said: list[list[str]] = [[] for _ in replay.bots]
    for entry in replay.entries:
        if isinstance(entry, ACTIONS):
            said[entry.seat].append(entry.action)
    return Story(tuple(map(tuple, said)), replay.sheet())


async def create_session(
    operator: Client,
    game: str,
    names: Sequence[str],
    session: str = "",
    control: common_pb2.TimeControl = EASY,
    **more: Any,
) -> session_pb2.CreateSessionResponse:
    """Create a session with seeds derived from its id."""
    session = session or fresh("game")
    request = session_pb2.CreateSessionRequest(
        session=session,
        game=game,
        seats=[session_pb2.SeatRequest(bot=name) for name in names],
        seeds=seeds_of(session),
        time_control=control,
        **more,
    )
    created: session_pb2.CreateSessionResponse = await operator.ask(request)
    return created


async def replay_of(client: Client, session: str) -> Replay:
    """Fetch and verify the replay of a session."""
    text = (await client.ask(session_pb2.GetReplayRequest(session=session))).jsonl
    verification: Verification = verify_replay(text)
    assert verification.ok, verification
    assert verification.is_replayed
    return read_replay(text)


async def check_story(client: Client, session: str, game: str, seats: int, salt: str = "") -> None:
    """Assert that the session ended exactly as the same game does in memory."""
    replay = await replay_of(client, session)
    turns = [(entry.seat, entry.turn) for entry in replay.entries if isinstance(entry, Acted)]
    assert len(turns) == len(set(turns)), "a question was answered twice"
    assert story_of(replay) == undisturbed(session, game, seats, salt)
