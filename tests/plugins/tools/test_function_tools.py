"""Function tools: names, words, further arguments, and refusals that say what to do."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, Unpack

import pytest
from pydantic import Field

from newel import tool
from newel.agents import LlmAgent
from newel.models.scripted import ScriptedModel
from newel.testing import Conversation
from newel.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from newel_kernel import ConfigurationError
from newel_types import FunctionCall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from somewhere import Frame


def declared(entry: Any, distribution: str = "standard") -> Any:
    """The declaration as a model gets it in a turn."""
    model = ScriptedModel(["ok"])
    Conversation(LlmAgent(name="a", model=model, tools=[entry]), distribution=distribution).say("hi")
    (declaration,) = model.requests[0].config.tools[0].function_declarations
    return declaration


def result(entry: Any, distribution: str = "standard", **args: Any) -> Any:
    """What the tool of an agent answers to a call with `args`."""
    name = declared(entry, distribution).name
    model = ScriptedModel([FunctionCall(name=name, args=args), "ok"])
    agent = LlmAgent(name="a", model=model, tools=[entry])
    (answer,) = Conversation(agent, distribution=distribution).say("hi").results
    return answer["result"] if answer is not None and "result" in answer else answer


def brew(leaf: str, *additions: str, **minutes: int) -> str:
    """Brew tea.

    Args:
        leaf: Which tea.
        *additions: What goes in.

    Example:
        brew("oolong")
    """
    return f"{leaf} {additions} {minutes}"


# --- names ------------------------------------------------------------------------------------------------------------


class Grinder:
    def __call__(self, grams: int) -> int:
        """Grind beans."""
        return grams


@pytest.mark.parametrize(
    ("function", "name", "text"),
    [
        (lambda grams: grams, "lambda", ""),
        (Grinder(), "Grinder", "Grind beans."),
        (functools.partial(brew, "oolong"), "brew", brew.__doc__),
        (functools.partial(functools.partial(brew, "oolong"), milk=1), "brew", brew.__doc__),
        (functools.lru_cache(lambda grams: grams), "lambda", ""),
        (functools.partial(Grinder(), grams=3), "Grinder", "Grind beans."),
        (Grinder, "Grinder", ""),
    ],
    ids=["lambda", "object", "partial", "nested partial", "cached lambda", "partial of an object", "class"],
)
def test_the_name_and_the_words_of_what_is_no_function(function: Any, name: str, text: str) -> None:
    made = FunctionTool(function)
    assert (made.name, made.description.split()) == (name, (text or "").split())


def test_a_name_that_no_service_takes_is_spelt_so_that_it_does() -> None:
    def größe() -> int:
        return 1

    assert FunctionTool(größe).name.startswith("gr__e_")
    größe.__name__ = "2fast"
    assert FunctionTool(größe).name == "_2fast"


def test_two_lambdas_have_one_name_and_the_error_says_so() -> None:
    agent = LlmAgent(name="a", model=ScriptedModel(["ok"]), tools=[lambda x: x, lambda y: y])
    with pytest.raises(ConfigurationError, match=r"has two tools named 'lambda'.*rename one"):
        Conversation(agent).say("hi")


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda f: f, tool, FunctionTool, LongRunningFunctionTool])
def test_standard_puts_the_words_on_parameters_into_the_schema(make: Any) -> None:
    words = declared(make(brew))
    assert words.description.startswith('Brew tea.\n\nExample:\nbrew("oolong")')
    properties = words.parameters_json_schema["properties"]
    assert [properties[n]["description"] for n in ("leaf", "additions")] == ["Which tea.", "What goes in."]


def test_adk_describes_a_tool_by_its_whole_docstring_also_after_standard_did() -> None:
    shared = FunctionTool(brew)
    assert declared(shared).description.startswith("Brew tea.\n\nExample")
    words = declared(shared, "adk")
    assert "leaf: Which tea." in words.description
    assert words.parameters_json_schema == {
        "type": "object",
        "properties": {"leaf": {"type": "string"}},
        "required": ["leaf"],
    }
    assert "leaf: Which tea." not in declared(shared).description


def test_who_says_how_to_describe_is_not_overruled() -> None:
    assert "leaf: Which" in declared(FunctionTool(brew, describe_parameters=False)).description
    assert "leaf: Which" not in declared(FunctionTool(brew, describe_parameters=True), "adk").description


def test_what_annotations_say_goes_before_the_docstring() -> None:
    def pour(cups: Annotated[int, Field(ge=1, description="How many.")] = 1) -> int:
        """Pour.

        Args:
            cups: Some.
        """
        return cups

    (schema,) = declared(pour).parameters_json_schema["properties"].values()
    assert schema == {"type": "integer", "minimum": 1, "default": 1, "description": "How many."}


# --- further arguments ------------------------------------------------------------------------------------------------


def test_further_arguments_are_declared_and_passed() -> None:
    schema = declared(brew).parameters_json_schema
    assert schema["properties"]["additions"]["items"] == {"type": "string"}
    assert schema["additionalProperties"] == {"type": "integer"}
    assert schema["required"] == ["leaf"]
    assert result(brew, leaf="oolong", additions=["milk"], steep="3") == "oolong ('milk',) {'steep': 3}"
    assert "steep: Input should be a valid integer" in str(result(brew, leaf="oolong", steep="long"))


def test_adk_leaves_them_out() -> None:
    assert result(brew, "adk", leaf="oolong", additions=["milk"], steep=3) == "oolong () {}"


class Options(TypedDict, total=False):
    sugar: int
    cup: Annotated[Literal["small", "large"], Field(description="Its size.")]


def test_keywords_of_a_typed_dict_are_parameters() -> None:
    def serve(*where: *tuple[int, str], **options: Unpack[Options]) -> str:
        return f"{where} {sorted(options.items())}"

    properties = declared(serve).parameters_json_schema["properties"]
    assert properties["sugar"] == {"type": "integer"}
    assert properties["cup"]["enum"] == ["small", "large"]
    assert len(properties["where"]["prefixItems"]) == 2
    assert result(serve, where=[1, "a"], cup="small") == "(1, 'a') [('cup', 'small')]"
    assert "cup: Input should be" in str(result(serve, cup="bucket"))


def test_a_model_reaches_nothing_that_the_runtime_fills_in() -> None:
    class Pot:
        def serve(self, here: ToolContext, **more: Any) -> str:
            return f"{type(here).__name__} {more}"

    args = {"self": 1, "here": "x", "tool_context": "y", "input_stream": "z", "milk": True}
    assert result(Pot().serve, **args) == "Context {'milk': True}"


def test_parameters_by_position_have_their_defaults() -> None:
    def pour(a: int = 1, b: int = 2, /, c: int = 3, *rest: int, d: int = 4) -> list[int]:
        return [a, b, c, *rest, d]

    assert result(pour, b=5) == [1, 5, 3, 4]
    assert result(pour, rest=[7, 8], a=0) == [0, 2, 3, 7, 8, 4]
    assert result(pour, "adk", b=5, d=1) == [1, 5, 3, 1]


def test_a_field_as_a_default_is_the_default_that_it_holds() -> None:
    new_list: Any = Field(default_factory=list)

    def pour(cups: int = Field(2, le=5, description="How many."), into: list[str] = new_list) -> str:
        into.append("cup")
        return f"{cups} {into}"

    properties = declared(pour).parameters_json_schema["properties"]
    assert properties["cups"] == {"type": "integer", "maximum": 5, "default": 2, "description": "How many."}
    assert properties["into"]["default"] == []
    assert [result(pour), result(pour, cups=1)] == ["2 ['cup']", "1 ['cup']"]
    assert "less than or equal to 5" in str(result(pour, cups=9))


def test_null_where_the_default_is_none() -> None:
    def pour(cups: int = None) -> str:  # type: ignore[assignment]  # noqa: RUF013 - as people write it
        return str(cups)

    assert declared(pour).parameters_json_schema["properties"]["cups"]["anyOf"][1] == {"type": "null"}
    assert [result(pour, cups=None), result(pour), result(pour, cups="2")] == ["None", "None", "2"]


# --- annotations ------------------------------------------------------------------------------------------------------


def test_annotations_for_type_checkers_only() -> None:
    def pour(names: Sequence[str], frame: Frame, here: ToolContext, there: int) -> str:
        return f"{names} {frame} {type(here).__name__} {there}"

    properties = declared(pour).parameters_json_schema["properties"]
    assert properties == {
        "names": {"type": "array", "items": {"type": "string"}},
        "frame": {},
        "there": {"type": "integer"},
    }
    assert result(pour, names=["a"], frame=1, there="2") == "['a'] 1 Context 2"


def test_annotations_of_a_function_within_another() -> None:
    class Cup(TypedDict):
        size: int

    def pour(cup: Cup) -> str:
        return str(cup)

    def caller() -> Callable[..., str]:
        def inner(cup: Cup) -> str:
            return f"{cup} {Cup.__name__}"

        return inner

    schema = declared(caller()).parameters_json_schema
    assert schema["$defs"]["Cup"]["required"] == ["size"]
    assert result(pour, cup={"size": 1}) == "{'size': 1}"


class Engine:
    pass


def test_a_parameter_that_json_cannot_say_is_left_out_where_it_has_a_default() -> None:
    def start(engine: Engine | None = None, hook: Callable[[int], int] = abs, power: float = math.nan) -> str:
        return f"{engine} {hook(-1)} {power}"

    assert declared(start).parameters_json_schema["properties"] == {"power": {"type": "number"}}
    assert result(start, engine="x", hook="y") == "None 1 nan"


def test_the_refusal_of_one_without_a_default_names_it() -> None:
    def start(engine: Engine, hook: Callable[[int], int], power: int) -> None:
        pass

    with pytest.raises(ConfigurationError, match=r"the tool 'start' .*engine: Engine .*; hook: Callable.*; annotate"):
        declared(start)


@pytest.mark.parametrize("function", [max, dict.fromkeys, operator.itemgetter(1)], ids=["max", "fromkeys", "getter"])
def test_what_has_no_signature_is_refused(function: Any) -> None:
    try:
        declared(function)
    except ConfigurationError as error:
        assert "write a function that calls it" in str(error)  # noqa: PT017 - newer Pythons know the signature of some
