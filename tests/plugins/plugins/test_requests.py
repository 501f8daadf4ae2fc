"""The plugins that edit requests: the global instruction, and the filter of the context."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel.plugins import ContextFilterPlugin, GlobalInstructionPlugin
from newel_kernel import LlmRequest
from newel_types import GenerateContentConfig
from newel_types import Content, FunctionCall, FunctionResponse, Part


async def later(context: Any) -> str:
    return f"for {context.agent_name}"


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [("Be {mood}.", "Be kind."), (lambda _: "Be {brief}.", "Be {brief}."), (later, "for clerk")],
)
def test_the_global_instruction_leads(instruction: Any, expected: str, talk: Any) -> None:
    async def main() -> None:
        one = talk(["ok"], GlobalInstructionPlugin(instruction), instruction="Own.")
        await one.send(state_delta={"mood": "kind"})
        system = one.model.requests[0].config.system_instruction
        assert system.startswith(f"{expected}\n\nOwn.")

    asyncio.run(main())


def test_no_instruction_changes_nothing(talk: Any) -> None:
    async def main() -> None:
        one, other = talk(["ok"], GlobalInstructionPlugin("")), talk(["ok"])
        await one.send()
        await other.send()
        systems = [each.model.requests[0].config.system_instruction for each in (one, other)]
        assert systems[0] == systems[1]

    asyncio.run(main())


@pytest.mark.parametrize(("own", "expected"), [(None, "G"), (["a", "b"], ["G", "a", "b"])])
def test_other_instructions_follow(own: Any, expected: Any, talk: Any) -> None:
    class Before(GlobalInstructionPlugin):
        async def before_model_callback(self, *, callback_context: Any, llm_request: LlmRequest) -> None:
            llm_request.config = GenerateContentConfig(system_instruction=own)
            await super().before_model_callback(callback_context=callback_context, llm_request=llm_request)

    async def main() -> None:
        one = talk(["ok"], Before("G"))
        await one.send()
        assert one.model.requests[0].config.system_instruction == expected

    asyncio.run(main())


def test_double_braces_are_literal_in_the_default_distribution(talk: Any) -> None:
    async def main() -> None:
        one = talk(["ok"], GlobalInstructionPlugin("Write {{x}}."), distribution="standard")
        await one.send()
        assert one.model.requests[0].config.system_instruction.startswith("Write {x}.")

    asyncio.run(main())


def test_only_the_last_invocations_are_sent(talk: Any) -> None:
    def look() -> str:
        """Look."""
        return "seen"

    async def main() -> None:
        steps = ["r1", {"call": "look"}, "r2", {"call": "look"}, "r3"]
        one = talk(steps, ContextFilterPlugin(num_invocations_to_keep=2), tools=[look])
        for message in ("m1", "m2", "m3"):
            await one.send(message)
        assert one.asked() == [["m2"], [None], [None], ["r2"], ["m3"], [None], [None]]
        assert len((await one.stored()).events) == 10

    asyncio.run(main())


def test_a_result_keeps_its_call() -> None:
    from newel.plugins.context_filter_plugin import _start

    def content(role: str, part: Part) -> Content:
        return Content(role=role, parts=[part])

    for id_ in ("c", None):
        contents = [
            content("user", Part(text="m1")),
            content("model", Part(function_call=FunctionCall(id=id_, name="f"))),
            content("user", Part(text="m2")),
            content("user", Part(function_response=FunctionResponse(id=id_, name="f", response={}))),
        ]
        assert _start(contents, 1) == 1


def test_a_function_filters_and_the_session_keeps_all(talk: Any) -> None:
    async def main() -> None:
        one = talk(["r1", "r2"], ContextFilterPlugin(custom_filter=lambda contents: contents[-1:]))
        await one.send("m1")
        await one.send("m2")
        assert one.asked() == [["m2"]]
        assert len((await one.stored()).events) == 4

    asyncio.run(main())


def test_a_filter_that_fails_changes_nothing(talk: Any, caplog: pytest.LogCaptureFixture) -> None:
    def broken(contents: list[Content]) -> list[Content]:
        raise ValueError("broken filter")

    async def main() -> None:
        one = talk(["r1", "r2"], ContextFilterPlugin(num_invocations_to_keep=1, custom_filter=broken))
        await one.send("m1")
        await one.send("m2")
        assert one.asked() == [["m1"], ["r1"], ["m2"]]

    asyncio.run(main())
    assert "broken filter" in caplog.text
