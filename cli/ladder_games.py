"""``rubble ladder matches``, ``replay`` and ``challenge``: single games of a ladder."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from cli.arena_client import ApiAddress, StateDir, same_arena
from cli.arguments import Json, read_number
from cli.fitted_table import Column, fitted_table
from cli.ladder_calls import (
    LadderName,
    OwnerKey,
    Season,
    as_anybody,
    as_operator_if_possible,
    as_owner,
    read_season,
)
from cli.ladder_wait import ask_until
from cli.ladder_words import plain, word
from cli.terminal import console, count_of, own_command, print_json
from orchestrator.report.words import visible
from service.games.core import BadSetup

if TYPE_CHECKING:
    from orchestrator.api.ladder_client import LadderClient
    from rubble.v1 import ladder_pb2

#: Narrower than this, each seat has its own line.
_NARROW: Final = 110
#: Results up to this width are not wrapped: other columns go first.
_WIDEST: Final = 64
Wait = Annotated[bool, typer.Option("--wait", help="Wait until all games are over.")]


def matches(
    ladder: LadderName,
    build: Annotated[str, typer.Option("--build", metavar="BOT/LABEL", help="Only matches of this build.")] = "",
    season: Season = "",
    limit: Annotated[str, typer.Option("--limit", metavar="N", help="Show at most this many, the latest.")] = "20",
    json: Json = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """List matches, the latest first. While a block is played, only the operator is told who sits in it.

    [dim]$[/] rubble ladder matches spring --build mybot/v1
    """

    def work(ladders: "LadderClient") -> None:
        most = read_number("--limit", limit, 1, 1_000_000)
        found = list(ladders.matches(ladder, read_season(season), build, most + 1))
        has_more = len(found) > most
        del found[most:]
        if json:
            print_json([plain(match) for match in found])
            return
        out = console()
        out.print(_match_table(found, out.width, build) if found else "no matches")
        if any(not seat.entrant for one in found for seat in one.match.seats):
            out.print("Names appear when the block is over.", style="dim")
        if has_more:
            out.print(f"The latest {count_of(most, 'match', 'matches')}; there are more: --limit N.", style="dim")

    return as_operator_if_possible(api, state_dir, json, work)


def _match_table(found: "Sequence[ladder_pb2.LadderMatch]", width: int, build: str = "") -> Table:
    results = [_result(one, build, is_narrow=width < _NARROW) for one in found]
    longest = max(len(line) for result in results for line in result.plain.split("\n"))
    columns = [
        Column("match", [visible(one.match.id) for one in found]),
        Column("block", [str(one.match.block) for one in found], is_number=True, goes=2),
        Column("kind", [word(one, "kind") for one in found], goes=1),
        Column("drawn for", [word(one, "rule").replace("_", " ") for one in found], goes=5),
        Column("state", [_state(one) for one in found], goes=3 if all(one.match.ending for one in found) else 0),
        Column("result", results, least=min(longest, _WIDEST), wraps=True),
        Column(
            "ending", [Text(visible(one.match.ending).lower().replace("_", " "), style="dim") for one in found], goes=4
        ),
    ]
    return fitted_table(columns, width)


def _state(one: "ladder_pb2.LadderMatch") -> str:
    state = word(one.match, "state")
    return {"recorded": "played", "planned": "waiting", "queued": "waiting"}.get(state, state)


def _result(one: "ladder_pb2.LadderMatch", build: str, *, is_narrow: bool) -> Text:
    """The seats from first to last: rank, name, score, fault."""
    text = Text()
    if not any(seat.entrant for seat in one.match.seats):
        return text.append(f"{count_of(len(one.match.seats), 'seat')}, no names yet", style="dim")
    for number, seat in enumerate(sorted(one.match.seats, key=lambda seat: seat.rank)):
        text.append(("\n" if is_narrow else "  ") if number else "")
        text.append(f"{seat.rank}. " if seat.rank else "", style="dim")
        text.append(visible(seat.entrant), style="bold" if seat.entrant == build else "")
        text.append(f" {seat.score}" if seat.rank else "", style="dim")
        text.append(f" ({visible(seat.fault)})" if seat.fault else "", style="red")
    return text


def replay(
    ladder: LadderName,
    match: Annotated[str, typer.Argument(metavar="MATCH", help="The match's id, from `rubble ladder matches`.")],
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="Write it into this new file.")] = "",
    json: Json = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Get the replay of a match whose block is over, as JSON lines.

    [dim]$[/] rubble ladder replay spring MATCH --out game.jsonl
    [dim]$[/] rubble replay show game.jsonl
    """

    def work(ladders: "LadderClient") -> None:
        path = Path(out)
        if out and path.exists():
            raise BadSetup("--out", out, "a file that does not exist yet")
        text = ladders.replay(ladder, match)
        if not out:
            print(text, end="" if text.endswith("\n") else "\n")
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as opened:
                opened.write(text)
        except OSError as error:
            raise BadSetup("--out", out, f"a file that can be written ({error.strerror})") from None
        if json:
            print_json({"match": match, "file": out})
        else:
            print(f"{out}; look at it with: {own_command()} replay show {out}")

    return as_anybody(api, state_dir, json, work)


