"""Processes: the server by itself, under uvicorn, in one process or several."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import Any

import uvicorn

from newel.server.application import Application, app
from newel.server.options import Options
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
    settings: dict[str, Any] = {
        "host": options.host,
        "port": options.port,
        "log_level": "warning",
        "access_log": False,
        "server_header": False,
        "timeout_graceful_shutdown": int(options.drain),
    }
    if workers == 1 and not reload:
        served = app(agents_dir, session_service=sessions, distribution=distribution, options=options)
        uvicorn.Server(uvicorn.Config(served, lifespan="on", **settings)).run()
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
    uvicorn.run(_FACTORY, factory=True, workers=workers, reload=reload, **settings)


def from_environment() -> Application:
    """The app of a process that uvicorn has started."""
    given = json.loads(os.environ[_VARIABLE])
    return app(given.pop("agents_dir"), options=Options(**given.pop("options")), **given)
