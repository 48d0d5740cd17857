"""The commands of ``rubble``, and how every failure is reported.

Bad input gives one line and exit code 2. A traceback is shown only with ``RUBBLE_DEBUG=1``.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Final

import typer

from cli.terminal import complain, drop_output, report_error
from service.games.core import BadSetup

DONE, NOT_WRITTEN, BAD_INPUT, BUG, INTERRUPTED = 0, 1, 2, 70, 130
#: Help panel -> command -> ``module:attribute`` of its function or, for a group of commands, of its app.
_PANELS: Final = {
    "Run tournaments": {
        "run": "cli.run:command",
        "roster": "cli.roster:app",
        "tournament": "cli.tournament:app",
        "replay": "cli.replay:app",
    },
    "Write bots": {"bot": "cli.bot:app", "key": "cli.key:app", "vectors": "cli.vectors:app"},
    "Ladders": {"ladder": "cli.ladder:app", "owner": "cli.owner:app"},
    "Play and look around": {
        "games": "cli.games:command",
        "play": "cli.play:command",
        "show": "cli.show:command",
        "simulate": "cli.simulate:command",
    },
    "Host an arena": {
        "up": "cli.up:command",
        "serve": "cli.serve:command",
        "worker": "cli.worker:worker",
        "beat": "cli.worker:beat",
        "api": "cli.worker:api",
        "health": "cli.health:command",
    },
}


def make_app(wanted: str = "") -> typer.Typer:
    """Make the program with this one command, so that only its modules are imported; with all commands if there is no such one."""
    app = typer.Typer(
        add_completion=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="Exit codes: 0 done, 1 failed, 2 bad input, 70 a bug in Rubble, 130 interrupted.",
    )
    app.callback(invoke_without_command=True)(_rubble)
    commands = [(panel, name, at) for panel, names in _PANELS.items() for name, at in names.items()]
    for panel, name, at in [found for found in commands if found[1] == wanted] or commands:
        module, _, attribute = at.partition(":")
        found = getattr(import_module(module), attribute)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name, rich_help_panel=panel)
        else:
            app.command(name, rich_help_panel=panel)(found)
    return app


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"rubble {version('rubble')}")
        raise typer.Exit


def _rubble(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """An arena for board-game bots.

    [dim]$[/] rubble run                                      run a tournament of the bundled bots and write a report
    [dim]$[/] rubble play --game sf1906-2e --bots greedy      play against a bot yourself
    [dim]$[/] rubble bot new python mybot                     start a bot of your own
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


def _usage(error: typer.TyperException) -> str:
    """Say what is wrong with the command line, and what was expected."""
    message = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    if context is not None:
        commands = sorted(getattr(context.command, "commands", ()))
        options = sorted(name for param in context.command.params for name in param.opts if name.startswith("--"))
        if commands or not hasattr(error, "param_type"):  # a missing argument is no option, and the message names it
            message += f"; expected one of {', '.join(commands or options)}"
        message += f" (see {context.command_path} --help)"
    return message


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        app = make_app(given[0] if given else "")
        code = app(args=given, prog_name="rubble", standalone_mode=False)
        sys.stdout.flush()
    except BadSetup as error:
        report_error("--json" in given, "BAD_INPUT", str(error))
        return BAD_INPUT
    except typer.TyperException as error:
        report_error("--json" in given, "BAD_INPUT", _usage(error))
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
        complain(f"this is a bug in Rubble: {type(error).__name__}: {error} (RUBBLE_DEBUG=1 shows the traceback)")
        return BUG
    return code if isinstance(code, int) else DONE
