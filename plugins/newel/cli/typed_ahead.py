"""Lines that are typed while an agent is at work: they steer it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

#: The most bytes that a terminal gives at once.
_READ = 4096


@contextmanager
def typed_ahead(take: Callable[[str], object]) -> Iterator[None]:
    """Give `take` each line that is typed on the terminal meanwhile.

    The terminal gives lines that are whole; the beginning of another one stays for the next prompt.
    """
    loop, stdin = asyncio.get_running_loop(), sys.stdin.fileno()
    begun = b""

    def read() -> None:
        nonlocal begun
        try:
            data = os.read(stdin, _READ)
        except OSError:  # the terminal is gone
            data = b""
        if not data:
            loop.remove_reader(stdin)
            return
        *lines, begun = (begun + data).split(b"\n")
        for line in lines:
            if text := line.decode("utf-8", "replace").strip():
                take(text)

    try:
        loop.add_reader(stdin, read)
    except (NotImplementedError, OSError):  # an event loop, or a file, that cannot be watched
        yield
        return
    try:
        yield
    finally:
        with suppress(OSError):
            loop.remove_reader(stdin)
