"""``python -m tools.guests ROSTER OUT [SECONDS]``: a roster with the starters of other languages entered, where they can be had.

Each ``bots/LANGUAGE`` with a ``build`` and a ``run`` is built, all of them within the time: what is built already takes a
second, a first build may not fit and is left for another day. Whoever does not come is named, and why; nothing here fails.
"""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
#: All builds together may take so long, in seconds.
DEFAULT_S: Final = 40.0
#: With more bots there are more tables: this many matches show them all.
_BUDGET: Final = 60
_PROBE_S: Final = 1.5


def languages(bots: Path) -> list[str]:
    """The languages that have a starter with ``build`` and ``run``, apart from Python, whose starter plays anyway."""
    found = (folder for folder in sorted(bots.iterdir()) if folder.is_dir() and folder.name != "python")
    return [folder.name for folder in found if all(os.access(folder / file, os.X_OK) for file in ("build", "run"))]


def build_all(folders: list[Path], seconds: float) -> dict[str, str]:
    """Build them all at once, behind whatever else runs here; by language why it cannot be had, or nothing."""
    end = time.monotonic() + seconds
    with ThreadPoolExecutor(max(1, len(folders))) as pool:
        told = pool.map(lambda folder: build(folder, end - time.monotonic()), folders)
        return {folder.name: why for folder, why in zip(folders, told, strict=True)}


def build(folder: Path, seconds: float) -> str:
    """Build one; why it cannot be had, or nothing."""
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
        return f"not built within {seconds:.0f} s; bots/{folder.name}/build does it once and for all"
    if process.returncode:
        lines = [line for line in said.splitlines() if line.strip()]
        return lines[-1] if lines else f"bots/{folder.name}/build ended with exit code {process.returncode}"
    return _cannot_start(folder)


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
    told = build_all([ROOT / "bots" / language for language in languages(ROOT / "bots")], seconds)
    guests = [language for language, why in told.items() if not why]
    lines = [f"  {language}: not entered: {why}" for language, why in told.items() if why]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(enter(source.read_text(encoding="utf-8"), guests), encoding="utf-8")
    print("\n".join(["", f"Bots in other languages: {', '.join(guests) or 'none'}", *lines]))


if __name__ == "__main__":
    main()
