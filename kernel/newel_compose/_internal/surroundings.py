"""Surroundings: what plugins must leave to the program: its interrupts, its standard streams, its working folder."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from opcode import opmap
from types import TracebackType
from typing import Any

from newel_kernel import PluginError

_STREAMS = ("stdin", "stdout", "stderr")
_RAISE = opmap["RAISE_VARARGS"]


def is_interrupt(error: BaseException) -> bool:
    """Whether the person at the terminal wants the program to end, and not a plugin that raises KeyboardInterrupt."""
    seen: set[int] = set()
    one: BaseException | None = error
    while isinstance(one, KeyboardInterrupt) and id(one) not in seen:
        if not _is_raised_by_hand(one.__traceback__):
            return True
        seen.add(id(one))
        one = one.__cause__ or one.__context__
    return False


def _is_raised_by_hand(traceback: TracebackType | None) -> bool:
    """Whether a `raise` has raised it, outside of the program's own handler of the signal."""
    handler: Any = signal.getsignal(signal.SIGINT)
    while hasattr(handler, "func"):
        handler = handler.func  # of a partial
    handles = getattr(getattr(handler, "__func__", handler), "__code__", None)
    by_hand = False
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code is handles:
            return False
        by_hand = traceback.tb_lasti >= 0 and code.co_code[traceback.tb_lasti] == _RAISE
        traceback = traceback.tb_next
    return by_hand


class DisturbanceError(PluginError):
    """A plugin has changed what is the program's."""

    has_no_place = True  # it is seen afterwards


@contextmanager
def undisturbed() -> Iterator[None]:
    """Put right what the block does to standard streams and the working folder, and raise an error that says it."""
    before = _Surroundings()
    try:
        yield
    finally:
        changes = before.restore()
    if changes:
        raise DisturbanceError(f"it {' and '.join(changes)}, which it must leave alone")


class _Surroundings:
    """The surroundings as they are now."""

    def __init__(self) -> None:
        #: Descriptor -> another one of the same file, and the file's identity.
        self._files: dict[int, tuple[int, tuple[int, int]]] = {}
        for number in range(len(_STREAMS)):
            with suppress(OSError):  # it is closed already
                self._files[number] = os.dup(number), _identity(number)
        streams = {name: getattr(sys, name) for name in _STREAMS}
        self._streams = {name: stream for name, stream in streams.items() if _is_open(stream)}
        self._folder = _folder()

    def restore(self) -> list[str]:
        """Make them so again; return what had changed."""
        changes = []
        for number, name in enumerate(_STREAMS):
            is_changed = self._restore_file(number)
            if self._restore_stream(number, name) or is_changed:
                changes.append(f"closes or redirects {name}")
        if self._folder is not None and _folder() != self._folder:
            changes.append("changes the working folder")
            with suppress(OSError):
                os.chdir(self._folder)
        return changes

    def _restore_file(self, number: int) -> bool:
        if number not in self._files:
            return False
        copy, identity = self._files[number]
        try:
            with suppress(OSError):  # it is closed
                if _identity(number) == identity:
                    return False
            os.dup2(copy, number)
        finally:
            os.close(copy)
        return True

    def _restore_stream(self, number: int, name: str) -> bool:
        """Replace one that was closed, or taken away; another open one may stand in its place, as a wrapper does."""
        stream = self._streams.get(name)
        if stream is None or _is_open(getattr(sys, name)):
            return False
        if not _is_open(stream):
            mode = "r" if number == 0 else "w"
            encoding, errors = getattr(stream, "encoding", None), getattr(stream, "errors", None)
            stream = open(number, mode, encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115 - the program's
        setattr(sys, name, stream)
        return True


def _identity(number: int) -> tuple[int, int]:
    file = os.fstat(number)
    return file.st_dev, file.st_ino


def _is_open(stream: Any) -> bool:
    return stream is not None and not getattr(stream, "closed", False)


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return None
