"""The clock of one seat: a value with a name for every question that is asked of it. Pure: time comes in as a number.

All times are in milliseconds. A clock is never changed: whoever asks a question or takes an answer gets another one.
"""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from service.sessions.entries import Count

#: What the way through the service may cost a bot, in milliseconds, before its clock is held against it.
LAG_MS: Final = 150


class TimeControl(Struct, frozen=True, array_like=True, gc=False):
    """How long a seat may think, in milliseconds."""

    move_ms: Count = 10_000
    bank_ms: Count = 60_000
    increment_ms: Count = 0
    seating_ms: Count = 60_000


class Clock(Struct, frozen=True, array_like=True, gc=False):
    """What a seat has left and has used, and since when it is asked."""

    control: TimeControl
    bank_ms: int
    #: When the open question was put; 0 if there is none.
    asked_ms: int = 0
    #: The seat has turned up: until then only the time to do so runs.
    is_seated: bool = False
    #: What its answers took in all.
    used_ms: int = 0

    # ---------------------------------------------------------------------------------------------------------- changing
    def ask(self, now_ms: int) -> "Clock":
        """A question is put to the seat."""
        return Clock(self.control, self.bank_ms, now_ms, self.is_seated, self.used_ms)

    def take_seat(self, now_ms: int) -> "Clock":
        """The seat has turned up; if it is asked already, its time begins now."""
        return replace(self, is_seated=True, asked_ms=now_ms if self.asked_ms else 0)

    def spend(self, used_ms: int) -> "Clock":
        """The open question was answered in so long: what exceeds the move's own time is taken from the bank."""
        over = used_ms - self.control.move_ms
        bank = max(0, self.bank_ms - over) if over > 0 and self.is_seated else self.bank_ms
        return Clock(self.control, bank + self.control.increment_ms, 0, True, self.used_ms + used_ms)

    def stop(self) -> "Clock":
        """The question is withdrawn: the seat or the session plays no more."""
        return replace(self, asked_ms=0)

    # ------------------------------------------------------------------------------------------------------------ asking
    @property
    def deadline_ms(self) -> int:
        """When the clock runs out, bank and lag included; 0 if no question is open."""
        if not self.asked_ms:
            return 0
        own = self.control.move_ms + self.bank_ms if self.is_seated else self.control.seating_ms
        return self.asked_ms + own + LAG_MS

    def is_past(self, moment_ms: int) -> bool:
        """Whether the move's own time had passed at this moment: from then on it is worth asking what was lost to outages."""
        return moment_ms > min(self.deadline_ms, self.asked_ms + self.control.move_ms)

    def is_late(self, heard_ms: int, lost_ms: int = 0) -> bool:
        """Whether what was heard at this moment came after the clock had run out; ``lost_ms`` of its time does not count."""
        return heard_ms > self.deadline_ms + lost_ms

    def left(self, now_ms: int) -> tuple[int, int]:
        """What is left for the open question: of the move's own time, and of the bank."""
        used = self._running(now_ms)
        own = self.control.move_ms
        return max(0, own - used), max(0, self.bank_ms - max(0, used - own))

    def used(self, now_ms: int) -> int:
        """What the seat has used so far: for all its answers, and for the open question once it has turned up."""
        return self.used_ms + self._running(now_ms)

    def _running(self, now_ms: int) -> int:
        return max(0, now_ms - self.asked_ms) if self.is_seated and self.asked_ms else 0
