"""What ``rubble play`` and ``rubble bot check`` start: a service and bots, as processes that end with the command."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from cli.processes import ChildProcess, ProcessDied, inherited, last_sentence

__all__ = ["LocalService", "ProcessDied"]


class LocalService:
    """Every process started for one command, and a folder for what they write. All of it is gone when the command ends."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="rubble-play-", ignore_cleanup_errors=True)
        self._path = Path(self._folder.name)
        self._children: dict[str, ChildProcess] = {}

    def __enter__(self) -> "LocalService":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop everything, the bots before the service, and remove the folder."""
        children = list(reversed(self._children.values()))
        for child in children:
            child.process.terminate()
        for child in children:
            child.stop()
        self._children.clear()
        self._folder.cleanup()

    def start(self, name: str, command: Sequence[str], **settings: str) -> ChildProcess:
        """A process that knows only these of our settings and writes its log into the folder."""
        self._children[name] = ChildProcess(
            name, command, inherited("RUBBLE_CA") | settings, self._path / f"{name}.log"
        )
        return self._children[name]

    def stop(self, name: str) -> None:
        """Stop one process, if it was started. Another may be started under its name."""
        if (child := self._children.pop(name, None)) is not None:
            child.stop()

    def check(self) -> None:
        """ProcessDied if one of them has died."""
        for child in self._children.values():
            if (code := child.process.poll()) is not None:  # its log goes with the folder, so only what it said is told
                said = last_sentence(child.log) or "nothing"
                raise ProcessDied(f"{child.name} stopped with exit code {code}; it said: {said}")

    def start_service(self, listen: str = "127.0.0.1:0") -> ChildProcess:
        """A service of our own, with its folder in ours: started again, it finds its sessions there."""
        command = ["cli.main", "serve", "--listen", listen, "--state-dir", str(self._path / "service")]
        return self.start("service", command, RUBBLE_LOG_LEVEL="warning")

    def where_it_serves(self) -> tuple[str, str]:
        """Its address and its operator's token, once it serves; ProcessDied if it does not."""
        address = self._children["service"].wait_for("serving on ")
        return address, (self._path / "service" / "operator_token").read_text().strip()
