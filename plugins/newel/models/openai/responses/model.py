"""OpenAIResponsesLlm: models of OpenAI through the Responses API."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass

from pydantic import PrivateAttr

from newel.models.contract import ModelCapabilities
from newel.models.deferral import DEFERRAL
from newel.models.openai.client import Call, Endpoint
from newel.models.openai.declarations import Declarations
from newel.models.openai.model import OpenAIModel
from newel.models.openai.parameters import output_format
from newel.models.openai.reading import parsed
from newel.models.openai.responses.answers import Reader
from newel.models.openai.responses.items import BEFORE, MODEL, RESPONSE, Items
from newel.models.openai.responses.requests import body
from newel.models.openai.responses.stream import Assembly
from newel.models.openai.responses.tool_search import defer, fitted
from newel.models.openai.thinking import Report
from newel.models.remote import Responses
from newel.models.wire.conversions import Conversions
from newel.models.wire.service import Service
from newel.models.wire.signatures import OWNER
from newel_kernel import LlmRequest, LlmResponse, ModelError

_PATH = "/responses"
#: The statuses by which the service says that it has lost a response.
_UNKNOWN_RESPONSE = (400, 404)


@dataclass(frozen=True, slots=True)
class Turn:
    """The requests of a turn: with the whole conversation or, if the service keeps it, with only what is new."""

    whole: Call
    continued: Call | None
    tools: Declarations
    wrapped: bool
    #: Marks an answer so that it can be continued; None if the service keeps nothing.
    mark: Mark | None


@dataclass(frozen=True, slots=True)
class Mark:
    """Identifies a conversation that the service has: by its model, and by all that came before the answer."""

    provider: str
    model: str
    before: str

    def put(self, response: LlmResponse, response_id: object) -> None:
        """Put the mark on the answer's last part, which stays in the session."""
        parts = response.content.parts if response.content is not None else None
        if parts and isinstance(response_id, str) and response_id:
            mark = {RESPONSE: response_id, MODEL: self.model, BEFORE: self.before}
            parts[-1].part_metadata = {**(parts[-1].part_metadata or {}), OWNER: self.provider, **mark}


class OpenAIResponsesLlm(OpenAIModel):
    """A model behind the Responses API. Nothing is kept at the service, unless `store` asks for it.

    With `store`, a request names the answer that it follows and sends what is new. If the service has lost it, or
    the conversation before it has changed, the whole conversation is sent.
    """

    endpoint: str = "openai-responses"
    store: bool = False

    _conversions: Conversions[Items] = PrivateAttr(default_factory=Conversions)

    async def _answers(self, request: LlmRequest, stream: bool) -> Responses:
        endpoint = self._endpoint()
        service = self._service(request, endpoint)
        with service.translated():
            turn = self._turn(request, service, stream)
        if turn.continued is not None:
            began = False
            try:
                async with aclosing(self._sent(endpoint, turn, turn.continued, stream)) as responses:
                    async for response in responses:
                        began = True
                        yield response
                return
            except ModelError as error:
                if began or error.code not in _UNKNOWN_RESPONSE or "previous" not in str(error).lower():
                    raise
        async with aclosing(self._sent(endpoint, turn, turn.whole, stream)) as responses:
            async for response in responses:
                yield response

    async def _sent(self, endpoint: Endpoint, turn: Turn, call: Call, stream: bool) -> Responses:
        """One request and its answer."""
        reader = Reader(call.service, self._tool_names, turn.tools, wrapped=turn.wrapped)
        with call.service.translated():
            if stream:
                assembly = Assembly(call.service, wrapped=turn.wrapped)
                async with self._sender.streamed(endpoint, call) as events:
                    async for event in events:
                        partial = assembly.feed(event)
                        if partial is not None:
                            yield partial
                value = assembly.close()
            else:
                value = parsed(await self._sender.whole(endpoint, call), call.service)
            response = reader.response(value)
        if turn.mark is not None:
            turn.mark.put(response, value.get("id"))
        yield response

    def _turn(self, request: LlmRequest, service: Service, stream: bool) -> Turn:
        profile, capable, report = self.settled_profile, self.capabilities_for(request), self._report(request)
        config = request.config
        store = self.store if config.store is None else config.store
        tools = Declarations(config, self._tool_names, report, strict=profile.strict_schemas)
        shape = output_format(config, report, strict=profile.strict_schemas)
        items = self._items(request, service.model, capable, report, store)
        listed = items.whole()
        deferral = request.stash.get(DEFERRAL, None) if capable.tool_search else None
        declared = frozenset(tool.name for tool in tools.tools) if deferral is not None else None
        sent = fitted(listed, declared) if items.has_searches else listed
        payload = body(config, service.model, sent, tools, shape, capable, report, store=store)
        if deferral is not None:
            defer(payload, deferral, self._tool_names, items.referenced)
        if stream:
            payload["stream"] = True
        payload |= profile.extra_body
        continued = None
        if store and items.stored is not None and listed[items.stored.count :]:
            rest = listed[items.stored.count :]
            new = {
                "input": fitted(rest, declared) if items.has_searches else rest,
                "previous_response_id": items.stored.response,
            }
            continued = self._call(_PATH, {**payload, **new}, request, service)
        mark = Mark(self.provider, service.model, items.digest) if store else None
        wrapped = shape is not None and shape.wrapped
        return Turn(self._call(_PATH, payload, request, service), continued, tools, wrapped, mark)

    def _items(self, request: LlmRequest, model: str, capable: ModelCapabilities, report: Report, store: bool) -> Items:
        def make() -> Items:
            return Items(self.provider, model, capable.media, self._tool_names, report, stored=store)

        return self._conversions.of(request.contents, make, (capable.media, store, model))
