"""The hook rounds of a turn: a plugin's hooks, then the agent's callbacks, then the fallbacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from newel_kernel._internal.events import Event, EventActions
from newel_kernel._internal.hooks import LIFECYCLE, Callbacks, first_answer
from newel_kernel._internal.values import Json

if TYPE_CHECKING:
    from newel_kernel._internal.context import Context
    from newel_kernel._internal.contracts.request import LlmRequest
    from newel_kernel._internal.contracts.response import LlmResponse
    from newel_kernel._internal.contracts.tool import BaseTool
    from newel_kernel._internal.invocation import InvocationContext

#: The plugins', the agent's own and the fallback implementations of a hook.
Found = tuple[Callbacks, Callbacks, Callbacks]

_NONE: Callbacks = ()
_NO_PLUGINS = (_NONE, _NONE)


class Draft:
    """The actions that model hooks collect for the event of the model's response."""

    __slots__ = ("actions",)

    def __init__(self) -> None:
        self.actions: EventActions | None = None

    def take(self) -> EventActions | None:
        """The actions for one event; the next response of a stream starts from a copy."""
        actions = self.actions
        if actions is None:
            return None
        self.actions = actions.model_copy(deep=True)
        return actions


async def ask(ctx: InvocationContext, hook: str, keywords: Mapping[str, object]) -> Any:
    """One round of a runner-level hook, for which there are implementations: plugins only."""
    plugins, fallbacks = ctx.composition.hooks[hook]
    return await first_answer(plugins + fallbacks, LIFECYCLE[hook].returns, keywords)


def implemented(ctx: InvocationContext, hook: str) -> Found | None:
    """The implementations of `hook`, or None where there are none: then nothing is paid for it."""
    own = getattr(ctx.agent, hook, None)
    shared = ctx.composition.hooks.get(hook)
    if shared is None and not own:
        return None
    plugins, fallbacks = shared or _NO_PLUGINS
    return plugins, ctx.agent.callbacks(hook) if own else _NONE, fallbacks


async def run_round(hook: str, found: Found, keywords: Mapping[str, object]) -> Any:
    """Ask plugins, the agent and the fallbacks in turn; the first answer ends the round.

    `keywords` are the plugins'; the agent's callbacks get the same values under the names of their own.
    """
    spec = LIFECYCLE[hook]
    plugins, own, fallbacks = found
    if plugins and (answer := await first_answer(plugins, spec.returns, keywords)) is not None:
        return answer
    if own:
        names = spec.agent_keywords or ()
        values = keywords.values() if len(names) == len(keywords) else list(keywords.values())[-len(names) :]
        answer = await first_answer(own, spec.returns, dict(zip(names, values, strict=True)))
        if answer is not None:
            return answer
    return await first_answer(fallbacks, spec.returns, keywords) if fallbacks else None


async def around_agent(ctx: InvocationContext, hook: str, found: Found) -> Event | None:
    """before_agent or after_agent: an event where one answered or changed state, else None."""
    context = ctx.context_type(ctx)
    content = await run_round(hook, found, {"agent": ctx.agent, "callback_context": context})
    actions = context.touched_actions
    if content is None and (actions is None or not actions.state_delta):
        return None
    if content is not None and hook == "before_agent_callback":
        ctx.end_invocation = True
    return Event(
        invocation_id=ctx.invocation_id, author=ctx.agent.name, branch=ctx.branch, content=content,
        actions=actions,  # None: made when touched
    )  # fmt: skip


async def model_round(
    ctx: InvocationContext,
    draft: Draft,
    hook: str,
    found: Found,
    keywords: Mapping[str, object],
) -> LlmResponse | None:
    """One round of a model hook; state written in it rides on the event of the model's response."""
    context = ctx.context_type(ctx, event_actions=draft.actions)
    answer = await run_round(hook, found, {"callback_context": context, **keywords})
    draft.actions = context.touched_actions
    return answer  # type: ignore[no-any-return]


async def on_model_error(
    ctx: InvocationContext, request: LlmRequest, error: Exception, draft: Draft
) -> LlmResponse | None:
    """An answer in place of the model's failure, or None: then it is raised."""
    found = implemented(ctx, "on_model_error_callback")
    if found is None:
        return None
    keywords = {"llm_request": request, "error": error}
    return await model_round(ctx, draft, "on_model_error_callback", found, keywords)


async def tool_round(hook: str, tool: BaseTool, args: Json, context: Context, *last: object) -> Any:
    """A tool hook's answer, or None."""
    found = implemented(context.get_invocation_context(), hook)
    if found is None:
        return None
    names = LIFECYCLE[hook].keywords
    return await run_round(hook, found, dict(zip(names, (tool, args, context, *last), strict=True)))
