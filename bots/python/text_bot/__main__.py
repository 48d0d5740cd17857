"""``python bots/python/text_bot --model module:function`` or ``… -- COMMAND…``: plays with a model or a program."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

import grpc
from rubble_bot import run

from rubble.v1 import game_pb2, game_pb2_grpc

if not __package__:  # started by its folder's name
    sys.path[0] = str(Path(__file__).parents[1])

from text_bot.models import BadModel, from_command, from_function
from text_bot.talk import Talk


def rules_at(address: str, ca: str) -> Callable[[str], game_pb2.GetGameResponse]:
    """Returns a function that asks the arena about a game; no key is needed."""

    def ask(name: str) -> game_pb2.GetGameResponse:
        options = (("grpc.enable_retries", 0),)  # they have no pause: they can fill the memory while an arena stops
        if ca:
            roots = None if ca == "system" else Path(ca).read_bytes()
            channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(roots), options)
        else:
            channel = grpc.insecure_channel(address, options)
        with channel:
            request = game_pb2.GetGameRequest(game=name)
            return game_pb2_grpc.GameServiceStub(channel).GetGame(request, timeout=30)

    return ask


def main() -> None:
    """Plays until it is stopped."""
    parser = argparse.ArgumentParser(
        prog="text_bot",
        description="A bot that asks a model. It reads the arena's address and its key from RUBBLE_ADDRESS and RUBBLE_BOT_KEY.",
    )
    parser.add_argument("--model", metavar="MODULE:FUNCTION", help="a function from a prompt to an answer")
    parser.add_argument("--tries", type=int, default=3, metavar="N", help="how often a question is asked (default: 3)")
    parser.add_argument("--games", type=int, default=4, metavar="N", help="how many games at once (default: 4)")
    parser.add_argument("command", nargs="*", help="or a program: prompt on standard input, answer on standard output")
    arguments = parser.parse_args()
    for name in ("tries", "games"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name}: {getattr(arguments, name)} is not possible; expected a number from 1")
    if bool(arguments.model) == bool(arguments.command):
        parser.error("expected either --model or a command")
    sys.path.insert(0, os.getcwd())  # the module of --model is searched here first
    try:
        model = from_function(arguments.model) if arguments.model else from_command(arguments.command)
    except BadModel as error:
        parser.error(str(error))
    talk = Talk(model, rules_at(os.environ.get("RUBBLE_ADDRESS", ""), os.environ.get("RUBBLE_CA", "")), arguments.tries)
    run(talk.choose, games=arguments.games)


if __name__ == "__main__":
    main()
