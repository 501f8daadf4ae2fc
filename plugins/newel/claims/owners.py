"""Owners: the holders of session leases, as a store writes them down, and what this machine knows about them.

An owner is one service of one process: the machine, the process's number and start time, and a number of its own.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

#: The states of a process that was killed, but whose parent has not yet collected its status.
_ENDED = ("Z", "X")
#: The most digits that the number of a process has.
_DIGITS = 9


def new_owner() -> str:
    """An owner of this process."""
    return f"{_machine()}/{os.getpid()}/{_stat(os.getpid())[1]}/{uuid4().hex[:8]}"


def is_dead(owner: str) -> bool:
    """Whether `owner` belongs to an ended process of this machine: its lease need not run out."""
    return (process := _Process.of(owner)) is not None and not process.exists()


def is_alive(owner: str) -> bool:
    """Whether `owner` belongs to a process of this machine that has not ended: it may be stopped, or be this one."""
    return (process := _Process.of(owner)) is not None and process.exists()


def nameless(owner: str) -> str:
    """The owner without the machine's name, which clients must not see."""
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
        """The owner's process; None if it is of another machine, or `new_owner` did not make the owner."""
        if os.name == "nt":  # the signal that asks for a process would be a Ctrl-C there
            return None
        machine, _, rest = owner.partition("/")
        number, _, rest = rest.partition("/")
        here = _machine()
        if machine not in (here, _digest(here)) or not number.isdecimal() or len(number) > _DIGITS:
            return None
        return cls(int(number), rest.partition("/")[0])

    def exists(self) -> bool:
        """Whether it has not ended, and no other process has its number by now."""
        try:
            os.kill(self.number, 0)
        except ProcessLookupError:
            return False
        except OSError:  # it is another user's, and alive
            return True
        state, started = _stat(self.number)
        return started == self.started and state not in _ENDED


def _machine() -> str:
    """The scope of process numbers: several machines, or containers, may have the same host name."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(os.readlink("/proc/self/ns/pid").strip("pid:[]"))
    return ":".join(parts)


def _digest(machine: str) -> str:
    return blake2b(machine.encode(), digest_size=8).hexdigest()


def _stat(pid: int) -> tuple[str, str]:
    """The state of a process of this machine, and when it began; empty if the machine does not say."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", ""
    fields = text.rpartition(")")[2].split()
    return fields[0], fields[19]
