"""Owners: who has the lease of a session, as a store writes it down, and what this machine knows of them.

An owner is one service of one process: its machine, the process's number and when it began, and a number of its own.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

#: The states of a process that was killed, and for which nobody has asked yet.
_ENDED = ("Z", "X")
#: How many digits the number of a process has at most.
_DIGITS = 9


def new_owner() -> str:
    """An owner of this process."""
    return f"{_machine()}/{os.getpid()}/{_stat(os.getpid())[1]}/{uuid4().hex[:8]}"


def is_dead(owner: str) -> bool:
    """Whether `owner` is of a process of this machine that is gone: its lease need not run out."""
    return (process := _Process.of(owner)) is not None and not process.exists()


def is_alive(owner: str) -> bool:
    """Whether `owner` is of a process of this machine that has not ended, be it stopped, or this one."""
    return (process := _Process.of(owner)) is not None and process.exists()


def nameless(owner: str) -> str:
    """The owner without the machine's name, which clients see nothing of."""
    machine, _, rest = owner.partition("/")
    return f"{_digest(machine)}/{rest}"


def process_of(owner: str) -> str:
    """The number of the owner's process, for people."""
    return owner.partition("/")[2].partition("/")[0]


class _Process(NamedTuple):
    """A process of this machine."""

    number: int
    started: str

    @classmethod
    def of(cls, owner: str) -> _Process | None:
        """The owner's; None where that is of another machine, or no owner that `new_owner` made."""
        if os.name == "nt":  # to ask for a process by a signal would be a Ctrl-C there
            return None
        machine, _, rest = owner.partition("/")
        number, _, rest = rest.partition("/")
        here = _machine()
        if machine not in (here, _digest(here)) or not number.isdecimal() or len(number) > _DIGITS:
            return None
        return cls(int(number), rest.partition("/")[0])

    def exists(self) -> bool:
        """Whether it has not ended, and its number is not another one's by now."""
        try:
            os.kill(self.number, 0)
        except ProcessLookupError:
            return False
        except OSError:  # it is somebody else's, and alive
            return True
        state, started = _stat(self.number)
        return started == self.started and state not in _ENDED


def _machine() -> str:
    """What has these process numbers: a host's name alone may be that of several machines, or containers."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(os.readlink("/proc/self/ns/pid").strip("pid:[]"))
    return ":".join(parts)


def _digest(machine: str) -> str:
    return blake2b(machine.encode(), digest_size=8).hexdigest()


def _stat(pid: int) -> tuple[str, str]:
    """The state of a process of this machine, and when it began; empty where the machine does not say."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", ""
    fields = text.rpartition(")")[2].split()
    return fields[0], fields[19]
