"""Reflection: a client that knows only the address can play a whole game."""

import random
import re
import shutil
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from tests.harness.client import NAMES
from tests.harness.processes import HOME, clean_env, run_command
from tests.harness.service import Arena


def test_a_whole_game_is_played_with_reflection_alone(shared: Arena) -> None:
    """No generated code is used: services, methods and messages come from the server."""
    chance = random.Random(1906)
    with grpc.insecure_channel(shared.addresses[0]) as channel:
        database = ProtoReflectionDescriptorDatabase(channel)
        assert set(database.get_services()) >= {*NAMES, "grpc.health.v1.Health"}
        pool = DescriptorPool(database)

        def ask(method: str, token: str, **fields: Any) -> Any:
            service, _, name = method.partition("/")
            described = pool.FindServiceByName(f"rubble.v1.{service}").methods_by_name[name]
            request, answer = GetMessageClass(described.input_type), GetMessageClass(described.output_type)
            call = channel.unary_unary(
                f"/rubble.v1.{method}",
                request_serializer=request.SerializeToString,
                response_deserializer=answer.FromString,
            )
            return call(request(**fields), metadata=(("authorization", f"Bearer {token}"),), timeout=30)

        operator = shared.copies[0].token
        (game,) = (game for game in ask("GameService/ListGames", operator).games if game.id == "relief")
        seats = game.min_seats
        created = ask("SessionService/CreateSession", operator, game=game.id, seats=[{} for _ in range(seats)])
        session = created.session.session
        moves = 0
        while True:
            status = ask("SessionService/GetSession", operator, session=session).session
            if not status.to_act:
                break
            for seat in status.to_act:
                token = created.seat_tokens[seat]
                view = ask("SessionService/GetView", token, session=session)
                index = chance.randrange(len(view.question.legal_actions))
                ask("SessionService/Act", token, session=session, turn=view.question.turn, index=index)
                moves += 1
        assert moves > 20
        assert sorted(result.rank for result in status.outcome.seats)[0] == 1
        assert ask("SessionService/GetReplay", operator, session=session).jsonl.count("\n") > moves


def test_the_commands_of_the_grpcurl_page_work_as_printed(shared: Arena, tmp_path: Path) -> None:
    if shutil.which("grpcurl") is None or shutil.which("jq") is None:
        pytest.skip("grpcurl and jq are not both on the PATH")
    page = (HOME / "docs" / "grpcurl.md").read_text()
    script = "set -euo pipefail\n" + "".join(re.findall(r"```bash\n(.*?)```", page, re.DOTALL))
    env = clean_env(ADDR=shared.addresses[0], STATE_DIR=str(shared.state))
    done = run_command("bash", "-c", script, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    for said in (
        "rubble.v1.SessionService",
        "sf1906-2e: ",
        "turn 1:",
        "SESSION_STATUS_CANCELLED",
        '"by-hand"',
        '"tea"',
    ):
        assert said in done.stdout, (said, done.stdout[-3000:])
