"""BaseAgent: the kernel's agent with callbacks, copies and checkpoints, which a notebook can show."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from logging import getLogger
from typing import Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

import newel_compose
from newel import drawing, live
from newel.agents.driver import Driver
from newel.agents.fields import AgentCallback
from newel.agents.own_events import checked
from newel.contexts.generics import DepsIn, OfAgent, Out
from newel.contexts.invocation_context import InvocationContext
from newel.errors.misspelt_fields import with_suggestions
from newel_kernel import AgentDriver, ConfigurationError, Event, EventActions, Json
from newel_kernel import BaseAgent as KernelAgent
from newel_kernel import InvocationContext as KernelInvocationContext
from newel_types import FieldSignature, caller_place

_log = getLogger(__name__)
_PARENT = "parent_agent cannot be given: the parent adopts its sub-agents, as in Agent(..., sub_agents=[this_agent])"


class BaseAgentState(BaseModel):
    """The checkpoint from which an agent resumes an interrupted invocation; subclass it per agent type."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


A = TypeVar("A", bound=KernelAgent)
S = TypeVar("S", bound=BaseAgentState)


class BaseAgent(OfAgent[DepsIn, Out], KernelAgent, defer_build=True):
    """An agent: a name, its place in a tree, and `_run_async_impl`, which a subclass implements."""

    __newel_driver__: ClassVar[type[AgentDriver]] = Driver

    #: Called before the agent runs with (callback_context); a Content is its answer, and it does not run.
    before_agent_callback: AgentCallback[DepsIn] | None = None
    #: Called after the agent has run with (callback_context); a Content becomes one more event of it.
    after_agent_callback: AgentCallback[DepsIn] | None = None

    __signature__: ClassVar[Any] = FieldSignature()

    @classmethod
    def __pydantic_on_complete__(cls) -> None:
        cls.__signature__ = FieldSignature()  # pydantic has set its own

    @model_validator(mode="wrap")
    @classmethod
    def __newel_suggest_fields__(cls, data: object, handler: Callable[[object], Self]) -> Self:
        if isinstance(data, dict) and data.get("parent_agent") is not None:
            raise PydanticCustomError("parent_given", _PARENT)
        return with_suggestions(cls, data, handler)

    def run_live(self, parent_context: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run the agent over a live connection; the context holds the queue of the user's input."""
        if parent_context.mode is None and parent_context.live_request_queue is not None:  # a context made by hand
            parent_context = parent_context.model_copy(
                update={"mode": live.LiveMode(parent_context.live_request_queue)}
            )
        return self.run_async(parent_context)

    def _run_live_impl(self, ctx: KernelInvocationContext) -> AsyncGenerator[Event, None]:
        """As `_run_async_impl`, in a live run."""
        return live.has_no_live_mode(self)

    @classmethod
    def __pydantic_init_subclass__(cls, **_: object) -> None:
        own = cls.__dict__.get("_run_async_impl")
        if own is not None and not cls.__module__.startswith("newel."):
            cls._run_async_impl = checked(own)  # type: ignore[method-assign]

    def clone(self, update: Mapping[str, object] | None = None) -> Self:
        """A copy of the agent and its subtree, without a parent; `update` sets fields."""
        return _copy(self, dict(update or {}))

    def _create_agent_state_event(self, ctx: InvocationContext) -> Event:
        """An event that stores the agent's checkpoint, or records that the agent ended."""
        actions = EventActions()
        if ctx.end_of_agents.get(self.name):
            actions.end_of_agent = True
        elif self.name in ctx.agent_states:
            actions.agent_state = ctx.agent_states[self.name]
        return Event(invocation_id=ctx.invocation_id, author=self.name, branch=ctx.branch, actions=actions)

    def _load_agent_state(self, ctx: InvocationContext, state_type: type[S]) -> S | None:
        """The agent's checkpoint of this invocation, or None."""
        stored = ctx.agent_states.get(self.name)
        return None if stored is None else state_type.model_validate(stored)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Json:
        """The forms in which a notebook may show the agent, by MIME type: the plugins' displays, and its name.

        Of two displays for the same type, the first wins.
        """
        forms: Json = {}
        try:
            for display in newel_compose.compose_once().registry.all(drawing.Display):
                forms = {**display.create(self, include=include, exclude=exclude), **forms}
        except Exception:  # noqa: BLE001 - a plugin boundary: a broken display must not fail a cell that ran
            _log.warning("the agent %r cannot be displayed", self.name, exc_info=True)
        return {"text/plain": f"{type(self).__name__} {self.name}", **forms}


def clone(agent: KernelAgent) -> KernelAgent:
    """A copy of any agent and its subtree, without a parent."""
    return agent.clone() if isinstance(agent, BaseAgent) else _copy(agent, {})


def _copy(agent: A, changes: Json) -> A:
    fields = type(agent).model_fields.keys()
    if "parent_agent" in changes:
        remedy = "pass the clone to its parent's sub_agents"
        raise ConfigurationError(f"agent {agent.name!r}: clone() cannot set parent_agent: {remedy}{caller_place()}")
    if unknown := changes.keys() - fields:
        fields_of = f"{type(agent).__name__}: {sorted(unknown)}{caller_place()}"
        raise ConfigurationError(f"agent {agent.name!r}: clone() got unknown field(s) of {fields_of}")
    copy = agent.model_copy(update=changes)
    for field, value in copy.__dict__.items():
        if field not in changes and isinstance(value, list):
            copy.__dict__[field] = list(value)
    if "sub_agents" not in changes:
        copy.sub_agents = [clone(one) for one in agent.sub_agents]
    copy.parent_agent = None
    for cached in [name for name in copy.__dict__ if name not in fields]:
        del copy.__dict__[cached]
    copy.model_post_init(None)
    return copy
