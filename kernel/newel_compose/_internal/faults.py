"""Faults: what keeps plugins from composing, and which plugin could be left out to be rid of it."""

from __future__ import annotations

import linecache
import traceback
from pathlib import Path
from typing import TypeVar

from newel_kernel import CompositionError, NewelError

E = TypeVar("E", bound=NewelError)
_HERE = str(Path(__file__).parent)


class Fault(str):
    """A problem in a sentence. `plugins` could be left out, the last one first; `why` is the reason for that."""

    plugins: tuple[str, ...]
    why: str

    def __new__(cls, text: str, *plugins: str, why: str = "") -> Fault:
        """The text, with what it is about."""
        fault = super().__new__(cls, text)
        fault.plugins = plugins
        fault.why = why or text
        return fault


def blamed(error: E, plugin: str, why: str) -> E:
    """`error`, which leaving out `plugin` would mend."""
    error.__dict__["fault"] = Fault(str(error), plugin, why=why)
    return error


def faults_of(error: NewelError) -> list[Fault]:
    """What an error of composing says about plugins."""
    own = error.__dict__.get("fault")
    problems = error.problems if isinstance(error, CompositionError) else ()
    return [own] if isinstance(own, Fault) else [problem for problem in problems if isinstance(problem, Fault)]


def describe_error(error: BaseException) -> str:
    """``ValueError: boom (plugin.py:12)``: type, message and the line that raised it, on one line."""
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    text = " ".join(f"{type(error).__name__}: {said}".split()).removesuffix(":")
    return text + place_of(error)


def place_of(error: BaseException) -> str:
    """`` (plugin.py:12)``: the innermost line of a file that is neither ours nor an import's machinery, or empty."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f" ({Path(error.filename).name}:{error.lineno})"
    for frame in reversed(traceback.extract_tb(error.__traceback__, limit=-20)):
        file = frame.filename
        if not file.startswith((_HERE, "<")) and "importlib" not in file and linecache.getline(file, 1):
            return f" ({Path(file).name}:{frame.lineno})"
    return ""
