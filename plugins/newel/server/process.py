"""Processes: the server by itself, under uvicorn, in one process or several."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict
from typing import Any

import uvicorn
from pydantic import TypeAdapter

from newel.server.application import Application, app
from newel.server.options import Options
from newel.server.security.deadlines import protocol
from newel_compose import compose_once
from newel_kernel import ConfigurationError

#: What the processes that uvicorn starts read.
_VARIABLE = "NEWEL_SERVER"
_FACTORY = f"{__name__}:from_environment"


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
    guards = options.guards
    settings: dict[str, Any] = {
        "host": options.host,
        "port": options.port,
        "log_level": "warning",
        "access_log": False,
        "server_header": False,
        "timeout_graceful_shutdown": int(options.drain),
        "http": protocol(guards.seconds),
        "limit_concurrency": guards.connections,
        "ws_max_size": guards.max_body,
        "proxy_headers": bool(guards.proxies),
        "forwarded_allow_ips": list(guards.proxies),
    }
    if workers == 1 and not reload:
        served = app(agents_dir, session_service=sessions, distribution=distribution, options=options)
        _Server(uvicorn.Config(served, lifespan="on", **settings), options).run()
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
    _announce(options, options.port)
    uvicorn.run(_FACTORY, factory=True, workers=workers, reload=reload, **settings)


def from_environment() -> Application:
    """The app of a process that uvicorn has started."""
    given = json.loads(os.environ[_VARIABLE])
    options = TypeAdapter(Options).validate_python(given.pop("options"))
    return app(given.pop("agents_dir"), options=options, **given)


class _Server(uvicorn.Server):
    """Says once where it is, with the token."""

    def __init__(self, config: uvicorn.Config, options: Options) -> None:
        super().__init__(config)
        self._options = options

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        for server in self.servers:
            for listening in server.sockets:
                _announce(self._options, listening.getsockname()[1])
                return


def _announce(options: Options, port: int) -> None:
    host = options.host if options.is_local and options.host != "::1" else "127.0.0.1"
    token = f"#token={options.guards.token}" if options.guards.token is not None else ""
    print(f"http://{host}:{port}/{token}", flush=True)  # the command's output; it is in no log
