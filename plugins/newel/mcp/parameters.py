"""Connection parameters: how a server is reached, by a command or at a URL."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

#: The argument after such an option is not shown: ``--token T``, ``--api-key=K``.
_SECRET_OPTION = re.compile(r"^(--?[\w-]*(?:token|key|secret|password|passwd|credential)[\w-]*)(=.*)?$", re.IGNORECASE)
_MOST_SHOWN = 200


@runtime_checkable
class CheckableMcpHttpClientFactory(Protocol):
    """Makes the HTTP client of a connection: `headers`, `timeout` and `auth` as the `mcp` SDK passes them."""

    def __call__(
        self, headers: dict[str, str] | None = None, timeout: Any | None = None, auth: Any | None = None
    ) -> Any:
        """An ``httpx2.AsyncClient``."""


class _Parameters(BaseModel):
    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)


class StdioServerParameters(_Parameters):
    """A server as a process, with the fields of the SDK's class of this name, which may be given too."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)

    command: str = Field(min_length=1)
    args: list[str] = []
    #: Variables in addition to the short list that every server gets (``HOME``, ``PATH`` and the like).
    env: dict[str, str] | None = None
    #: The working directory; None: an empty one of its own, which is removed with the process.
    cwd: str | Path | None = None
    encoding: str = "utf-8"
    encoding_error_handler: Literal["strict", "ignore", "replace"] = "strict"


class StdioConnectionParams(_Parameters):
    """A server that is started by a command and spoken to by its standard input and output."""

    server_params: StdioServerParameters
    #: Seconds for the start, for a list, and for a call without progress.
    timeout: float = Field(default=5.0, gt=0)
    #: A command that runs the server's command in a sandbox: ``["bwrap", "--ro-bind", "/", "/", "--unshare-net"]``.
    sandbox: list[str] = []

    @field_validator("server_params", mode="before")
    @classmethod
    def _own(cls, value: object) -> object:
        """The SDK's class, which is not imported for this, as ours."""
        if isinstance(value, (Mapping, StdioServerParameters)):
            return value
        names = StdioServerParameters.model_fields
        return {name: getattr(value, name) for name in names if hasattr(value, name)} or value


class SseConnectionParams(_Parameters):
    """A server at a URL, by the transport of 2024-11-05."""

    url: str
    headers: dict[str, Any] | None = None
    #: Seconds for the start and for a list.
    timeout: float = Field(default=5.0, gt=0)
    #: Seconds for a call without progress.
    sse_read_timeout: float = Field(default=300.0, gt=0)
    httpx_client_factory: CheckableMcpHttpClientFactory | None = None


class StreamableHTTPConnectionParams(_Parameters):
    """A server at a URL."""

    url: str
    headers: dict[str, Any] | None = None
    #: Seconds for the start and for a list.
    timeout: float = Field(default=5.0, gt=0)
    #: Seconds for a call without progress.
    sse_read_timeout: float = Field(default=300.0, gt=0)
    #: Whether the end of a session is told to the server.
    terminate_on_close: bool = True
    httpx_client_factory: CheckableMcpHttpClientFactory | None = None


ConnectionParams: TypeAlias = StdioConnectionParams | SseConnectionParams | StreamableHTTPConnectionParams


def call_seconds(params: ConnectionParams) -> float:
    """The seconds that a call may take without progress."""
    return params.timeout if isinstance(params, StdioConnectionParams) else params.sse_read_timeout


def headers_of(params: ConnectionParams) -> dict[str, str]:
    """The headers of each request to the server."""
    if isinstance(params, StdioConnectionParams):
        return {}
    return {name: str(value) for name, value in (params.headers or {}).items()}


def described(params: ConnectionParams) -> str:
    """The server in a message: its command without secrets, or its URL without what may be secret in it."""
    if not isinstance(params, StdioConnectionParams):
        parts = urlsplit(params.url)
        return f"{parts.scheme}://{parts.hostname or '?'}{f':{parts.port}' if parts.port else ''}{parts.path}"
    shown, hide = [params.server_params.command], False
    for argument in params.server_params.args:
        option = _SECRET_OPTION.match(argument)
        shown.append("…" if hide else f"{option[1]}=…" if option is not None and option[2] else argument)
        hide = option is not None and not option[2]
    text = shlex.join(shown)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def identity(params: ConnectionParams) -> str:
    """What tells one server from another, whoever uses it: 16 hexadecimal digits."""
    if isinstance(params, StdioConnectionParams):
        server = params.server_params
        parts = ["stdio", server.command, *server.args]
    else:
        parts = ["http", described(params)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
