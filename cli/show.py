"""``rubble show``: draws one table, as one viewer sees it."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cli import arguments
from cli.terminal import console, count_of
from service.games.chance import seeds_of
from service.games.core import AnyGame, Outcome, Picture, Result, Viewer
from service.games.log import History
from service.games.playing import play_on, player_draws

MOST_PLIES = 10**6
#: How many entries of the log, and how many legal actions, are shown.
LAST_ACTIONS = 8
FIRST_CHOICES = 24


def command(
    game: arguments.GameId = None,
    players: arguments.Players = None,
    seed: arguments.Seed = "1",
    plies: Annotated[
        str, typer.Option("--plies", metavar="K", help="Number of decisions before the table is drawn.")
    ] = "0",
    viewer: Annotated[
        str,
        typer.Option(
            "--viewer", metavar="SEAT|spectator", help="Show what this seat (counted from 0) or a spectator sees."
        ),
    ] = "spectator",
    policy: arguments.Policies = None,
    option: arguments.GivenOptions = None,
) -> None:
    """Draw the table after some decisions of built-in players, with only what one viewer may see.

    It is the first game that `rubble simulate` plays with the same seed and policies.

    [dim]$[/] rubble show --game sf1906-2e --players 3 --seed 7 --plies 40 --viewer 0
    [dim]$[/] rubble show --game relief --policy greedy --plies 100000
    """
    found = arguments.read_game(game)
    seats = arguments.read_players(players, found)
    number = arguments.read_seed(seed)
    limit = arguments.read_number("--plies", plies, 0, MOST_PLIES)
    looking = arguments.read_viewer(viewer, seats)
    policies = arguments.read_policies(policy, found, seats)
    options = arguments.read_options(option, found, seats)

    state = found.new(seats, options, seeds_of(number))
    history = History(found)
    deciders = arguments.players_of(found, policies)
    made = play_on(found, state, deciders, player_draws(number, 0, seats), plies=limit, apply=history.play)

    who = "a spectator" if looking is None else f"seat {looking}"
    heading = f" · {count_of(seats, 'player')} · seed {number} · after {count_of(made, 'decision')} · seen by {who}"
    parts: list[RenderableType] = [Text(), Text.assemble((found.title, "bold"), heading), Text()]
    parts += [draw(found.picture(found.view(state, looking))), Text()]
    log = history.shown_to(state, looking)[-LAST_ACTIONS:]
    if log:
        parts.append(
            Text("last actions: " + ", ".join(f"{seat}: {text or '(in secret)'}" for seat, text in log), style="dim")
        )
    outcome = found.outcome(state)
    parts += [sheet(outcome)] if outcome else _to_act(found, state, looking)
    console().print(Group(*parts), soft_wrap=True)


def draw(picture: Picture) -> Text:
    """Return a picture with its styles."""
    return Text("\n").join(Text.assemble(*line) for line in picture)


def _to_act(game: AnyGame, state: object, viewer: Viewer) -> list[RenderableType]:
    acting = game.to_act(state)
    word = "seat" if len(acting) == 1 else "seats"
    parts: list[RenderableType] = [Text(f"to act: {word} {', '.join(str(seat) for seat in acting)}")]
    if viewer is not None and viewer in acting:
        choices = [game.text(action) for action in game.legal_actions(state, viewer)]
        more = f" … and {len(choices) - FIRST_CHOICES} more" if len(choices) > FIRST_CHOICES else ""
        parts.append(Text("legal actions: " + " | ".join(choices[:FIRST_CHOICES]) + more))
    return parts


def sheet(outcome: Outcome) -> Table:
    """Show the score sheet in the lines of the rulebook."""
    places = (*outcome.seats, *outcome.house)
    labels = _labels(places)
    drawn = Table(title=f"over: {outcome.ending}", title_justify="left", show_edge=False, pad_edge=False)
    drawn.add_column("")
    for result in places:
        drawn.add_column(result.name, justify="right")
    for label in labels:
        drawn.add_row(label, *(_points(result, label) for result in places), end_section=label == labels[-1])
    drawn.add_row("score", *(str(result.score) for result in places), style="bold")
    drawn.add_row("rank", *(str(result.rank) for result in places))
    return drawn


def _labels(places: Sequence[Result]) -> list[str]:
    """Return the labels of all score sheets, each once, in an order that fits every sheet."""
    labels: list[str] = []
    for result in places:
        at = len(labels)
        for line in reversed(result.lines):  # a label that is new goes before the next one that is known
            if line.label in labels:
                at = labels.index(line.label)
            else:
                labels.insert(at, line.label)
    return labels


def _points(result: Result, label: str) -> str:
    """Return the points of a player on one line of the sheet; empty without such a line."""
    found = [line.points for line in result.lines if line.label == label]
    return str(sum(found)) if found else ""
