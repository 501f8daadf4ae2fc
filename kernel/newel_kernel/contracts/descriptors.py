"""What a plugin's registration hooks return: frozen descriptions of what it provides.

Each has a `name`, unique within its kind. The host adds who provided it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from newel_kernel.context import Context
    from newel_kernel.contracts.agent import BaseAgent
    from newel_kernel.contracts.model import BaseLlm
    from newel_kernel.contracts.request import LlmRequest
    from newel_kernel.contracts.response import LlmResponse
    from newel_kernel.contracts.tool import BaseTool
    from newel_kernel.events import Event
    from newel_kernel.invocation import InvocationContext
    from newel_kernel.observation import Operation, Signal

    Events = Awaitable[Sequence[Event] | None]
    RequestStep = Callable[[InvocationContext, LlmRequest], Events | None]
    ToolCall = Callable[[BaseTool, dict[str, Any], Context], Awaitable[Any]]


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
    """Edits the request before each model call; events that it returns are committed and yielded first.

    `applies_to` and `for_agent` are asked once for an agent, and again after a field of any agent was assigned: what
    may change otherwise, `run` looks at.
    """

    #: A coroutine function; or a plain one that returns None, which costs less.
    run: RequestStep
    #: Whether it has anything to do for an agent; None: always.
    applies_to: Callable[[BaseAgent], bool] | None = None
    #: What runs for an agent in place of `run`: for what follows from the agent's fields alone.
    for_agent: Callable[[BaseAgent], RequestStep] | None = None
    #: Whether it has anything to do for an app (None: a runner of a bare agent). Asked once for each runner.
    serves: Callable[[Any], bool] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPreparation(RequestProcessor):
    """Runs after the request chain, in which it has no place, and before the agent's tools declare themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseProcessor(Stage):
    """Edits each response of the model; events that it returns are committed and yielded first."""

    #: A coroutine function; or a plain one that returns None, which costs less.
    run: Callable[[InvocationContext, LlmRequest, LlmResponse], Events | None]
    applies_to: Callable[[BaseAgent], bool] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultProcessor(Stage):
    """Sees the event of the tool results. Its own events come before that event, or after it with `follows`."""

    run: Callable[[InvocationContext, Event, Event], Events]
    follows: bool = False
    #: Whether it has anything to do for an event of results; None: always.
    applies_to: Callable[[Event], bool] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPolicy(Stage):
    """Wraps every tool call: `wrap` gets the next inner call and returns one that stands around it.

    The first policy of the chain is the outermost. A call takes (tool, args, context) and gives the result.
    """

    wrap: Callable[[ToolCall], ToolCall]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prologue:
    """Runs when a message has come in, before it is stored; events that it returns are committed, and not yielded."""

    name: str
    run: Callable[[InvocationContext], Events]


@dataclass(frozen=True, slots=True, kw_only=True)
class Epilogue:
    """Runs once an invocation is over, whatever ended it; events that it returns are committed, and not yielded.

    It gets None where the agent had finished, else the error, a CancelledError, or a GeneratorExit where the
    caller stopped iterating.
    """

    name: str
    run: Callable[[InvocationContext, BaseException | None], Events]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer:
    """Is told when operations (`newel_kernel.observation`) begin and end. What it raises is logged, and no more."""

    name: str
    notify: Callable[[Signal], None]
    #: Gives what stands around each step of an operation, in the step's task; it must not raise.
    within: Callable[[Operation], AbstractContextManager[Any]] | None = None
    #: Whether to watch an invocation that begins; None: always. It must be quick and not raise.
    wanted: Callable[[], bool] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProvider:
    """Makes models from addresses: ``name:rest``, or a bare name that one of `patterns` matches fully."""

    name: str
    create: Callable[[str], BaseLlm]
    patterns: tuple[str, ...] = ()
    #: The address to use where an agent names no model, or None (no key is set, say).
    default: Callable[[], str | None] | None = None
    description: str = ""
    #: Asked for a default only after every provider that is none.
    fallback: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """Opens a store from a URI of the scheme `name`."""

    name: str
    open: Callable[[str], Any]


class SessionBackend(Backend):
    """`open` gives a BaseSessionService."""


class ArtifactBackend(Backend):
    """`open` gives a BaseArtifactService."""


class MemoryBackend(Backend):
    """`open` gives a BaseMemoryService."""


class CredentialBackend(Backend):
    """`open` gives a BaseCredentialService."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Factory:
    """Makes something when asked; keyword arguments come from an agent file or a caller."""

    name: str
    create: Callable[..., Any]
    description: str = ""


class AuthProvider(Factory):
    """`create` gives a provider of credentials for one kind of auth scheme."""


class CodeExecutor(Factory):
    """`create` gives a BaseCodeExecutor."""


class Planner(Factory):
    """`create` gives a BasePlanner."""


class ToolFactory(Factory):
    """`create` gives a tool, which an agent file can name."""


class Engine(Factory):
    """`create` gives a BaseEngine: it dispatches and recovers invocations."""


class Metric(Factory):
    """`create` gives an evaluation metric."""


class Display(Factory):
    """`create` gives, for an agent, what a notebook may show of it by MIME type.

    Its keywords `include` and `exclude` are the types that are asked for, or not wanted; None or empty: as it likes.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAdapter:
    """Turns a foreign object in an agent's `tools` (a function, say) into a tool."""

    name: str
    accepts: Callable[[Any], bool]
    adapt: Callable[[Any], BaseTool]
    #: Asked only after every adapter that is none: it accepts a whole kind (any callable, say).
    fallback: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Loader:
    """Imports and returns something when it is needed."""

    name: str
    load: Callable[[], Any]


class AgentType(Loader):
    """An agent class that an agent file can name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command(Loader):
    """A click command of the command line."""

    help: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route(Loader):
    """An ASGI application of the server, under `path`."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPanel(Loader):
    """A panel of the web UI."""

    title: str
