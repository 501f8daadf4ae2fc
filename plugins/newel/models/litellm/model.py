"""LiteLlm: models of any service that LiteLLM knows."""

from __future__ import annotations

import os
from contextlib import aclosing
from typing import Any, ClassVar

from pydantic import ConfigDict, PrivateAttr, SecretStr

from newel.models.capabilities import capabilities_of
from newel.models.contract import ModelCapabilities
from newel.models.litellm import library
from newel.models.litellm.assembly import LiteAssembly
from newel.models.litellm.call import LiteCall, failure_of
from newel.models.litellm.claude import arguments_of
from newel.models.litellm.exchange import Exchange
from newel.models.litellm.messages import ClaudeMessages, LiteMessages
from newel.models.litellm.routes import PROVIDER_NAMES, Route, route_of
from newel.models.openai.chat.messages import Messages
from newel.models.openai.chat.requests import body
from newel.models.openai.declarations import Declarations
from newel.models.openai.parameters import output_format
from newel.models.openai.thinking import Report
from newel.models.remote import RemoteLlm, Responses
from newel.models.wire.clients import Client, Clients
from newel.models.wire.conversions import Conversions
from newel.models.wire.keys import given_key, plain_key
from newel.models.wire.limits import Limits, offline_reason
from newel.models.wire.names import Names
from newel.models.wire.secrets import without_secrets
from newel.models.wire.service import Service
from newel_kernel import Json, LlmRequest, ModelError

#: What LiteLLM must leave to newel: retries, tools of MCP servers, and which settings a model takes.
_ALONE: Json = {"num_retries": 0, "max_retries": 0, "_skip_mcp_handler": True, "drop_params": False}


class LiteLlm(RemoteLlm):
    """A model named ``provider/model``, as LiteLLM names it. Further fields go to its `acompletion` unchanged."""

    model_config = ConfigDict(extra="allow")
    provider: ClassVar[str] = "litellm"

    #: The service's address; by default the one that LiteLLM knows.
    api_base: str | None = None
    #: The key; by default that of the environment.
    api_key: SecretStr | None = None

    _clients: Clients[Any] = PrivateAttr(default_factory=Clients)
    _conversions: Conversions[Messages] = PrivateAttr(default_factory=Conversions)
    _tool_names: Names = PrivateAttr(default_factory=Names)

    @property
    def capabilities(self) -> ModelCapabilities:  # type: ignore[override]
        """The capabilities of the model behind LiteLLM; unknown ones count as missing."""
        return self._capable(self.model.removeprefix("litellm:"))

    def capabilities_for(self, request: LlmRequest) -> ModelCapabilities:
        """The capabilities of the model that a request names."""
        return self._capable(self.model_name(request))

    @property
    def provider_name(self) -> str:  # type: ignore[override]
        """The service behind LiteLLM, by the name that OpenTelemetry has for it."""
        service = self.model.removeprefix("litellm:").partition("/")
        return PROVIDER_NAMES.get(service[0], service[0]) if service[1] else self.provider

    def check(self) -> None:
        """Raise a ModelError if the package is missing."""
        library.check(self.model)

    async def aclose(self) -> None:
        """Close the connections of the running event loop; they also close when the loop ends."""
        await self._clients.aclose()

    def _capable(self, name: str) -> ModelCapabilities:
        route = route_of(name)
        changes = {"tool_search": False, **route.profile.capabilities, **self.capability_overrides}
        return capabilities_of(route.family, name.partition("/")[2] or name, changes)

    async def _answers(self, request: LlmRequest, stream: bool) -> Responses:
        self.check()
        litellm = await library.load()
        name, limits = self.model_name(request), self.limits_for(request)
        route = route_of(name)
        service = Service(self.provider, name, tuple(filter(None, [self._key(route)])))
        exchange = Exchange(route.reason, route.last) if route.reason is not None and route.last is not None else None
        arguments, assembly = self._prepared(request, service, route)
        arguments |= self._connection(limits, await self._client(route, service, limits))
        try:
            answer = LiteCall(litellm, arguments, assembly, service, route, exchange)
            async with aclosing(answer.streamed() if stream else answer.whole()) as responses:
                async for response in responses:
                    yield response
        except ModelError:
            raise
        except Exception as error:
            failed = failure_of(error, service, exchange)
            without_secrets(error, service.secrets)
            raise failed from error

    async def _client(self, route: Route, service: Service, limits: Limits) -> Client[Any] | None:
        make = route.client
        if make is None:
            if reason := offline_reason(service.model):
                raise service.failed("OFFLINE", reason)
            return None

        def connect() -> tuple[Any, Any, Service]:
            sdk, http = make(service, limits, self._base(route), self._key(route) or "none")
            return sdk, http, service

        return await self._clients.client(connect, limits.response_bytes)

    def _base(self, route: Route) -> str | None:
        variable = f"{route.family.upper()}_BASE_URL"
        return self.api_base or os.environ.get(variable) or None

    def _key(self, route: Route) -> str | None:
        if (key := given_key(self.api_key, self.model)) is not None:
            return key
        variable = f"{route.family.upper()}_API_KEY"
        return plain_key(os.environ.get(variable, ""), self.model, variable) or None

    def _connection(self, limits: Limits, client: Client[Any] | None) -> Json:
        arguments: Json = {**_ALONE, **(self.model_extra or {}), "timeout": limits.total}
        if client is not None:
            arguments["client"] = client.sdk
        if self.api_base:
            arguments["api_base"] = self.api_base
        if (key := given_key(self.api_key, self.model)) is not None:
            arguments["api_key"] = key
        return arguments

    def _prepared(self, request: LlmRequest, service: Service, route: Route) -> tuple[Json, LiteAssembly]:
        """The arguments of a call, and the assembly of its answer."""
        profile, capable, config = route.profile, self.capabilities_for(request), request.config
        subject = LlmRequest(model=request.model)

        def report(setting: str, text: str) -> None:
            self.say_once(subject, setting, text)

        tools = Declarations(config, self._tool_names, report, strict=profile.strict_schemas)
        shape = output_format(config, report, strict=profile.strict_schemas)
        messages = self._messages(request, route, capable, report)
        if route.family == "anthropic":
            arguments = arguments_of(request, config, service.model, messages, tools, shape, route, capable, report)
        else:
            arguments = body(config, service.model, messages, tools, shape, profile, capable, report)
        if isinstance(arguments.get("tool_choice"), dict) and "allowed_tools" in arguments["tool_choice"]:
            arguments["extra_body"] = {"tool_choice": arguments.pop("tool_choice")}  # LiteLLM knows no such choice
        if route.family == "openai":  # LiteLLM does not know all parameters of new models
            arguments["allowed_openai_params"] = sorted(arguments.keys() - {"model", "messages", "extra_body"})
        wrapped = shape is not None and shape.wrapped
        return arguments, LiteAssembly(service, profile, self._tool_names, tools, wrapped=wrapped)

    def _messages(self, request: LlmRequest, route: Route, capable: ModelCapabilities, report: Report) -> list[Json]:
        kind = ClaudeMessages if route.family == "anthropic" else LiteMessages

        def make() -> Messages:
            return kind(route.family, route.profile, capable.media, self._tool_names, report)

        return self._conversions.of(request.contents, make, (capable.media, request.model)).whole()
