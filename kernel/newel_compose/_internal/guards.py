"""Guards: wrap the functions of descriptors, so that errors name the plugin and results are checked.

All plugins are guarded, installed or given directly, but for those of the packages that the distribution trusts: a
guard costs one call per step of a turn.
"""

from __future__ import annotations

import copy
import functools
import inspect
import logging
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from newel_compose._internal.descriptors import Guard
from newel_compose._internal.faults import debugging, describe_error
from newel_compose._internal.functions import EVENTS, Function, awaited, checked, each, named, step
from newel_compose._internal.hookspecs import HookPolicy, StagePolicy
from newel_compose._internal.registry import words
from newel_compose._internal.results import wrong
from newel_kernel import (
    BaseAgent,
    Bound,
    Descriptor,
    Epilogue,
    Event,
    Observer,
    Prologue,
    RequestProcessor,
    ResponseProcessor,
    ResultProcessor,
    Session,
    SessionGate,
    Stage,
    ToolPolicy,
    TurnPolicy,
    is_interrupt,
)

_log = logging.getLogger("newel.plugins")
D = TypeVar("D", bound=Descriptor)
#: The functions that a kind has by default need no guard.
_DEFAULTS: Mapping[type[Descriptor], Descriptor] = {TurnPolicy: TurnPolicy(), SessionGate: SessionGate()}
#: The arguments of `run`.
_RUN_ARGUMENTS: dict[type[Descriptor], tuple[str, ...]] = {
    RequestProcessor: ("ctx", "request"),
    ResponseProcessor: ("ctx", "request", "response"),
    ResultProcessor: ("ctx", "call_event", "result_event"),
    Prologue: ("ctx",),
    Epilogue: ("ctx", "error"),
}


def _is_events(value: object) -> bool:
    return isinstance(value, Collection) and all(isinstance(one, Event) for one in value)


#: How the functions of other kinds are guarded. A kind that a plugin declares has its guards in its `guards`.
_GUARDS: dict[type[Descriptor], Mapping[str, Guard]] = {
    ToolPolicy: {"wrap": Guard(("call_tool",), callable, "a function")},
    HookPolicy: {"wrap": Guard(("bound",), lambda result: isinstance(result, Bound), "a Bound")},
    StagePolicy: {"wrap": Guard(("placed",), lambda result: isinstance(result, Stage), "a Stage")},
    TurnPolicy: {
        "enter": Guard(("ctx", "turn", "invocation_id"), lambda nothing: nothing is None, "None"),
        "messages": Guard(("ctx", "turn"), lambda result: isinstance(result, Sequence) and _is_events(result), EVENTS),
        "agent": Guard(("ctx",), lambda result: result is None or isinstance(result, BaseAgent), "an agent or None"),
        "waits": Guard(("ctx",), lambda answer: isinstance(answer, bool), "True or False"),
        "interrupted": Guard(("ctx", "tools"), _is_events, EVENTS, awaited=True),
        "transfer": Guard(("ctx", "results"), lambda result: isinstance(result, Iterable), EVENTS),
    },
    SessionGate: {
        "enter": Guard(("admission",), lambda result: isinstance(result, Session), "a Session", awaited=True),
        "leave": Guard(("admission",), lambda nothing: nothing is None, "None", awaited=None),
        "around": Guard(
            ("events", "admission"), lambda result: isinstance(result, AsyncGenerator), "an async generator of events"
        ),
    },
}


def guarded(item: D, hook: str, plugin: str, source: str) -> D:
    """The descriptor of a plugin, guarded; a HookSignatureError if one of its functions cannot be called."""
    if (check := getattr(item, "check", None)) is not None:
        check()  # what its kind says about its fields
    who = f"the {words(type(item))} {item.name!r} of the plugin {plugin!r} ({source})"
    changed: dict[str, Function] = {}
    for kind, arguments in _RUN_ARGUMENTS.items():
        if isinstance(item, kind) and getattr(item, "for_agent", None) is None:
            run: Function = getattr(item, "run")  # noqa: B009 - each of these kinds has it
            _check(run, arguments, f"{item.name!r} with run=", hook, plugin)
            changed["run"] = awaited(step(run, who)) if kind is ResultProcessor else step(run, who)
    if isinstance(item, RequestProcessor) and item.for_agent is not None:
        _check(item.for_agent, ("agent",), f"{item.name!r} with for_agent=", hook, plugin)
        for_agent = named(item.for_agent, who)
        changed["for_agent"] = lambda agent: step(for_agent(agent), who)
    for attribute in ("applies_to", "serves"):
        if (predicate := getattr(item, attribute, None)) is not None:
            _check(predicate, ("it",), f"{item.name!r} with {attribute}=", hook, plugin)
            changed[attribute] = named(predicate, who)
    for name, guard in _guards_of(item).items():
        function: Function = getattr(item, name)
        _check(function, guard.arguments, f"{item.name!r} with {name}=", hook, plugin)
        changed[name] = checked(function, who, guard)
    if isinstance(item, TurnPolicy) and "transfer" in changed:
        changed["transfer"] = each(changed["transfer"], who)
    if isinstance(item, Observer):
        changed |= _observer_functions(item, who, hook, plugin)
    return _with(item, changed) if changed else item


def _with(item: D, changed: dict[str, Function]) -> D:
    """A copy. `dataclasses.replace` would call the constructor, and a plugin's own class may have another one."""
    result = copy.copy(item)
    for name, function in changed.items():
        object.__setattr__(result, name, function)
    return result


def _check(function: object, arguments: tuple[str, ...], what: str, hook: str, plugin: str) -> None:
    if not callable(function):
        raise wrong(plugin, hook, f"returned {what}{function!r}, which cannot be called")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # a function defined in C
    try:
        signature.bind(*arguments)
    except TypeError:
        name = getattr(function, "__qualname__", type(function).__qualname__)
        raise wrong(
            plugin, hook, f"returned {what}{name}{signature}, which must take ({', '.join(arguments)})"
        ) from None


def _observer_functions(item: Observer, who: str, hook: str, plugin: str) -> dict[str, Function]:
    """The functions of an observer, guarded. Its errors are logged in one line, because it must not stop a run."""
    _check(item.notify, ("signal",), f"{item.name!r} with notify=", hook, plugin)
    changed: dict[str, Function] = {"notify": _guarded_notify(item.notify, who)}
    for name, arguments in (("within", ("operation",)), ("enabled", ())):
        if (function := getattr(item, name)) is not None:
            _check(function, arguments, f"{item.name!r} with {name}=", hook, plugin)
            changed[name] = named(function, who)
    return changed


def _guarded_notify(notify: Function, who: str) -> Function:
    reports: set[str] = set()

    @functools.wraps(notify)
    def guarded_notify(signal: object) -> None:
        try:
            notify(signal)
        except BaseException as error:  # a plugin boundary
            if is_interrupt(error):
                raise
            if (text := describe_error(error)) not in reports:  # it may fail at each step of each run
                reports.add(text)
                _log.warning("newel: %s failed: %s", who, text, exc_info=error if debugging() else None)

    return guarded_notify


def _guards_of(item: Descriptor) -> Mapping[str, Guard]:
    """The guards of the functions that the plugin gave."""
    kind = next((kind for kind in _GUARDS if isinstance(item, kind)), None)
    if kind is None:
        return getattr(item, "guards", {})
    guards, default = _GUARDS[kind], _DEFAULTS.get(kind)
    return {name: guard for name, guard in guards.items() if getattr(item, name) is not getattr(default, name, None)}
