"""Certificates for tests of TLS, made with openssl where it is installed."""

import shutil
import subprocess
from pathlib import Path

OPENSSL = shutil.which("openssl")


def openssl(*arguments: str) -> None:
    assert OPENSSL is not None
    subprocess.run([OPENSSL, *arguments], check=True, capture_output=True, timeout=60)


class Authority:
    """Somebody whose word on certificates is taken."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self.cert = folder / f"{name}.pem"
        self._key = folder / f"{name}.key"
        openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"),
            *("-subj", f"/CN={name}", "-keyout", str(self._key), "-out", str(self.cert)),
        )

    def certify(self, name: str) -> tuple[Path, Path]:
        """A certificate for localhost, and its key."""
        cert, key, request = (self._folder / f"{self._name}-{name}.{end}" for end in ("pem", "key", "csr"))
        names = self._folder / "names"
        names.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1")
        openssl(
            *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}"),
            *("-keyout", str(key), "-out", str(request)),
        )
        openssl(
            *("x509", "-req", "-in", str(request), "-CA", str(self.cert), "-CAkey", str(self._key)),
            *("-CAcreateserial", "-days", "2", "-extfile", str(names), "-out", str(cert)),
        )
        return cert, key
