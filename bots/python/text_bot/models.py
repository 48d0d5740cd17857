"""The source of answers: a Python function, or a program that reads the prompt and writes the answer."""

import importlib
import subprocess
from collections.abc import Callable, Sequence
from typing import TypeAlias

#: (prompt, seconds it may take) -> answer.
Model: TypeAlias = Callable[[str, float], str]


class BadModel(Exception):
    """The model cannot be loaded; the message says why."""


class NoAnswer(Exception):
    """The model gave no answer this time; the message says why."""


def from_function(name: str) -> Model:
    """Loads ``module:function``, a function from a prompt to an answer. An exception in it counts as no answer."""
    module, _, function = name.partition(":")
    if not module or not function:
        raise BadModel(f"--model: {name!r} is not possible; expected module:function")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise BadModel(f"--model: {name!r} is not possible: {error}") from None
    if not callable(found):
        raise BadModel(f"--model: {name!r} is not a function")

    def ask(prompt: str, seconds: float) -> str:
        del seconds  # a function cannot be interrupted: it must limit its own time
        try:
            answer = found(prompt)
        except Exception as error:
            raise NoAnswer(f"{name} failed: {type(error).__name__}: {error}") from error
        if not isinstance(answer, str):
            raise NoAnswer(f"{name} gave {answer!r}; expected a text")
        return answer

    return ask


def from_command(command: Sequence[str]) -> Model:
    """Starts the program for every question: the prompt on standard input, the answer on standard output."""

    def ask(prompt: str, seconds: float) -> str:
        try:
            done = subprocess.run(command, input=prompt, capture_output=True, text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            raise NoAnswer(f"{command[0]} took longer than {seconds:.1f} s") from None
        except OSError as error:
            raise NoAnswer(f"{command[0]} cannot be started: {error.strerror}") from error
        if done.returncode != 0:
            raise NoAnswer(f"{command[0]} ended with exit code {done.returncode}: {done.stderr.strip()[-200:]}")
        return done.stdout

    return ask
