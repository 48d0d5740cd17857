"""Reads compose.yaml for a machine without containers: the same commands and environment, other addresses and folders.

Every host:port of the file becomes a free port of this machine, every path inside a container a path in one folder. Nothing
else is changed, so the processes are the same as in containers.
"""

import os
import re
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml  # type: ignore[import-untyped,import-not-found,unused-ignore]  # only the environment of the tools has it

HERE: Final = Path(__file__).parent
COMPOSE: Final = HERE.parent / "compose" / "compose.yaml"
_VARIABLE: Final = re.compile(r"\$\{([A-Z_]+):-([^}]*)\}")
_OWN: Final = re.compile(r"\b(?:0\.0\.0\.0|127\.0\.0\.1):(\d+)")
#: A port that a container publishes on its machine.
_PUBLISHED: Final = re.compile(r"\blocalhost:(\d+)\b")


def free_port() -> int:
    """Returns a port that is free at this moment."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        port: int = holder.getsockname()[1]
        return port


@dataclass
class Service:
    """One service of the file, as a process of this machine."""

    name: str
    image: str
    command: list[str]
    environment: dict[str, str]
    #: Names of services that must be healthy first.
    after: list[str]
    health: list[str]
    folder: Path
    #: Paths inside the container -> files here, already translated.
    configs: dict[str, Path] = field(default_factory=dict)


class Compose:
    """The file, and the addresses and paths on this machine."""

    def __init__(self, folder: Path, path: Path = COMPOSE) -> None:
        self.folder = folder
        self._base = path.parent
        self._plain: dict[str, Any] = yaml.safe_load(_VARIABLE.sub(_value, path.read_text(encoding="utf-8")))
        self._names = sorted(self._plain["services"], key=len, reverse=True)
        self._hosts = re.compile(r"\b(" + "|".join(map(re.escape, self._names)) + r"):(\d+)\b")
        self._ports: dict[tuple[str, int], int] = {}
        #: Port of the machine -> the service that publishes it, and its port there.
        self._published: dict[str, tuple[str, int]] = {}
        for name, plain in self._plain["services"].items():
            for port in plain.get("ports", []):
                _, outside, inside = port.rsplit(":", 2)
                self._published[outside] = (name, int(inside))

    def address(self, service: str, port: int) -> str:
        """Returns the local address of that port of that service."""
        number = self._ports.get((service, port)) or self._ports.setdefault((service, port), free_port())
        return f"127.0.0.1:{number}"

    @property
    def secrets(self) -> Path:
        """The folder of the secrets."""
        return self.folder / "secrets"

    def services(self) -> list[Service]:
        """Returns all services, each after those it depends on."""
        found = {name: self._service(name) for name in self._plain["services"]}
        ordered: list[Service] = []
        while found:
            ready = [one for one in found.values() if not set(one.after) & found.keys()]
            if not ready:
                raise ValueError(f"compose.yaml: {', '.join(found)} wait for each other")
            for one in ready:
                ordered.append(found.pop(one.name))
        return ordered

    def _service(self, name: str) -> Service:
        plain = self._plain["services"][name]
        folder = self.folder / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = Service(
            name=name,
            image=plain["image"],
            command=[str(word) for word in plain.get("command", [])],
            environment={key: str(value) for key, value in plain.get("environment", {}).items()},
            after=list(plain.get("depends_on", {})),
            health=[str(word) for word in plain.get("healthcheck", {}).get("test", [])],
            folder=folder,
        )
        for config in plain.get("configs", []):
            source = self._base / self._plain["configs"][config["source"]]["file"]
            target = folder / Path(config["target"]).name
            target.write_text(self._here(source.read_text(encoding="utf-8"), name), encoding="utf-8")
            made.configs[config["target"]] = target
        made.command = [self._with_configs(self._here(word, name), made) for word in made.command]
        made.health = [self._here(word, name) for word in made.health]
        made.environment = {key: self._here(value, name) for key, value in made.environment.items()}
        return made

    def _with_configs(self, text: str, service: Service) -> str:
        for inside, here in service.configs.items():
            text = text.replace(inside, str(here))
        return text

    def _here(self, text: str, service: str) -> str:
        """Returns the text with the addresses and folders of this machine."""
        text = self._hosts.sub(lambda found: self.address(found[1], int(found[2])), text)
        text = _PUBLISHED.sub(lambda found: self.address(*self._published[found[1]]), text)
        text = _OWN.sub(
            lambda found: found[0] if self._is_here(found[0]) else self.address(service, int(found[1])), text
        )
        text = text.replace("/run/secrets/", f"{self.secrets}/")
        for inside in ("/var/lib/rubble", "/prometheus", "/data"):
            text = re.sub(rf"(?<![\w/.]){re.escape(inside)}\b", str(self.folder / service / "data"), text)
        return text

    def _is_here(self, address: str) -> bool:
        return int(address.rpartition(":")[2]) in self._ports.values()


def _value(found: re.Match[str]) -> str:
    """Returns the value of ``${NAME:-default}``, as Compose does."""
    return os.environ.get(found[1]) or found[2]
