"""App: a root agent with the plugins and the settings that belong to it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from mortise_kernel.contracts.agent import BaseAgent


class ResumabilityConfig(BaseModel):
    """Whether an interrupted invocation can be resumed."""

    model_config = ConfigDict(extra="forbid")

    is_resumable: bool = False


class App(BaseModel):
    """What a Runner runs."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    name: str
    root_agent: BaseAgent
    plugins: list[Any] = Field(default_factory=list)
    resumability_config: ResumabilityConfig | None = None

    @field_validator("name")
    @classmethod
    def _valid_name(cls, name: str) -> str:
        if not name.replace("-", "_").isidentifier() or name == "user":
            raise ValueError(f"invalid app name {name!r}: use letters, digits, '_' and '-', and not 'user'")
        return name
