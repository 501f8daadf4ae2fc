"""Options: what the caller of the server chooses, by arguments or by flags."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from newel.server.security.guards import Guards

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How the app is served."""

    #: The address that the server listens on; empty if somebody else serves the app.
    host: str = ""
    port: int = 8000
    #: The path below which a proxy shows the server, such as ``/agents``.
    url_prefix: str = ""
    #: Whether the development routes are there, as with `newel web`.
    development: bool = False
    #: Whether agent files can be written, as with `newel web --builder`.
    builder: bool = False
    #: Seconds that runs have to end after a signal, before they are cancelled.
    drain: float = 30.0
    #: The most runs at a time.
    max_runs: int = 500
    #: Whether each request is a line of JSON on stderr.
    access_log: bool = False
    #: What becomes of a run whose client has left; None: as the setting `server.on_disconnect` says.
    on_disconnect: Literal["cancel", "detach"] | None = None
    #: Who may ask, from where, and with what.
    guards: Guards = field(default_factory=Guards)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in LOOPBACK
