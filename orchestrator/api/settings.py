"""The settings of the API, read once from the environment; flags may override those that are not secret."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from orchestrator.client import ServiceAccess
from orchestrator.settings import BadSetting, address, is_on, needed, secret

DEFAULT_LISTEN: Final = "127.0.0.1:50052"


@dataclass(frozen=True)
class ApiSettings:
    """The settings of the API process."""

    book: str = field(repr=False)
    #: The service. Callers of the API authenticate with the token of its operator.
    access: ServiceAccess
    listen: str
    #: The address to which remote bots connect; by default that of the service.
    bot_address: str
    #: host:port where this process serves metrics; empty: nowhere.
    metrics: str
    #: Whether the ladders of the book go on, as in the settings of beat.
    ladders: bool = True
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None

    def to_env(self) -> dict[str, str]:
        """The settings as environment variables for a child process."""
        return {
            "RUBBLE_BOOK": self.book,
            "RUBBLE_ADDRESS": self.access.address,
            "RUBBLE_OPERATOR_TOKEN": self.access.operator_token,
            "RUBBLE_CA": self.access.ca_file,
            "RUBBLE_API_LISTEN": self.listen,
            "RUBBLE_BOT_ADDRESS": self.bot_address,
            "RUBBLE_METRICS": self.metrics,
            "RUBBLE_LADDERS": "on" if self.ladders else "off",
            "RUBBLE_TLS_CERT": str(self.tls_cert or ""),
            "RUBBLE_TLS_KEY": str(self.tls_key or ""),
            "RUBBLE_TLS_CLIENT_CA": str(self.tls_client_ca or ""),
        }


def read_api_settings(env: Mapping[str, str] | None = None) -> ApiSettings:
    """The settings of this process. Raises BadSetting if one is missing or wrong."""
    env = os.environ if env is None else env
    token = secret(env, "RUBBLE_OPERATOR_TOKEN", "the token of the service's operator")
    service = needed(env, "RUBBLE_ADDRESS", "host:port of the service")
    cert, key, client_ca = (_path(env, f"RUBBLE_TLS_{what}") for what in ("CERT", "KEY", "CLIENT_CA"))
    if (cert is None) != (key is None):
        missing = "RUBBLE_TLS_KEY" if cert else "RUBBLE_TLS_CERT"
        raise BadSetting(missing, "", "both the certificate and its key, or neither")
    if client_ca is not None and cert is None:
        raise BadSetting(
            "RUBBLE_TLS_CERT", "", "a server certificate, since RUBBLE_TLS_CLIENT_CA asks callers for theirs"
        )
    return ApiSettings(
        book=secret(env, "RUBBLE_BOOK", "an address such as sqlite:////var/lib/rubble/book.sqlite"),
        access=ServiceAccess(service, token, env.get("RUBBLE_CA", "")),
        listen=address(env, "RUBBLE_API_LISTEN", DEFAULT_LISTEN),
        bot_address=env.get("RUBBLE_BOT_ADDRESS", "") or service,
        metrics=address(env, "RUBBLE_METRICS", ""),
        ladders=is_on(env, "RUBBLE_LADDERS"),
        tls_cert=cert,
        tls_key=key,
        tls_client_ca=client_ca,
    )


def _path(env: Mapping[str, str], name: str) -> Path | None:
    return Path(env[name]).expanduser() if env.get(name) else None
