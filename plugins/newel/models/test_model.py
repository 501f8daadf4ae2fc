"""ToolTestModel: calls every declared tool once with arguments that fit its schema, then summarizes the results."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from newel.models.offline.conversation import Conversation, read_conversation
from newel.models.offline.declarations import EXIT_LOOP, FINISHERS, TRANSFER, answer_schema, declared_tools
from newel.models.offline.llm import OfflineLlm
from newel.models.offline.responses import Call, call_response, check_address, text_responses
from newel.models.offline.schemas import sample
from newel_kernel import LlmRequest, LlmResponse

#: Tools that hand over control or wait for somebody: a test run would not return from them.
_LEFT_OUT = frozenset((TRANSFER, EXIT_LOOP))
_FRAMEWORK = ("newel.", "newel_kernel.", "newel_compose.", "newel_types.")


def create(address: str) -> ToolTestModel:
    """The model of ``test:`` or ``test:parallel``."""
    rest = check_address(address, ("", "parallel"), "use 'test:' or 'test:parallel'")
    return ToolTestModel(model=address, parallel=rest == "parallel")


class ToolTestModel(OfflineLlm):
    """Calls each tool once per message: one per model call, or all in the first one with `parallel`.

    The answer is JSON: ``{"tools": {name: result}}``, or a minimal value if the answer has a schema.
    """

    model: str = "test:"
    parallel: bool = False

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the next calls, or the summary."""
        conversation = read_conversation(llm_request)
        calls = self._next_calls(llm_request, conversation)
        if calls:
            yield call_response(calls, self.model)
            return
        schema = answer_schema(llm_request)
        answer = summary(conversation) if schema is None else sample(schema)
        text = json.dumps(answer, indent=2, ensure_ascii=False, default=str)
        for response in text_responses(text, self.model, stream):
            yield response

    def _next_calls(self, request: LlmRequest, conversation: Conversation) -> Sequence[Call]:
        called = {exchange.name for exchange in conversation.exchanges}
        waiting = [
            (one.name, sample({"type": "object", **one.parameters}))
            for one in declared_tools(request)
            if one.name not in called and one.name not in _LEFT_OUT and not _waits(request, one.name)
        ]
        # A tool that ends the agent's work comes alone and last.
        ordinary = [call for call in waiting if call[0] not in FINISHERS]
        if self.parallel and ordinary:
            return ordinary
        return (ordinary or waiting)[:1]


def _waits(request: LlmRequest, name: str) -> bool:
    """Whether the tool is one of the framework's own long-running ones (such as a question to the user)."""
    tool: Any = request.tools_dict.get(name)
    if tool is None or not tool.is_long_running:
        return False
    owner = getattr(tool, "func", None) or type(tool)
    return str(getattr(owner, "__module__", "")).startswith(_FRAMEWORK)


def summary(conversation: Conversation) -> dict[str, Any]:
    """Each tool's result by its name; null if it has none yet."""
    results: dict[str, Any] = {}
    for exchange in conversation.exchanges:
        response = exchange.response
        results[exchange.name] = response["result"] if response and set(response) == {"result"} else response
    return {"tools": results}
