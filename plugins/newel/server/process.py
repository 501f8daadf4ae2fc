"""Processes: the server by itself, under uvicorn, in one process or several."""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict
from multiprocessing.connection import Connection
from typing import Any

import uvicorn
from pydantic import TypeAdapter

from newel.server.application import Application, app
from newel.server.operations.listening import listen
from newel.server.operations.server import Server, Worker
from newel.server.operations.supervisor import DRAIN, HURRY, LISTENS, Supervisor
from newel.server.operations.traffic import ACCESS
from newel.server.options import Options
from newel_compose import compose_once
from newel_kernel import ConfigurationError, NewelError
from newel_types import deferred

_stored_app = deferred("newel.server.stored_application", "stored_app")
#: uvicorn's connections, which the parent of several processes does not need.
_protocol = deferred("newel.server.security.deadlines", "protocol")
#: What the process that uvicorn starts again and again reads.
_VARIABLE = "NEWEL_SERVER"
#: What connections have to close, once their runs have ended.
_CLOSE_SECONDS = 2
_FACTORY = f"{__name__}:from_environment"
#: After how many new objects the garbage collector looks at them, and how seldom at the older ones. A request makes
#: hundreds that end with it; with Python's own 700, half of a long session's turn went into looking at what is in use.
_COLLECT = (20_000, 20, 20)
#: What uvicorn logs as it closes a WebSocket with 1007.
_NOT_UTF8 = "Invalid UTF-8 sequence received from client."
#: How a process ends that could not start.
_FAILED = 3


def serve(
    agents_dir: str,
    options: Options,
    *,
    sessions: str | None,
    distribution: str | None,
    workers: int = 1,
    reload: bool = False,
    artifacts: str | None = None,
    stored: str | None = None,
) -> None:
    """Serve until a signal ends it. Runs that are under way then have `options.drain` seconds to end.

    `stored` is the address of sessions that are only shown; then there are no agents.
    """
    given = {"distribution": distribution, "artifact_service": artifacts}
    given |= {"address": stored} if stored is not None else {"agents_dir": agents_dir, "session_service": sessions}
    if reload:
        if workers > 1:
            raise ConfigurationError("--reload is for one process: leave out --workers")
        _reloading(given, options)
    elif workers > 1:
        if stored is None:
            _check_shared(workers, sessions, distribution)
        _several(workers, given, options)
    else:
        sockets = listen(options.host, options.port)
        served = _made(given, options)
        Server(_config(served, options), served.state, lambda: _announce(options, sockets)).run(sockets)


def _several(workers: int, given: dict[str, Any], options: Options) -> None:
    sockets = listen(options.host, options.port)
    supervisor = Supervisor(
        workers,
        work,
        (given, options, sockets),
        drain=options.drain,
        listens=lambda: _announce(options, sockets),
    )
    sig = supervisor.run()
    if sig:
        signal.raise_signal(sig)  # the process ends as one that serves by itself does
    if supervisor.failure:
        raise ConfigurationError(supervisor.failure)
    sys.exit(_FAILED)


def work(given: dict[str, Any], options: Options, sockets: Sequence[socket.socket], parent: Connection) -> None:
    """Serve in a process that the supervisor has started."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        served = _made(given, options)
    except NewelError as error:
        parent.send_bytes(str(error).encode())
        sys.exit(_FAILED)
    server = Worker(_config(served, options), served.state, lambda: parent.send_bytes(LISTENS))
    threading.Thread(target=_obey, args=(server, parent), name="newel-parent", daemon=True).start()
    server.run([*sockets])


def _obey(server: Worker, parent: Connection) -> None:
    """Do what the parent says; without a parent, leave the port to the next one."""
    told = {DRAIN: server.drain, HURRY: server.hurry}
    try:
        while True:
            told[parent.recv_bytes()]()
    except (EOFError, OSError):
        server.leave_port()
        server.drain()


def _reloading(given: dict[str, Any], options: Options) -> None:
    """Serve in a process that starts again when a file changes."""
    settings = uvicorn_settings(options)
    sockets = listen(options.host, options.port)
    settings["port"] = sockets[0].getsockname()[1]
    for one in sockets:
        one.close()  # uvicorn opens it again
    os.environ[_VARIABLE] = json.dumps({**given, "options": asdict(options)})
    if os.path.isdir(given.get("agents_dir", "")):
        settings["reload_dirs"] = [given["agents_dir"]]
    settings["timeout_graceful_shutdown"] = int(options.drain)  # uvicorn's own server waits for the runs with it
    _announce(options, sockets, settings["port"])
    uvicorn.run(_FACTORY, factory=True, reload=True, **settings)


def from_environment() -> Application:
    """The app of a process that uvicorn has started."""
    given = json.loads(os.environ[_VARIABLE])
    return _made(given, TypeAdapter(Options).validate_python(given.pop("options")))


def _made(given: dict[str, Any], options: Options) -> Application:
    """The app of this process, and its access log."""
    _log(options)
    served = _stored_app()(options=options, **given) if "address" in given else app(options=options, **given)
    if not served.state.apps.places() and not options.development:
        raise ConfigurationError(
            f"there are no agents in {given['agents_dir']!r}: each is a folder with an agent.py or a root_agent.yaml"
        )
    _collect_seldom()
    return served


def _collect_seldom() -> None:
    """Have the garbage collector leave alone what the process has loaded, and look at requests seldom."""
    gc.freeze()
    gc.set_threshold(*_COLLECT)


def _config(served: Application, options: Options) -> uvicorn.Config:
    return uvicorn.Config(served, lifespan="on", **uvicorn_settings(options))


def uvicorn_settings(options: Options) -> dict[str, Any]:
    """How uvicorn listens, as the options say; its own words about requests and itself are left out."""
    guards = options.guards
    return {
        "host": options.host,
        "port": options.port,
        "log_level": "warning",
        "access_log": False,
        "server_header": False,
        "timeout_graceful_shutdown": _CLOSE_SECONDS,
        "http": _protocol()(guards.seconds),
        "limit_concurrency": guards.connections,
        "ws_max_size": guards.max_body,
        "proxy_headers": bool(guards.proxies),
        "forwarded_allow_ips": list(guards.proxies),
    }


def _check_shared(workers: int, sessions: str | None, distribution: str | None) -> None:
    """Refuse several processes that would each have sessions of their own."""
    uri = sessions or compose_once(distribution).distribution.services.get("session", "")
    if uri.partition(":")[0] in ("", "memory"):
        raise ConfigurationError(
            f"--workers {workers} needs sessions that processes can share, but these are in memory: give --sessions "
            f"sqlite:///sessions.db or another store"
        )


def _one_line(record: logging.LogRecord) -> bool:
    """Leave the traceback of what a client has sent out of the log."""
    if record.msg == _NOT_UTF8:
        record.exc_info = None
    return True


def _log(options: Options) -> None:
    """Have the access log written to stderr, a line of JSON for each request."""
    logging.getLogger("uvicorn.error").addFilter(_one_line)
    if options.access_log and not ACCESS.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(message)s"))
        ACCESS.addHandler(handler)
        ACCESS.setLevel(logging.INFO)
        ACCESS.propagate = False


def _announce(options: Options, sockets: Sequence[socket.socket], port: int | None = None) -> None:
    """Say where the server is, with the token: the command's output, which is in no log."""
    host = options.host if options.is_local and options.host != "::1" else "127.0.0.1"
    token = f"#token={options.guards.token}" if options.guards.token is not None else ""
    print(f"http://{host}:{port or sockets[0].getsockname()[1]}{options.url_prefix}/{token}", flush=True)
