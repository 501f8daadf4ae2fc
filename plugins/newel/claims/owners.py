"""Owners: who has the lease of a session, as a store writes it down, and what this machine knows of them.

An owner is one service of one process: its machine, the process's number and when it began, and a number of its own.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4


def new_owner() -> str:
    """An owner of this process."""
    return f"{_machine()}/{os.getpid()}/{_started(os.getpid())}/{uuid4().hex[:8]}"


def is_dead(owner: str) -> bool:
    """Whether `owner` is of a process of this machine that is gone: its lease need not run out."""
    return (process := _Process.of(owner)) is not None and not process.exists()


def is_alive(owner: str) -> bool:
    """Whether `owner` is of another process of this machine that is there, be it stopped."""
    return (process := _Process.of(owner)) is not None and process.number != os.getpid() and process.exists()


def process_of(owner: str) -> str:
    """The number of the owner's process, and the host's name, for people."""
    machine, _, rest = owner.partition("/")
    return f"{rest.partition('/')[0]} on {machine.partition(':')[0]}"


class _Process(NamedTuple):
    """A process of this machine."""

    number: int
    started: str

    @classmethod
    def of(cls, owner: str) -> _Process | None:
        """The owner's; None where that is of another machine, or no owner that `new_owner` made."""
        machine, _, rest = owner.partition("/")
        number, _, rest = rest.partition("/")
        return cls(int(number), rest.partition("/")[0]) if machine == _machine() and number.isdecimal() else None

    def exists(self) -> bool:
        """Whether it is there, and its number not another one's by now."""
        try:
            os.kill(self.number, 0)
        except ProcessLookupError:
            return False
        except OSError:  # it is somebody else's, and alive
            return True
        return _started(self.number) == self.started


def _machine() -> str:
    """What has these process numbers: a host's name alone may be that of several machines, or containers."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(os.readlink("/proc/self/ns/pid").strip("pid:[]"))
    return ":".join(parts)


def _started(pid: int) -> str:
    """When a process of this machine began, in its own unit; empty where the machine does not say."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]
