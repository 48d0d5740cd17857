"""What ``rubble play`` starts for one game: a service and bots, as processes that end with it."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from cli.children import Broken, Child, inherited, last_sentence

__all__ = ["Broken", "Household"]


class Household:
    """Every process started for one game, and a folder for what they write. All of it is gone when the game is."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="rubble-play-", ignore_cleanup_errors=True)
        self.path = Path(self._folder.name)
        self._children: list[Child] = []

    def __enter__(self) -> "Household":
        return self

    def __exit__(self, *_: object) -> None:
        for child in reversed(self._children):  # the bots before the service
            child.process.terminate()
        for child in reversed(self._children):
            child.stop()
        self._folder.cleanup()

    def start(self, name: str, command: Sequence[str], **settings: str) -> Child:
        """A process that knows only these of our settings and writes its log into the folder."""
        self._children.append(Child(name, command, inherited("RUBBLE_CA") | settings, self.path / f"{name}.log"))
        return self._children[-1]

    def check(self) -> None:
        """Broken if one of them has died."""
        for child in self._children:
            if (code := child.process.poll()) is not None:  # its log goes with the folder, so only what it said is told
                said = last_sentence(child.log) or "nothing"
                raise Broken(f"{child.name} stopped with exit code {code}; it said: {said}")

    def serve(self) -> tuple[str, str]:
        """A service of our own: its address and its operator's token."""
        folder = self.path / "service"
        command = ["cli.main", "serve", "--listen", "127.0.0.1:0", "--state-dir", str(folder)]
        address = self.start("service", command, RUBBLE_LOG_LEVEL="warning").wait_for("serving on ")
        return address, (folder / "operator_token").read_text().strip()
