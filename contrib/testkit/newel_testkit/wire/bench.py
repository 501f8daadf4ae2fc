"""Bench: a provider, the local service of its protocol, and the requests to it."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from newel.models import BaseLlm, ModelCapabilities
from newel.models.wire.service import chain_of
from newel_kernel import LlmRequest, LlmResponse
from newel_testkit.wire.server import Step, Wire, WireServer
from newel_types import Content, GenerateContentConfig, Part

#: The API key that the provider is to send; it must appear nowhere else.
WIRE_KEY = "sk-wire-SECRET-0123456789"
#: Makes a model: base URL of the service, name of the model.
MakeModel: TypeAlias = Callable[[str, str], BaseLlm]

#: The names of models, by protocol: a usual one, one that thinks, the newest.
MODELS: Mapping[str, Mapping[str, str]] = {
    "anthropic": {"usual": "claude-sonnet-4-5", "thinking": "claude-sonnet-4-5", "newest": "claude-opus-5"},
    "openai": {"usual": "gpt-4o", "thinking": "gpt-5", "newest": "gpt-5"},
    "openai-responses": {"usual": "gpt-4o", "thinking": "gpt-5", "newest": "gpt-5"},
    "gemini": {"usual": "gemini-2.5-flash", "thinking": "gemini-2.5-flash", "newest": "gemini-3-pro-preview"},
}
#: How long one request may take on a machine that is busy with others, in seconds.
_PATIENCE = 120.0
_ANY = {"usual": "model", "thinking": "model", "newest": "model"}


@dataclass(slots=True)
class Outcome:
    """The outcome of one request."""

    responses: list[LlmResponse] = field(default_factory=list)
    error: Exception | None = None
    #: What was logged at WARNING.
    warnings: list[str] = field(default_factory=list)

    def shows(self, secret: str) -> bool:
        """Whether a secret is in anything that a caller or a log sees."""
        texts = [*self.warnings, *(one.model_dump_json() for one in self.responses)]
        if self.error is not None:
            texts += traceback.format_exception(self.error)
        for one in chain_of(self.error):
            response = getattr(one, "response", None)
            texts += [f"{one!r} {vars(one)}", str(getattr(response, "headers", "")), _body(response)]
        return any(secret in text for text in texts)


@dataclass(frozen=True, slots=True)
class Bench:
    """A function that makes a provider's models, and the protocol of their service."""

    make: MakeModel
    #: The name of the protocol, or a protocol of your own.
    protocol: str | Callable[[], Wire]
    #: The kinds of losses that the provider cannot avoid: its SDK cannot express them.
    unsayable: frozenset[str] = frozenset()

    @contextmanager
    def serving(self) -> Iterator[Place]:
        """The service, while it runs."""
        own = None if isinstance(self.protocol, str) else self.protocol()
        with WireServer([own] if own is not None else None) as server:
            if isinstance(self.protocol, str) and self.protocol not in server.wires:
                raise ValueError(f"there is no protocol {self.protocol!r}; there are {', '.join(sorted(server.wires))}")
            wire = own if own is not None else server.wires[str(self.protocol)]
            yield Place(self, server, wire)


@dataclass(frozen=True, slots=True)
class Place:
    """A running service, and models that use it."""

    bench: Bench
    server: WireServer
    wire: Wire

    def name(self, level: str) -> str:
        """The name of a model of a level."""
        return MODELS.get(self.wire.name, _ANY)[level]

    def model(self, level: str = "usual") -> BaseLlm:
        """A new model."""
        return self.bench.make(self.server.base[self.wire.name], self.name(level))

    def run(self, request: LlmRequest, *steps: Step, model: BaseLlm, stream: bool = False) -> Outcome:
        """Send one request to the service, which follows the steps."""
        self.server.script(*steps)
        outcome = Outcome()
        with _listening(outcome.warnings):
            asyncio.run(_collect(model, request, stream, outcome))
        return outcome


async def _collect(model: BaseLlm, request: LlmRequest, stream: bool, outcome: Outcome) -> None:
    try:
        answer = model.generate_content_async(request, stream=stream)
        async with asyncio.timeout(_PATIENCE), aclosing(answer) as responses:
            async for response in responses:
                outcome.responses.append(response)
    except Exception as error:  # noqa: BLE001 - the border of a plugin: the error is judged
        outcome.error = error


def capabilities(model: BaseLlm, request: LlmRequest) -> ModelCapabilities:
    """What the model of a request says it can do."""
    capabilities_for = getattr(model, "capabilities_for", None)
    result: ModelCapabilities = capabilities_for(request) if capabilities_for is not None else model.capabilities
    return result


def hello(name: str, config: GenerateContentConfig | None = None) -> LlmRequest:
    """A minimal request."""
    contents = [Content(role="user", parts=[Part(text="Hi")])]
    return LlmRequest(model=name, contents=contents, config=config or GenerateContentConfig())


async def closed(model: BaseLlm) -> None:
    """Close the connections of a model, if it can."""
    close = getattr(model, "aclose", None)
    if close is not None:
        await close()


def plain(request: LlmRequest) -> dict[str, object]:
    """A request in plain data, to see whether it has changed."""
    return {
        "model": request.model,
        "contents": [content.model_dump(mode="json") for content in request.contents],
        "config": repr(request.config.model_dump(exclude_none=True)),
        "tools_dict": sorted(request.tools_dict),
    }


def problems(texts: Collection[str], about: str) -> None:
    """Raise an AssertionError if `texts` has any."""
    if texts:
        raise AssertionError(f"{about}: " + "; ".join(texts))


def _body(response: object) -> str:
    try:
        return str(getattr(response, "text", ""))
    except Exception:  # noqa: BLE001 - httpx raises if a stream was not read
        return ""


class _WarningHandler(logging.Handler):
    def __init__(self, warnings: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._warnings = warnings

    def emit(self, record: logging.LogRecord) -> None:
        self._warnings.append(record.getMessage())


@contextmanager
def _listening(warnings: list[str]) -> Iterator[None]:
    handler = _WarningHandler(warnings)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
