"""instructions: the global, static and dynamic instruction of an agent (docs/reference/behaviour.md#instructions)."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias, TypeGuard, cast

from pydantic import BaseModel

import newel_compose
from newel.contexts.readonly_context import ReadonlyContext
from newel.flows.llm_agents import LlmContext, request_processor
from newel.flows.templates import fill
from newel.models.references import append_content
from newel_kernel import HookSignatureError, InvocationContext, LlmRequest, RequestProcessor, hookimpl
from newel_types import Content, UserContent, as_plain, made_at

if TYPE_CHECKING:
    from newel.agents.llm_agent import LlmAgent
    from newel.flows.llm_agents import RequestStep


#: Gives an instruction in the form in which it is sent.
Provider: TypeAlias = Callable[[ReadonlyContext], str | Awaitable[str]]


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of instructions."""

    #: ``{{x}}`` is the text ``{x}``; else it is a placeholder like ``{x}``, as the specification says.
    literal_double_braces: bool = False


def _is_plain(instruction: object) -> TypeGuard[str]:
    """Whether it is a text without placeholders."""
    return isinstance(instruction, str) and "{" not in instruction


async def _resolved(instruction: object, ctx: InvocationContext) -> str:
    """The text of an instruction: a template is filled, a function's result is used unchanged."""
    if isinstance(instruction, str):
        settings = ctx.composition.settings_of("instructions", Settings)
        try:
            return await fill(instruction, ctx, literal_doubles=settings.literal_double_braces)
        except (KeyError, ValueError) as error:
            hint = "write {name?} for what may be missing"
            made = made_at(ctx.agent.name, type(ctx.agent).__name__, "Agent")
            error.add_note(f"in the instruction of the agent {ctx.agent.name!r}{made}; {hint}")
            raise
    text = cast("Provider", instruction)(ReadonlyContext(ctx))
    text = await text if inspect.isawaitable(text) else text
    if not isinstance(text, str):
        name = getattr(instruction, "__qualname__", type(instruction).__qualname__)
        raise HookSignatureError(
            f"agent {ctx.agent.name!r}, instruction {name}{newel_compose.defined_at(instruction)}: it returned "
            f"{type(text).__name__}; it must return a string"
        )
    return text


async def run(ctx: LlmContext, request: LlmRequest) -> None:
    """Append the root's global instruction, then the agent's static one, then its dynamic one.

    With a static instruction the dynamic one becomes a user content, so that what precedes it can be cached.
    """
    agent = ctx.agent
    # Read where pydantic keeps a field's value: a root of another kind lacks it, and asking for it raises, slowly.
    shared = agent.root_agent.__dict__.get("global_instruction")
    if shared:
        request.append_instruction(await _resolved(shared, ctx))
    static = agent.static_instruction
    if static is not None:
        append_content(request, static_content(static))
    instruction = agent.instruction
    if instruction:
        is_text = isinstance(instruction, str) and "{" not in instruction
        text = str(instruction) if is_text else await _resolved(instruction, ctx)
        if static is None:
            request.append_instruction(text)
        else:
            request.contents.append(UserContent(text))


def for_agent(agent: LlmAgent) -> RequestStep:
    """`run`, or a step that just appends the text, if no instruction has placeholders."""
    shared = agent.root_agent.__dict__.get("global_instruction")
    texts = [text for text in (shared, agent.instruction) if text]
    plain = [text for text in texts if _is_plain(text)]
    if agent.static_instruction is not None or len(plain) < len(texts):
        return run
    together = "\n\n".join(plain)

    def append(ctx: LlmContext, request: LlmRequest) -> None:
        request.append_instruction(together)

    return append


def static_content(static: object) -> Content:
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
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The processor `instructions`."""
    return [request_processor("instructions", run, for_agent=for_agent)]
