"""Prints the bytes of haproxy.cfg's health check: a call of grpc.health.v1.Health/Check as a client writes it in HTTP/2."""

import struct
from typing import Final

_HEADERS: Final = 1
_DATA: Final = 0
_SETTINGS: Final = 4
_END_STREAM: Final = 0x1
_END_HEADERS: Final = 0x4


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """Returns an HTTP/2 frame (RFC 9113, 4.1)."""
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def text(value: str) -> bytes:
    """Returns an uncompressed HPACK string (RFC 7541, 5.2)."""
    return bytes((len(value),)) + value.encode()


def check() -> bytes:
    """Returns all bytes the client sends."""
    headers = b"".join(
        [
            b"\x83",  # :method POST, entry 3 of HPACK's static table
            b"\x86",  # :scheme http
            b"\x04" + text("/grpc.health.v1.Health/Check"),  # :path, not indexed
            b"\x01" + text("balancer"),  # :authority
            b"\x0f\x10" + text("application/grpc"),  # content-type, entry 31
            b"\x00" + text("te") + text("trailers"),
        ]
    )
    return b"".join(
        [
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            frame(_SETTINGS, 0, 0, b""),
            frame(_HEADERS, _END_HEADERS, 1, headers),
            frame(_DATA, _END_STREAM, 1, bytes(5)),  # a message of no bytes: the health of the whole server
        ]
    )


if __name__ == "__main__":
    print(check().hex())
