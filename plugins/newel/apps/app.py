"""App: a root agent with the plugins and the settings that belong to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from pydantic import AliasChoices, ConfigDict, Field, field_validator, model_validator

from newel.agents.context_cache_config import ContextCacheConfig
from newel.apps.configs import EventsCompactionConfig, ResumabilityConfig
from newel.errors.misspelt_fields import with_suggestions
from newel_kernel import BaseAgent
from newel_types import FieldSignature, OneLineErrors, deferred

if TYPE_CHECKING:
    from collections.abc import Sequence

    from newel.artifacts.base_artifact_service import BaseArtifactService
    from newel.auth.credential_service.base_credential_service import BaseCredentialService
    from newel.memory.base_memory_service import BaseMemoryService
    from newel_kernel import BaseSessionService

    SessionService: TypeAlias = BaseSessionService
    ArtifactService: TypeAlias = BaseArtifactService
    MemoryService: TypeAlias = BaseMemoryService
    CredentialService: TypeAlias = BaseCredentialService
else:  # any object with the methods of a store
    SessionService = ArtifactService = MemoryService = CredentialService = object

#: The compiler of files makes an App, so it lies above this module.
_app_fields: Callable[[], Callable[[Path], dict[str, Any]]] = deferred("newel.files", "app_fields")

__all__ = ["App", "EventsCompactionConfig", "ResumabilityConfig"]


class App(OneLineErrors):
    """The app that a Runner runs. `agent` is another name for `root_agent`; its services are the Runner's defaults."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", populate_by_name=True, defer_build=True)

    #: The name under which its sessions are stored.
    name: str
    #: The agent that gets the user's messages, or the graph.
    root_agent: BaseAgent = Field(validation_alias=AliasChoices("root_agent", "agent"))
    #: Objects with hooks: a `BasePlugin`, or anything with ``@hookimpl`` methods.
    plugins: list[object] = Field(default_factory=list)
    #: When the older part of a session is summarised; None: never.
    events_compaction_config: EventsCompactionConfig | None = None
    #: How the beginnings of requests are cached at the model's provider; None: as the provider does by itself.
    context_cache_config: ContextCacheConfig | None = None
    #: Whether an interrupted invocation can be resumed; None: it cannot.
    resumability_config: ResumabilityConfig | None = None
    #: The store of sessions; None: the distribution's.
    session_service: SessionService | None = None
    #: The store of artifacts; None: the distribution's.
    artifact_service: ArtifactService | None = None
    #: The store of memories; None: the distribution's.
    memory_service: MemoryService | None = None
    #: The store of credentials; None: the distribution's.
    credential_service: CredentialService | None = None
    #: The providers of credentials for custom schemes.
    auth_provider_registry: object = None

    if TYPE_CHECKING:  # `agent` is not a field

        def __init__(
            self,
            *,
            name: str,
            root_agent: BaseAgent = ...,
            agent: BaseAgent = ...,
            plugins: Sequence[object] = (),
            events_compaction_config: EventsCompactionConfig | None = None,
            context_cache_config: ContextCacheConfig | None = None,
            resumability_config: ResumabilityConfig | None = None,
            session_service: SessionService | None = None,
            artifact_service: ArtifactService | None = None,
            memory_service: MemoryService | None = None,
            credential_service: CredentialService | None = None,
            auth_provider_registry: object = None,
        ) -> None:
            """The app that a Runner runs: `root_agent` (or `agent`), the plugins and the stores that belong to it."""

    __signature__: ClassVar[Any] = FieldSignature()

    @classmethod
    def __pydantic_on_complete__(cls) -> None:
        cls.__signature__ = FieldSignature()  # pydantic has set its own

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
