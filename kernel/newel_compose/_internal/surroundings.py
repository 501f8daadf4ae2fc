"""Surroundings: what plugins must leave to the program: its interrupts, its standard streams, its working folder."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from newel_compose._internal.held_streams import HeldStreams
from newel_compose._internal.patience import limited
from newel_compose._internal.process_state import ProcessState
from newel_kernel import PluginError, plain

_log = logging.getLogger("newel.plugins")
_STREAMS = ("stdin", "stdout", "stderr")
#: What was told of whom.
_told: set[tuple[str, str]] = set()


class DisturbanceError(PluginError):
    """A plugin has changed what is the program's."""

    has_no_place = True  # it is seen afterwards


@contextmanager
def undisturbed(who: str, when: str) -> Iterator[None]:
    """Run code of a stranger, and put right what it does to the process; it ends if it takes too long.

    A change of the standard streams or the working folder is an error. Other changes, and what it prints, are told
    once; a process that it forks ends instead of going on as the program. `who` is the plugin and its package, `when`
    what is done with it, such as ``is imported``.
    """
    process, before, state, held = os.getpid(), _Surroundings(), ProcessState(), HeldStreams()
    try:
        with limited():
            yield
    finally:
        if os.getpid() != process:
            does = "forks a process that ends here"
            os.write(2, f"newel: {who}, when it {when}, {does}; report it to its authors, or uninstall it\n".encode())
            os._exit(1)
        printed = held.release()
        others = list(state.restore())
        changes = before.restore()
        _tell(who, when, others, printed)
    if changes:
        raise DisturbanceError(f"it {' and '.join(changes)}, which it must leave alone")


def _tell(who: str, when: str, changes: Sequence[str], printed: str) -> None:
    """Log once what a stranger has done."""
    for what in (
        f"changes {', '.join(changes)}, which it should leave alone" if changes else "",
        f"prints to stdout, which is left out: {plain(' '.join(printed.split()), 200)}" if printed else "",
    ):
        if what and (who, what) not in _told:
            _told.add((who, what))
            _log.warning("newel: %s, when it %s, %s; report it to its authors, or uninstall it", who, when, what)


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
