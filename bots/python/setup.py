"""What pyproject.toml cannot express: where the generated code of the contract is, and that ``build`` is our own script."""

import tempfile
from pathlib import Path

from setuptools import setup  # type: ignore[import-untyped]  # it carries none

_HERE = Path(__file__).resolve().parent
#: In a clone of the arena; in a bot's own folder, where ./build writes it; in the sources of a wheel.
_PLACES = ("../../rubble", ".gen/rubble", "rubble")


def _contract() -> str:
    for place in _PLACES:
        if (_HERE / place / "v1" / "bot_pb2.py").is_file():
            return place
    raise SystemExit(f"rubble-bot: {_HERE} holds no generated code of the contract; run ./build first")


with tempfile.TemporaryDirectory(prefix="rubble-bot-") as scratch:
    setup(
        packages=["rubble", "rubble.v1", "rubble_bot"],
        package_dir={"rubble": _contract(), "rubble_bot": "rubble_bot"},
        options={"build": {"build_base": scratch}},
    )
