"""``python -m tools.guests ROSTER OUT [SECONDS]``: a roster with the starters of other languages entered, where they can be had.

Each ``bots/LANGUAGE`` with a ``build`` and a ``run`` is built, all of them within the time; a first build may not fit. What came of
it is remembered, and no build is tried again until its folder, the protos or the programs it asks for change, or RETRY=1 is in
the environment. Whoever does not come is named, and why; nothing here fails.
"""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
#: All builds together may take so long, in seconds.
DEFAULT_S: Final = 40.0
#: With more bots there are more tables: this many matches show them all.
_BUDGET: Final = 60
_PROBE_S: Final = 1.5
#: What came of the builds before.
MEMORY: Final = ROOT / ".rubble" / "starters.json"
#: What a build asks for.
_NEEDS: Final = re.compile(r"command -v ([\w.+-]+)")


def languages(bots: Path) -> list[str]:
    """The languages that have a starter with ``build`` and ``run``, apart from Python, whose starter plays anyway."""
    found = (folder for folder in sorted(bots.iterdir()) if folder.is_dir() and folder.name != "python")
    return [folder.name for folder in found if all(os.access(folder / file, os.X_OK) for file in ("build", "run"))]


@dataclass(frozen=True)
class Built:
    """What came of a build."""

    #: What it was built from; empty: unknown, and nothing is remembered of it.
    key: str
    #: Why the bot cannot be had; empty: it can.
    why: str
    #: Whether it was only too slow: then somebody may have finished it since.
    is_late: bool = False


def key_of(folder: Path) -> str:
    """A digest of what a build is made from: sources and protos as git lists them, and the programs that it asks for."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", str(folder), "protos"]
    found = subprocess.run(listed, cwd=ROOT, capture_output=True, check=False)
    if found.returncode:
        return ""  # no git, or no repository
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(filter(None, found.stdout.split(b"\0"))):
        path = ROOT / os.fsdecode(name)
        digest.update(name + b"\0" + (path.read_bytes() if path.is_file() else b"") + b"\0")
    for program in sorted(set(_NEEDS.findall((folder / "build").read_text(encoding="utf-8")))):
        at = shutil.which(program)
        facts = os.stat(at) if at else None
        digest.update(f"{program} {at} {facts and (facts.st_size, facts.st_mtime_ns)}\0".encode())
    return digest.hexdigest()


def build_all(folders: list[Path], seconds: float, memory: Path, *, retry: bool = False) -> dict[str, str]:
    """Build them all at once, behind whatever else runs here; by language why it cannot be had, or nothing."""
    end = time.monotonic() + seconds
    known = {} if retry else _recall(memory)

    def once(folder: Path) -> Built:
        key, before = key_of(folder), known.get(folder.name)
        if before is not None and before.key == key:
            if before.why and not before.is_late:
                return before
            if not (missing := _cannot_start(folder)):
                return Built(key, "")
            if before.why:
                return before
            print(f"{folder.name}: {missing}; building it again", file=sys.stderr)
        return build(folder, end - time.monotonic(), key)

    with ThreadPoolExecutor(max(1, len(folders))) as pool:
        told = dict(zip([folder.name for folder in folders], pool.map(once, folders), strict=True))
    memory.parent.mkdir(parents=True, exist_ok=True)
    memory.write_text(json.dumps({name: asdict(built) for name, built in told.items() if built.key}, indent=2) + "\n")
    return {name: built.why for name, built in told.items()}


def _recall(memory: Path) -> dict[str, Built]:
    """What came of the builds before; nothing if that cannot be read, for it can be found out again."""
    try:
        return {name: Built(**built) for name, built in json.loads(memory.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def build(folder: Path, seconds: float, key: str = "") -> Built:
    """Build one."""
    process = subprocess.Popen(
        ["nice", "-n", "10", str(folder / "build")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,  # a build has children, and they end with it
    )
    try:
        said, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Built(key, f"not built within {seconds:.0f} s; bots/{folder.name}/build does it once and for all", True)
    if process.returncode:
        lines = [line for line in said.splitlines() if line.strip()]
        return Built(key, lines[-1] if lines else f"bots/{folder.name}/build ended with exit code {process.returncode}")
    return Built(key, _cannot_start(folder))


def _cannot_start(folder: Path) -> str:
    """Why the built bot ends at once, or nothing. It is given an address where nobody answers, and so would try again."""
    env = os.environ | {"RUBBLE_ADDRESS": "127.0.0.1:1", "RUBBLE_BOT_KEY": "rb1.bot.probe.probe"}
    process = subprocess.Popen(
        [str(folder / "run")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=env,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=_PROBE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return ""  # it is there, and waits for an arena
    # 126, 127 and 3: something is missing. Any other end is an answer to a door that is shut.
    lines = [line for line in said.splitlines() if line.strip()]
    return (lines[-1] if lines else "it cannot be started") if process.returncode in (3, 126, 127) else ""


def enter(roster: str, guests: list[str]) -> str:
    """The roster with these languages entered, for any folder; with more at the table, a budget instead of deals."""
    here = f"cwd = {json.dumps(str(ROOT))}"
    roster = roster.replace('cwd = ".."', here)
    if not guests:
        return roster
    lines = [f"budget = {_BUDGET}" if line.startswith("deals = ") else line for line in roster.splitlines()]
    for language in guests:
        lines += ["", "[[bots]]", f'name = "{language}"', f'command = ["bots/{language}/run"]', here]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Build what can be built, say who comes, write the roster."""
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else DEFAULT_S
    folders = [ROOT / "bots" / language for language in languages(ROOT / "bots")]
    told = build_all(folders, seconds, MEMORY, retry=os.environ.get("RETRY", "") not in ("", "0"))
    guests = [language for language, why in told.items() if not why]
    lines = [f"  {language}: not entered: {why}" for language, why in told.items() if why]
    if lines:
        lines.append("  These are not tried again until something changes; `make play RETRY=1` tries them at once.")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(enter(source.read_text(encoding="utf-8"), guests), encoding="utf-8")
    print("\n".join(["", f"Bots in other languages: {', '.join(guests) or 'none'}", *lines]))


if __name__ == "__main__":
    main()
