"""Chains: the steps that the kernel runs, as plugins describe them, composed once and frozen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from pydantic import BaseModel

from newel_kernel._internal.errors import ConfigurationError, brief
from newel_kernel._internal.events import Event
from newel_kernel._internal.gate import SessionGate
from newel_kernel._internal.hooks import Hooks
from newel_kernel._internal.kinds import Descriptor, Registry, Stage
from newel_kernel._internal.observation import Observer
from newel_kernel._internal.stash import Stash
from newel_kernel._internal.values import Json

if TYPE_CHECKING:
    from newel_kernel._internal.contracts.agent import BaseAgent
    from newel_kernel._internal.contracts.request import LlmRequest
    from newel_kernel._internal.contracts.response import LlmResponse
    from newel_kernel._internal.contracts.tool import BaseTool
    from newel_kernel._internal.invocation import Context, InvocationContext
    from newel_kernel._internal.log import Turn

    Events = Awaitable[Sequence[Event] | None]
    RequestStep = Callable[[InvocationContext, LlmRequest], Events | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestProcessor(Stage):
    """Edits the request before each model call; events that it returns are committed and yielded first.

    `applies_to` and `for_agent` are called once for an agent, and again after an edit of its tree: a field of an agent
    was assigned, an entry of the agent's `tools` or of the `sub_agents` of its tree changed. They may depend on these
    alone. `run` checks whatever else may change: an attribute of a planner or a model, an item of any other list.
    """

    #: A coroutine function; or a plain one that returns None, which costs less.
    run: RequestStep
    #: Whether it has anything to do for an agent; None: always.
    applies_to: Callable[[BaseAgent], bool] | None = None
    #: Makes the step that runs for an agent in place of `run`; it may depend on the agent's fields alone.
    for_agent: Callable[[BaseAgent], RequestStep] | None = None
    #: Whether it has anything to do for an app (None: a runner of a bare agent). Called once for each runner.
    serves: Callable[[object], bool] | None = None
    #: Whether it runs only in a run that continues something (see InvocationContext.continues).
    on_continuation: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPreparation(RequestProcessor):
    """Runs after the request chain (it is not part of it) and before the agent's tools declare themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseProcessor(Stage):
    """Edits each response of the model; events that it returns are committed and yielded first."""

    #: A coroutine function; or a plain one that returns None, which costs less.
    run: Callable[[InvocationContext, LlmRequest, LlmResponse], Events | None]
    applies_to: Callable[[BaseAgent], bool] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultProcessor(Stage):
    """Sees the event of the tool results. Its own events come before that event, or after it with `follows`."""

    #: A coroutine function; or a plain one that returns None, which costs less.
    run: Callable[[InvocationContext, Event, Event], Events | None]
    follows: bool = False
    #: Whether it has anything to do for an event of results; None: always.
    applies_to: Callable[[Event], bool] | None = None


