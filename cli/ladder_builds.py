"""``rubble ladder enter``, ``key``, ``retire``, ``builds`` and ``verdict``: the builds of a bot."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.text import Text

from cli.arena_client import ApiAddress, StateDir, same_arena
from cli.arguments import Json
from cli.fitted_table import Column, fitted_table
from cli.ladder_calls import (
    BAD_INPUT,
    BuildName,
    LadderName,
    OwnerKey,
    as_anybody,
    as_owner,
    as_owner_or_operator,
)
from cli.ladder_wait import ask_until
from cli.ladder_words import ago, plain, presence, word
from cli.terminal import console, own_command, print_json
from orchestrator.report.words import short, visible

if TYPE_CHECKING:
    from orchestrator.api.ladder_client import LadderClient
    from rubble.v1 import ladder_pb2

KeyFolder = Annotated[
    str, typer.Option("--out", metavar="DIR", help="Folder for the file with the bot key; by default the current one.")
]
#: Exit codes of ``verdict``.
_CODES: Final = {"better": 0, "not_better": 1}
_UNDECIDED: Final = 3


def _hand_over(key: "ladder_pb2.BuildKey", folder: str, json: bool) -> None:
    """Write address and key into a file, and say how to start the bot with it."""
    from cli.keys import write_key

    build = key.build
    # The name in the key is unique among all ladders, bots and labels.
    path = write_key(Path(folder), build.arena_name or build.name, key.address, key.bot_key)
    if json:
        print_json(plain(build) | {"address": key.address, "file": str(path)})
        return
    source = path if path.is_absolute() else f"./{path}"
    print(f"{visible(build.name)}: address and key are in {path}, readable only by you")
    print(f"Start the bot with it: set -a; . {source}; ./my-bot")


def enter(
    ladder: LadderName,
    bot: Annotated[str, typer.Option("--bot", metavar="NAME", help="The bot; it is yours from its first build on.")],
    build: Annotated[str, typer.Option("--build", metavar="LABEL", help="A hash or label that names this version.")],
    parent: Annotated[
        str,
        typer.Option(
            "--parent",
            metavar="LABEL",
            help="The build it is compared with, as LABEL or BOT/LABEL; by default the one that counts now.",
        ),
    ] = "",
    challenges: Annotated[
        bool, typer.Option("--challenges", help="Others may ask for unrated games against it.")
    ] = False,
    out: KeyFolder = ".",
    owner_key: OwnerKey = "",
    json: Json = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Enter a build of your bot. Its address and key are written into a file that only you can read.

    It first qualifies: a few unrated games against bundled bots.
    A build with a parent is compared with it: see `rubble ladder verdict`.

    [dim]$[/] rubble ladder enter spring --bot mybot --build v1 --owner-key anna.owner-key
    [dim]$[/] rubble ladder enter spring --bot mybot --build v2 --parent v1 --challenges
    """

    def work(ladders: "LadderClient") -> None:
        key = ladders.enter(ladder, bot, build, parent=parent, accepts_challenges=challenges)
        _hand_over(key, out, json)
        if not json and key.build.parent:
            print(f"It is compared with {visible(key.build.bot)}/{visible(key.build.parent)}; the result so far:")
            at = same_arena(api, state_dir)
            print(f"  {own_command()} ladder verdict {ladder} {visible(key.build.name)}{at}")

    return as_owner(api, state_dir, json, owner_key, work)


