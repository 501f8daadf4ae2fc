"""ExampleTool: puts examples of good answers into the system instruction."""

from __future__ import annotations

import json
from collections.abc import Sequence

from newel.examples.base_example_provider import BaseExampleProvider
from newel.examples.example import Example
from newel_kernel import BaseTool, ConfigurationError, Context, Json, LlmRequest
from newel_types import Content, Part

_OPENING = "<EXAMPLES>\nThese are examples of messages and of good responses to them, tool calls included."
_CLOSING = "</EXAMPLES>"


class ExampleTool(BaseTool):
    """Shows the model `examples`: a list, or a provider that is asked with the user's text.

    It declares nothing: the model cannot call it.
    """

    def __init__(self, examples: Sequence[Example | Json] | BaseExampleProvider) -> None:
        super().__init__(name="example_tool", description="Adds examples to the system instruction.")
        self.examples: list[Example] | BaseExampleProvider
        if isinstance(examples, BaseExampleProvider):
            self.examples = examples
        elif isinstance(examples, Sequence) and not isinstance(examples, str):
            self.examples = [Example.model_validate(example) for example in examples]
        else:
            raise ConfigurationError(f"ExampleTool needs a list of examples or a BaseExampleProvider, not {examples!r}")

    async def process_llm_request(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        """Append the examples; without a question in words there is nothing to find them by."""
        parts = tool_context.user_content.parts if tool_context.user_content is not None else None
        query = parts[0].text if parts else None
        if not query:
            return
        provider = self.examples
        matches = provider.get_examples(query) if isinstance(provider, BaseExampleProvider) else provider
        if matches:
            llm_request.append_instructions([_text(matches)])


def _text(examples: Sequence[Example]) -> str:
    texts = [f"EXAMPLE {number}\n{_conversation(example)}" for number, example in enumerate(examples, 1)]
    return "\n\n".join([_OPENING, *texts, _CLOSING])


def _conversation(example: Example) -> str:
    """Lines of the conversation, a heading wherever the speaker changes."""
    lines: list[str] = []
    speaker = None
    for content in (Content(role="user", parts=example.input.parts), *example.output):
        texts = [text for part in content.parts or () if (text := _part(part))]
        role = "model" if content.role == "model" else "user"
        if texts and role != speaker:
            lines.append(f"[{role}]")
            speaker = role
        lines.extend(texts)
    return "\n".join(lines)


def _part(part: Part) -> str:
    if part.function_call is not None:
        args = ", ".join(f"{name}={value!r}" for name, value in (part.function_call.args or {}).items())
        return f"```\n{part.function_call.name}({args})\n```"
    if part.function_response is not None:
        result = json.dumps(part.function_response.response, ensure_ascii=False, default=str)
        return f"```\n{part.function_response.name} returned {result}\n```"
    return "" if part.thought else part.text or ""
