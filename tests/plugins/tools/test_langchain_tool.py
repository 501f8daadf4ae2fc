"""LangChain's tools by their looks: objects of our own with the same attributes."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field

from newel.agents import LlmAgent
from newel.models.scripted import ScriptedModel
from newel.tools import LangchainTool
from newel_kernel import ConfigurationError
from newel_types import FunctionCall


class Args(BaseModel):
    """The arguments."""

    city: str = Field(description="which city")


class Weather:
    name = "weather"
    description = "The weather."
    args_schema: Any = Args

    def invoke(self, given: Any) -> Any:
        return {"got": given}

    def __call__(self, given: str) -> str:
        raise AssertionError("deprecated: the adapter invokes")


class Async(Weather):
    async def ainvoke(self, given: Any) -> str:
        return f"async {given}"


class Text(Weather):
    args_schema = None


def result(talk: Any, tool: Any, args: dict[str, Any], name: str = "weather") -> tuple[Any, Any]:
    model = ScriptedModel([FunctionCall(name=name, args=args), "ok"])
    events = talk(LlmAgent(name="root", model=model, tools=[tool])).say("tea")
    (declared,) = model.requests[0].config.tools[0].function_declarations
    return events[1].get_function_responses()[0].response, declared


def test_a_tool_in_an_agents_list_is_adapted_although_it_is_callable(talk: Any) -> None:
    response, declared = result(talk, Weather(), {"city": "Oslo"})
    assert response == {"got": {"city": "Oslo"}}
    assert (declared.name, declared.description) == ("weather", "The weather.")
    assert declared.parameters_json_schema == {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "which city"}},
        "required": ["city"],
    }


def test_the_asynchronous_way_is_preferred(talk: Any) -> None:
    assert result(talk, Async(), {"city": "Rome"})[0] == {"result": "async {'city': 'Rome'}"}


def test_a_tool_without_a_schema_takes_one_text(talk: Any) -> None:
    response, declared = result(talk, Text(), {"input": "Rome"})
    assert response == {"got": "Rome"}
    assert declared.parameters_json_schema["required"] == ["input"]


def test_the_wrapper_may_rename(talk: Any) -> None:
    tool = LangchainTool(Weather(), name="sky", description="The sky.")
    assert result(talk, tool, {"city": "x"}, "sky")[1].description == "The sky."
    assert tool.__newel_origin__.endswith("Weather 'weather'")


class Injected(Args):
    """As LangChain has it: `args_schema` has all arguments, `tool_call_schema` those of the model."""

    user_id: str = "nobody"


class Owned(Weather):
    args_schema: Any = Injected
    tool_call_schema: Any = Args


def test_the_model_neither_sees_nor_sets_what_is_injected(talk: Any) -> None:
    response, declared = result(talk, Owned(), {"city": "Oslo", "user_id": "eve"})
    assert response == {"got": {"city": "Oslo"}}
    assert list(declared.parameters_json_schema["properties"]) == ["city"]


@pytest.mark.parametrize("entry", [object(), Weather, print])
def test_what_does_not_look_like_one_is_refused(entry: Any) -> None:
    with pytest.raises(ConfigurationError, match="is not a LangChain tool"):
        LangchainTool(entry)