def key(
    ladder: LadderName,
    build: BuildName,
    out: KeyFolder = ".",
    owner_key: OwnerKey = "",
    json: Json = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Get another key of a build, if its file is lost or known to others. Earlier keys end.

    [dim]$[/] rubble ladder key spring mybot/v1 --owner-key anna.owner-key
    """
    return as_owner(
        api, state_dir, json, owner_key, lambda ladders: _hand_over(ladders.issue_key(ladder, build), out, json)
    )


def retire(
    ladder: LadderName,
    build: BuildName,
    reason: Annotated[str, typer.Option("--reason", metavar="WORDS", help="Recorded for everybody to read.")] = "",
    owner_key: OwnerKey = "",
    json: Json = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Take a build out of the ladder for good. Its key ends, its games stay. The operator may retire any build.

    [dim]$[/] rubble ladder retire spring mybot/v1 --reason "replaced by v2"
    """

    def work(ladders: "LadderClient") -> None:
        found = ladders.retire(ladder, build, reason)
        if json:
            print_json(plain(found))
        else:
            print(f"{visible(found.name)} is {word(found, 'state')}; its games stay in the table")

    return as_owner_or_operator(api, state_dir, json, owner_key, work)


def builds(
    ladder: LadderName,
    owner: Annotated[str, typer.Option("--owner", metavar="NAME", help="Only the builds of this owner.")] = "",
    json: Json = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """List the builds of a ladder with their states.

    [dim]$[/] rubble ladder builds spring --owner anna
    """

    def work(ladders: "LadderClient") -> None:
        found = list(ladders.builds(ladder, owner))
        if json:
            print_json([plain(build) for build in found])
            return
        verdicts = [word(one.verdict, "verdict").replace("_", " ") for one in found]
        states = [_state(one) for one in found]
        columns = [
            Column("build", [short(one.name, 40) for one in found], least=16),
            Column("owner", [_owner(one) for one in found], goes=2, least=9),
            Column("counts", ["yes" if one.counted else "" for one in found], goes=4),
            Column("games", [f"{one.games:,}" for one in found], is_number=True, goes=1),
            Column("parent", [short(one.parent, 16) for one in found], goes=6),
            Column("verdict", verdicts, goes=3),
            Column("entered", [ago(one.entered_at_ms) if one.entered_at_ms else "" for one in found], goes=5),
            Column("challenges", ["accepts" if one.accepts_challenges else "" for one in found], goes=7),
            Column("state", states, least=24, wraps=True),
        ]
        nobody = f"no builds of {owner}" if owner else "no builds"
        console().print(fitted_table(columns, console().width) if found else nobody, markup=False)

    return as_anybody(api, state_dir, json, work)


def _owner(build: "ladder_pb2.Build") -> Text:
    return Text(visible(build.owner)) if build.owner else Text("bundled", style="dim")


def _state(build: "ladder_pb2.Build") -> Text:
    """The state, when the build was last seen, and why it is in this state."""
    state = word(build, "state")
    if state == "bundled":
        return Text("always there", style="dim")
    style = "red" if state in ("parked", "failed") else "green" if state == "active" else ""
    text = Text(state, style=style)
    for remark in presence(state, build.seen_at_ms):
        if remark != state:
            text.append(f", {remark}", style="dim")
    if build.reason:
        text.append(f": {visible(build.reason)}", style="dim")
    return text


def verdict(
    ladder: LadderName,
    build: BuildName,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it is decided.")] = False,
    json: Json = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Tell whether a build is better than its parent, in a sentence and by the exit code, for a pull request.

    Exit codes: 0 better, 1 not better, 3 undecided or still tested, 2 no answer (bad input, or the arena is away).

    [dim]$[/] rubble ladder verdict spring mybot/v2 --wait && gh pr merge
    """

    def work(ladders: "LadderClient") -> int:
        def is_final(so_far: "ladder_pb2.BuildVerdict") -> bool:
            return (
                not wait
                or word(so_far, "verdict") != "running"
                or word(ladders.seasons(ladder)[0], "state") == "closed"
            )

        found = ask_until(lambda: ladders.verdict(ladder, build), is_final, lambda so_far: visible(so_far.sentence))
        if json:
            print_json({"ladder": ladder, "build": build} | plain(found))
        else:
            print(visible(found.sentence))
            if wait and word(found, "verdict") == "running":
                print("The season is closed, so nothing more is played; the test begins anew in the next one.")
        return _CODES.get(word(found, "verdict"), _UNDECIDED)

    return as_anybody(api, state_dir, json, work, failed=BAD_INPUT)
