"""Listening: the sockets of a server, bound before anything else is done."""

from __future__ import annotations

import errno
import socket
from contextlib import ExitStack

from newel_kernel import ConfigurationError

_BACKLOG = 2048
#: An address of a name that this machine does not have, such as ::1 of localhost where IPv6 is off.
_ABSENT = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


def listen(host: str, port: int) -> list[socket.socket]:
    """Listen on every address of `host`, all with one port; a free one if `port` is 0."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise ConfigurationError(
            f"--host {host}: {error.strerror}; give a name or an address of this machine"
        ) from None
    absent: OSError | None = None
    with ExitStack() as opened:
        sockets: list[socket.socket] = []
        for family, address in dict.fromkeys((one[0], one[4]) for one in found):
            try:
                one = socket.create_server((address[0], port, *address[2:]), family=family, backlog=_BACKLOG)
            except OSError as error:
                if error.errno not in _ABSENT:
                    raise ConfigurationError(_refused(host, port, error)) from None
                absent = error
                continue
            # Connections inherit it. asyncio sets it on those of its own sockets alone, and without it the second write
            # of an answer waits for the client to acknowledge the first: 40 ms a request.
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sockets.append(opened.enter_context(one))
            port = one.getsockname()[1]
        if absent is not None and not sockets:
            raise ConfigurationError(_refused(host, port, absent))
        opened.pop_all()
    return sockets


def _refused(host: str, port: int, error: OSError) -> str:
    """What keeps the server from listening, and what to do about it."""
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use: give another one by --port, or end what listens there"
    if error.errno == errno.EACCES:
        return f"port {port} of {host} is not for this user: give one above 1023 by --port"
    reason = (error.strerror or str(error)).partition(" (while")[0]
    return f"the server cannot listen on port {port} of {host}: {reason}; give an address of this machine by --host"
