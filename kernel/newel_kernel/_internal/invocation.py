"""Contexts: one invocation as the running agent sees it, and as its tools and callbacks see it.

`ToolContext` and `CallbackContext` are names for `Context`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from newel_kernel._internal import seam
from newel_kernel._internal.errors import LlmCallsLimitExceededError
from newel_kernel._internal.events import Event, EventActions
from newel_kernel._internal.hooks import NO_HOOKS, Callbacks, Round
from newel_kernel._internal.run_config import RunConfig
from newel_kernel._internal.session import Session
from newel_kernel._internal.stash import Key, Stash
from newel_kernel._internal.state import State
from newel_kernel._internal.values import Json

if TYPE_CHECKING:
    from newel_kernel._internal.chains import Chains
    from newel_kernel._internal.contracts.agent import BaseAgent
    from newel_kernel._internal.contracts.store import BaseSessionService
    from newel_kernel._internal.rendezvous import Meeting
    from newel_types import Content

#: Call id -> the event that asks the user a question instead of a result (None: no new one); the call stays open.
OPEN_CALLS = Key[dict[str | None, Event | None]]("open calls", dict)


class ReadonlyContext:
    """The context for code that must not change anything: instruction providers and toolsets."""

    __slots__ = ("_invocation_context",)

    def __init__(self, invocation_context: InvocationContext) -> None:
        self._invocation_context = invocation_context

    @property
    def user_content(self) -> Content | None:
        """The message that started the invocation."""
        return self._invocation_context.user_content

    @property
    def invocation_id(self) -> str:
        """The invocation's id."""
        return self._invocation_context.invocation_id

    @property
    def agent_name(self) -> str:
        """The name of the agent that runs."""
        return self._invocation_context.agent.name

    @property
    def session(self) -> Session:
        """The session."""
        return self._invocation_context.session

    @property
    def user_id(self) -> str:
        """The session's user."""
        return self._invocation_context.session.user_id

    @property
    def branch(self) -> str | None:
        """The branch of the agent that runs."""
        return self._invocation_context.branch

    @property
    def run_config(self) -> RunConfig:
        """How the invocation runs."""
        return self._invocation_context.run_config

    @property
    def state(self) -> Mapping[str, Any]:
        """The session's state, read-only."""
        return MappingProxyType(self._invocation_context.session.state)


class Context(ReadonlyContext):
    """The context of a callback or a tool call: the session's state, and the actions of the call.

    Writes to `state` and `actions` ride on the event that the kernel makes of this call.
    """

    __slots__ = ("_actions", "_state", "call_sync", "function_call_id")

    def __init__(
        self,
        invocation_context: InvocationContext,
        event_actions: EventActions | None = None,
        function_call_id: str | None = None,
    ) -> None:
        self._invocation_context = invocation_context
        self._actions = event_actions
        self._state: State | None = None
        #: Runs a synchronous function of a tool and returns its result or an awaitable of it. A policy may set one
        #: that uses a thread; None: the function is called directly.
        self.call_sync: Callable[[Callable[..., Any], Json], Any] | None = None
        self.function_call_id = function_call_id

    def get_invocation_context(self) -> InvocationContext:
        """The invocation behind this context."""
        return self._invocation_context

    @property
    def actions(self) -> EventActions:
        """The side effects of this call."""
        if self._actions is None:
            self._actions = EventActions()
        return self._actions

    @property
    def touched_actions(self) -> EventActions | None:
        """The actions if this call has touched them, else None, with what it has changed in place in the state."""
        if self._state is not None:
            self._state.keep_changes()
        return self._actions

    @property
    def state(self) -> State:
        """The session's state; a write is seen at once and stored with this call's event."""
        if self._state is None:
            self._state = State(self._invocation_context.session.state, self.actions.state_delta)
        return self._state

    def leave_open(self, question: Event | None = None) -> None:
        """Leave this tool call without a result: it is run again later. `question` asks the user for what it needs."""
        self._invocation_context.stash[OPEN_CALLS][self.function_call_id] = question


ToolContext = Context
CallbackContext = Context


class CallBudget:
    """Counts the model calls of an invocation, across all its agents."""

    __slots__ = ("used",)

    def __init__(self) -> None:
        self.used = 0


