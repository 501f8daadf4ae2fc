"""The input and the result of a task agent."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from newel_kernel import Json


class _Wire(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True, defer_build=True)


class TaskRequest(_Wire):
    """A task for the agent `agent_name`; `input` fits its input schema."""

    agent_name: str
    input: Json


class TaskResult(_Wire):
    """The result of a task agent; it fits its output schema."""

    output: object


class _DefaultTaskInput(_Wire):
    """Accepted from a model instead of `request`, if a task agent has no input schema."""

    goal: str | None = None
    background: str | None = None


class _DefaultTaskOutput(_Wire):
    """The result of a task agent without an output schema."""

    #: A brief summary of what the agent accomplished.
    result: str
