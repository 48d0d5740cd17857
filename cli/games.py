"""``rubble games``: the games and their options."""

from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cli.arguments import Json, read_game
from cli.terminal import console, print_json
from service.games import all_games
from service.games.core import AnyGame, Option


def command(
    game: Annotated[
        str | None, typer.Option("--game", metavar="ID", help="Show only this game, with the notation of its actions.")
    ] = None,
    json: Json = False,
) -> None:
    """List every game with its seats and options, or show one game with all its actions.

    [dim]$[/] rubble games
    [dim]$[/] rubble games --game relief
    [dim]$[/] rubble games --json
    """
    if game is not None:
        one = read_game(game)
        notation = [{"notation": notation, "about": about} for notation, about in one.notation]
        if json:
            print_json([describe(one) | {"notation": notation}])
        else:
            console().print(page([one]), notation_page(one))
        return
    found = list(all_games().values())
    if json:
        print_json([describe(game) for game in found])
    else:
        console().print(page(found))


def describe(game: AnyGame) -> dict[str, Any]:
    """Return a game as JSON."""
    return {
        "id": game.id,
        "title": game.title,
        "seats": [game.seats[0], game.seats[-1]],
        "options": [_describe_option(option) for option in game.options],
    }


def _describe_option(option: Option) -> dict[str, Any]:
    good = {"choices": list(option.choices)} if option.range is None else {"range": list(option.range)}
    return {"name": option.name, "default": option.default, **good, "about": option.about}


def page(found: list[AnyGame]) -> Group:
    """Show the games one below the other, each with its options."""
    parts: list[RenderableType] = []
    for game in found:
        seats = " to ".join(str(count) for count in dict.fromkeys((game.seats[0], game.seats[-1])))
        parts += [
            Text(),
            Text.assemble(
                (game.id, "bold cyan"),
                "  ",
                (game.title, "bold"),
                f"  {seats} {'player' if seats == '1' else 'players'}",
            ),
        ]
        options = Table.grid(padding=(0, 2))
        options.add_column(no_wrap=True)
        options.add_column(no_wrap=True)
        options.add_column(style="dim")
        for option in game.options:
            options.add_row("", Text.assemble((option.name, "cyan"), "=", _values(option)), option.about)
        parts.append(options)
    return Group(
        *parts, Text(), Text("Set an option with --option NAME=VALUE; the first value is the default.", style="dim")
    )


def notation_page(game: AnyGame) -> Group:
    """Show the actions of a game, and what they mean."""
    actions = Table.grid(padding=(0, 2))
    actions.add_column(no_wrap=True)
    actions.add_column(no_wrap=True, style="cyan")
    actions.add_column()
    for notation, about in game.notation:
        actions.add_row("", Text(notation), Text(about))
    return Group(Text(), Text("Actions", style="bold"), actions)


def _values(option: Option) -> str:
    if option.range is not None:
        return f"{option.default} ({option.range[0]} to {option.range[1]})"
    return " | ".join([str(option.default), *(str(choice) for choice in option.choices if choice != option.default)])
