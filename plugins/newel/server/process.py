"""Processes: the server by itself, under uvicorn, in one process or several."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import socket
from contextlib import suppress
from dataclasses import asdict
from types import FrameType
from typing import Any

import uvicorn
from pydantic import TypeAdapter

from newel.server.application import Application, app
from newel.server.operations.load import LOAD
from newel.server.operations.traffic import ACCESS
from newel.server.options import Options
from newel.server.security.deadlines import protocol
from newel_compose import compose_once
from newel_kernel import ConfigurationError, seam

#: What the processes that uvicorn starts read.
_VARIABLE = "NEWEL_SERVER"
#: What connections have to close, once their runs have ended.
_CLOSE_SECONDS = 2
_FACTORY = f"{__name__}:from_environment"
#: After how many new objects the garbage collector looks at them, and how seldom at the older ones. A request makes
#: hundreds that end with it; with Python's own 700, half of a long session's turn went into looking at what is in use.
_COLLECT = (20_000, 20, 20)


def serve(
    agents_dir: str,
    options: Options,
    *,
    sessions: str | None,
    distribution: str | None,
    workers: int = 1,
    reload: bool = False,
) -> None:
    """Serve until a signal ends it. Runs that are under way then have `options.drain` seconds to end."""
    settings = uvicorn_settings(options)
    if workers == 1 and not reload:
        served = app(agents_dir, session_service=sessions, distribution=distribution, options=options)
        _log(options)
        _collect_seldom()
        Server(uvicorn.Config(served, lifespan="on", **settings), options).run()
        return
    uri = sessions or compose_once(distribution).distribution.services.get("session", "")
    if workers > 1 and uri.partition(":")[0] in ("", "memory"):
        raise ConfigurationError(
            f"--workers {workers} needs sessions that processes can share, but these are in memory: give --sessions "
            f"sqlite:///sessions.db or another store"
        )
    given = {"agents_dir": agents_dir, "session_service": sessions, "distribution": distribution}
    os.environ[_VARIABLE] = json.dumps({**given, "options": asdict(options)})
    if reload and os.path.isdir(agents_dir):
        settings["reload_dirs"] = [agents_dir]
    settings["timeout_graceful_shutdown"] = int(options.drain)  # uvicorn's own servers wait for the runs with it
    settings["port"] = options.port or _free_port(options.host)
    _announce(options, settings["port"])
    uvicorn.run(_FACTORY, factory=True, workers=workers, reload=reload, **settings)


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
        "http": protocol(guards.seconds),
        "limit_concurrency": guards.connections,
        "ws_max_size": guards.max_body,
        "proxy_headers": bool(guards.proxies),
        "forwarded_allow_ips": list(guards.proxies),
    }


def _free_port(host: str) -> int:
    """A port that all processes will listen on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listening:
        listening.bind((host, 0))
        return int(listening.getsockname()[1])


def from_environment() -> Application:
    """The app of a process that uvicorn has started."""
    given = json.loads(os.environ[_VARIABLE])
    options = TypeAdapter(Options).validate_python(given.pop("options"))
    _log(options)
    _collect_seldom()
    return app(given.pop("agents_dir"), options=options, **given)


def _collect_seldom() -> None:
    """Have the garbage collector leave alone what the process has loaded, and look at requests seldom."""
    gc.freeze()
    gc.set_threshold(*_COLLECT)


class Server(uvicorn.Server):
    """Says once where it is, with the token; a signal lets the runs end first."""

    def __init__(self, config: uvicorn.Config, options: Options) -> None:
        super().__init__(config)
        self._options = options
        self._loop: asyncio.AbstractEventLoop | None = None
        self._draining: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        addresses = [one.getsockname() for server in self.servers for one in server.sockets]
        if addresses:
            _announce(self._options, addresses[0][1])

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal: no new runs, and those under way have `drain` seconds; the second one ends them."""
        if LOAD.draining or self._loop is None:
            super().handle_exit(sig, frame)
            return
        LOAD.draining = True
        self._loop.call_soon_threadsafe(self._drain, sig)

    def _drain(self, sig: int) -> None:
        self._draining = seam.spawn(self._drained(sig))

    async def _drained(self, sig: int) -> None:
        idle = asyncio.Event()
        LOAD.on_idle = idle.set
        if LOAD.runs:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._options.drain):
                    await idle.wait()
        super().handle_exit(sig, None)


def _log(options: Options) -> None:
    """Have the access log written to stderr, a line of JSON for each request."""
    if options.access_log and not ACCESS.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(message)s"))
        ACCESS.addHandler(handler)
        ACCESS.setLevel(logging.INFO)
        ACCESS.propagate = False


def _announce(options: Options, port: int) -> None:
    host = options.host if options.is_local and options.host != "::1" else "127.0.0.1"
    token = f"#token={options.guards.token}" if options.guards.token is not None else ""
    print(f"http://{host}:{port}/{token}", flush=True)  # the command's output; it is in no log
