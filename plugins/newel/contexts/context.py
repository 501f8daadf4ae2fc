"""The context of callbacks, tools and nodes. `ToolContext` and `CallbackContext` are names for it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeVar

from newel.contexts.generics import DepsOut
from newel.contexts.readonly_context import ReadonlyContext
from newel.contexts.stash_keys import ANSWERED, ASKING, CONFIGS, CONFIRMATIONS, SECRETS
from newel_kernel import Context as KernelContext
from newel_kernel import Event, EventActions, FeatureUnavailableError, Json, ServiceMissingError, ToolConfirmation
from newel_types import Part, coerce, deferred

if TYPE_CHECKING:
    from newel.contexts.invocation_context import InvocationContext
    from newel.contexts.services import ArtifactService, CredentialService, MemoryService
    from newel.contexts.tool_input import Answered, Asking, ToolInput
    from newel_types import AuthConfig, AuthCredential, Blob

__all__ = ["CallbackContext", "Context", "ToolContext"]


S = TypeVar("S")
#: A route (a bool, an int, a string), or several.
Routes: TypeAlias = bool | int | str | Sequence[bool | int | str] | None

#: Load with the first call that asks for an input.
_input_request = deferred("newel.contexts.tool_input", "input_request")
_new_asking = deferred("newel.contexts.tool_input", "Asking")
_as_json = deferred("newel.contexts.tool_input", "as_json")


class _Where(TypedDict):
    app_name: str
    user_id: str
    session_id: str


class Context(KernelContext, ReadonlyContext[DepsOut]):
    """The context of a callback or a tool call: state, actions, artifacts, memory, and questions to the user."""

    __slots__ = ("tool_confirmation",)
    _invocation_context: InvocationContext

    def __init__(
        self,
        invocation_context: InvocationContext,
        event_actions: EventActions | None = None,
        function_call_id: str | None = None,
        tool_confirmation: ToolConfirmation | None = None,
    ) -> None:
        super().__init__(invocation_context, event_actions, function_call_id)
        if tool_confirmation is None and CONFIRMATIONS in invocation_context.stash:
            tool_confirmation = invocation_context.stash[CONFIRMATIONS].get(function_call_id)
        #: The user's answer to this call's request for confirmation, when the call runs again.
        self.tool_confirmation = tool_confirmation

    def get_invocation_context(self) -> InvocationContext:
        """The invocation behind this context."""
        return self._invocation_context

    @property
    def route(self) -> Routes:
        """The route of this call's event: which edges of a graph follow it, or which loop an escalation ends."""
        route: Routes = self.actions.route
        return route

    @route.setter
    def route(self, value: Routes) -> None:
        self.actions.route = value

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt at this tool call, and for no other: pass it to a service that deduplicates.

        64 hexadecimal digits. A session's id is unique only for one user of one app, so all three are in the digest.
        """
        ctx, session = self._invocation_context, self._invocation_context.session
        # As JSON, so that no two lists of ids give the same text; as a digest, because services limit a key's length.
        ids = [session.app_name, session.user_id, session.id, ctx.invocation_id, self.function_call_id]
        return hashlib.sha256(json.dumps(ids).encode()).hexdigest()

    def request_confirmation(self, *, hint: str | None = None, payload: object = None) -> None:
        """Ask the user to confirm this tool call."""
        self.actions.requested_tool_confirmations[self._call_id()] = ToolConfirmation(hint=hint or "", payload=payload)

    @property
    def tool_input(self) -> ToolInput | None:
        """The user's answer to this call's request for input, when the call runs again."""
        answered = self._answered()
        return answered.input if answered is not None else None

    def request_input(
        self, message: str | None = None, *, response_schema: object = None, payload: object = None
    ) -> None:
        """Ask the user for an input. The run pauses, and this call runs again with the answer as `tool_input`.

        `response_schema` (a type, a pydantic class or a JSON schema) is what an answer must fit; one that allows null
        lets the user decline. `payload` is data for the client that shows the question. What the tool returns now is
        the call's first result.
        """
        if self._call_id() in self.actions.requested_tool_confirmations:
            raise ValueError("a tool call asks one thing at a time: it has asked for a confirmation")
        request = _input_request()(self._masked(message), response_schema, self._masked(payload))
        self._asking().request = request
        self.actions.skip_summarization = True

    @property
    def kept(self) -> Any:
        """What this call has kept when it asked the user, once it runs again with the answer; else None."""
        answered = self._answered()
        return answered.kept if answered is not None else None

    def keep(self, value: object) -> None:
        """Keep `value`, which must be JSON, with the question that this call asks: see `kept`.

        It is stored with the question, in the session, and not shown to the user.
        """
        self._asking().kept = self._masked(_as_json()(value))

    def _asking(self) -> Asking:
        asking = self._invocation_context.stash[ASKING]
        call_id = self._call_id()
        if call_id not in asking:
            asking[call_id] = _new_asking()()
        return asking[call_id]

    def _answered(self) -> Answered | None:
        stash = self._invocation_context.stash
        return stash[ANSWERED].get(self.function_call_id) if ANSWERED in stash else None

    def request_credential(self, auth_config: AuthConfig) -> None:
        """Ask the user for the credential that `auth_config` describes. The stored event holds none of its secrets."""
        call_id = self._call_id()
        self._invocation_context.stash[CONFIGS][call_id] = auth_config
        self.actions.requested_auth_configs[call_id] = auth_config.sealed()

    def get_auth_response(self, auth_config: AuthConfig) -> AuthCredential | None:
        """The credential that the user gave for `auth_config` in this invocation, or None."""
        key = auth_config.credential_key or ""
        return self.get_credential(key) or self.state.get(f"temp:{key}")

    async def load_credential(self, auth_config: AuthConfig) -> AuthCredential | None:
        """The credential that the credential service holds for `auth_config`, or None."""
        return await self._credentials().load_credential(auth_config, self)

    async def save_credential(self, auth_config: AuthConfig) -> None:
        """Save the exchanged credential of `auth_config`."""
        await self._credentials().save_credential(auth_config, self)

    def send_audio(self, blob: Blob) -> None:
        """Send `blob` into the live session that this call is part of."""
        queue = self._invocation_context.live_request_queue
        if queue is None:
            raise FeatureUnavailableError("send_audio() needs a live session: this invocation has none")
        queue.send_realtime(blob)

    async def save_artifact(
        self, filename: str, artifact: Part, custom_metadata: Mapping[str, object] | None = None
    ) -> int:
        """Store a new version of an artifact; return its number and note it in `actions.artifact_delta`."""
        extra: Json = {} if custom_metadata is None else {"custom_metadata": self._masked(custom_metadata)}
        filename = self._masked(filename)
        version = await self._artifacts().save_artifact(
            **self._where(), filename=filename, artifact=coerce(Part, artifact), **extra
        )
        self.actions.artifact_delta[filename] = version
        return version

    async def load_artifact(self, filename: str, version: int | None = None) -> Part | None:
        """A version of an artifact (the latest if `version` is None), or None."""
        filename = self._masked(filename)
        return await self._artifacts().load_artifact(**self._where(), filename=filename, version=version)

    async def list_artifacts(self) -> list[str]:
        """The names of the session's artifacts, the user's included."""
        return await self._artifacts().list_artifact_keys(**self._where())

    async def get_artifact_version(self, filename: str, version: int | None = None) -> Any:
        """A version of an artifact without its data, or None."""
        filename = self._masked(filename)
        return await self._artifacts().get_artifact_version(**self._where(), filename=filename, version=version)

    async def search_memory(self, query: str) -> Any:
        """The results of the memory service for `query`."""
        session = self.session
        return await self._memory().search_memory(app_name=session.app_name, user_id=session.user_id, query=query)

    async def add_session_to_memory(self) -> None:
        """Remember this session."""
        await self._memory().add_session_to_memory(self.session)

    async def add_events_to_memory(
        self, *, events: Sequence[Event], custom_metadata: Mapping[str, object] | None = None
    ) -> None:
        """Remember some events of this session."""
        await self._memory().add_events_to_memory(
            app_name=self.session.app_name,
            user_id=self.user_id,
            session_id=self.session.id,
            events=self._masked(events),
            custom_metadata=self._masked(custom_metadata),
        )

    async def add_memory(
        self, *, memories: Sequence[object], custom_metadata: Mapping[str, object] | None = None
    ) -> None:
        """Remember given entries."""
        await self._memory().add_memory(
            app_name=self.session.app_name,
            user_id=self.user_id,
            memories=self._masked(memories),
            custom_metadata=self._masked(custom_metadata),
        )

    def _masked(self, value: S) -> S:
        """`value` as what is kept may hold it: without the secrets that the invocation has handed out."""
        secrets = self._invocation_context.stash.get(SECRETS, None)
        return value if secrets is None else secrets.mask(value)

    def _artifacts(self) -> ArtifactService:
        return self._needed("artifact", self._invocation_context.artifact_service)

    def _memory(self) -> MemoryService:
        return self._needed("memory", self._invocation_context.memory_service)

    def _credentials(self) -> CredentialService:
        return self._needed("credential", self._invocation_context.credential_service)

    def _needed(self, kind: str, service: S | None) -> S:
        if service is None:
            raise ServiceMissingError(f"{kind} service is not initialized: pass Runner({kind}_service=...)")
        return service

    def _where(self) -> _Where:
        session = self.session
        return {"app_name": session.app_name, "user_id": session.user_id, "session_id": session.id}

    def _call_id(self) -> str:
        if not self.function_call_id:
            raise ValueError(
                "only a tool call can ask for a confirmation, a credential or an input: function_call_id is not set"
            )
        return self.function_call_id


def full(context: KernelContext) -> Context:
    """`context`, if newel's own runner made it; else a TypeError."""
    if not isinstance(context, Context):
        raise TypeError(f"this needs a context of newel.runners.Runner, but got a {type(context).__name__}")
    return context


ToolContext = Context
CallbackContext = Context
