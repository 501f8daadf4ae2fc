"""Guards: the functions of descriptors name their plugin in what they raise, and return only what they should.

All plugins but newel's own are guarded, installed or given directly: a guard is a call more for each step of a turn.
"""

from __future__ import annotations

import copy
import functools
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from newel_compose._internal.faults import debugging, defined_at, describe_error
from newel_compose._internal.hookspecs import HookPolicy
from newel_compose._internal.registry import words
from newel_compose._internal.results import wrong
from newel_kernel import (
    Bound,
    Descriptor,
    Epilogue,
    Event,
    HookSignatureError,
    Observer,
    Prologue,
    RequestProcessor,
    ResponseProcessor,
    ResultProcessor,
    ToolPolicy,
)

_log = logging.getLogger("newel.plugins")
D = TypeVar("D", bound=Descriptor)
Function = Callable[..., Any]
_RAISED = "raised in "
#: The arguments of `run`.
_RUNS: dict[type[Descriptor], tuple[str, ...]] = {
    RequestProcessor: ("ctx", "request"),
    ResponseProcessor: ("ctx", "request", "response"),
    ResultProcessor: ("ctx", "call_event", "result_event"),
    Prologue: ("ctx",),
    Epilogue: ("ctx", "error"),
}


def guarded(item: D, hook: str, plugin: str, source: str) -> D:
    """The descriptor of a plugin, guarded; a HookSignatureError where one of its functions cannot be called."""
    who = f"the {words(type(item))} {item.name!r} of the plugin {plugin!r} ({source})"
    changed: dict[str, Function] = {}
    for kind, arguments in _RUNS.items():
        if isinstance(item, kind) and getattr(item, "for_agent", None) is None:
            run: Function = getattr(item, "run")  # noqa: B009 - each of these kinds has it
            _check(run, arguments, f"{item.name!r} with run=", hook, plugin)
            changed["run"] = _awaited(_step(run, who)) if kind is ResultProcessor else _step(run, who)
    if isinstance(item, RequestProcessor) and item.for_agent is not None:
        _check(item.for_agent, ("agent",), f"{item.name!r} with for_agent=", hook, plugin)
        for_agent = _named(item.for_agent, who)
        changed["for_agent"] = lambda agent: _step(for_agent(agent), who)
    for asked in ("applies_to", "serves"):
        if (question := getattr(item, asked, None)) is not None:
            _check(question, ("it",), f"{item.name!r} with {asked}=", hook, plugin)
            changed[asked] = _named(question, who)
    if isinstance(item, ToolPolicy):
        _check(item.wrap, ("call_tool",), f"{item.name!r} with wrap=", hook, plugin)
        changed["wrap"] = _wrapper(item.wrap, who, callable, "a function")
    if isinstance(item, HookPolicy):
        _check(item.wrap, ("bound",), f"{item.name!r} with wrap=", hook, plugin)
        changed["wrap"] = _wrapper(item.wrap, who, lambda made: isinstance(made, Bound), "a Bound")
    if isinstance(item, Observer):
        changed |= _watching(item, who, hook, plugin)
    return _with(item, changed) if changed else item


def _with(item: D, changed: dict[str, Function]) -> D:
    """A copy. `dataclasses.replace` would call the constructor, and a plugin's own class may have another one."""
    made = copy.copy(item)
    for name, function in changed.items():
        object.__setattr__(made, name, function)
    return made


def _check(function: object, arguments: tuple[str, ...], what: str, hook: str, plugin: str) -> None:
    if not callable(function):
        raise wrong(plugin, hook, f"returned {what}{function!r}, which cannot be called")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # one that C defines
    try:
        signature.bind(*arguments)
    except TypeError:
        name = getattr(function, "__qualname__", type(function).__qualname__)
        raise wrong(
            plugin, hook, f"returned {what}{name}{signature}, which must take ({', '.join(arguments)})"
        ) from None


