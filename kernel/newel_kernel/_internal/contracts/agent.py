"""The contract of an agent: BaseAgent, the node of an agent tree, and the driver that runs it."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, ConfigDict, Field

from newel_kernel._internal.contracts.tree import check_children, check_tree, root_of
from newel_kernel._internal.errors import ConfigurationError
from newel_kernel._internal.events import Event
from newel_kernel._internal.hooks import Callbacks, run_round
from newel_kernel._internal.observation import Operation, current_operation
from newel_types import OneLineErrors

if TYPE_CHECKING:
    from newel_kernel._internal.invocation import InvocationContext


class AgentDriver:
    """How the runtime runs one agent, and what it has worked out for it.

    It stands apart from the agent, because every name on an agent's class belongs to the author of the class. An agent
    class names the type of its driver in `__newel_driver__`; `agent.__newel__` is the driver itself. A copy of an agent
    gets a new driver.
    """

    __slots__ = ("_adopted", "_adopted_ids", "agent", "edits", "plan")

    #: Whether the agent may hand the conversation to other agents of its tree.
    transfers: ClassVar[bool] = False

    def __init__(self, agent: Any) -> None:
        self.agent = agent
        #: The plan of the agent's chains (see preparation.Plan).
        self.plan: Any = None
        #: Of a root: how often an agent of its tree was edited. A plan is valid until this number changes.
        self.edits = 0
        self._adopted: list[BaseAgent] = []
        self._adopted_ids: list[int] = []

    @property
    def root(self) -> AgentDriver:
        """The driver of the root of the agent's tree."""
        agent: BaseAgent = self.agent
        return root_of(agent).__newel__

    def children(self) -> list[BaseAgent]:
        """The sub-agents, each with its parent; a list that was edited in place is checked first."""
        agents: list[BaseAgent] = self.agent.sub_agents
        if [*map(id, agents)] != self._adopted_ids:
            self.adopt()
            try:
                check_tree(root_of(self.agent))
            except ConfigurationError:
                self._adopted_ids = []  # so that it is checked again
                raise
        return agents

    def settle(self) -> None:
        """Bring up to date what follows from the fields of the agents in the tree; called before a plan is made."""
        self.children()

    def adopt(self) -> None:
        """Become the parent of the sub-agents, and of no other agent; ConfigurationError if one cannot be adopted."""
        agent: BaseAgent = self.agent
        check_children(agent, BaseAgent)
        former, self._adopted = self._adopted, list(agent.sub_agents)
        self._adopted_ids = [*map(id, self._adopted)]
        for child in former:
            if child.parent_agent is agent and id(child) not in self._adopted_ids:
                child.parent_agent = None
        for child in self._adopted:
            if child.parent_agent is not agent:
                child.parent_agent = agent
        self.root.edits += 1

    def callbacks(self, hook: str) -> Callbacks:
        """The agent's own callbacks for `hook`."""
        return ()

    def enter(self, parent_context: InvocationContext, within: Operation | None = None) -> AsyncGenerator[Event, None]:
        """The agent's events; the run is a part of the operation `within`, else of the current one."""
        agent: BaseAgent = self.agent
        if agent.sub_agents or self._adopted:
            self.children()
        ctx = parent_context if parent_context.agent is agent else parent_context.for_agent(agent)
        hooked = (
            ctx.composition.agents_hooked
            or getattr(agent, "before_agent_callback", None)
            or getattr(agent, "after_agent_callback", None)
        )
        events = self._between_callbacks(ctx) if hooked or ctx.end_invocation else self._work(ctx)
        parent = within or current_operation.get()
        return events if parent is None else parent.child("agent", agent.name, ctx, agent).stream(events)

    async def _between_callbacks(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """The agent's events, with the answers of the callbacks before and after them.

        Specified in docs/reference/behaviour.md#an-agent.
        """
        if (early := await _around(ctx, "before_agent_callback")) is not None:
            yield early
        if ctx.end_invocation:
            return
        async with aclosing(self._work(ctx)) as events:
            async for event in events:
                yield event
        if ctx.end_invocation:
            return
        if (extra := await _around(ctx, "after_agent_callback")) is not None:
            yield extra

    def _work(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        agent: BaseAgent = self.agent
        return agent._run_async_impl(ctx) if ctx.mode is None else ctx.mode.start(agent, ctx)


def _valid_name(name: str) -> str:
    if not re.fullmatch(r"[^\W\d]\w*", name):
        raise ValueError(f"invalid agent name {name!r}: use letters, digits and underscores, and start with a letter")
    if name == "user":
        raise ValueError("an agent cannot be named 'user': that is the author of the user's messages")
    return name


class BaseAgent(OneLineErrors):
    """An agent: a name, its place in a tree, and `_run_async_impl`, which a subclass implements."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    # A slot is not copied, compared, dumped or pickled with the fields.
    __slots__ = ("__newel__",)
    if TYPE_CHECKING:  # not a field: type checkers would ask the constructor for it

        @property
        def __newel__(self) -> AgentDriver: ...

    #: The type of the driver by which the runtime runs the agent.
    __newel_driver__: ClassVar[type[AgentDriver]] = AgentDriver

    #: A name of letters, digits and underscores, unique in the tree; its events bear it as their author.
    name: Annotated[str, AfterValidator(_valid_name)]
    #: What the agent is for: models read it when they choose whom to hand over to.
    description: str = ""
    #: The agent above, which that one sets when it adopts this one.
    parent_agent: BaseAgent | None = Field(default=None, init=False)
    #: The agents below; an agent has one parent.
    sub_agents: list[BaseAgent] = Field(default_factory=list)

    def __new__(cls, *args: object, **fields: object) -> Self:
        """An agent with a driver of its own, however it is made: validated, copied, unpickled."""
        if args and not cls.__pydantic_custom_init__:
            form = f"{cls.__name__}(name='helper')"
            raise TypeError(f"{cls.__name__} takes its fields by name, as in {form}, and was given {args[0]!r}")
        self = super().__new__(cls)
        object.__setattr__(self, "__newel__", cls.__newel_driver__(self))
        return self

    def model_post_init(self, context: object, /) -> None:
        """Adopt the sub-agents; an agent has one parent, and its children have different names."""
        self.__newel__.adopt()

    def __setattr__(self, name: str, value: object) -> None:
        before = root_of(self)
        super().__setattr__(name, value)
        for root in {id(one): one for one in (before, root_of(self))}.values():  # two if its parent changed
            root.__newel__.edits += 1

    @property
    def root_agent(self) -> BaseAgent:
        """The root of the tree."""
        return root_of(self)

    def find_agent(self, name: str) -> BaseAgent | None:
        """The agent of that name in this subtree, itself included."""
        return self if self.name == name else self.find_sub_agent(name)

    def find_sub_agent(self, name: str) -> BaseAgent | None:
        """The agent of that name below this one."""
        for agent in self.__newel__.children():
            if (match := agent.find_agent(name)) is not None:
                return match
        return None

    def run_async(self, parent_context: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run the agent; its events, in order. Each is committed before the agent resumes."""
        return self.__newel__.enter(parent_context)

    def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """What the agent does; a subclass implements it as an async generator of events."""
        raise NotImplementedError(f"{type(self).__name__} does not implement _run_async_impl")


async def _around(ctx: InvocationContext, hook: str) -> Event | None:
    """Run before_agent or after_agent: an event if a callback answered or changed state, else None."""
    round_ = ctx.round_of(hook)
    if round_ is None:
        return None
    context = ctx.context_type(ctx)
    content = await run_round(hook, round_, {"agent": ctx.agent, "callback_context": context})
    actions = context.touched_actions
    if content is None and (actions is None or not actions.state_delta):
        return None
    if content is not None and hook == "before_agent_callback":
        ctx.end_invocation = True
    return Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        content=content,
        actions=actions,  # None: made when touched
    )
