"""What the fields of agents may hold, as type checkers see it. At run time each field's own validator says more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from pydantic import AfterValidator, BeforeValidator

from newel.agents.instruction_provider import instruction_problem
from newel.contexts.generics import DepsIn, Out
from newel.tools.annotations import note_locals
from newel.tools.structured_output import schema_problem
from newel_kernel import BaseTool, BaseToolset
from newel_types import GenerateContentConfig, as_plain

_OWN_FIELDS = {
    "tools": "LlmAgent.tools",
    "system_instruction": "LlmAgent.instruction",
    "response_schema": "LlmAgent.output_schema",
}


class _Checked:
    """An annotation whose parameters, as in ``Instruction[Deps]``, change nothing."""

    def __init__(self, annotation: Any) -> None:
        self.annotation = annotation

    def __getitem__(self, parameters: object) -> Any:
        return self.annotation


def _without_fields_of_requests(value: object) -> GenerateContentConfig | None:
    config = GenerateContentConfig.model_validate(as_plain(value)) if value is not None else None
    for field, instead in _OWN_FIELDS.items():
        if config is not None and getattr(config, field):
            raise ValueError(f"generate_content_config.{field} must not be set: use {instead}")
    return config


def _instruction(value: object) -> object:
    if (problem := instruction_problem(value)) is not None:
        raise ValueError(problem)
    return value


def no_classes(tools: list[ToolLike]) -> list[ToolLike]:
    """`tools`; ValueError if a class stands for a tool."""
    for entry in tools:
        note_locals(entry)
        if isinstance(entry, type) and issubclass(entry, (BaseTool, BaseToolset)):
            raise ValueError(f"{entry.__name__} is a class of tools: give an instance, {entry.__name__}(...)")
    return tools


def _schema(value: object) -> object:
    if (problem := schema_problem(value)) is not None:
        raise ValueError(problem)
    return value


def _class(value: object) -> object:
    if value is not None and not isinstance(value, type):
        raise ValueError(f"deps_type takes a class, not {value!r}")
    return value


if TYPE_CHECKING:
    from newel.code_executors import BaseCodeExecutor
    from newel.contexts.context import Context
    from newel.contexts.readonly_context import ReadonlyContext
    from newel.models.llm_request import LlmRequest
    from newel.planners import BasePlanner
    from newel_kernel import LlmResponse
    from newel_types import Content, Part, Schema

    T = TypeVar("T")
    F = TypeVar("F")
    _Soon: TypeAlias = T | Awaitable[T]
    _OneOrMore: TypeAlias = F | list[F]
    _Content: TypeAlias = Content | None
    _Response: TypeAlias = LlmResponse | None
    _Result: TypeAlias = dict[str, Any] | None

    Instruction: TypeAlias = str | Callable[[ReadonlyContext[DepsIn]], _Soon[str]]
    StaticInstruction: TypeAlias = str | Content | Part | list[str | Part] | Mapping[str, Any]
    ToolLike: TypeAlias = Callable[..., object] | BaseTool | BaseToolset
    InputSchema: TypeAlias = type[Any] | UnionType | Schema | Mapping[str, Any]
    OutputSchema: TypeAlias = type[Out] | Schema | Mapping[str, Any]
    GenerateConfig: TypeAlias = GenerateContentConfig
    DepsType: TypeAlias = type[DepsIn]
    Planner: TypeAlias = BasePlanner
    CodeExecutor: TypeAlias = BaseCodeExecutor

    AgentCallback: TypeAlias = _OneOrMore[Callable[[Context[DepsIn]], _Soon[_Content]]]
    BeforeModel: TypeAlias = _OneOrMore[Callable[[Context[DepsIn], LlmRequest], _Soon[_Response]]]
    AfterModel: TypeAlias = _OneOrMore[Callable[[Context[DepsIn], LlmResponse], _Soon[_Response]]]
    OnModelError: TypeAlias = _OneOrMore[Callable[[Context[DepsIn], LlmRequest, Exception], _Soon[_Response]]]
    BeforeTool: TypeAlias = _OneOrMore[Callable[[BaseTool, dict[str, Any], Context[DepsIn]], _Soon[_Result]]]
    AfterTool: TypeAlias = _OneOrMore[Callable[[BaseTool, dict[str, Any], Context[DepsIn], Any], _Soon[_Result]]]
    OnToolError: TypeAlias = _OneOrMore[
        Callable[[BaseTool, dict[str, Any], Context[DepsIn], Exception], _Soon[_Result]]
    ]
else:
    Instruction = _Checked(Annotated[object, AfterValidator(_instruction)])
    InputSchema = Annotated[object, AfterValidator(_schema)]
    OutputSchema = _Checked(InputSchema)
    GenerateConfig = Annotated[GenerateContentConfig, BeforeValidator(_without_fields_of_requests)]
    ToolLike = StaticInstruction = Planner = CodeExecutor = object
    DepsType = _Checked(Annotated[object, AfterValidator(_class)])
    AgentCallback = BeforeModel = AfterModel = OnModelError = BeforeTool = AfterTool = OnToolError = _Checked(object)
