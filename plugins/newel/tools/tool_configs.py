"""The arguments of a tool in an agent file, for tool classes and factories that want them as one object."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

#: What searches the tools of a `Deferred`: newel, or the service of the model.
Searcher: TypeAlias = Literal["newel", "provider"]


class BaseToolConfig(BaseModel):
    """The base of a tool class's own model of its arguments."""

    model_config = ConfigDict(extra="forbid")


class ToolArgsConfig(BaseModel):
    """The arguments of a file as they stand there.

    A factory whose first parameter has this annotation, and a tool class with `from_config(config, path)`, get it.
    """

    model_config = ConfigDict(extra="allow")


class ToolConfig(BaseModel):
    """A tool by name, with its arguments."""

    model_config = ConfigDict(extra="forbid")

    name: str
    args: ToolArgsConfig | None = None
