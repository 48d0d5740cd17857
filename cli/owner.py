"""``rubble owner``: owners of bots on ladders, and their keys."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from cli.arena_client import ApiAddress, StateDir, same_arena
from cli.arguments import Json
from cli.fitted_table import Column, fitted_table
from cli.ladder_calls import LadderName, OwnerKey, as_anybody, as_operator, as_owner
from cli.ladder_words import ago, plain
from cli.terminal import console, count_of, own_command, print_json
from orchestrator.ladder.names import OWNER_WORDS
from orchestrator.report.words import short, visible
from service.games.core import BadSetup

if TYPE_CHECKING:
    from orchestrator.api.ladder_client import LadderClient

app = typer.Typer(no_args_is_help=False, rich_markup_mode="rich", add_completion=False)

KeyFolder = Annotated[
    str, typer.Option("--out", metavar="DIR", help="Folder for the file NAME.owner-key; by default the current one.")
]


@app.callback(invoke_without_command=True)
def _owner(context: typer.Context) -> None:
    """Sign up for a ladder, and manage owner keys.

    An owner is a person or team with bots on ladders. The owner key enters builds; keep it like a password.

    [dim]$[/] rubble owner signup spring anna
    [dim]$[/] rubble owner rotate --owner-key anna.owner-key
    [dim]$[/] rubble owner list spring
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


# -------------------------------------------------------------------------------------------------------------- key files
@contextlib.contextmanager
def _draft(folder: Path) -> Iterator[Path]:
    """Make an empty file that only we can read, before a key is asked for: a key that cannot be written would be lost."""
    path = folder / f".owner-key.{os.getpid()}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    except OSError as error:
        raise BadSetup("--out", str(folder), f"a folder that can be written ({error.strerror})") from None
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _keep(draft: Path, key: str, path: Path) -> Path:
    """Give the file its name. Never overwrites another: if the name is taken, a number is added."""
    draft.write_text(f"{key}\n", encoding="utf-8")
    number = 1
    free = path
    while True:
        try:
            os.link(draft, free)
        except FileExistsError:
            number += 1
            free = path.with_name(f"{path.stem}-{number}{path.suffix}")
        else:
            return free


def _key_file(folder: Path, owner: str) -> Path:
    from orchestrator.entrants import file_name

    return folder / f"{file_name(owner)}.owner-key"


def _new_file(folder: str, owner: str, advice: str) -> Path:
    """Return the file for the key of an owner; raises BadSetup if it exists."""
    path = _key_file(Path(folder), owner)
    if path.exists():
        raise BadSetup("--out", folder, f"a folder without {path.name}, which would be overwritten; {advice}")
    return path


# --------------------------------------------------------------------------------------------------------------- commands
@app.command("signup")
def signup(
    ladder: LadderName,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="The new owner's name; leave it out if you have an owner key."),
    ] = None,
    invitation: Annotated[
        str, typer.Option("--invitation", metavar="CODE", help="For a ladder with invitations.")
    ] = "",
    out: KeyFolder = ".",
    owner_key: OwnerKey = "",
    json: Json = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Become an owner on a ladder. The key is shown to nobody again: it is written into NAME.owner-key, for you to keep.

    With an owner key and without a name, you join another ladder as the same owner.

    [dim]$[/] rubble owner signup spring anna
    [dim]$[/] rubble owner signup spring anna --invitation 3kf0q2
    [dim]$[/] rubble owner signup autumn --owner-key anna.owner-key
    """

    at = same_arena(api, state_dir)

    def make(ladders: "LadderClient") -> None:
        if not name:
            raise BadSetup("NAME", "", OWNER_WORDS)
        join = f"with that key you join another ladder: {own_command()} owner signup {ladder} --owner-key FILE{at}"
        path = _new_file(out, name, join)
        with _draft(path.parent) as draft:
            made = ladders.sign_up(ladder, name, invitation)
            path = _keep(draft, made.owner_key, path)
        _tell(made.owner, path)

    def join(ladders: "LadderClient") -> None:
        _tell(ladders.sign_up(ladder, "", invitation).owner, None)

    def _tell(owner: str, path: Path | None) -> None:
        if json:
            print_json({"ladder": ladder, "owner": owner, "file": str(path) if path else None})
            return
        print(f"{visible(owner)} may enter builds in {ladder}")
        if path:
            print(f"The owner key is in {path}, readable only by you. There is no other copy.")
        given = path or owner_key
        flag = f" --owner-key {given}" if given else ""
        print(f"Next: {own_command()} ladder enter {ladder} --bot NAME --build LABEL{flag}{at}")

    if name is not None:
        return as_anybody(api, state_dir, json, make)
    return as_owner(api, state_dir, json, owner_key, join)


@app.command("rotate")
def rotate(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Only for the operator: the owner's name.")] = "",
    out: KeyFolder = "",
    owner_key: OwnerKey = "",
    json: Json = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Get a new owner key; all earlier ones end. The new key replaces the old one in its file, or is written into --out.

    [dim]$[/] rubble owner rotate --owner-key anna.owner-key
    [dim]$[/] rubble owner rotate anna --out keys       [dim]# operator: the key was lost[/]
    """
    file = "" if name or out else owner_key or os.environ.get("RUBBLE_OWNER_KEY_FILE", "")

    def change(ladders: "LadderClient") -> None:
        if name:
            _new_file(out or ".", name, "move it away, or give another --out")
        with _draft(Path(file).parent if file else Path(out or ".")) as draft:
            made = ladders.rotate(name)
            if file:
                draft.write_text(f"{made.owner_key}\n", encoding="utf-8")
                path = draft.replace(file)
            else:
                path = _keep(draft, made.owner_key, _key_file(draft.parent, made.owner))
        if json:
            print_json({"owner": made.owner, "file": str(path)})
            return
        print(
            f"The new owner key of {visible(made.owner)} is in {path}, readable only by you; all earlier keys have ended"
        )

    return as_operator(api, state_dir, json, change) if name else as_owner(api, state_dir, json, owner_key, change)


@app.command("revoke")
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The owner's name.")],
    reason: Annotated[str, typer.Option("--reason", metavar="WORDS", help="Recorded for everybody to read.")] = "",
    json: Json = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """End all keys of an owner and retire all its builds. Operator only.

    [dim]$[/] rubble owner revoke anna --reason "two owners were one person"
    """

    def work(ladders: "LadderClient") -> None:
        retired = ladders.revoke(name, reason)
        if json:
            print_json({"owner": name, "retired": retired})
        else:
            print(f"all keys of {name} have ended; {count_of(retired, 'build')} retired")

    return as_operator(api, state_dir, json, work)


@app.command("list")
def list_all(ladder: LadderName, json: Json = False, api: ApiAddress = "", state_dir: StateDir = ".rubble") -> int:
    """List the owners of a ladder.

    [dim]$[/] rubble owner list spring
    """

    def work(ladders: "LadderClient") -> None:
        found = list(ladders.owners(ladder))
        if json:
            print_json([plain(owner) for owner in found])
            return
        columns = [
            Column("owner", [short(owner.name, 40) for owner in found]),
            Column("builds", [f"{owner.builds:,}" for owner in found], is_number=True),
            Column("since", [ago(owner.since_ms) for owner in found]),
            Column("", [Text("revoked" if owner.revoked else "", style="red") for owner in found], goes=1),
        ]
        console().print(fitted_table(columns, console().width) if found else "no owners yet")

    return as_anybody(api, state_dir, json, work)