class Mode(Protocol):
    """A way to run an invocation other than from a message to an answer, such as over a lasting connection."""

    def enter(self, ctx: InvocationContext, /) -> None:
        """Set up the context, before the invocation begins."""

    def start(self, agent: BaseAgent, ctx: InvocationContext, /) -> AsyncGenerator[Event, None]:
        """The events of an agent, between its callbacks."""

    def stores(self, event: Event, /) -> bool:
        """Whether an event that is not partial is stored."""

    def finish(self, ctx: InvocationContext, error: BaseException | None, /) -> bool:
        """Give back what the mode holds, once the run is over; return whether the hooks for its end are called."""


class InvocationContext:
    """One invocation as one agent sees it.

    `for_agent` and `model_copy` give the view of another agent: the session, the stash and the call budget are
    shared, `agent`, `branch` and `end_invocation` are the view's own. A subclass shares more (such as
    services); the Runner's `new_context` makes it.
    """

    #: What tools and callbacks get.
    context_type: ClassVar[type[Context]] = Context
    #: The prefix of the ids for calls that a model gave none: these ids are ours, and are not sent back to the model.
    call_id_prefix: ClassVar[str] = "call-"

    #: Where tools leave events to be committed while they still run; None: the agent has no such tools.
    meeting: Meeting | None = None
    #: How the invocation runs, if not from a message to an answer.
    mode: Mode | None = None
    #: Whether the run may continue something: it resumes an invocation, its message answers calls, or it has a mode.
    continues = True
    node_path: str | None = None
    #: What the caller hands to the code of this run; never stored.
    deps: Any = None

    def __init__(
        self,
        session_service: BaseSessionService,
        session: Session,
        agent: BaseAgent,
        composition: Chains,
        run_config: RunConfig,
        invocation_id: str | None = None,
        user_content: Content | None = None,
        branch: str | None = None,
        app: object = None,
    ) -> None:
        self.session_service = session_service
        self.session = session
        self.agent = agent
        self.composition = composition
        self.run_config = run_config
        self.invocation_id = invocation_id or new_invocation_id()
        self.user_content = user_content
        self.branch = branch
        self.app = app
        self.budget = CallBudget()
        self.end_invocation = False
        #: Whether the invocation had begun before this run of it.
        self.resumed = False
        #: Where the conversation of an isolated run begins, and with which content; None: it begins with the session.
        self.opening: object = None
        self.isolation_scope: str | None = None
        #: Values that plugins keep for the rest of the invocation.
        self.stash = Stash()
        #: What changes each event of the invocation, and the state, before the event is committed and yielded.
        self.outlets: list[Callable[[Event, Json], None]] = []

    def model_copy(self, *, update: Json | None = None, deep: bool = False) -> Self:
        """A view that shares everything but the attributes in `update`."""
        new = object.__new__(self.__class__)
        new.__dict__.update(self.__dict__)
        if update:
            new.__dict__.update(update)
        return new

    def for_agent(self, agent: BaseAgent) -> Self:
        """The view of `agent`; the branch stays."""
        if self.agent is agent:
            return self
        new = self.model_copy()
        new.agent = agent
        return new

    def round_of(self, hook: str) -> Round | None:
        """The implementations of `hook` for the agent that runs, or None if it has none."""
        own = getattr(self.agent, hook, None)
        if (shared := self.composition.hooks.get(hook)) is None and not own:
            return None
        plugins, fallbacks = shared or NO_HOOKS
        return plugins, self.own_callbacks(hook) if own else (), fallbacks

    def own_callbacks(self, hook: str) -> Callbacks:
        """The running agent's own callbacks for `hook`; called only if it has some."""
        return self.agent.__newel__.callbacks(hook)

    @property
    def app_name(self) -> str:
        """The session's app."""
        return self.session.app_name

    @property
    def user_id(self) -> str:
        """The session's user."""
        return self.session.user_id

    def increment_llm_call_count(self) -> None:
        """Count a model call; raises LlmCallsLimitExceededError beyond RunConfig.max_llm_calls."""
        budget = self.budget
        budget.used = used = budget.used + 1
        if used > (limit := self.run_config.max_llm_calls) > 0:
            raise LlmCallsLimitExceededError(
                f"Max number of llm calls limit of `{limit}` exceeded (RunConfig.max_llm_calls)"
            )


def new_invocation_id() -> str:
    """``e-`` and a UUID."""
    return "e-" + seam.new_id()
