"""Who makes the current call of the API, as proven by its token."""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller: the operator, an owner, or anybody."""

    is_operator: bool = False
    #: The name in an owner's key, and the key's generation. The book says whether it was revoked.
    owner: str = ""
    generation: int = 0

    @property
    def kind(self) -> str:
        if self.is_operator:
            return "operator"
        return "owner" if self.owner else "anybody"


ANYBODY: Final = Caller()
#: gRPC runs each call in its own task, so no other call sees this value.
current: Final[ContextVar[Caller]] = ContextVar("caller", default=ANYBODY)
