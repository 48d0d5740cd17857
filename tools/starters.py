"""``python -m tools.bots ROSTER OUT [SECONDS]``: writes a roster with the starters of other languages, where they can be built.

Each ``bots/LANGUAGE`` with a ``build`` and a ``run`` is built, all of them within the time; a first build may take longer. The
result is stored, and no build is tried again until its folder, the protos or the programs it needs change, or RETRY=1 is in
the environment. Languages that are left out are listed with the reason; they are not an error.
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
#: The time for all builds together, in seconds.
DEFAULT_S: Final = 40.0
#: More bots mean more tables: this many matches are enough for all.
_BUDGET: Final = 60
_PROBE_S: Final = 1.5
#: The stored results of earlier builds.
MEMORY: Final = ROOT / ".rubble" / "starters.json"
#: The programs that a build script requires.
_NEEDS: Final = re.compile(r"command -v ([\w.+-]+)")


def languages(bots: Path) -> list[str]:
    """Returns the languages with a ``build`` and a ``run``, except Python, whose starter always plays."""
    found = (folder for folder in sorted(bots.iterdir()) if folder.is_dir() and folder.name != "python")
    return [folder.name for folder in found if all(os.access(folder / file, os.X_OK) for file in ("build", "run"))]


@dataclass(frozen=True)
class Built:
    """The result of a build."""

    #: The digest of its sources; empty: unknown, and the result is not stored.
    key: str
    #: Why the bot cannot be used; empty: it can.
    why: str
    #: Whether the build was only too slow: it may have been finished since.
    is_late: bool = False


def key_of(folder: Path) -> str:
    """Returns a digest of a build's inputs: sources and protos as git lists them, and the programs it requires."""
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
    """Builds all folders at once, at low priority; returns by language why it cannot be used, or an empty text."""
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
    """Returns the stored results; empty if they cannot be read, since the builds can be run again."""
    try:
        return {name: Built(**built) for name, built in json.loads(memory.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def build(folder: Path, seconds: float, key: str = "") -> Built:
    """Builds one."""
    process = subprocess.Popen(
        ["nice", "-n", "10", str(folder / "build")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,  # so that the children of a build end with it
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
    """Returns why the built bot ends at once, or an empty text. Its address is a closed port, so it should keep retrying."""
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
        return ""  # it runs, and waits for an arena
    # 126, 127 and 3: something is missing. Any other exit code is a reaction to the closed port.
    lines = [line for line in said.splitlines() if line.strip()]
    return (lines[-1] if lines else "it cannot be started") if process.returncode in (3, 126, 127) else ""


def enter(roster: str, bots: list[str]) -> str:
    """Returns the roster with these languages added, for any folder; with more bots it has a budget instead of deals."""
    here = f"cwd = {json.dumps(str(ROOT))}"
    roster = roster.replace('cwd = ".."', here)
    if not bots:
        return roster
    lines = [f"budget = {_BUDGET}" if line.startswith("deals = ") else line for line in roster.splitlines()]
    for language in bots:
        lines += ["", "[[bots]]", f'name = "{language}"', f'command = ["bots/{language}/run"]', here]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Builds what can be built, lists the result and writes the roster."""
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else DEFAULT_S
    folders = [ROOT / "bots" / language for language in languages(ROOT / "bots")]
    told = build_all(folders, seconds, MEMORY, retry=os.environ.get("RETRY", "") not in ("", "0"))
    bots = [language for language, why in told.items() if not why]
    lines = [f"  {language}: not entered: {why}" for language, why in told.items() if why]
    if lines:
        lines.append("  These are not tried again until something changes; `make play RETRY=1` tries them at once.")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(enter(source.read_text(encoding="utf-8"), bots), encoding="utf-8")
    print("\n".join(["", f"Bots in other languages: {', '.join(bots) or 'none'}", *lines]))


if __name__ == "__main__":
    main()
