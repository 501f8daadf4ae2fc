"""Kinds: what plugins provide, described by frozen descriptors, and the kinds that the kernel itself runs.

Whoever consumes a kind of thing declares it: a descriptor class, and the hook through which plugins provide it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from newel_kernel._internal.values import Json

if TYPE_CHECKING:
    from newel_kernel._internal.context import Context
    from newel_kernel._internal.contracts.agent import BaseAgent
    from newel_kernel._internal.contracts.request import LlmRequest
    from newel_kernel._internal.contracts.response import LlmResponse
    from newel_kernel._internal.contracts.tool import BaseTool
    from newel_kernel._internal.contracts.turns import Turns
    from newel_kernel._internal.events import Event
    from newel_kernel._internal.invocation import InvocationContext
    from newel_kernel._internal.observation import Operation, Signal

    Events = Awaitable[Sequence[Event] | None]
    RequestStep = Callable[[InvocationContext, LlmRequest], Events | None]
    ToolCall = Callable[[BaseTool, Json, Context], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """The base of what a registration hook returns: a named, frozen description of what a plugin provides.

    Its class is its kind, and `name` is unique within the kind. The composition adds who provided it.
    """

    name: str


D = TypeVar("D", bound=Descriptor)
D_co = TypeVar("D_co", bound=Descriptor, covariant=True)


@dataclass(frozen=True, slots=True)
class Kind(Generic[D_co]):
    """A kind of descriptor, and the specification of the hook through which plugins provide it.

    The hook's name starts with ``register_``. A plugin declares kinds for others to fill with `register_kinds`.
    """

    descriptor: type[D_co]
    #: A function marked with ``@hookspec``; its name is the hook's.
    specification: Callable[..., Sequence[D_co]]

    @property
    def hook(self) -> str:
        """The name of the hook."""
        return self.specification.__name__


class Registry(Protocol):
    """What the plugins of a composition provide, by kind and name."""

    def find(self, kind: type[D], name: str) -> D:
        """The descriptor of that kind and name; a ConfigurationError names those there are."""

    def all(self, kind: type[D]) -> Sequence[D]:
        """The descriptors of a kind, in the order of their plugins."""

    def why_missing(self, kind: type[Descriptor]) -> str:
        """What may be why one of a kind is missing: the end of an error's text, or empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage(Descriptor):
    """A named step of a chain. Outside the distribution's spine it sits beside its anchors."""

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
    serves: Callable[[object], bool] | None = None


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
class Prologue(Descriptor):
    """Runs when a message has come in, before it is stored; events that it returns are committed, and not yielded."""

    #: A coroutine function; or a plain one that returns None, which costs less.
    run: Callable[[InvocationContext], Events | None]
    #: After the hooks have seen the message, and not before.
    follows: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Epilogue(Descriptor):
    """Runs once an invocation is over, whatever ended it; events that it returns are committed, and not yielded.

    It gets None where the agent had finished, else the error, a CancelledError, or a GeneratorExit where the
    caller stopped iterating.
    """

    run: Callable[[InvocationContext, BaseException | None], Events]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer(Descriptor):
    """Is told when operations (`newel_kernel.observation`) begin and end. What it raises is logged, and no more."""

    notify: Callable[[Signal], None]
    #: Gives what stands around each step of an operation, in the step's task; it must not raise.
    within: Callable[[Operation], AbstractContextManager[object]] | None = None
    #: Whether to watch an invocation that begins; None: always. It must be quick and not raise.
    wanted: Callable[[], bool] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPolicy(Descriptor):
    """Decides whose turn it is. The one that is named ``turns`` counts; a distribution's `replace` chooses it."""

    name: str = "turns"
    turns: Turns
