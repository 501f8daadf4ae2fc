"""The hook rounds of a turn: the plugins' hooks, then the agent's callbacks, then the fallbacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from newel_kernel._internal.events import EventActions
from newel_kernel._internal.hooks import LIFECYCLE, first_answer, run_round
from newel_kernel._internal.values import Json

if TYPE_CHECKING:
    from newel_kernel._internal.contracts.response import LlmResponse
    from newel_kernel._internal.contracts.tool import BaseTool
    from newel_kernel._internal.invocation import Context, InvocationContext


class Draft:
    """The actions that model hooks collect for the event of the model's response."""

    __slots__ = ("actions",)

    def __init__(self) -> None:
        self.actions: EventActions | None = None

    def take(self) -> EventActions | None:
        """The actions for one event; the next response of a stream starts from a copy."""
        if (actions := self.actions) is not None:
            self.actions = actions.model_copy(deep=True)
        return actions


async def ask(ctx: InvocationContext, hook: str, keywords: Mapping[str, object]) -> Any:
    """One round of a runner-level hook that has implementations; only plugins have them."""
    plugins, fallbacks = ctx.composition.hooks[hook]
    return await first_answer(plugins + fallbacks, LIFECYCLE[hook].returns, keywords)


async def model_round(
    ctx: InvocationContext, draft: Draft, hook: str, keywords: Mapping[str, object]
) -> LlmResponse | None:
    """One round of a model hook; state written in it rides on the event of the model's response."""
    if (round_ := ctx.round_of(hook)) is None:
        return None
    context = ctx.context_type(ctx, event_actions=draft.actions)
    answer = await run_round(hook, round_, {"callback_context": context, **keywords})
    draft.actions = context.touched_actions
    return answer  # type: ignore[no-any-return]


async def tool_round(hook: str, tool: BaseTool, args: Json, context: Context, *last: object) -> Any:
    """A tool hook's answer, or None."""
    if (round_ := context.get_invocation_context().round_of(hook)) is None:
        return None
    names = LIFECYCLE[hook].keywords
    return await run_round(hook, round_, dict(zip(names, (tool, args, context, *last), strict=True)))
