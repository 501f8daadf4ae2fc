"""GlobalInstructionPlugin: one instruction that leads every agent's own."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from newel.flows.instructions import Settings
from newel.flows.templates import fill
from newel.plugins.base_plugin import BasePlugin
from newel_kernel import Context, LlmRequest, LlmResponse, ReadonlyContext

InstructionProvider = Callable[[ReadonlyContext], str | Awaitable[str]]


class GlobalInstructionPlugin(BasePlugin):
    """`global_instruction` is a template, filled from the session's state, or a function, whose text is not filled."""

    def __init__(self, global_instruction: str | InstructionProvider = "", name: str = "global_instruction") -> None:
        super().__init__(name)
        self.global_instruction = global_instruction

    async def before_model_callback(self, *, callback_context: Context, llm_request: LlmRequest) -> LlmResponse | None:
        """Put the instruction before the others."""
        text = await self._text(callback_context)
        if text:
            own: object = llm_request.config.system_instruction
            if not own:
                llm_request.config.system_instruction = text
            elif isinstance(own, str):
                llm_request.config.system_instruction = f"{text}\n\n{own}"
            else:
                llm_request.config.system_instruction = [text, *(own if isinstance(own, (list, tuple)) else [own])]
        return None

    async def _text(self, context: Context) -> str:
        instruction = self.global_instruction
        if isinstance(instruction, str):
            ctx = context.get_invocation_context()
            settings = ctx.composition.settings_of("instructions", Settings)
            return await fill(instruction, ctx, literal_doubles=settings.literal_double_braces)
        text = instruction(context)
        return await text if inspect.isawaitable(text) else text
