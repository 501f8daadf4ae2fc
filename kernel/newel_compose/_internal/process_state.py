"""The state of the process that code changes when it is imported: signal handlers, the umask, filters, policies."""

from __future__ import annotations

import asyncio
import builtins
import gc
import locale
import logging
import os
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

#: The names that Python itself has; others may be added.
_BUILTINS = tuple(vars(builtins))


class _Part(NamedTuple):
    """A part of the state: how it is read, and how it is put back. Without the latter a change is only told."""

    name: str
    read: Callable[[], Any]
    put_back: Callable[[Any], object] | None = None


def _umask() -> int:
    mask = os.umask(0o077)  # the only way to read it; for a moment it is stricter
    os.umask(mask)
    return mask


def _signals() -> dict[int, Any]:
    return {number: signal.getsignal(number) for number in signal.valid_signals()}


def _put_back_signals(handlers: dict[int, Any]) -> None:
    for number, handler in handlers.items():
        if handler is not None and signal.getsignal(number) is not handler:
            with suppress(OSError, ValueError):  # ValueError: not the main thread, which cannot have changed it
                signal.signal(number, handler)


def _global_filters() -> list[Any]:
    """The filters of warnings for every module; one for a library's own warnings is that library's."""
    return [one for one in warnings.filters if one[1] is None and one[3] is None]


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("NEWEL_")}


def _put_back_environment(variables: dict[str, str]) -> None:
    for name in _environment():
        del os.environ[name]
    os.environ.update(variables)


def _loop_policy() -> object:
    if sys.version_info >= (3, 14):  # policies are deprecated there, and asking for one is told
        return None
    return asyncio.get_event_loop_policy()


_PARTS = (
    _Part("the umask", _umask, os.umask),
    _Part("the locale", lambda: locale.setlocale(locale.LC_ALL), lambda was: locale.setlocale(locale.LC_ALL, was)),
    _Part("the event loop policy", _loop_policy, asyncio.set_event_loop_policy),
    _Part("the recursion limit", sys.getrecursionlimit, sys.setrecursionlimit),
    _Part("the timeout of sockets", socket.getdefaulttimeout, socket.setdefaulttimeout),
    _Part("the thresholds of the garbage collector", gc.get_threshold, lambda was: gc.set_threshold(*was)),
    _Part("sys.excepthook", lambda: sys.excepthook, lambda was: setattr(sys, "excepthook", was)),
    _Part("threading.excepthook", lambda: threading.excepthook, lambda was: setattr(threading, "excepthook", was)),
    _Part("what is disabled of logging", lambda: logging.root.manager.disable, logging.disable),
    _Part("the root logger's level", lambda: logging.root.level, logging.root.setLevel),
    _Part("the root logger's handlers", lambda: list(logging.root.handlers)),
    _Part("the filters of all warnings", _global_filters),
    _Part("builtins", lambda: {name: vars(builtins).get(name) for name in _BUILTINS}, vars(builtins).update),
    _Part("the environment of newel", _environment, _put_back_environment),
)


class ProcessState:
    """The state as it is now."""

    def __init__(self) -> None:
        self._values = [part.read() for part in _PARTS]
        self._signals = _signals()
        self._path = list(sys.path)
        self._modules = {name: one for name, one in sys.modules.items() if name.startswith("newel")}

    def restore(self) -> Iterator[str]:
        """Put back what has changed; yield the name of each change."""
        now = _signals()
        changed = [number for number, handler in self._signals.items() if now[number] is not handler]
        if changed:
            _put_back_signals(self._signals)
            yield f"the handler of {', '.join(signal.Signals(number).name for number in changed)}"
        yield from self._restored_imports()
        for part, was in zip(_PARTS, self._values, strict=True):
            if part.read() != was:
                if part.put_back is not None:
                    part.put_back(was)
                yield part.name

    def _restored_imports(self) -> Iterator[str]:
        """What others need to be imported: more may be added, and nothing taken away."""
        if not set(self._path) <= set(sys.path):
            sys.path[:] = [*self._path, *(one for one in sys.path if one not in self._path)]
            yield "sys.path"
        if any(sys.modules.get(name) is not one for name, one in self._modules.items()):
            sys.modules.update(self._modules)
            yield "the modules of newel"
