"""OpenAIModel: the base of the models of both protocols of OpenAI."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from urllib.parse import urlsplit

from pydantic import Field, PrivateAttr, SecretStr

from newel.models import catalogue
from newel.models.capabilities import capabilities_of
from newel.models.contract import BaseLlmConnection, ModelCapabilities
from newel.models.google.request_keys import CACHE_SCOPE
from newel.models.openai.client import CUSTOM_HEADERS, Call, Endpoint, Sender, check_sdk, http_library
from newel.models.openai.profiles import ENDPOINTS, OPENAI, Profile
from newel.models.openai.thinking import Report
from newel.models.remote import RemoteLlm
from newel.models.wire.addresses import base_url_of
from newel.models.wire.clients import ssl_context
from newel.models.wire.keys import empty_key, given_key
from newel.models.wire.limits import offline_reason
from newel.models.wire.names import Names
from newel.models.wire.secrets import environment_headers, header_secrets
from newel.models.wire.service import Service
from newel.models.wire.sockets import check_websockets, socket_options
from newel_kernel import Json, LlmRequest, ModelError
from newel_types import deferred

DEFAULT_MODEL = catalogue.OPENAI
TRANSCRIPTION_MODEL = "gpt-4o-mini-transcribe"

#: They load with the first live connection.
_realtime_target = deferred("newel.models.openai.realtime.connection", "Target")
_realtime_opened = deferred("newel.models.openai.realtime.connection", "opened")


class OpenAIModel(RemoteLlm):
    """A model behind an endpoint that speaks OpenAI's protocol."""

    model: str = DEFAULT_MODEL
    #: The endpoint: OpenAI's own, one that is known by name (``ollama``), or any name with a `base_url`.
    endpoint: str = "openai"
    #: The endpoint's address; by default that of its profile.
    base_url: str | None = None
    #: The key; by default that of the environment.
    api_key: SecretStr | None = Field(default=None, repr=False)
    #: How the endpoint differs; None: the profile that is known for its name.
    profile: Profile | None = None
    #: The model that transcribes what the user says over a live connection.
    transcription_model: str = TRANSCRIPTION_MODEL

    _sender: Sender = PrivateAttr(default_factory=Sender)
    _tool_names: Names = PrivateAttr(default_factory=Names)

    @property
    def provider(self) -> str:  # type: ignore[override]
        """The endpoint's name."""
        return self.endpoint

    @property
    def settled_profile(self) -> Profile:
        """The profile in effect."""
        if self.profile is not None:
            return self.profile
        return OPENAI if self._is_own else ENDPOINTS.get(self.endpoint, Profile())

    @property
    def provider_name(self) -> str:  # type: ignore[override]
        """The name for traces."""
        return "openai" if self._is_own else self.endpoint

    @property
    def capabilities(self) -> ModelCapabilities:  # type: ignore[override]
        """The model's capabilities in the table, changed by the profile and by `capability_overrides`."""
        return self._capable(self.model.removeprefix(f"{self.provider}:"))

    def capabilities_for(self, request: LlmRequest) -> ModelCapabilities:
        """The capabilities of the model that a request names."""
        return self._capable(self.model_name(request))

    def connect(self, llm_request: LlmRequest) -> AbstractAsyncContextManager[BaseLlmConnection]:
        """See `BaseLlm`; over the Realtime API, which only OpenAI itself has."""
        return self._connected(llm_request) if self._is_own else super().connect(llm_request)

    def check(self) -> None:
        """Raise a ModelError if the SDK, the key or the address is missing."""
        check_sdk(self.model)
        self._endpoint()

    async def aclose(self) -> None:
        """Close the connections of the running event loop; they also close when the loop ends."""
        await self._sender.aclose()

    @property
    def _is_own(self) -> bool:
        return self.endpoint in ("openai", "openai-responses")

    def _capable(self, model: str) -> ModelCapabilities:
        return capabilities_of(self.provider, model, {**self.settled_profile.capabilities, **self.capability_overrides})

    def _endpoint(self) -> Endpoint:
        profile = self.settled_profile
        key = given_key(self.api_key, self.model)
        if key == "" and profile.needs_key:
            raise empty_key(self.model, profile.key_variable)
        if key is None:
            key = profile.key(self.model)
        variable = "OPENAI_BASE_URL" if self._is_own else None
        base_url = base_url_of(self.model, self.base_url or profile.base_url, variable)
        if base_url is None and not self._is_own:
            names = ", ".join(ENDPOINTS)
            raise ModelError(f"the endpoint {self.endpoint!r} needs a base_url; only those of {names} are known")
        return Endpoint(base_url, key or self.endpoint, profile.headers, self._is_own)

    @asynccontextmanager
    async def _connected(self, request: LlmRequest) -> AsyncIterator[BaseLlmConnection]:
        check_websockets(self.model_name(request))
        check_sdk(self.model)
        endpoint, limits = self._endpoint(), self.limits_for(request)
        service = self._service(request, endpoint)
        sdk = await self._sender.sdk(endpoint, service, limits)
        url = urlsplit(str(sdk.base_url))
        if reason := offline_reason(url.hostname or ""):
            raise service.failed("OFFLINE", reason)
        options = socket_options(limits, self.frame_bytes)
        if url.scheme == "https":
            options["ssl"] = ssl_context(http_library())
        target = _realtime_target()(
            service, self._tool_names, self.transcription_model, self.frame_bytes, options, self._report(request)
        )
        async with _realtime_opened()(sdk, target, request) as connection:
            yield connection

    def _service(self, request: LlmRequest, endpoint: Endpoint) -> Service:
        headers = {**endpoint.headers, **(environment_headers(CUSTOM_HEADERS) if endpoint.own else {})}
        return Service(self.provider, self.model_name(request), (endpoint.key, *header_secrets(headers)))

    def _report(self, request: LlmRequest) -> Report:
        """A function that reports a setting once for the model of `request`; it keeps nothing else of the request."""
        subject = LlmRequest(model=request.model)

        def report(setting: str, text: str) -> None:
            self.say_once(subject, setting, text)

        return report

    def _call(self, path: str, body: Json, request: LlmRequest, service: Service) -> Call:
        scope, field = request.stash.get(CACHE_SCOPE, None), self.settled_profile.cache_key
        if scope and field:
            body = {**body, field: scope}
        options = request.config.http_options
        headers = options.headers if options is not None and options.headers else {}
        return Call(path, body, service, self.limits_for(request), headers)
