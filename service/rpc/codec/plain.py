"""Encodes a view of a game without messages of its own, as plain data."""

from google.protobuf import json_format, struct_pb2

from rubble.v1 import common_pb2
from service.games.core import Plain


def view_bytes(view: Plain) -> bytes:
    """Return a View. Its numbers become doubles, which are exact for every whole number in a game."""
    return common_pb2.View(other=json_format.ParseDict(view, struct_pb2.Struct())).SerializeToString()
