"""The contract of an agent: BaseAgent, the node of an agent tree."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from newel_kernel._internal.errors import ConfigurationError, FeatureUnavailableError
from newel_kernel._internal.events import Event
from newel_kernel._internal.hooks import Callbacks, run_round
from newel_kernel._internal.observation import Operation, current_operation

if TYPE_CHECKING:
    from newel_kernel._internal.invocation import InvocationContext


class BaseAgent(BaseModel):
    """An agent: a name, its place in a tree, and `_run_async_impl`, which a subclass implements."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    name: str
    description: str = ""
    parent_agent: BaseAgent | None = Field(default=None, init=False)
    sub_agents: list[BaseAgent] = Field(default_factory=list)

    #: Whether it may hand the conversation to other agents of its tree.
    transfers: ClassVar[bool] = False
    #: The plan that the kernel has made from the agent's fields (see preparation.Plan).
    plan: ClassVar[Any] = None
    #: Of a root: how often a field of an agent in its tree was assigned. A plan is valid until this number changes.
    edits: ClassVar[int] = 0

    @field_validator("name")
    @classmethod
    def _valid_name(cls, name: str) -> str:
        if not re.fullmatch(r"[^\W\d]\w*", name):
            raise ValueError(
                f"invalid agent name {name!r}: use letters, digits and underscores, and start with a letter"
            )
        if name == "user":
            raise ValueError("an agent cannot be named 'user': that is the author of the user's messages")
        return name

    def model_post_init(self, context: object, /) -> None:
        """Adopt the sub-agents; an agent has one parent, and its children have different names."""
        names: set[str] = set()
        for agent in self.sub_agents:
            if agent.parent_agent is not None and agent.parent_agent is not self:
                raise ConfigurationError(
                    f"agent {agent.name!r} already has the parent {agent.parent_agent.name!r}; "
                    f"it cannot be a sub-agent of {self.name!r} as well (use clone())"
                )
            if agent.name in names:
                raise ConfigurationError(f"agent {self.name!r} has two sub-agents named {agent.name!r}")
            names.add(agent.name)
            agent.parent_agent = self

    def __setattr__(self, name: str, value: object) -> None:
        before = self.root_agent
        super().__setattr__(name, value)
        for root in {id(one): one for one in (before, self.root_agent)}.values():  # two if its parent changed
            root.__dict__["edits"] = root.edits + 1

    @property
    def root_agent(self) -> BaseAgent:
        """The root of the tree."""
        agent = self
        while agent.parent_agent is not None:
            agent = agent.parent_agent
        return agent

    def walk(self) -> Iterator[BaseAgent]:
        """The agents of this subtree, this one first, each before its sub-agents."""
        yield self
        for agent in self.sub_agents:
            yield from agent.walk()

    def find_agent(self, name: str) -> BaseAgent | None:
        """The agent of that name in this subtree, itself included."""
        return self if self.name == name else self.find_sub_agent(name)

    def find_sub_agent(self, name: str) -> BaseAgent | None:
        """The agent of that name below this one."""
        for agent in self.sub_agents:
            if (match := agent.find_agent(name)) is not None:
                return match
        return None

    @property
    def hooked(self) -> bool:
        """Whether the agent has its own callbacks around its run."""
        return False

    def callbacks(self, hook: str) -> Callbacks:
        """The agent's own callbacks for `hook`."""
        return ()

    def run_async(self, parent_context: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run the agent; its events, in order. Each is committed before the agent resumes."""
        return self.enter(parent_context)

    def enter(self, parent_context: InvocationContext, within: Operation | None = None) -> AsyncGenerator[Event, None]:
        """As `run_async`, for a driver: the run is a part of the operation `within`, else of the current one."""
        ctx = parent_context if parent_context.agent is self else parent_context.for_agent(self)
        hooked = ctx.composition.agents_hooked or self.hooked
        events = self._between_callbacks(ctx) if hooked or ctx.end_invocation else self._work(ctx)
        parent = within or current_operation.get()
        return events if parent is None else parent.child("agent", self.name, ctx, self).stream(events)

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
        return self._run_async_impl(ctx) if ctx.live_request_queue is None else self._run_live_impl(ctx)

    def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """What the agent does; a subclass implements it as an async generator of events."""
        raise NotImplementedError(f"{type(self).__name__} does not implement _run_async_impl")

    def _run_live_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """As `_run_async_impl`, in a live run."""
        raise FeatureUnavailableError(f"{type(self).__name__} {self.name!r} has no live mode: use run_async")


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
