"""instructions: the global, static and dynamic instruction of an agent (S0 §3.4)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from newel.contexts.readonly_context import ReadonlyContext
from newel.flows.templates import fill
from newel.models.references import append_content
from newel_kernel import InvocationContext, LlmRequest, RequestProcessor, hookimpl
from newel_types import Content, UserContent, as_plain


class Settings(BaseModel, extra="forbid"):
    """Settings of instructions."""

    #: ``{{x}}`` is the text ``{x}``; else it is a placeholder like ``{x}``, as the specification has it.
    literal_double_braces: bool = False


async def _resolved(instruction: Any, ctx: InvocationContext) -> str:
    """The text of an instruction: a template is filled, a function's result is used as it is."""
    if isinstance(instruction, str):
        settings: Any = ctx.composition.settings.get("instructions")
        return await fill(instruction, ctx, literal_doubles=bool(settings and settings.literal_double_braces))
    text = instruction(ReadonlyContext(ctx))
    return str(await text if inspect.isawaitable(text) else text)


async def run(ctx: InvocationContext, request: LlmRequest) -> None:
    """Append the root's global instruction, then the agent's static one, then its dynamic one.

    With a static instruction the dynamic one becomes a user content, so that what precedes it can be cached.
    """
    agent: Any = ctx.agent
    # Read where pydantic keeps a field's value: a root of another kind has none, and asking it raises, slowly.
    shared = agent.root_agent.__dict__.get("global_instruction")
    if shared:
        request.append_instructions([await _resolved(shared, ctx)])
    static = agent.static_instruction
    if static is not None:
        append_content(request, static_content(static))
    instruction = agent.instruction
    if instruction:
        plain = isinstance(instruction, str) and "{" not in instruction
        text = instruction if plain else await _resolved(instruction, ctx)
        if static is None:
            request.append_instructions([text])
        else:
            request.contents.append(UserContent(text))


def for_agent(agent: Any) -> Callable[[InvocationContext, LlmRequest], Any]:
    """`run`, or where all is text without placeholders what appends just that."""
    shared = agent.root_agent.__dict__.get("global_instruction")
    texts = [text for text in (shared, agent.instruction) if text]
    if agent.static_instruction is not None or not all(isinstance(text, str) and "{" not in text for text in texts):
        return run

    def append(ctx: InvocationContext, request: LlmRequest) -> None:
        request.append_instructions(texts)

    return append


def static_content(static: Any) -> Content:
    """A static instruction as a Content."""
    if isinstance(static, Content):
        return static
    if isinstance(static, str):
        return UserContent(static)
    plain = as_plain(static)
    if isinstance(plain, dict) and "parts" in plain:
        return Content.model_validate(plain)
    return UserContent(static)


@hookimpl
def register_settings() -> type[BaseModel]:
    """The settings."""
    return Settings


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The processor `instructions`."""
    return [RequestProcessor(name="instructions", run=run, for_agent=for_agent)]
