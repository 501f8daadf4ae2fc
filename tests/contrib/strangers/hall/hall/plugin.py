"""The plugin `hall`: it declares the kind, and greets with what there is of it before each answer."""

from __future__ import annotations

from typing import Any

from hall.kinds import Greeting, register_greetings
from newel_kernel import InvocationContext, Kind, LlmRequest, RequestProcessor, hookimpl


def greet(ctx: InvocationContext, request: LlmRequest) -> None:
    """Ask the model to begin with a greeting."""
    texts = [greeting.text for greeting in ctx.composition.registry.all(Greeting)]
    request.append_instructions([f"Begin with: {', '.join(texts) or 'silence'}."])


@hookimpl
def register_kinds() -> list[Kind[Any]]:
    """The greetings."""
    return [Kind(Greeting, register_greetings)]


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """After the instructions."""
    return [RequestProcessor(name="hall", run=greet, after=("instructions",))]
