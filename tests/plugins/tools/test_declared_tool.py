"""A `Tool` of google-genai among an agent's tools reaches the request; declarations of functions are refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.genai import types

import newel_types
from newel.agents import LlmAgent
from newel.testing import Conversation, ScriptedModel
from newel_kernel import ConfigurationError

NATIVE: dict[str, dict[str, Any]] = {
    "google_search": {},
    "url_context": {},
    "code_execution": {},
    "enterprise_web_search": {},
}


def asked_with(*entries: object) -> list[Any]:
    model = ScriptedModel(["fine"])

    async def run() -> None:
        await Conversation(LlmAgent(name="a", model=model, tools=list(entries)), distribution="standard").send("hi")

    asyncio.run(run())
    return model.requests[0].config.tools or []


@pytest.mark.parametrize("name", NATIVE)
@pytest.mark.parametrize("package", [types, newel_types])
def test_a_tool_of_the_service_reaches_the_request_once(package: Any, name: str) -> None:
    entry = package.Tool.model_validate({name: NATIVE[name]})
    (sent,) = asked_with(entry, entry.model_copy())
    assert getattr(sent, name) is not None
    assert sent.model_dump(exclude_none=True) == {name: {}}


def test_it_stands_next_to_functions() -> None:
    def look() -> str:
        """Look."""
        return ""

    sent = asked_with(types.Tool(google_search=types.GoogleSearch()), look)
    assert any(tool.google_search for tool in sent)
    assert [one.name for tool in sent for one in tool.function_declarations or ()] == ["look"]


@pytest.mark.parametrize("package", [types, newel_types])
@pytest.mark.parametrize("within", [True, False])
def test_a_declaration_of_a_function_is_refused_with_the_remedy(package: Any, within: bool) -> None:
    declaration = package.FunctionDeclaration(name="look")
    entry = package.Tool(function_declarations=[declaration]) if within else declaration
    with pytest.raises(ConfigurationError, match=r"'look'.*give the function itself"):
        asked_with(entry)


def test_a_tool_that_says_nothing_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="without any field"):
        asked_with(types.Tool())
