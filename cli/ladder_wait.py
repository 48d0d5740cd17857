"""Waits for an answer of the API that takes minutes or hours: asks again and again, also over a restart of the arena."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from rich.text import Text

from cli.terminal import complain, error_console

#: Seconds between two questions.
_LOOK_S: Final = 3.0

T = TypeVar("T")


def ask_until(
    ask: Callable[[], T],
    is_final: Callable[[T], bool],
    words: Callable[[T], str],
    pause: Callable[[float], None] = time.sleep,
) -> T:
    """Ask until the answer is final. A terminal shows ``words`` meanwhile; ``pause`` is called between two questions.

    Once there was an answer, the arena may be away for a while.
    """
    from orchestrator.client import ServiceError

    answer = ask()
    if is_final(answer):
        return answer
    is_away = False
    console = error_console()
    with console.status(Text(words(answer))) as status:
        while not is_final(answer):
            pause(_LOOK_S)
            try:
                answer = ask()
            except ServiceError as error:
                if not error.is_passing:
                    raise
                if not is_away:
                    complain(f"the arena is away ({error.reason}); asking again")
                is_away = True
                continue
            is_away = False
            status.update(Text(words(answer)))
    return answer
