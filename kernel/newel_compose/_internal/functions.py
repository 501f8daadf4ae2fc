"""Functions of plugins, wrapped: their errors name the plugin, and their results are checked."""

from __future__ import annotations

import functools
import inspect
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from newel_compose._internal.descriptors import Guard
from newel_compose._internal.faults import defined_at
from newel_kernel import Event, HookSignatureError, PluginError, cancellations, error_text, is_interrupt

Function = Callable[..., Any]
#: What most steps must return, for error messages.
EVENTS = "a list of events"
_RAISED = "raised in "


def blamed(error: BaseException, who: str) -> BaseException:
    """What to raise for what `who` raised: the error with a note of where it comes from, or one that can be told.

    The first wrapper that an error passes is the innermost: it notes it, the others do not. An exit, and an error
    whose text or notes are not available, become a PluginError: nothing ends the program unnamed, or in silence.
    """
    if is_interrupt(error) or (isinstance(error, CancelledError) and _is_cancelled()):
        return error  # of a person, of a run that is closed, of a task that is cancelled
    notes = getattr(error, "__notes__", [])
    if not isinstance(error, Exception) or not _is_presentable(error) or not isinstance(notes, list):
        failure = PluginError(f"{who} raised {error_text(error)}")
        failure.__cause__ = error
        return failure
    if not any(isinstance(note, str) and note.startswith(_RAISED) for note in notes):
        error.add_note(f"{_RAISED}{who}")
    return error


def _is_cancelled() -> bool:
    """Whether the running task is cancelled, if one runs."""
    try:
        return cancellations() > 0
    except RuntimeError:  # no event loop runs
        return False


def _is_presentable(error: Exception) -> bool:
    """Whether its class can be asked for its name, and it for its text."""
    try:
        return bool(type(error).__name__) and isinstance(str(error), str)
    except BaseException:  # noqa: BLE001 - SystemExit, too
        return False


def named(function: Function, who: str) -> Function:
    """`function`, wrapped so that its errors name the plugin."""

    @functools.wraps(function)
    def call(*args: object) -> Any:
        try:
            return function(*args)
        except BaseException as error:  # noqa: BLE001 - a plugin boundary
            raise blamed(error, who)  # noqa: B904 - it has its cause

    return call


def step(run: Function, who: str) -> Function:
    """`run`, wrapped to check that its result is None or a list of events."""
    return _coroutine(run, run, who) if inspect.iscoroutinefunction(run) else _plain(run, who)


def _coroutine(run: Function, function: Function, who: str) -> Function:
    """`run`, which returns an awaitable of the result of `function`, wrapped to check that result."""

    @functools.wraps(run)
    async def run_it(*args: object) -> object:
        try:
            events = await run(*args)
        except BaseException as error:  # noqa: BLE001 - a plugin boundary
            raise blamed(error, who)  # noqa: B904 - it has its cause
        if events is None or (isinstance(events, (list, tuple)) and all(isinstance(one, Event) for one in events)):
            return events
        raise HookSignatureError(f"{_returned(function, who, events)}; it must return {EVENTS} or None")

    return run_it


def _plain(run: Function, who: str) -> Function:
    """`run`, a plain function that usually returns None, wrapped to check its result."""
    rest = _coroutine(lambda awaited: awaited, run, who)

    @functools.wraps(run)
    def run_it(*args: object) -> Awaitable[object] | None:
        try:
            result = run(*args)
        except BaseException as error:  # noqa: BLE001 - a plugin boundary
            raise blamed(error, who)  # noqa: B904 - it has its cause
        if result is None:
            return None
        if not inspect.isawaitable(result):
            raise HookSignatureError(
                f"{_returned(run, who, result)}; a plain function must return None; write one that returns events "
                f"with `async def`"
            )
        remaining: Awaitable[object] = rest(result)
        return remaining

    return run_it


def awaited(step: Function) -> Function:
    """`step` as a coroutine function: the kernel always awaits the steps that see results."""

    @functools.wraps(step)
    async def run_it(*args: object) -> object:
        return None if (rest := step(*args)) is None else await rest

    return run_it


def _returned(function: Function, who: str, value: object) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{who}: {name}{defined_at(function)} returned {_shape(value)}"


def _shape(value: object) -> str:
    """The type of a value; for a list, also the types of its items."""
    if isinstance(value, (list, tuple)) and value:
        kinds = sorted({type(one).__name__ for one in value})
        return f"a {type(value).__name__} of {', '.join(kinds)}"
    return type(value).__name__


def checked(function: Function, who: str, guard: Guard) -> Function:
    """`function`, wrapped to check its result against `guard`."""
    run = named(function, who)

    def result_of(value: object) -> object:
        if not guard.fits(value):
            raise HookSignatureError(f"{_returned(function, who, value)}; it must return {guard.expected}")
        return checked(value, who, guard.result) if guard.result is not None and callable(value) else value

    async def wait(result: Awaitable[object]) -> object:
        try:
            value = await result
        except BaseException as error:  # noqa: BLE001 - a plugin boundary
            raise blamed(error, who)  # noqa: B904 - it has its cause
        return result_of(value)

    @functools.wraps(function)
    def call(*args: object) -> object:
        result = run(*args)
        is_awaitable = inspect.isawaitable(result)
        if guard.awaited is None or is_awaitable is guard.awaited:
            return wait(result) if is_awaitable else result_of(result)
        if inspect.iscoroutine(result):
            result.close()  # nobody will await it
        spelling = "with `async def`" if guard.awaited else "without `async`"
        raise HookSignatureError(f"{_returned(function, who, result)}; write it {spelling} and return {guard.expected}")

    return call


def each(function: Function, who: str) -> Function:
    """`function`, wrapped to check that it gives events. It stays lazy: a generator resumes after each commit."""

    @functools.wraps(function)
    def call(*args: object) -> Iterator[Event]:
        events = iter(function(*args))
        while True:
            try:
                event = next(events)
            except StopIteration:
                return
            except BaseException as error:  # noqa: BLE001 - a plugin boundary
                raise blamed(error, who)  # noqa: B904 - it has its cause
            if not isinstance(event, Event):
                raise HookSignatureError(f"{_returned(function, who, [event])}; it must return {EVENTS}")
            yield event

    return call
