"""The plugins that answer failures: of tools, with advice; of models, by asking again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel.agents.run_config import RunConfig
from newel.plugins import ReflectAndRetryModelPlugin, ReflectAndRetryToolPlugin
from newel.plugins.reflect_retry_tool_plugin import REFLECT_AND_RETRY_RESPONSE_TYPE, TrackingScope
from newel_kernel import Event

CALL = {"call": "flaky", "args": {"a": 1}}


class Flaky:
    """A tool that fails where it is told to."""

    def __init__(self, *fails: bool) -> None:
        self._fails = list(fails)

    @property
    def tool(self) -> Any:
        def flaky(a: int) -> str:
            """Fail at times."""
            if self._fails.pop(0):
                raise ValueError("no luck")
            return "fine"

        return flaky


def results(events: list[Event]) -> list[dict[str, Any]]:
    return [dict(response.response or {}) for event in events for response in event.get_function_responses()]


@pytest.mark.parametrize("distribution", ["adk", "standard"])
def test_the_model_learns_what_went_wrong(distribution: str, talk: Any) -> None:
    async def main() -> None:
        tool = Flaky(True, True, False, True).tool
        one = talk([CALL] * 4 + ["done"], ReflectAndRetryToolPlugin(), tools=[tool], distribution=distribution)
        first, second, third, fourth = results(await one.send())
        assert first["response_type"] == REFLECT_AND_RETRY_RESPONSE_TYPE
        assert (first["error_type"], first["error_details"]) == ("ValueError", "no luck")
        assert "no luck" in first["reflection_guidance"]
        assert '{"a": 1}' in first["reflection_guidance"]
        assert [first["retry_count"], second["retry_count"], fourth["retry_count"]] == [1, 2, 1]
        assert third == {"result": "fine"}

    asyncio.run(main())


def test_too_many_failures_end_the_run(talk: Any) -> None:
    async def main() -> None:
        plugin = ReflectAndRetryToolPlugin(max_retries=1)
        one = talk([CALL, CALL, CALL, "done"], plugin, tools=[Flaky(True, True, True).tool])
        with pytest.raises(RuntimeError, match="no luck"):
            await one.send()
        assert len(results(await one.send("again"))) == 1  # counted anew

    asyncio.run(main())


@pytest.mark.parametrize("most", [0, 1])
def test_or_the_model_is_told_to_leave_it(most: int, talk: Any) -> None:
    async def main() -> None:
        plugin = ReflectAndRetryToolPlugin(max_retries=most, throw_exception_if_retry_exceeded=False)
        one = talk([*[CALL] * (most + 1), "done"], plugin, tools=[Flaky(*[True] * (most + 1)).tool])
        last = results(await one.send())[-1]
        assert "Do not call `flaky` again" in last["reflection_guidance"]
        assert last["retry_count"] == most

    asyncio.run(main())


def test_failures_can_be_counted_across_invocations(talk: Any) -> None:
    async def main() -> None:
        plugin = ReflectAndRetryToolPlugin(tracking_scope=TrackingScope.GLOBAL)
        one = talk([CALL, "x", CALL, "y"], plugin, tools=[Flaky(True, True).tool])
        counts = [results(await one.send())[0]["retry_count"] for _ in range(2)]
        assert counts == [1, 2]

    asyncio.run(main())


def test_a_result_can_tell_of_an_error(talk: Any) -> None:
    class Strict(ReflectAndRetryToolPlugin):
        async def extract_error_from_result(self, *, result: Any, **_: Any) -> Any:
            return result if result == "fine" else None

    async def main() -> None:
        one = talk([CALL, "done"], Strict(), tools=[Flaky(False).tool])
        assert results(await one.send())[0]["error_type"] == "ToolError"

    asyncio.run(main())


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="non-negative"):
        ReflectAndRetryToolPlugin(max_retries=-1)
    with pytest.raises(ValueError, match="negative"):
        ReflectAndRetryModelPlugin(max_retries=-1)


def test_a_model_that_failed_is_asked_again(talk: Any) -> None:
    async def main() -> None:
        one = talk([OSError("1"), OSError("2"), "here"], ReflectAndRetryModelPlugin(delay_seconds=0))
        (event,) = await one.send()
        assert event.content.parts[0].text == "here"

    asyncio.run(main())


def test_a_model_that_goes_on_failing_fails_with_its_first_error(talk: Any) -> None:
    async def main() -> None:
        plugin = ReflectAndRetryModelPlugin(max_retries=2, delay_seconds=0)
        with pytest.raises(OSError, match="1"):
            await talk([OSError("1"), OSError("2"), OSError("3"), "late"], plugin).send()

    asyncio.run(main())


def test_not_every_error_is_worth_it(talk: Any) -> None:
    async def main() -> None:
        plugin = ReflectAndRetryModelPlugin(delay_seconds=0, retry_on=lambda error: not isinstance(error, KeyError))
        one = talk([KeyError("key"), "never"], plugin)
        with pytest.raises(KeyError):
            await one.send()
        assert one.model.remaining == 1

    asyncio.run(main())


def test_attempts_count_as_calls(talk: Any) -> None:
    async def main() -> None:
        one = talk([OSError("1"), OSError("2"), "late"], ReflectAndRetryModelPlugin(delay_seconds=0))
        with pytest.raises(Exception, match="max_llm_calls"):
            await one.send(run_config=RunConfig(max_llm_calls=2))

    asyncio.run(main())
