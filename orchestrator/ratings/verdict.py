"""The result of a sequential test, as a word."""

from enum import StrEnum


class Verdict(StrEnum):
    """The result so far."""

    BETTER = "better"
    NOT_BETTER = "not better"
    #: The last allowed block was played, and neither bound was reached.
    UNDECIDED = "undecided"
    #: More blocks may be played.
    RUNNING = "running"
