"""Compiles the rules with mypyc, in place: ``make compile``.

It compiles the modules in which games spend their time. Code that runs once stays Python (``__init__.py``, the contract and
the reading of components), and so does what is drawn and told to people. ``service/engine.py`` decides when the result is used.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from service.engine import FOLDER, LIBRARY, ROOT, STAMP, unfit, write_stamp

#: Modules besides the games that every decision uses.
SHARED = ("chance.py", "playing.py")
#: Modules of a game that draw it and tell it begin with one of these.
FOR_PEOPLE = ("board", "picture", "sentences")


def modules(folder: Path = FOLDER) -> list[Path]:
    """Returns the sources to compile, relative to the root of the project."""
    shared = [folder / name for name in SHARED]
    games = [path for path in sorted(folder.glob("*/*.py")) if not path.name.startswith(("__init__", *FOR_PEOPLE))]
    return [path.relative_to(ROOT) for path in (*shared, *games) if path.exists()]


def remove() -> None:
    """Removes all compiled modules and their stamp."""
    STAMP.unlink(missing_ok=True)
    for path in (*FOLDER.rglob("*" + EXTENSION_SUFFIXES[0]), ROOT / (LIBRARY + EXTENSION_SUFFIXES[0])):
        path.unlink(missing_ok=True)


def build(sources: list[Path], workshop: Path) -> None:
    """Runs mypyc and the C compiler; writes the extension modules next to their sources."""
    script = workshop / "setup.py"
    script.write_text(
        "from mypyc.build import mypycify\n"
        "from setuptools import setup\n"
        f"sources = {[path.as_posix() for path in sources]!r}\n"
        f"setup(name='rules', packages=[], py_modules=[], ext_modules=mypycify(\n"
        f"    ['--strict', *sources], opt_level='3', debug_level='0', group_name={LIBRARY.removesuffix('__mypyc')!r},\n"
        f"    target_dir={str(workshop / 'c')!r}, include_runtime_files=True))\n",
        encoding="utf-8",
    )
    folders = ["--build-temp", str(workshop / "o"), "--build-lib", str(workshop / "lib")]
    command = [sys.executable, str(script), "--quiet", "build_ext", "--inplace", *folders]
    environment = {**os.environ, "RUBBLE_PURE": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}\nmypyc could not compile the rules; the Python stays in use.")


def missing() -> str | None:
    """Returns what this machine lacks for compiling, or None."""
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    if shutil.which(compiler.split()[0]) is None:
        return f"the C compiler {compiler.split()[0]!r} is not on the PATH"
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.exists():
        return f"this Python came without its C headers ({header})"
    return None


def main() -> None:
    lacking = missing()
    if lacking is not None:
        sys.exit(f"The rules cannot be compiled here: {lacking}. Rubble runs without it, only slower.")
    if "--check" in sys.argv[1:]:
        return
    if unfit() is None:
        print("The compiled rules are up to date.")
        return
    remove()
    sources = modules()
    print(f"Compiling {len(sources)} modules of the rules …", flush=True)
    with tempfile.TemporaryDirectory(prefix="rubble-compile-") as workshop:
        build(sources, Path(workshop))
    library = LIBRARY + EXTENSION_SUFFIXES[0]
    write_stamp([library, *(path.with_suffix(EXTENSION_SUFFIXES[0]).as_posix() for path in sources)])
    compare()
    print("Done; they play a game of each kind just as the Python does. RUBBLE_PURE=1 runs the Python instead.")


def compare() -> None:
    """Checks that the compiled rules play as the Python does; removes them if not."""
    pure, compiled = (
        subprocess.run(
            [sys.executable, "-m", "tools.trial"],
            cwd=ROOT,
            env={**os.environ, "RUBBLE_PURE": pure},
            capture_output=True,
            text=True,
            check=False,
        )
        for pure in ("1", "0")
    )
    if pure.returncode != 0:
        sys.exit(f"{pure.stderr}\nThe Python itself cannot play a game of each kind.")
    if (compiled.returncode, compiled.stdout) != (0, pure.stdout):
        remove()
        what = compiled.stderr or f"as Python:\n{pure.stdout}compiled:\n{compiled.stdout}"
        sys.exit(f"{what}\nThe compiled rules do not play as the Python does; they are removed.")


if __name__ == "__main__":
    main()
