"""The clock of one seat, as an immutable value. Pure: the current time is a parameter.

All times are in milliseconds. Methods return a new clock.
"""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from service.sessions.entries import Count

#: Delay that the service itself may add to an answer, in milliseconds; it does not count against the bot.
LAG_MS: Final = 150


class TimeControl(Struct, frozen=True, array_like=True, gc=False):
    """How long a seat may think, in milliseconds."""

    move_ms: Count = 10_000
    bank_ms: Count = 60_000
    increment_ms: Count = 0
    seating_ms: Count = 60_000


class Clock(Struct, frozen=True, array_like=True, gc=False):
    """The time a seat has left and has used, and when it was asked."""

    control: TimeControl
    bank_ms: int
    #: When the open question was asked; 0 if there is none.
    asked_ms: int = 0
    #: The seat has connected; until then only the time to connect runs.
    is_seated: bool = False
    #: Time used by all its answers together.
    used_ms: int = 0

    # ---------------------------------------------------------------------------------------------------------- changing
    def ask(self, now_ms: int) -> "Clock":
        """Ask the seat a question."""
        return Clock(self.control, self.bank_ms, now_ms, self.is_seated, self.used_ms)

    def take_seat(self, now_ms: int) -> "Clock":
        """Mark the seat as connected; the time for an open question starts now."""
        return replace(self, is_seated=True, asked_ms=now_ms if self.asked_ms else 0)

    def spend(self, used_ms: int) -> "Clock":
        """Close the open question after this time; what exceeds the time per move is taken from the bank."""
        over = used_ms - self.control.move_ms
        bank = max(0, self.bank_ms - over) if over > 0 and self.is_seated else self.bank_ms
        return Clock(self.control, bank + self.control.increment_ms, 0, True, self.used_ms + used_ms)

    def stop(self) -> "Clock":
        """Withdraw the question, because the seat or the session no longer plays."""
        return replace(self, asked_ms=0)

    # ------------------------------------------------------------------------------------------------------------ asking
    @property
    def deadline_ms(self) -> int:
        """When the clock runs out, including bank and lag; 0 if no question is open."""
        if not self.asked_ms:
            return 0
        own = self.control.move_ms + self.bank_ms if self.is_seated else self.control.seating_ms
        return self.asked_ms + own + LAG_MS

    def is_past(self, moment_ms: int) -> bool:
        """Whether the time per move is over at this moment; before that, lost time need not be computed."""
        return moment_ms > min(self.deadline_ms, self.asked_ms + self.control.move_ms)

    def is_late(self, heard_ms: int, lost_ms: int = 0) -> bool:
        """Whether an answer received at this moment is too late; ``lost_ms`` of the time does not count."""
        return heard_ms > self.deadline_ms + lost_ms

    def left(self, now_ms: int) -> tuple[int, int]:
        """Return what is left for the open question: of the time per move, and of the bank."""
        used = self._running(now_ms)
        own = self.control.move_ms
        return max(0, own - used), max(0, self.bank_ms - max(0, used - own))

    def used(self, now_ms: int) -> int:
        """Return the time used so far: by all answers, and by the open question if the seat has connected."""
        return self.used_ms + self._running(now_ms)

    def _running(self, now_ms: int) -> int:
        return max(0, now_ms - self.asked_ms) if self.is_seated and self.asked_ms else 0
