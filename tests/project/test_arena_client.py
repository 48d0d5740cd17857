"""The next command that a message names finds the arena of the command before it."""

import shlex

import pytest

from cli.arena_client import same_arena


@pytest.mark.parametrize(
    ("api", "state_dir", "flags"),
    [
        ("", ".rubble", []),
        ("", "my arena", ["--state-dir", "my arena"]),
        ("arena.example:50052", ".rubble", ["--api", "arena.example:50052"]),
        ("arena.example:50052", "other", ["--api", "arena.example:50052"]),
    ],
)
def test_the_next_command_names_an_arena_that_is_not_the_usual_one(api: str, state_dir: str, flags: list[str]) -> None:
    assert shlex.split(same_arena(api, state_dir)) == flags
