"""The commands of ``rubble``, and what every failure looks like from outside.

Bad input is answered with one line and exit code 2. A traceback is never shown unless ``RUBBLE_DEBUG=1`` asks for it.
"""

import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

import typer

from cli import bot, games, health, key, play, replay, roster, serve, show, simulate, tournament, up, vectors, worker
from cli import run as run_command
from cli.terminal import complain, drop_output
from service.games.core import BadSetup

DONE, NOT_WRITTEN, BAD_INPUT, BUG, INTERRUPTED = 0, 1, 2, 70, 130

app = typer.Typer(
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 it could not be done, 2 bad input, 70 a bug of ours, 130 interrupted.",
)
_TOURNAMENTS = "Run tournaments"
app.command("run", rich_help_panel=_TOURNAMENTS)(run_command.command)
app.add_typer(roster.app, name="roster", rich_help_panel=_TOURNAMENTS)
app.add_typer(tournament.app, name="tournament", rich_help_panel=_TOURNAMENTS)
app.add_typer(replay.app, name="replay", rich_help_panel=_TOURNAMENTS)
_BOTS = "Write bots"
app.add_typer(bot.app, name="bot", rich_help_panel=_BOTS)
app.add_typer(key.app, name="key", rich_help_panel=_BOTS)
app.add_typer(vectors.app, name="vectors", rich_help_panel=_BOTS)
_GAMES = "Play and look around"
app.command("games", rich_help_panel=_GAMES)(games.command)
app.command("play", rich_help_panel=_GAMES)(play.command)
app.command("show", rich_help_panel=_GAMES)(show.command)
app.command("simulate", rich_help_panel=_GAMES)(simulate.command)
_HOST = "Host an arena"
app.command("up", rich_help_panel=_HOST)(up.command)
app.command("serve", rich_help_panel=_HOST)(serve.command)
app.command("worker", rich_help_panel=_HOST)(worker.worker)
app.command("beat", rich_help_panel=_HOST)(worker.beat)
app.command("api", rich_help_panel=_HOST)(worker.api)
app.command("health", rich_help_panel=_HOST)(health.command)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"rubble {version('rubble')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _rubble(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """An arena for board-game bots.

    [dim]$[/] rubble run                                      a tournament of the bundled bots, from start to report
    [dim]$[/] rubble play --game sf1906-2e --bots greedy      you against a bot
    [dim]$[/] rubble bot new python mybot                     a bot of your own
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


def _usage(error: typer.TyperException) -> str:
    """What is wrong with the command line itself, and what would have been right."""
    message = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    if context is not None:
        commands = sorted(getattr(context.command, "commands", ()))
        options = sorted(name for param in context.command.params for name in param.opts if name.startswith("--"))
        if commands or not hasattr(error, "param_type"):  # what is missing is named by the message, and is none of them
            message += f"; expected one of {', '.join(commands or options)}"
        message += f" (see {context.command_path} --help)"
    return message


def run(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command line; the exit code."""
    try:
        code = app(args=arguments, prog_name="rubble", standalone_mode=False)
        sys.stdout.flush()
    except BadSetup as error:
        complain(str(error))
        return BAD_INPUT
    except typer.TyperException as error:
        complain(_usage(error))
        return BAD_INPUT
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        drop_output()
        return NOT_WRITTEN
    except OSError as error:
        drop_output()
        complain(f"the output could not be written: {error}")
        return NOT_WRITTEN
    except Exception as error:
        if os.environ.get("RUBBLE_DEBUG"):
            raise
        complain(f"this is a bug of ours: {type(error).__name__}: {error} (RUBBLE_DEBUG=1 shows where)")
        return BUG
    return code if isinstance(code, int) else DONE
