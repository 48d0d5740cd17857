"""What tests of the book share."""


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.ms = 1_000_000

    def __call__(self) -> int:
        return self.ms