def _note(error: BaseException, who: str) -> None:
    """Say in `error` where it comes from, once: what raised it is the innermost of those that it passes."""
    if not any(note.startswith(_RAISED) for note in getattr(error, "__notes__", ())):
        error.add_note(f"{_RAISED}{who}")


def _named(function: Function, who: str) -> Function:
    @functools.wraps(function)
    def named(*args: object) -> Any:
        try:
            return function(*args)
        except Exception as error:
            _note(error, who)
            raise

    return named


def _step(run: Function, who: str) -> Function:
    """`run`, whose result is None or a list of events."""
    return _coroutine(run, run, who) if inspect.iscoroutinefunction(run) else _plain(run, who)


def _coroutine(run: Function, function: Function, who: str) -> Function:
    """`run`, which gives something to await for the result of `function`."""

    @functools.wraps(run)
    async def step(*args: object) -> object:
        try:
            events = await run(*args)
        except Exception as error:
            _note(error, who)
            raise
        if events is None or (isinstance(events, (list, tuple)) and all(isinstance(one, Event) for one in events)):
            return events
        raise HookSignatureError(f"{_returned(function, who, events)}; it must return a list of events or None")

    return step


def _plain(run: Function, who: str) -> Function:
    """`run`, which most often does all of its work when it is called."""
    rest = _coroutine(lambda awaited: awaited, run, who)

    @functools.wraps(run)
    def step(*args: object) -> Awaitable[object] | None:
        try:
            result = run(*args)
        except Exception as error:
            _note(error, who)
            raise
        if result is None:
            return None
        if not inspect.isawaitable(result):
            raise HookSignatureError(
                f"{_returned(run, who, result)}; a plain function must return None, one that has events is written "
                f"with `async def`"
            )
        awaited: Awaitable[object] = rest(result)
        return awaited

    return step


def _awaited(step: Function) -> Function:
    """A step that is awaited whatever it is: the kernel does so with those that see results."""

    @functools.wraps(step)
    async def awaited(*args: object) -> object:
        return None if (rest := step(*args)) is None else await rest

    return awaited


def _returned(function: Function, who: str, value: object) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{who}: {name}{defined_at(function)} returned {_shape(value)}"


def _shape(value: object) -> str:
    """The type of a value; of a list, also those of its items."""
    if isinstance(value, (list, tuple)) and value:
        kinds = sorted({type(one).__name__ for one in value})
        return f"a {type(value).__name__} of {', '.join(kinds)}"
    return type(value).__name__


def _watching(item: Observer, who: str, hook: str, plugin: str) -> dict[str, Function]:
    """The functions of an observer. What it raises when it is told something is a line, for it must not stop a run."""
    _check(item.notify, ("signal",), f"{item.name!r} with notify=", hook, plugin)
    changed: dict[str, Function] = {"notify": _telling(item.notify, who)}
    for name, arguments in (("within", ("operation",)), ("wanted", ())):
        if (function := getattr(item, name)) is not None:
            _check(function, arguments, f"{item.name!r} with {name}=", hook, plugin)
            changed[name] = _named(function, who)
    return changed


def _telling(notify: Function, who: str) -> Function:
    told: set[str] = set()

    @functools.wraps(notify)
    def telling(signal: object) -> None:
        try:
            notify(signal)
        except Exception as error:  # noqa: BLE001 - the border to a plugin
            if (text := describe_error(error)) not in told:  # it may fail at each step of each run
                told.add(text)
                _log.warning("newel: %s failed: %s", who, text, exc_info=error if debugging() else None)

    return telling


def _wrapper(wrap: Function, who: str, fits: Callable[[object], bool], wanted: str) -> Function:
    named = _named(wrap, who)

    @functools.wraps(wrap)
    def wrapper(inner: object) -> Any:
        made = named(inner)
        if not fits(made):
            raise HookSignatureError(f"{who}: wrap returned {type(made).__name__}; it must return {wanted}")
        return made

    return wrapper
