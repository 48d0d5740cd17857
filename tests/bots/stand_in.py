"""A fake language model: it reads the prompt and answers by a script, sometimes badly. It can also run as a program."""

import re
import sys
from itertools import count

_asked = count()


def actions(prompt: str) -> list[str]:
    """The actions a prompt offers."""
    listed = prompt.split("You may:\n")[1].split("\n\n", maxsplit=1)[0]
    return [line.partition(". ")[2] for line in listed.splitlines()]


def answer(prompt: str) -> str:
    """Answers in every form in turn; after a bad answer with a plain number."""
    offered = actions(prompt)
    last = len(offered)
    if "could not be used" in prompt:
        return f"Sorry. answer: {last}"
    ways = (
        str(last),
        offered[-1],
        f"Let me think about this.\nThe table is open, 3 of 7 things matter.\n\n**Answer: {offered[0].upper()}**",
        f"I would go for `{offered[last // 2]}` here, it is the best.",
        "I am sorry, as a stand-in I cannot play games.",
        f"{last + 70}",
        f"```\nanswer: {last // 2 + 1}\n```",
    )
    return ways[next(_asked) % len(ways)]


def nonsense(prompt: str) -> str:
    """Never an action."""
    del prompt
    return "Buy low, sell high."


def broken(prompt: str) -> str:
    """Always an error."""
    raise ConnectionError(f"no model for {len(re.findall('.', prompt))} characters")


if __name__ == "__main__":
    print(answer(sys.stdin.read()))