def challenge(
    ladder: LadderName,
    build: Annotated[str, typer.Argument(metavar="BOT/LABEL", help="Your own build.")],
    opponents: Annotated[
        list[str],
        typer.Argument(metavar="OPPONENT…", help="Builds that accept challenges, your own builds, or bundled bots."),
    ],
    deals: Annotated[
        str, typer.Option("--deals", metavar="N", help="Each deal is played from every rotation of the seats; 1-10.")
    ] = "1",
    wait: Wait = False,
    owner_key: OwnerKey = "",
    json: Json = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Ask for unrated games of your build against connected builds that accept challenges. Bundled bots fill the table.

    Opponents may also be your own builds, which need not accept challenges; they never meet in rated games.

    [dim]$[/] rubble ladder challenge spring mybot/v1 other/v3 --deals 2 --wait
    """

    def work(ladders: "LadderClient") -> None:
        made = ladders.challenge(ladder, build, opponents, read_number("--deals", deals, 1, 10))
        _show_challenge(ladders, made, wait, json)
        if not wait and not json:
            print(
                f"Next: {own_command()} ladder challenge-result {visible(made.id)} --wait{same_arena(api, state_dir)}"
            )

    return as_owner(api, state_dir, json, owner_key, work)


def challenge_result(
    challenge: Annotated[
        str, typer.Argument(metavar="CHALLENGE", help="The id that `rubble ladder challenge` printed.")
    ],
    wait: Wait = False,
    json: Json = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Show a challenge and its games.

    [dim]$[/] rubble ladder challenge-result 5f1c2a --wait
    """

    def work(ladders: "LadderClient") -> None:
        _show_challenge(ladders, ladders.challenge_of(challenge), wait, json)

    return as_anybody(api, state_dir, json, work)


def _show_challenge(ladders: "LadderClient", found: "ladder_pb2.Challenge", wait: bool, json: bool) -> None:
    if wait and not found.over:
        name = found.id
        found = ask_until(lambda: ladders.challenge_of(name), lambda so_far: so_far.over, _progress)
    if json:
        print_json(plain(found))
        return
    out = console()
    out.print(f"challenge {visible(found.id)}: {' against '.join(_sides(found))}", markup=False)
    out.print(_progress(found), markup=False)
    if found.matches:
        out.print(_match_table(found.matches, out.width, found.builds[0] if found.builds else ""))


def _sides(found: "ladder_pb2.Challenge") -> list[str]:
    first, *others = [visible(build) for build in found.builds] or [""]
    return [first, ", ".join(others)] if others else [first]


def _progress(found: "ladder_pb2.Challenge") -> str:
    done = sum(1 for one in found.matches if word(one.match, "state") in ("recorded", "dropped"))
    games = count_of(len(found.matches), "game")
    return f"all games are over: {games}" if found.over else f"{done} of {games} played"
