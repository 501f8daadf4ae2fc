"""LlmEventSummarizer: a model writes the summary."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing

from newel.apps.base_events_summarizer import BaseEventsSummarizer
from newel.budgets.composing import asked
from newel.events.text import shortened
from newel.models.contract import BaseLlm
from newel_kernel import Event, EventActions, EventCompaction, LlmRequest
from newel_types import Content, Part

_PLACE = "{conversation_history}"
_MOST_OF_A_TOOL = 500
_PROMPT = f"""Below is the older part of a conversation between a user and an assistant, which works with tools.
Write a short summary that can take its place: what the user wants, the facts and decisions so far, names, numbers and
identifiers exactly as given, and what is still open. Write only the summary.

{_PLACE}"""


class LlmEventSummarizer(BaseEventsSummarizer):
    """Asks `llm` with `prompt_template`, in which ``{conversation_history}`` stands for the conversation."""

    def __init__(self, llm: BaseLlm, prompt_template: str | None = None) -> None:
        self._llm = llm
        self._prompt = prompt_template or _PROMPT

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """The summary of `events`, or None if there are none or the model has no answer."""
        if not events:
            return None
        prompt = self._prompt.replace(_PLACE, "\n".join(_lines(events)))
        request = LlmRequest(model=self._llm.model, contents=[Content(role="user", parts=[Part(text=prompt)])])
        async with aclosing(asked(self._llm, request)) as responses:
            async for response in responses:
                if response.content is None:
                    continue
                compaction = EventCompaction(
                    start_timestamp=events[0].timestamp,
                    end_timestamp=events[-1].timestamp,
                    compacted_content=Content(role="model", parts=response.content.parts),
                )
                return Event(
                    author="user",
                    invocation_id=Event.new_id(),
                    actions=EventActions(compaction=compaction),
                    usage_metadata=response.usage_metadata,
                )
        return None


def _lines(events: Sequence[Event]) -> list[str]:
    lines: list[str] = []
    for event in events:
        for part in (event.content.parts or ()) if event.content is not None else ():
            if part.text and not part.thought:
                lines.append(f"{event.author}: {part.text}")
            elif part.function_call is not None:
                arguments = shortened(part.function_call.args or {}, _MOST_OF_A_TOOL)
                lines.append(f"{event.author} called {part.function_call.name}({arguments})")
            elif part.function_response is not None:
                response = shortened(part.function_response.response, _MOST_OF_A_TOOL)
                lines.append(f"{part.function_response.name} returned {response}")
    return lines
