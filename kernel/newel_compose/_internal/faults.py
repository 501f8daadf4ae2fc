"""Faults: problems that keep plugins from composing, and the plugins that could be left out to solve them."""

from __future__ import annotations

import inspect
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from newel_kernel import (
    CompositionError,
    NewelError,
    PluginError,
    class_name,
    did_you_mean,
    error_text,
    is_interrupt,
    plain,
)
from newel_types import FieldError

E = TypeVar("E", bound=NewelError)
#: A package that sets this to true calls other people's code: its own lines are never to blame. pytest reads it, too.
_HIDES = "__tracebackhide__"


#: The most characters of an error's description. A stranger decides how long its text is.
_MOST = 900


class Fault(str):
    """A problem in a sentence. `plugins` could be left out to solve it, the last one first; `why` is the reason."""

    plugins: tuple[str, ...]
    why: str

    def __new__(cls, text: str, *plugins: str, why: str = "") -> Fault:
        """The text, with the plugins and the reason."""
        fault = super().__new__(cls, text)
        fault.plugins = plugins
        fault.why = why or text
        return fault


def with_fault(error: E, plugin: str, why: str) -> E:
    """`error`, marked as solved by leaving out `plugin`."""
    error.__dict__["fault"] = Fault(str(error), plugin, why=why)
    return error


@contextmanager
def blaming(plugin: str, doing: str) -> Iterator[None]:
    """Let the block's error, whatever it is, be the plugin's: ``it failed in register_x: ValueError: boom``.

    An error that is marked with its plugin passes unchanged, and so does what interrupts the program.
    """
    try:
        yield
    except BaseException as error:  # SystemExit, too: a plugin that exits must not end the program unnamed
        if is_interrupt(error) or (isinstance(error, NewelError) and faults_of(error)):
            raise
        why = f"{doing}: {describe_error(error)}"
        raise with_fault(PluginError(f"the plugin {plugin!r} {why}"), plugin, f"it {why}") from error


def quoted(value: object) -> str:
    """The repr of a stranger's value, for a message: plain, and cut if it is long."""
    try:
        return plain(repr(value), 200)
    except BaseException as error:  # noqa: BLE001 - SystemExit, too
        return f"an object of {class_name(value)} whose repr raises {class_name(error)}"


def faults_of(error: NewelError) -> list[Fault]:
    """The faults of plugins in an error of composing."""
    own = error.__dict__.get("fault")
    problems = error.problems if isinstance(error, CompositionError) else ()
    return [own] if isinstance(own, Fault) else [problem for problem in problems if isinstance(problem, Fault)]


def describe_error(error: BaseException) -> str:
    """``ValueError: boom (plugin.py:12 in run)``: type, message, and the line that raised it, on one line.

    Notes on the error follow, such as the plugin that it comes from.
    """
    if isinstance(error, SyntaxError):
        text = f"{class_name(error)}: {error.msg}"
    elif isinstance(error, ValidationError) and not isinstance(error, FieldError):
        names = _fields(error)
        problems = error.errors(include_url=False, include_input=False)
        details = "; ".join(dict.fromkeys(_problem(problem, names) for problem in problems))
        text = f"{class_name(error)}: {error.title}: {details}"
    else:
        text = error_text(error)
    return plain(" ".join(f"{text}{place_of(error)}{''.join(_notes(error))}".split()), _MOST)


def _notes(error: BaseException) -> Iterator[str]:
    notes = getattr(error, "__notes__", ())
    for note in notes if isinstance(notes, (list, tuple)) else ():
        yield f"; {plain(note)}"


def _problem(problem: Mapping[str, Any], names: Iterable[str]) -> str:
    where = ".".join(map(str, problem["loc"]))
    if problem["type"] == "extra_forbidden":
        return f"there is no field {where!r}{did_you_mean(where, names)}"
    return f"{where}: {problem['msg'].removeprefix('Value error, ')}"


def _fields(error: ValidationError) -> Iterable[str]:
    """The fields of the model that was validated, found in the frames of the error."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        model = type(frame.f_locals.get("self"))
        if model.__name__ == error.title and issubclass(model, BaseModel):
            return model.model_fields
    return ()


def place_of(error: BaseException) -> str:
    """`` (plugin.py:12 in run)``: the innermost line of the user's code; empty if there is none, or the text names it.

    Project code goes before installed code. Of installed code only the first package counts. Packages that set
    ``__tracebackhide__ = True``, as a runtime's do, are passed over.
    """
    cause, within = _first_cause(error), ""
    if isinstance(cause, SyntaxError) and cause.filename and cause.lineno:
        line = f"{Path(cause.filename).name}:{cause.lineno}"
    elif frames := frames_of(cause):
        line = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
        within = "" if frames[-1].name == "<module>" else f" in {frames[-1].name}"
    else:
        return ""
    is_named = re.search(rf"\({re.escape(line)}\b", error_text(error)) is not None
    return "" if is_named else f" ({line}{within})"


def frames_of(error: BaseException) -> list[traceback.FrameSummary]:
    """The lines of the user's code that an error came through, the innermost last, as `place_of` chooses among them."""
    error = _first_cause(error)
    if getattr(error, "has_no_place", False):
        return []
    standard = sysconfig.get_path("stdlib")
    frames = [
        (Path(frame.filename), frame)
        for (live, _), frame in zip(
            traceback.walk_tb(error.__traceback__), traceback.extract_tb(error.__traceback__), strict=True
        )
        if not frame.filename.startswith("<") and not _hidden(live.f_globals)
    ]
    projects = [one for one in frames if not _INSTALLED & set(one[0].parts) and not one[0].is_relative_to(standard)]
    installed = [one for one in frames if _INSTALLED & set(one[0].parts) and _package(one[0]) not in _CALLERS]
    chosen = projects or [one for one in installed if _package(one[0]) == _package(installed[0][0])]
    return [frame for _, frame in chosen]


def _first_cause(error: BaseException) -> BaseException:
    seen: set[int] = set()
    while error.__cause__ is not None and id(error) not in seen:
        seen.add(id(error))
        error = error.__cause__
    return error


_INSTALLED = {"site-packages", "dist-packages"}
#: Packages that call commands and print their output: they are never to blame.
_CALLERS = {"click"}


def _package(path: Path) -> str:
    """The package of an installed file: what follows site-packages on its path."""
    at = next(index for index, part in enumerate(path.parts) if part in _INSTALLED)
    return path.parts[at + 1]


def debugging() -> bool:
    """Whether NEWEL_DEBUG=1 asks for tracebacks."""
    return os.environ.get("NEWEL_DEBUG", "") not in ("", "0")


def defined_at(function: object) -> str:
    """`` (agent.py:11)``: where a function is defined, or empty if that is not known."""
    function = inspect.unwrap(function) if callable(function) else function
    code = getattr(getattr(function, "__func__", function), "__code__", None)  # a mock of a coroutine has a mock of one
    return f" ({Path(code.co_filename).name}:{code.co_firstlineno})" if type(code) is CodeType else ""


def _hidden(names: Mapping[str, object]) -> bool:
    """Whether the module with these globals is in a package that hides its lines."""
    package = str(names.get("__package__") or names.get("__name__", "")).partition(".")[0]
    return bool(vars(sys.modules[package]).get(_HIDES)) if package in sys.modules else False
