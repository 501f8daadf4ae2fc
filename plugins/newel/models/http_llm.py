"""HttpLlm: the base of models whose service takes JSON over HTTP and streams its answer as events, without an SDK."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any, ClassVar

from pydantic import Field, PrivateAttr, SecretStr

from newel.models.json_schemas import json_schema
from newel.models.openai.events import events
from newel.models.remote import RemoteLlm, Responses
from newel.models.wire.addresses import base_url_of
from newel.models.wire.answer import Answer
from newel.models.wire.clients import Client, Clients, http_client
from newel.models.wire.instruction import texts_of
from newel.models.wire.keys import given_key
from newel.models.wire.limits import Limits
from newel.models.wire.names import CallIds, Names
from newel.models.wire.service import Service
from newel.models.wire.turns import Turn, turns_of
from newel_kernel import Json, LlmRequest, LlmResponse, ModelError
from newel_types import Content, FinishReason, GenerateContentResponseUsageMetadata, Part, Tool

#: Fields of a request's configuration that go to other places of a body, or are not for the service.
_ELSEWHERE = frozenset(("tools", "system_instruction", "http_options", "labels"))


class Reading(ABC):
    """One answer, as it comes. Implement `take`, which passes what an event holds to `text`, `call` and the like."""

    #: The service's words for its finish reasons -> the finish reasons.
    reasons: ClassVar[Mapping[str, FinishReason]] = {}

    def __init__(self, service: Service, names: Names) -> None:
        self.service = service
        self.answer = Answer(service.provider)
        #: The finish reason in the service's own word; an answer that ends without one was cut short.
        self.stop_reason: str | None = None
        self.usage: GenerateContentResponseUsageMetadata | None = None
        self.model_version: str | None = None
        self._names = names
        self._pending: list[str] = []
        self._calls: list[_Call] = []
        self._at: dict[object, _Call] = {}

    @abstractmethod
    def take(self, event: Json) -> None:
        """Take one event. Raise a failure that the service reports: `service.failed`."""

    def text(self, text: str | None) -> None:
        """A piece of the answer's text."""
        if text:
            self.answer.text(text)
            self._pending.append(text)

    def refusal(self, text: str | None) -> None:
        """A piece of the model's refusal to answer."""
        if text:
            self.answer.refusal = (self.answer.refusal or "") + text

    def call(self, index: object, call_id: str | None, name: str | None, arguments: str | None) -> None:
        """A piece of the call at `index`. Another id begins another call, even at the same index."""
        call = self._at.get(index)
        if call is None or (call_id and call.id and call_id != call.id):
            call = self._at[index] = _Call(call_id, name or "")
            self._calls.append(call)
        call.id = call.id or call_id
        call.name = call.name or name or ""
        call.arguments += arguments or ""

    def partial(self) -> LlmResponse | None:
        """The text since the last time, as a partial response."""
        text, self._pending = "".join(self._pending), []
        return LlmResponse(Content([Part(text)], "model"), True, self.model_version) if text else None

    def response(self) -> LlmResponse:
        """The one final response."""
        if self.stop_reason is None:
            raise self.service.cut_short("the answer has no finish reason")
        for call in self._calls:
            self.answer.call(call.id, self._names.back(call.name), call.arguments)
        return self.answer.response(self.stop_reason, self.reasons, usage=self.usage, model_version=self.model_version)


class _Call:
    """A call, as far as it has arrived."""

    __slots__ = ("arguments", "id", "name")

    def __init__(self, call_id: str | None, name: str) -> None:
        self.id, self.name, self.arguments = call_id, name, ""


