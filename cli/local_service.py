"""The processes of ``rubble play`` and ``rubble bot check``: a service and bots that end with the command."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from cli.processes import ChildProcess, ProcessDied, inherited, last_sentence

__all__ = ["LocalService", "ProcessDied"]


class LocalService:
    """The processes of one command, and a temporary folder for their files. Both are removed when the command ends."""

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
        """Start a process with only these settings; its log is in the folder."""
        self._children[name] = ChildProcess(
            name, command, inherited("RUBBLE_CA") | settings, self._path / f"{name}.log"
        )
        return self._children[name]

    def stop(self, name: str) -> None:
        """Stop one process, if it was started. Its name can be used again."""
        if (child := self._children.pop(name, None)) is not None:
            child.stop()

    def check(self) -> None:
        """Raise ProcessDied if a process has died."""
        for child in self._children.values():
            if (
                code := child.process.poll()
            ) is not None:  # its log is removed with the folder, so the message quotes it
                said = last_sentence(child.log) or "nothing"
                raise ProcessDied(f"{child.name} stopped with exit code {code}; it said: {said}")

    def start_service(self, listen: str = "127.0.0.1:0") -> ChildProcess:
        """Start a service; after a restart it finds its sessions in the same folder."""
        command = ["cli.main", "serve", "--listen", listen, "--state-dir", str(self._path / "service")]
        return self.start("service", command, RUBBLE_LOG_LEVEL="warning")

    def where_it_serves(self) -> tuple[str, str]:
        """Wait for the service and return its address and operator's token; raises ProcessDied if it does not start."""
        address = self._children["service"].wait_for("serving on ")
        return address, (self._path / "service" / "operator_token").read_text().strip()
