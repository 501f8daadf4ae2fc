"""Caller: requests to a model whose service is a `WireServer`, and functions that make contents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from newel.models import BaseLlm
from newel_kernel import Json, Key, LlmRequest, LlmResponse
from newel_testkit.wire.answers import Answer
from newel_testkit.wire.server import Step, WireServer
from newel_types import (
    Content,
    FunctionCall,
    FunctionDeclaration,
    FunctionResponse,
    FunctionResponsePart,
    GenerateContentConfig,
    Part,
    Tool,
)

HELLO = Answer(parts=({"text": "Hello there."},))


def user(*parts: Part | str) -> Content:
    """A message of the user."""
    return Content(role="user", parts=[Part(text=part) if isinstance(part, str) else part for part in parts])


def model(*parts: Part | str) -> Content:
    """A message of the model."""
    return Content(role="model", parts=[Part(text=part) if isinstance(part, str) else part for part in parts])


def call(name: str, args: Json | None = None, call_id: str | None = None) -> Part:
    """A part that calls a tool."""
    return Part(function_call=FunctionCall(id=call_id, name=name, args=args or {}))


def result(
    name: str, response: Json, call_id: str | None = None, parts: list[FunctionResponsePart] | None = None
) -> Part:
    """A part that answers a call."""
    return Part(function_response=FunctionResponse(id=call_id, name=name, response=response, parts=parts))


def tools(*names: str, **schemas: Json) -> list[Tool]:
    """Declarations of tools without parameters, and of tools with their own schema."""
    plain: dict[str, Json] = {name: {"type": "object", "properties": {}} for name in names}
    declared = [
        FunctionDeclaration(name=name, description=f"Does {name}.", parameters_json_schema=schema)
        for name, schema in {**plain, **schemas}.items()
    ]
    return [Tool(function_declarations=declared)]


class Caller:
    """Calls models that `make` makes by their names."""

    def __init__(self, server: WireServer, make: Callable[[str], BaseLlm], name: str) -> None:
        self.server, self._make, self._name = server, make, name

    def ask(
        self,
        *contents: Content,
        steps: Step | list[Step] = HELLO,
        name: str | None = None,
        stream: bool = False,
        llm: BaseLlm | None = None,
        stash: Mapping[Key[Any], object] | None = None,
        **config: Any,
    ) -> list[LlmResponse]:
        """The responses to one request; `config` are fields of GenerateContentConfig."""
        self.server.script(*(steps if isinstance(steps, list) else [steps]))
        name = name or self._name
        model, settings = llm or self._make(name), GenerateContentConfig(**config)
        request = LlmRequest(model=name, contents=list(contents), config=settings)
        for key, value in (stash or {}).items():
            request.stash[key] = value

        async def collect() -> list[LlmResponse]:
            return [response async for response in model.generate_content_async(request, stream=stream)]

        return asyncio.run(collect())

    def sent(self, *contents: Content, **more: Any) -> Json:
        """The body of one request, which the strict server accepted. Arguments as for `ask`."""
        self.ask(*contents, **more)
        assert self.server.log[-1].refused is None
        return self.server.bodies[-1]

    def answered(self, answer: Answer, *, stream: bool, **more: Any) -> LlmResponse:
        """The one final response to an answer. Arguments as for `ask`."""
        responses = self.ask(user("Hi"), steps=answer, stream=stream, **more)
        (final,) = (response for response in responses if not response.partial)
        return final
