"""Context: what a tool or a callback gets. `ToolContext` and `CallbackContext` are names for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from newel_kernel._internal.errors import ServiceMissingError
from newel_kernel._internal.events import Event, EventActions
from newel_kernel._internal.stash import Key
from newel_kernel._internal.state import State
from newel_kernel._internal.values import Json
from newel_types import Part, coerce

if TYPE_CHECKING:
    from newel_kernel._internal.contracts.services import ArtifactService, MemoryService
    from newel_kernel._internal.invocation import InvocationContext
    from newel_kernel._internal.run_config import RunConfig
    from newel_kernel._internal.session import Session
    from newel_types import Content

S = TypeVar("S")
#: By call id: the event that asks the user something instead of a result (None: nothing new); the call stays open.
OPEN_CALLS = Key[dict[str | None, Event | None]]("open calls", dict)


class _Where(TypedDict):
    app_name: str
    user_id: str
    session_id: str


class ReadonlyContext:
    """What code that must not change anything may see: instruction providers and toolsets."""

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
    """The context of a callback or a tool call: state, actions, artifacts, memory.

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
        #: How a tool runs a synchronous function: a policy may put a thread here; None: directly. The result, or
        #: what to await for it.
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
        """The actions where this call has touched them, else None."""
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

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt at this tool call: pass it to a service that deduplicates."""
        ctx = self._invocation_context
        return f"{ctx.session.id}:{ctx.invocation_id}:{self.function_call_id}"

    async def save_artifact(
        self, filename: str, artifact: Part, custom_metadata: Mapping[str, object] | None = None
    ) -> int:
        """Store a new version of an artifact; its number is returned and noted in `actions.artifact_delta`."""
        extra: Json = {} if custom_metadata is None else {"custom_metadata": custom_metadata}
        version = await self._artifacts().save_artifact(
            **self._where(), filename=filename, artifact=coerce(Part, artifact), **extra
        )
        self.actions.artifact_delta[filename] = version
        return version

    async def load_artifact(self, filename: str, version: int | None = None) -> Part | None:
        """A version of an artifact (the latest where `version` is None), or None."""
        return await self._artifacts().load_artifact(
            **self._where(), filename=filename, version=version
        )

    async def list_artifacts(self) -> list[str]:
        """The names of the session's artifacts, the user's included."""
        return await self._artifacts().list_artifact_keys(**self._where())

    async def get_artifact_version(self, filename: str, version: int | None = None) -> Any:
        """What is known of an artifact's version without its data, or None."""
        return await self._artifacts().get_artifact_version(**self._where(), filename=filename, version=version)

    async def search_memory(self, query: str) -> Any:
        """What the memory service finds for `query`."""
        session = self.session
        return await self._memory().search_memory(
            app_name=session.app_name, user_id=session.user_id, query=query
        )

    async def add_session_to_memory(self) -> None:
        """Remember this session."""
        await self._memory().add_session_to_memory(self.session)

    async def add_events_to_memory(
        self, *, events: Sequence[Event], custom_metadata: Mapping[str, object] | None = None
    ) -> None:
        """Remember some events of this session."""
        await self._memory().add_events_to_memory(
            app_name=self.session.app_name, user_id=self.user_id, session_id=self.session.id,
            events=events, custom_metadata=custom_metadata,
        )  # fmt: skip

    async def add_memory(
        self, *, memories: Sequence[object], custom_metadata: Mapping[str, object] | None = None
    ) -> None:
        """Remember given entries."""
        await self._memory().add_memory(
            app_name=self.session.app_name, user_id=self.user_id, memories=memories, custom_metadata=custom_metadata
        )

    def _artifacts(self) -> ArtifactService:
        return self._needed("artifact", self._invocation_context.artifact_service)

    def _memory(self) -> MemoryService:
        return self._needed("memory", self._invocation_context.memory_service)

    def _needed(self, kind: str, service: S | None) -> S:
        if service is None:
            raise ServiceMissingError(f"{kind} service is not initialized: pass Runner({kind}_service=...)")
        return service

    def _where(self) -> _Where:
        session = self.session
        return {"app_name": session.app_name, "user_id": session.user_id, "session_id": session.id}


ToolContext = Context
CallbackContext = Context
