"""Thoughts are for the model: they are not run, and they are not an answer."""

from __future__ import annotations

import asyncio

import pytest

from newel import Agent
from newel.code_executors.code_execution_utils import CodeExecutionUtils
from newel.testing import Conversation, ScriptedModel
from newel_kernel import LlmResponse
from newel_types import Content, Part

_BLOCK = "```python\nwipe()\n```"
_DELIMITERS = [("```python\n", "\n```")]


def test_code_in_a_thought_is_not_run() -> None:
    thought, answer = Part(text=_BLOCK, thought=True), Part(text="I will not.")
    content = Content(role="model", parts=[thought, answer])
    assert CodeExecutionUtils.extract_code_and_truncate_content(content, _DELIMITERS) is None
    assert content.parts == [thought, answer]
    content = Content(role="model", parts=[thought, Part(text="So: ```python\nlook()\n```")])
    assert CodeExecutionUtils.extract_code_and_truncate_content(content, _DELIMITERS) == "look()"
    assert [part.text for part in content.parts or ()] == [_BLOCK, "So: ", None]


@pytest.mark.parametrize(("distribution", "kept"), [("standard", "first"), ("adk", "")])
def test_an_answer_of_thoughts_leaves_the_output_key_unless_the_specification_counts(
    distribution: str, kept: str
) -> None:
    async def main() -> None:
        thinking = LlmResponse(content=Content(role="model", parts=[Part(text="hm", thought=True)]))
        model = ScriptedModel(["first", {"response": thinking}])
        chat = Conversation(Agent(name="a", model=model, output_key="out"), distribution=distribution)
        await chat.send("go")
        await chat.send("go on")
        assert (await chat.stored()).state["out"] == kept

    asyncio.run(main())
