"""finish_task: its declaration, its instruction, what it says of wrong arguments."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from newel.agents.llm.task import FinishTaskTool, TaskRequest, TaskResult, _DefaultTaskInput, _DefaultTaskOutput
from newel.agents.llm.task._finish_task_tool import FINISH_TASK_SUCCESS_RESULT, FINISH_TASK_TOOL_NAME
from newel.agents.llm.task._finish_task_tool import FinishTaskTool as UnderItsPrivateName
from newel.agents.llm.task._task_models import TaskRequest as RequestUnderItsPrivateName
from newel_kernel import LlmRequest


class Source(BaseModel):
    url: str


class Report(BaseModel):
    summary: str
    sources: list[Source] = []


def tool_for(schema: Any) -> FinishTaskTool:
    return FinishTaskTool(SimpleNamespace(output_schema=schema))


def parameters(schema: Any) -> dict[str, Any]:
    return tool_for(schema)._get_declaration().parameters_json_schema


def call(schema: Any, **args: Any) -> Any:
    return asyncio.run(tool_for(schema).run_async(args=args, tool_context=None))


def test_the_names_of_the_specification() -> None:
    assert UnderItsPrivateName is FinishTaskTool
    assert RequestUnderItsPrivateName is TaskRequest
    assert tool_for(None).name == FINISH_TASK_TOOL_NAME == "finish_task"


def test_the_wire_models_take_both_spellings() -> None:
    request = TaskRequest(agent_name="a", input={"g": 1})
    assert TaskRequest.model_validate({"agentName": "a", "input": {"g": 1}}) == request
    assert TaskResult(output=[1]).model_dump(by_alias=True) == {"output": [1]}
    assert _DefaultTaskInput().model_dump() == {"goal": None, "background": None}
    with pytest.raises(ValidationError):
        _DefaultTaskOutput.model_validate({"result": "r", "more": 1})


def test_an_object_is_declared_as_it_is() -> None:
    declared = parameters(Report)
    assert list(declared["properties"]) == ["summary", "sources"]
    assert declared["required"] == ["summary"]
    assert "Source" in declared["$defs"]


def test_without_a_schema_the_result_is_a_text() -> None:
    assert parameters(None)["properties"].keys() == {"result"}
    assert call(None, result="r") == FINISH_TASK_SUCCESS_RESULT


@pytest.mark.parametrize(("schema", "value"), [(int, 5), (str, "x"), (list[int], [1]), (int | None, None)])
def test_what_is_no_object_is_the_parameter_result(schema: Any, value: Any) -> None:
    declared = parameters(schema)
    assert (declared["type"], list(declared["properties"]), declared["required"]) == ("object", ["result"], ["result"])
    assert call(schema, result=value) == FINISH_TASK_SUCCESS_RESULT
    assert tool_for(schema).output({"result": value}) == value


def test_definitions_are_hoisted() -> None:
    declared = parameters(list[Source])
    assert declared["$defs"].keys() == {"Source"}
    assert declared["properties"]["result"]["items"] == {"$ref": "#/$defs/Source"}


def test_a_schema_that_is_json_is_declared_and_taken_as_it_is() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    assert parameters(schema) == schema
    assert tool_for(schema).output({"n": 1}) == {"n": 1}
    assert tool_for({"type": "string"}).output({"result": "x"}) == "x"


def test_wrong_arguments_are_an_error_that_asks_for_another_attempt() -> None:
    error = call(Report, sources="none")["error"]
    assert error.startswith("Invoking `finish_task()` failed due to validation errors:\n2 validation errors for ")
    assert error.endswith(
        "\nYou could retry calling this tool, but it is IMPORTANT for you to provide all the mandatory parameters "
        "with correct types."
    )
    assert "error" in call(int)


def test_the_output_is_plain_validated_data() -> None:
    assert tool_for(Report).output({"summary": "s", "unknown": 1}) == {"summary": "s", "sources": []}


def test_the_request_is_told_when_to_finish() -> None:
    request = LlmRequest()
    asyncio.run(tool_for(None).process_llm_request(tool_context=None, llm_request=request))
    assert request.config.system_instruction.startswith(
        "Do NOT call `finish_task` prematurely. Use your available tools to fully complete every aspect of the "
        "delegated task first"
    )
    assert list(request.tools_dict) == ["finish_task"]


class Aliased(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)

    best_price: int
    seen_at: Source | None = None


@pytest.mark.parametrize(
    ("schema", "args"),
    [
        (Aliased, {"bestPrice": 3, "seenAt": {"url": "u"}}),
        (list[Aliased], {"result": [{"bestPrice": 3, "seenAt": None}]}),
        (dict[str, Aliased], {"a": {"bestPrice": 3, "seenAt": None}}),
    ],
)
def test_the_output_has_the_names_by_which_it_is_validated_again(schema: Any, args: dict[str, Any]) -> None:
    output: Any = tool_for(schema).output(args)
    assert output == args.get("result", args)
    TypeAdapter(schema).validate_python(output)
