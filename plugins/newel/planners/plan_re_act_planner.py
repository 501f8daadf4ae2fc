"""PlanReActPlanner: plan, act and reason under tags, for models that do not think by themselves.

Specified in docs/reference/behaviour.md#planning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from newel.planners.base_planner import BasePlanner
from newel_kernel import Context, LlmRequest, ReadonlyContext
from newel_types import Part

PLANNING_TAG = "/*PLANNING*/"
REPLANNING_TAG = "/*REPLANNING*/"
REASONING_TAG = "/*REASONING*/"
ACTION_TAG = "/*ACTION*/"
FINAL_ANSWER_TAG = "/*FINAL_ANSWER*/"

_THOUGHTS = (PLANNING_TAG, REPLANNING_TAG, REASONING_TAG, ACTION_TAG)

_INSTRUCTION = f"""\
Follow this process:
(1) come up with a plan in natural language text
(2) use tools to execute the plan with reasoning interleaved
(3) return final answer

Format:
- Planning: {PLANNING_TAG} and a numbered list of steps. Together the steps answer everything the user asked; each \
names the tool or tools it uses, and only tools that you have.
- Actions: {ACTION_TAG} and the tool calls of the next step, with no arguments but those that a tool declares.
- Reasoning: {REASONING_TAG} and, after each result, a short summary of where you stand and what comes next.
- A new plan: {REPLANNING_TAG} and the changed list, if results show that the plan does not work.
- Final: {FINAL_ANSWER_TAG} and the answer, precise and in the form that the user asked for.

Find facts out with the tools rather than from memory, and do not repeat a call whose result you already have. \
If the tools and the conversation cannot answer the question, say why under {FINAL_ANSWER_TAG} and ask for what \
is missing. Ask back if the question is unclear."""


class PlanReActPlanner(BasePlanner):
    """Asks for a tagged plan, and marks everything but the final answer and the tool calls as thoughts."""

    def build_planning_instruction(self, readonly_context: ReadonlyContext, llm_request: LlmRequest) -> str:
        """The process and its tags."""
        return _INSTRUCTION

    def plan_stream(self) -> PlanStream:
        """What sorts the chunks of one answer."""
        return PlanStream()

    def process_planning_response(self, callback_context: Context, response_parts: list[Part]) -> list[Part] | None:
        """The parts up to the end of the first group of tool calls, thoughts marked; calls without a name are dropped.

        What a model writes after its calls speaks of results that it has not seen.
        """
        parts: list[Part] = []
        called = False
        for part in response_parts:
            call = part.function_call
            if call is None and called:
                break
            if call is None:
                parts.extend(_sorted(part))
            elif call.name:
                parts.append(part)
                called = True
        return parts or None


class PlanStream:
    """The text of an answer that comes in chunks, sorted as `process_planning_response` sorts the whole.

    Text is held back as long as it may turn out to be either.
    """

    def __init__(self) -> None:
        self._held = ""
        #: Whether the text that comes now is a thought; None: not known.
        self._thinks: bool | None = None

    def parts_of(self, chunk: Sequence[Part]) -> list[Part]:
        """What is known of the text so far and was not given yet; other parts unchanged."""
        parts: list[Part] = []
        for part in chunk:
            if part.text and not part.thought and part.function_call is None:
                parts.extend(self._take(part.text))
            else:
                parts.append(part)
        return parts

    def _take(self, text: str) -> Iterator[Part]:
        if self._thinks is False:
            yield Part(text=text)
            return
        self._held += text
        before, tag, answer = self._held.partition(FINAL_ANSWER_TAG)
        if tag:
            self._thinks, self._held = False, ""
            yield Part(text=before + tag, thought=True)
            if answer:
                yield Part(text=answer)
        elif self._thinks or self._held.startswith(_THOUGHTS):
            self._thinks = True
            whole = len(self._held) - _begun(self._held, FINAL_ANSWER_TAG)
            if whole:
                yield Part(text=self._held[:whole], thought=True)
            self._held = self._held[whole:]


def _begun(text: str, tag: str) -> int:
    """How many characters at the end of `text` may be the beginning of `tag`."""
    return next((count for count in range(len(tag) - 1, 0, -1) if text.endswith(tag[:count])), 0)


def _sorted(part: Part) -> list[Part]:
    """A part as thought and answer: up to the last final-answer tag it is thought, and so is what has another tag."""
    text = part.text
    if not text:
        return [part]
    before, tag, answer = text.rpartition(FINAL_ANSWER_TAG)
    if tag:
        thought = Part(text=before + tag, thought=True)
        return [thought, part.model_copy(update={"text": answer})] if answer else [thought]
    return [part.model_copy(update={"thought": True})] if text.startswith(_THOUGHTS) else [part]
