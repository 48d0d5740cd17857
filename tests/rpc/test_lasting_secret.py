"""No call shows what a game keeps secret before the seeds are revealed."""

from pathlib import Path

import pytest

from rubble.v1 import session_pb2
from service import games
from service.embedded import EmbeddedRedis
from tests.harness.client import Client
from tests.harness.in_process import OPERATOR, running
from tests.harness.waiting import run
from tests.lasting_game import CELLAR


async def _watched(client: Client, session: str) -> list[session_pb2.WatchEvent]:
    return [event async for response in client.watch(session) for event in response.events]


def test_a_buried_card_is_not_shown_before_the_seeds_are_revealed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {**games.all_games(), CELLAR.id: CELLAR}
    monkeypatch.setattr(games, "all_games", lambda: found)

    async def scenario() -> None:
        with EmbeddedRedis(tmp_path / "valkey") as server:
            async with (
                running(tmp_path, server) as service,
                service.client(OPERATOR) as operator,
                service.client() as anybody,
            ):
                seats = [session_pb2.SeatRequest() for _ in range(2)]
                request = session_pb2.CreateSessionRequest(session="s", game="cellar", seats=seats, hold_seeds=True)
                tokens = (await operator.ask(request)).seat_tokens
                async with service.client(tokens[0]) as first, service.client(tokens[1]) as second:
                    said = []
                    for turn in (1, 2, 3):
                        for client in (first, second):
                            said.append((await client.act("s", turn, 0, note="in confidence")).action.text)
                    events = await _watched(anybody, "s")
                    actions = [event.action for event in events if event.HasField("action")]
                    assert [action.text for action in actions] == ["", "", *said[2:]]
                    assert [(action.seat, action.hidden) for action in actions][:3] == [
                        (0, True),
                        (1, True),
                        (0, False),
                    ]
                    assert [event.revision for event in events] == sorted({event.revision for event in events})
                    told = b"".join(event.SerializeToString() for event in events)
                    told += b"".join(event.SerializeToString() for event in await _watched(second, "s"))
                    told += (await anybody.look("s")).SerializeToString() + (await second.look("s")).SerializeToString()
                    assert said[0].encode() not in told
                    await operator.ask(session_pb2.RevealSeedsRequest(session="s"))
                    again = await _watched(anybody, "s")
                    texts = [event.action.text for event in again if event.HasField("action")]
                    assert texts == said
                    assert [event.mark for event in again] == [event.mark for event in events]
                    replay = (await anybody.ask(session_pb2.GetReplayRequest(session="s"))).jsonl
                    assert said[0] in replay

    run(scenario)
