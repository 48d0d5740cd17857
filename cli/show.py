"""``rubble show``: draws one table, as one viewer sees it."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli import arguments
from cli.sentences import as_name, choices, told
from cli.terminal import console, count_of
from service.games.chance import seeds_of
from service.games.core import AnyGame, Outcome, Picture, Result, Viewer
from service.games.log import History, Visibility, visibilities
from service.games.playing import play_on, player_draws
from service.sessions.entries import Acted, Ended, Status
from service.sessions.log_view import hidden
from service.sessions.narration import Narrator, Told, choice_sentence

MOST_PLIES = 10**6
#: How many entries of the log, and how many legal actions, are shown.
LAST_ACTIONS = 8
FIRST_CHOICES = 24
#: Columns before the rest of a line of a picture that does not fit.
_INDENT = 6


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
    out = console()
    out.print(Text.assemble("\n", (found.title, "bold"), heading, "\n"))
    out.print(draw(out, found.picture(found.view(state, looking))))
    out.print()
    names = [as_name(name) for name in found.names(seats)]
    log = _last_actions(
        found, found.new(seats, options, seeds_of(number)), history, looking, found.is_secret(state), names
    )
    if log:
        out.print(Text("last actions", style="bold"))
    for line in log:
        out.print(told(out, line.sentence, line.notation, line.events, head="  "))
    if log:
        out.print()
    outcome = found.outcome(state)
    if outcome is not None:
        out.print(sheet(outcome))
    else:
        _print_question(out, found, state, looking, names)


def _last_actions(
    game: AnyGame, state: object, history: History[Any, Any], viewer: Viewer, is_secret: bool, names: Sequence[str]
) -> list[Told]:
    """Tell the last actions, as the viewer may know them; ``state`` is the one before the first action."""
    first = max(0, len(history.entries) - LAST_ACTIONS)
    for entry in history.entries[:first]:
        game.apply(state, entry.seat, game.read(entry.text))
    narrator = Narrator(game, state, viewer, names)
    found = []
    for entry, sight in zip(
        history.entries[first:],
        visibilities(history.entries[first:], viewer, is_secret=is_secret, is_revealed=False),
        strict=True,
    ):
        acted = Acted(0, entry.seat, 1, entry.text, 0, lasting=entry.lasting)
        line = narrator.tell(acted, acted if sight is Visibility.WHOLE else hidden(acted))
        if sight is not Visibility.NOTHING:
            found.append(line)
    outcome = game.outcome(state)
    if outcome is not None:
        end = Ended(0, Status.FINISHED)
        found.append(narrator.tell(end, end, outcome))
    return found


def _print_question(out: Console, game: AnyGame, state: object, viewer: Viewer, names: Sequence[str]) -> None:
    """Name the seats that are to act; if the viewer is one of them, list what it may do."""
    acting = game.to_act(state)
    word = "seat" if len(acting) == 1 else "seats"
    out.print(Text(f"to act: {word} {', '.join(str(seat) for seat in acting)}"))
    if viewer is None or viewer not in acting:
        return
    actions, view = game.legal_actions(state, viewer), game.view(state, viewer)
    offered = [
        (choice_sentence(game, view, viewer, action, names), game.text(action)) for action in actions[:FIRST_CHOICES]
    ]
    out.print(Text("\nlegal actions", style="bold"))
    out.print(choices(out, offered, is_numbered=False))
    if len(actions) > FIRST_CHOICES:
        out.print(Text(f"  … and {len(actions) - FIRST_CHOICES} more", style="dim"))


def draw(out: Console, picture: Picture) -> Text:
    """Return a picture with its styles; a line that does not fit goes on below, further to the right."""
    lines: list[Text] = []
    for pieces in picture:
        line = Text.assemble(*pieces)
        line.rstrip()
        if line.cell_len <= out.width:
            lines.append(line)
            continue
        for place, part in enumerate(line.wrap(out, out.width - _INDENT)):
            part.rstrip()
            lines.append(Text(" " * _INDENT) + part if place else part)
    return Text("\n").join(lines)


def sheet(outcome: Outcome) -> Table:
    """Show the score sheet in the lines of the rulebook."""
    places = (*outcome.seats, *outcome.house)
    labels = _labels(places)
    title = Text(f"over: {outcome.ending}", style="table.title")  # a file may say anything, and it is no markup
    drawn = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    drawn.add_column("")
    for result in places:
        drawn.add_column(Text(result.name), justify="right")
    for label in labels:
        drawn.add_row(Text(label), *(_points(result, label) for result in places), end_section=label == labels[-1])
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
