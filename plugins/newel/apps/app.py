"""App: a root agent with the plugins and the settings that belong to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator, model_validator

from newel.agents.context_cache_config import ContextCacheConfig
from newel.apps.configs import EventsCompactionConfig, ResumabilityConfig
from newel.errors.misspelt_fields import with_suggestions
from newel_kernel import BaseAgent
from newel_types import deferred

#: The compiler of files makes an App, so it lies above this module.
_app_fields: Callable[[], Callable[[Path], dict[str, Any]]] = deferred("newel.files", "app_fields")

__all__ = ["App", "EventsCompactionConfig", "ResumabilityConfig"]


class App(BaseModel):
    """The app that a Runner runs. `agent` is another name for `root_agent`; its services are the Runner's defaults."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", populate_by_name=True, defer_build=True)

    name: str
    root_agent: BaseAgent = Field(validation_alias=AliasChoices("root_agent", "agent"))
    plugins: list[object] = Field(default_factory=list)
    events_compaction_config: EventsCompactionConfig | None = None
    context_cache_config: ContextCacheConfig | None = None
    resumability_config: ResumabilityConfig | None = None
    session_service: Any = None
    artifact_service: Any = None
    memory_service: Any = None
    credential_service: Any = None
    auth_provider_registry: object = None

    @model_validator(mode="wrap")
    @classmethod
    def __newel_suggest_fields__(cls, data: object, handler: Callable[[object], Self]) -> Self:
        return with_suggestions(cls, data, handler)

    @field_validator("name")
    @classmethod
    def __newel_valid_name__(cls, name: str) -> str:
        if not name.replace("-", "_").isidentifier() or name == "user":
            raise ValueError(f"invalid app name {name!r}: use letters, digits, '_' and '-', and not 'user'")
        return name

    @classmethod
    def from_config(cls, config_path: str | Path) -> Self:
        """The app of a YAML file.

        The file is an agent file (the app then has the agent's name), or it holds the fields of App, and `root_agent`
        names an agent file in the same folder.
        """
        return cls(**_app_fields()(Path(config_path)))