class ToolCall(Protocol):
    """Runs a tool."""

    def __call__(self, tool: BaseTool, args: Json, context: Context, /) -> Awaitable[Any]:
        """An awaitable of the tool's result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPolicy(Stage):
    """Wraps every tool call: `wrap` gets the next inner call and returns a call around it.

    The first policy of the chain is the outermost.
    """

    wrap: Callable[[ToolCall], ToolCall]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prologue(Stage):
    """Runs when a message has come in, before it is stored; events that it returns are committed, and not yielded."""

    #: A coroutine function; or a plain one that returns None, which costs less.
    run: Callable[[InvocationContext], Events | None]
    #: Whether it runs after the hooks have seen the message, and not before.
    follows: bool = False
    #: Whether, before the hooks, it runs only in a run that continues something (see InvocationContext.continues).
    on_continuation: bool = False
    #: Whether it also runs for a message that is stored amid a run, which may be another process's.
    amid: bool = False

    @property
    def phase(self) -> int:
        """Those that follow run later."""
        return int(self.follows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Epilogue(Stage):
    """Runs once an invocation is over, whatever ended it; events that it returns are committed, and not yielded.

    It gets None if the agent had finished, else the error, a CancelledError, or a GeneratorExit if the
    caller stopped iterating.
    """

    #: A coroutine function; or a plain one that returns None, which costs less.
    run: Callable[[InvocationContext, BaseException | None], Events | None]
    #: Whether it only runs if something ended the invocation before its end: an error, a cancellation, the caller.
    on_failure: bool = False
    #: Whether, after an invocation that ended by itself, it runs only if the run continued something.
    on_continuation: bool = False


def _begin(ctx: InvocationContext, turn: Turn, invocation_id: str | None) -> None:
    if invocation_id is not None:
        raise ConfigurationError(
            f"the invocation {brief(invocation_id)!r} cannot be resumed: no plugin of the distribution says how; "
            f"enable the plugin 'turns'"
        )


def _one_message(ctx: InvocationContext, turn: Turn) -> list[Event]:
    return [Event(invocation_id=ctx.invocation_id, author="user", content=turn.content)]


async def _nothing(ctx: InvocationContext, tools: Mapping[str, BaseTool]) -> Iterable[Event]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPolicy(Descriptor):
    """Decides whose turn it is. The policy named ``turns`` counts; a distribution's `replace` chooses it.

    By default each message begins an invocation of the root agent, nothing waits, and no agent hands over.
    """

    name: str = "turns"
    #: Sets up the context of a message, before it is stored, for the invocation that the message belongs to: the one
    #: that the caller names (None: the policy finds out), or a new one. It raises if that invocation cannot go on.
    enter: Callable[[InvocationContext, Turn, str | None], None] = _begin
    #: The events of the message, one for each conversation that it belongs to; none if it is not to be stored.
    messages: Callable[[InvocationContext, Turn], list[Event]] = _one_message
    #: The agent that answers, once the message is stored; None: the invocation is over, and only its epilogues run.
    agent: Callable[[InvocationContext], BaseAgent | None] = attrgetter("agent")
    #: Whether the agent that runs waits for an answer, so that its model must not be called.
    waits: Callable[[InvocationContext], bool] = lambda ctx: False
    #: The results of the agent's calls that an interrupted run of the invocation left open, given its tools.
    interrupted: Callable[[InvocationContext, Mapping[str, BaseTool]], Awaitable[Iterable[Event]]] = _nothing
    #: The events after the committed results of tools, one of which named the agent to transfer to.
    transfer: Callable[[InvocationContext, Event], Iterable[Event]] = lambda ctx, results: ()


_DEFAULT_TURNS = TurnPolicy()
_DEFAULT_GATE = SessionGate()
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chains:
    """The chains in their order, the hooks as flat tuples, and the registry of everything else that plugins provide."""

    registry: Registry
    hooks: Hooks = field(default_factory=dict)
    #: Plugin -> its validated settings.
    settings: Mapping[str, BaseModel] = field(default_factory=dict)
    request_chain: tuple[RequestProcessor, ...] = ()
    response_chain: tuple[ResponseProcessor, ...] = ()
    result_chain: tuple[ResultProcessor, ...] = ()
    tool_chain: tuple[ToolPolicy, ...] = ()
    #: Values that plugins keep for as long as the composition lives (such as their models).
    stash: Stash = field(default_factory=Stash, repr=False, compare=False)
    #: The part of the request chain that the loop runs, and the tool preparations after it.
    request_steps: tuple[RequestProcessor, ...] = field(init=False)
    #: Runs a tool within the policies of the tool chain.
    call_tool: ToolCall = field(init=False, repr=False)
    #: Whether a plugin has hooks around agents, and around their models: checked for each run and each model call.
    agents_hooked: bool = field(init=False)
    models_hooked: bool = field(init=False)
    #: Whose turn it is.
    turns: TurnPolicy = field(init=False)
    #: Who may run a session.
    gate: SessionGate = field(init=False)
    prologues: tuple[Prologue, ...] = field(init=False)
    #: Of these, those of a run that continues nothing.
    fresh_prologues: tuple[Prologue, ...] = field(init=False)
    late_prologues: tuple[Prologue, ...] = field(init=False)
    epilogues: tuple[Epilogue, ...] = field(init=False)
    #: Those that run after an invocation that ended by itself.
    regular_epilogues: tuple[Epilogue, ...] = field(init=False)
    #: Of these, those of a run that continued nothing.
    fresh_epilogues: tuple[Epilogue, ...] = field(init=False)
    observers: tuple[Observer, ...] = field(init=False)
    #: The copies that `for_app` made, by the request steps that they keep.
    _for_apps: dict[tuple[RequestProcessor, ...], Self] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        call: ToolCall = _run_tool
        for policy in reversed(self.tool_chain):
            call = policy.wrap(call)
        early = [one for one in self.registry.all(Prologue) if not one.follows]
        regular = [one for one in self.registry.all(Epilogue) if not one.on_failure]
        derived: Json = {
            "request_steps": self._steps(),
            "call_tool": call,
            "agents_hooked": any("_agent_" in hook for hook in self.hooks),
            "models_hooked": any("_model_" in hook for hook in self.hooks),
            "turns": next((p for p in self.registry.all(TurnPolicy) if p.name == "turns"), _DEFAULT_TURNS),
            "gate": next(iter(self.registry.all(SessionGate)), _DEFAULT_GATE),
            "prologues": tuple(early),
            "fresh_prologues": tuple(one for one in early if not one.on_continuation),
            "late_prologues": tuple(one for one in self.registry.all(Prologue) if one.follows),
            "epilogues": tuple(self.registry.all(Epilogue)),
            "regular_epilogues": tuple(regular),
            "fresh_epilogues": tuple(one for one in regular if not one.on_continuation),
            "observers": tuple(self.registry.all(Observer)),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def _steps(self) -> tuple[RequestProcessor, ...]:
        return (*self.request_chain, *self.registry.all(ToolPreparation))

    def settings_of(self, plugin: str, model: type[M]) -> M:
        """The settings of a plugin; if it is not composed, the defaults of `model`."""
        settings = self.settings.get(plugin)
        return settings if isinstance(settings, model) else model()

    def for_app(self, app: object) -> Self:
        """The same chains without the request steps that do not serve `app`; made once."""
        steps = tuple(step for step in self._steps() if step.serves is None or step.serves(app))
        if steps == self.request_steps:
            return self
        if steps not in self._for_apps:
            self._for_apps[steps] = new = replace(self)
            object.__setattr__(new, "request_steps", steps)
        return self._for_apps[steps]


def _run_tool(tool: BaseTool, args: Json, context: Context) -> Awaitable[Any]:
    """The innermost call: the tool itself."""
    return tool.run_async(args=args, tool_context=context)
