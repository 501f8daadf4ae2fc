"""The contract of an agent: BaseAgent, the node of an agent tree."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator

from newel_kernel._internal.errors import ConfigurationError, FeatureUnavailableError
from newel_kernel._internal.events import Event, EventActions
from newel_kernel._internal.hooks import Callbacks, as_callbacks
from newel_kernel._internal.lifecycle import around_agent, implemented
from newel_kernel._internal.observation import Operation, current_operation

if TYPE_CHECKING:
    from newel_kernel._internal.invocation import InvocationContext


class BaseAgentState(BaseModel):
    """What an agent checkpoints so that an interrupted invocation can resume; subclass it per agent type."""

    model_config = ConfigDict(extra="forbid")


class Handover(Event):
    """An agent's request to the driver: run `target` now, then resume me.

    Never persisted nor yielded to a caller. It keeps a chain of transfers flat: the agent that transferred
    stays suspended, and the driver, not its frame, runs the next one.
    """

    __slots__ = ("context", "last", "operation", "target")

    def __init__(self, target: BaseAgent, context: InvocationContext) -> None:
        super().__init__(author=context.agent.name, invocation_id=context.invocation_id, partial=True)
        self.target = target
        self.context = context
        #: The agent's run, of which the target's is a part.
        self.operation = current_operation.get()
        #: The last event that the target yielded, once it has run.
        self.last: Event | None = None


class BaseAgent(BaseModel):
    """An agent: a name, its place in a tree, and `_run_async_impl`, which a subclass implements."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    name: str
    description: str = ""
    parent_agent: BaseAgent | None = Field(default=None, init=False)
    sub_agents: list[BaseAgent] = Field(default_factory=list)
    before_agent_callback: object = None
    after_agent_callback: object = None

    #: The loop's event-producing mode: an agent that may hand the conversation to others says so.
    transfers: ClassVar[bool] = False
    #: What the kernel has made of the agent's fields (see preparation.Plan).
    plan: ClassVar[object] = None
    #: Of a root: how often a field of an agent in its tree was assigned. What was made of fields holds until then.
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
        seen: set[str] = set()
        for agent in self.sub_agents:
            if agent.parent_agent is not None and agent.parent_agent is not self:
                raise ConfigurationError(
                    f"agent {agent.name!r} already has the parent {agent.parent_agent.name!r}; "
                    f"it cannot be a sub-agent of {self.name!r} as well (use clone())"
                )
            if agent.name in seen:
                raise ConfigurationError(f"agent {self.name!r} has two sub-agents named {agent.name!r}")
            seen.add(agent.name)
            agent.parent_agent = self

    def __setattr__(self, name: str, value: object) -> None:
        before = self.root_agent
        super().__setattr__(name, value)
        for root in {id(one): one for one in (before, self.root_agent)}.values():  # two where it changes its parent
            root.__dict__["edits"] = root.edits + 1

    @property
    def root_agent(self) -> BaseAgent:
        """The root of the tree."""
        agent = self
        while agent.parent_agent is not None:
            agent = agent.parent_agent
        return agent

    def walk(self) -> Iterator[BaseAgent]:
        """The agents of this subtree, this one first, each before those below it."""
        yield self
        for agent in self.sub_agents:
            yield from agent.walk()

    def find_agent(self, name: str) -> BaseAgent | None:
        """The agent of that name in this subtree, itself included."""
        return self if self.name == name else self.find_sub_agent(name)

    def find_sub_agent(self, name: str) -> BaseAgent | None:
        """The agent of that name below this one."""
        for agent in self.sub_agents:
            if (found := agent.find_agent(name)) is not None:
                return found
        return None

    def clone(self, update: Mapping[str, object] | None = None) -> Self:
        """A copy of the agent and its subtree, without a parent; `update` sets fields."""
        changes = dict(update or {})
        if "parent_agent" in changes:
            raise ConfigurationError("clone() cannot set parent_agent: pass the clone to its parent's sub_agents")
        if unknown := changes.keys() - type(self).model_fields.keys():
            raise ConfigurationError(f"clone() got unknown field(s) of {type(self).__name__}: {sorted(unknown)}")
        copy = self.model_copy(update=changes)
        for field, value in copy.__dict__.items():
            if field not in changes and isinstance(value, list):
                copy.__dict__[field] = list(value)
        if "sub_agents" not in changes:
            copy.sub_agents = [agent.clone() for agent in self.sub_agents]
        copy.parent_agent = None
        for cached in [name for name in copy.__dict__ if name not in type(self).model_fields]:
            del copy.__dict__[cached]
        copy.model_post_init(None)
        return copy

    @cached_property
    def _bound(self) -> dict[str, tuple[object, Callbacks]]:
        """The bound callbacks by hook, each with the field's value that they were made of."""
        return {}

    def callbacks(self, hook: str) -> Callbacks:
        """The agent's own callbacks for `hook`, bound by keyword; checked once per value of the field."""
        value = getattr(self, hook)
        if value is None:
            return ()
        known = self._bound.get(hook)
        if known is None or known[0] is not value or len(known[1]) != (len(value) if isinstance(value, list) else 1):
            known = (value, as_callbacks(hook, value, f"agent {self.name!r}"))
            self._bound[hook] = known
        return known[1]

    def run_async(self, parent_context: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run the agent; its events, in order. Each is committed before the agent resumes."""
        if not self.transfers or (not self.sub_agents and self.parent_agent is None):  # nothing will be handed over
            return self._enter(parent_context)
        return self._relay(parent_context)

    async def _relay(self, parent_context: InvocationContext) -> AsyncGenerator[Event, None]:
        """The agent's events, and those of the agents that it hands over to, without nesting: see `Handover`."""
        running = [self._enter(parent_context)]
        handovers: list[tuple[Handover, Event | None]] = []  # each with the latest event before it
        latest: Event | None = None
        try:
            while running:
                async for event in running[-1]:
                    if event.__class__ is Handover:
                        handovers.append((event, latest))
                        running.append(event.target._enter(event.context, event.operation))
                        break
                    latest = event
                    yield event
                else:
                    running.pop()
                    if handovers:
                        handover, before = handovers.pop()
                        handover.last = latest if latest is not before else None
        finally:
            for generator in reversed(running):
                await generator.aclose()

    def _enter(self, parent_context: InvocationContext, within: Operation | None = None) -> AsyncGenerator[Event, None]:
        """The agent in its context, between its callbacks where there are any."""
        ctx = parent_context.for_agent(self)
        hooked = ctx.composition.agents_hooked or self.before_agent_callback or self.after_agent_callback
        events = self._between_callbacks(ctx) if hooked or ctx.end_invocation else self._run_async_impl(ctx)
        parent = within or current_operation.get()
        return events if parent is None else parent.child("agent", self.name, ctx, self).stream(events)

    async def _between_callbacks(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """The agent's events with what the callbacks answer before and after it (S0 §2.1)."""
        if (found := implemented(ctx, "before_agent_callback")) is not None:
            early = await around_agent(ctx, "before_agent_callback", found)
            if early is not None:
                yield early
        if ctx.end_invocation:
            return
        async with aclosing(self._run_async_impl(ctx)) as events:
            async for event in events:
                yield event
        if ctx.end_invocation:
            return
        if (found := implemented(ctx, "after_agent_callback")) is not None:
            extra = await around_agent(ctx, "after_agent_callback", found)
            if extra is not None:
                yield extra

    async def run_live(self, parent_context: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run the agent over a live connection."""
        raise FeatureUnavailableError(f"agent {self.name!r} ({type(self).__name__}) has no live mode")
        yield

    def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """What the agent does; a subclass implements it as an async generator of events."""
        raise NotImplementedError(f"{type(self).__name__} does not implement _run_async_impl")

    def _state_event(self, ctx: InvocationContext) -> Event:
        """An event that stores the agent's checkpoint, or that it ended."""
        actions = EventActions()
        if ctx.end_of_agents.get(self.name):
            actions.end_of_agent = True
        elif self.name in ctx.agent_states:
            actions.agent_state = ctx.agent_states[self.name]
        return Event(invocation_id=ctx.invocation_id, author=self.name, branch=ctx.branch, actions=actions)

    def _load_agent_state(self, ctx: InvocationContext, state_type: type[BaseAgentState]) -> Any:
        """The agent's checkpoint of this invocation, or None."""
        stored = ctx.agent_states.get(self.name)
        return None if stored is None else state_type.model_validate(stored)
