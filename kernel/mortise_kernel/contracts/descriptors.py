"""What a plugin's registration hooks return: frozen descriptions of what it provides.

Each has a `name`, unique within its kind. The host adds who provided it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mortise_kernel.contracts.agent import BaseAgent
    from mortise_kernel.contracts.model import BaseLlm
    from mortise_kernel.contracts.request import LlmRequest
    from mortise_kernel.contracts.response import LlmResponse
    from mortise_kernel.contracts.services import (
        BaseArtifactService,
        BaseCredentialService,
        BaseMemoryService,
        BaseSessionService,
    )
    from mortise_kernel.contracts.tool import BaseTool
    from mortise_kernel.events import Event
    from mortise_kernel.invocation import InvocationContext

    Events = Awaitable[Sequence[Event] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A named step of a chain. Outside the distribution's spine it sits beside its anchors."""

    name: str
    #: Stages it follows.
    after: tuple[str, ...] = ()
    #: Stages it precedes.
    before: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestProcessor(Stage):
    """Edits the request before each model call; events that it returns are committed and yielded first."""

    run: Callable[[InvocationContext, LlmRequest], Events]
    #: Whether it has anything to do for an agent; None: always.
    applies_to: Callable[[BaseAgent], bool] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseProcessor(Stage):
    """Edits each response of the model; events that it returns are committed and yielded first."""

    run: Callable[[InvocationContext, LlmRequest, LlmResponse], Events]
    applies_to: Callable[[BaseAgent], bool] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultProcessor(Stage):
    """Sees the event of the tool results. Its own events come before that event, or after it with `follows`."""

    run: Callable[[InvocationContext, Event, Event], Events]
    follows: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProvider:
    """Makes models from addresses: ``name:rest``, or a bare name that one of `patterns` matches fully."""

    name: str
    create: Callable[[str], BaseLlm]
    patterns: tuple[str, ...] = ()
    #: The address to use where an agent names no model, or None (no key is set, say).
    default: Callable[[], str | None] | None = None
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionBackend:
    """Opens a session store from a URI of the scheme `name`."""

    name: str
    open: Callable[[str], BaseSessionService]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactBackend:
    """Opens an artifact store from a URI of the scheme `name`."""

    name: str
    open: Callable[[str], BaseArtifactService]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBackend:
    """Opens a memory service from a URI of the scheme `name`."""

    name: str
    open: Callable[[str], BaseMemoryService]


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialBackend:
    """Opens a credential store from a URI of the scheme `name`."""

    name: str
    open: Callable[[str], BaseCredentialService]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthProvider:
    """Makes a provider of credentials for one kind of auth scheme."""

    name: str
    create: Callable[[], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeExecutor:
    """Makes a code executor."""

    name: str
    create: Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """Makes a planner."""

    name: str
    create: Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFactory:
    """Makes a tool that an agent file names; keyword arguments come from the file."""

    name: str
    create: Callable[..., Any]
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAdapter:
    """Turns a foreign object in an agent's `tools` (a function, say) into a tool."""

    name: str
    accepts: Callable[[Any], bool]
    adapt: Callable[[Any], BaseTool]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentType:
    """An agent class that an agent file may name; `load` imports and returns it."""

    name: str
    load: Callable[[], type[BaseAgent]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Dispatches and recovers invocations (contracts.engine)."""

    name: str
    create: Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """An evaluation metric."""

    name: str
    create: Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of the command line; `load` imports and returns the click command."""

    name: str
    load: Callable[[], Any]
    help: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """An ASGI route of the server."""

    name: str
    path: str
    load: Callable[[], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPanel:
    """A panel of the web UI."""

    name: str
    title: str
    load: Callable[[], Any]