class HttpLlm(RemoteLlm):
    """A model of a service that streams server-sent events, even if an answer in one piece is requested.

    Implement `body`, and `take` of a `Reading`. An answer is a chunk for each event with text, then the whole.
    """

    #: The path of requests below `base_url`.
    path: ClassVar[str]
    reading: ClassVar[type[Reading]]
    #: Fields of GenerateContentConfig -> the service's names for them.
    settings: ClassVar[Mapping[str, str]] = {}

    base_url: str
    api_key: SecretStr | None = Field(default=None, repr=False)

    _clients: Clients[Any] = PrivateAttr(default_factory=Clients)
    _names: Names = PrivateAttr(default_factory=Names)

    @abstractmethod
    def body(self, request: LlmRequest, service: Service) -> Json:
        """The body of a request; `service` knows the model's name, and makes errors."""

    def headers(self) -> dict[str, str]:
        """The headers that authenticate a request: the key as a bearer token, unless a subclass overrides this."""
        key = self._key()
        return {"authorization": f"Bearer {key}"} if key else {}

    async def aclose(self) -> None:
        """Close the connections of the running event loop; they also close when the loop ends."""
        await self._clients.aclose()

    def instruction(self, request: LlmRequest) -> str:
        """The texts of the system instruction."""
        return "\n\n".join(texts_of(request.config.system_instruction))

    def settings_of(self, request: LlmRequest) -> Json:
        """The settings of a request by the service's names; the others are reported once and left out.

        A schema for the answer and a choice of tools are left out, too: a service that has them gets them in `body`.
        """
        values = {name: getattr(request.config, name) for name in request.config.model_fields_set - _ELSEWHERE}
        for name in values.keys() - self.settings.keys():
            if values[name] is not None:
                self.say_once(request, name, f"{self.provider} has no {name}; it is left out")
        return {sent: values[name] for name, sent in self.settings.items() if values.get(name) is not None}

    def functions_of(self, request: LlmRequest) -> list[Json]:
        """The name, description and parameters (a JSON schema) of each function, under names that are legal."""
        functions: list[Json] = []
        for tool in request.config.tools or ():
            if not isinstance(tool, Tool):  # processors turn all other tools of an agent into declarations
                continue
            for one in tool.function_declarations or ():
                source = one.parameters_json_schema or one.parameters
                schema = {"type": "object", "properties": {}, **json_schema(source)}
                function = {"name": self._names.out(one.name or ""), "description": one.description or ""}
                functions.append({**function, "parameters": schema})
            for other in tool.model_dump(exclude_none=True, exclude={"function_declarations"}):
                self.say_once(request, other, f"{self.provider} has no tool {other} of its own; it is left out")
        return functions

    def turns_of(self, request: LlmRequest, service: Service, longest_id: int = 40) -> Iterator[Turn]:
        """The conversation; roles alternate, each call has its result, and anything but text and calls is an error."""
        for turn in turns_of(request.contents, self._names, CallIds(most=longest_id)):
            for one in (*turn.others, *(medium for result in turn.results for medium in result.media)):
                data = getattr(one, "inline_data", None) or getattr(one, "file_data", None)
                raise service.unsayable(getattr(data, "mime_type", None) or "code that a model's service ran")
            yield turn

    async def _answers(self, request: LlmRequest, stream: bool) -> Responses:
        """Closing the generator closes the HTTP response."""
        limits = self.limits_for(request)
        service = Service(self.provider, self.model_name(request), tuple(filter(None, [self._key()])))
        library = _http_library(service)
        base_url_of(self.model, self.base_url)
        client = await self._client(library, service, limits)
        with service.translated():
            reading, body = self.reading(service, self._names), self.body(request, service)
            options = {"json": body, "headers": self.headers(), "timeout": limits.timeout(library)}
            async with client.sdk.stream("POST", f"{self.base_url}{self.path}", **options) as response:
                if response.status_code != 200:
                    message = (await response.aread()).decode("utf-8", "replace")
                    raise service.refused(response.status_code, message, response.headers)
                with service.answering():
                    async for event in events(response.aiter_bytes(), service):
                        reading.take(event)
                        if stream and (partial := reading.partial()) is not None:
                            yield partial
            yield reading.response()

    async def _client(self, library: str, service: Service, limits: Limits) -> Client[Any]:
        def connect() -> tuple[Any, Any, Service]:
            http = http_client(library, service, limits)
            return http, http, service

        return await self._clients.client(connect, limits.response_bytes)

    def _key(self) -> str | None:
        return given_key(self.api_key, self.model)


def _http_library(service: Service) -> str:
    for name in ("httpx2", "httpx"):
        if find_spec(name) is not None:
            return name
    raise ModelError(f"the model {service.model!r} needs an HTTP library, and none is installed:\npip install httpx2")
