"""The bases of the wire types, the unions a configuration reads, and what importing the package loads."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import ValidationError

import newel_types as types
from newel_types import (
    CitationMetadata,
    Content,
    File,
    FinishReason,
    FunctionDeclaration,
    GenerateContentConfig,
    Part,
    Schema,
    ServiceTier,
    SpeechConfig,
    ThinkingConfig,
    Tool,
    ToolConfig,
)


def wire(obj: Any) -> Any:
    return json.loads(obj.model_dump_json(by_alias=True, exclude_none=True))


def loaded_by(code: str) -> set[str]:
    """The modules of the package that a fresh interpreter has loaded after `code`."""
    code += "\nimport sys; print(*(m.rpartition('.')[2] for m in sys.modules if m.startswith('newel_types.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


# --- enums ----------------------------------------------------------------------------------------


def test_an_enum_is_looked_up_in_any_case() -> None:
    assert FinishReason("stop") is FinishReason.STOP
    assert ServiceTier("FLEX") is ServiceTier("flex") is ServiceTier.FLEX


def test_an_unknown_value_keeps_its_string() -> None:
    reason = FinishReason("TIRED")
    assert reason == "TIRED"
    assert reason == FinishReason("TIRED")
    assert hash(reason) == hash(FinishReason("TIRED"))
    assert (reason.name, reason.value) == ("TIRED", "TIRED")
    assert isinstance(reason, FinishReason)
    assert reason not in list(FinishReason)
    assert copy.deepcopy(reason) == pickle.loads(pickle.dumps(reason)) == reason
    assert json.dumps(reason) == '"TIRED"'


def test_a_value_that_is_no_string_is_refused() -> None:
    with pytest.raises(ValueError, match="5"):
        FinishReason(5)


def test_an_unknown_value_survives_in_a_model() -> None:
    config = GenerateContentConfig.model_validate({"thinkingConfig": {"thinkingLevel": "ASTRAL"}})
    assert wire(config) == {"thinkingConfig": {"thinkingLevel": "ASTRAL"}}


# --- configuration --------------------------------------------------------------------------------


def test_late_fields_take_instances_dicts_and_refuse_the_rest() -> None:
    mine = ToolConfig.model_validate({"functionCallingConfig": {"mode": "any"}})
    config = GenerateContentConfig(tool_config=mine)
    assert config.tool_config is mine
    assert GenerateContentConfig.model_validate(wire(config)) == config
    with pytest.raises(ValidationError, match=r"toolConfig.*madeUp"):
        GenerateContentConfig.model_validate({"toolConfig": {"madeUp": 1}})
    with pytest.raises(ValidationError, match="tool_config"):
        GenerateContentConfig.model_validate({"tool_config": 5})


def test_a_nested_error_names_the_whole_path() -> None:
    with pytest.raises(ValidationError) as caught:
        GenerateContentConfig.model_validate({"toolConfig": {"functionCallingConfig": {"allowedFunctionNames": 5}}})
    location = caught.value.errors()[0]["loc"]
    assert location == ("toolConfig", "functionCallingConfig", "allowedFunctionNames")


def test_a_misspelt_option_is_refused() -> None:
    with pytest.raises(ValidationError, match="temprature"):
        GenerateContentConfig.model_validate({"temprature": 0.5})


def test_a_late_value_that_was_never_validated_is_dumped() -> None:
    config = GenerateContentConfig.model_construct(speech_config=SpeechConfig.model_construct(language_code="de"))
    assert wire(config) == {"speechConfig": {"languageCode": "de"}}


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("be brief", "be brief"),
        ({"text": "hi"}, Part(text="hi")),
        ({"inlineData": {"data": "AP8="}}, Part.model_validate({"inlineData": {"data": "AP8="}})),
        ({"parts": [{"text": "hi"}], "role": "user"}, Content(role="user", parts=[Part(text="hi")])),
        ({}, Content()),
        ({"uri": "u", "mimeType": "a/b"}, File(uri="u", mime_type="a/b")),
        (["a", {"text": "b"}], ["a", Part(text="b")]),
        (Content(role="x"), Content(role="x")),
    ],
)
def test_a_system_instruction_is_read_by_its_keys(given: Any, read: Any) -> None:
    config = GenerateContentConfig(system_instruction=given)
    assert config.system_instruction == read
    assert GenerateContentConfig.model_validate_json(config.model_dump_json(exclude_none=True)) == config


def test_a_wrong_system_instruction_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"system_instruction.*text"):
        GenerateContentConfig.model_validate({"system_instruction": {"text": 5}})


def test_an_unknown_key_does_not_turn_a_part_into_something_else() -> None:
    data = {"systemInstruction": {"text": "hi", "newField": {"x": 1}}}
    config = GenerateContentConfig.model_validate(data)
    assert isinstance(config.system_instruction, Part)
    assert wire(config) == data


def test_tools_are_read_where_they_are_tools() -> None:
    def callable_tool() -> None: ...

    class Foreign:
        name = "x"

    foreign = Foreign()
    config = GenerateContentConfig(tools=[{"google_search": {}}, callable_tool, foreign, Tool(), dict])
    assert isinstance(config.tools, list)
    assert wire(config.tools[0]) == {"googleSearch": {}}
    assert config.tools[1:] == [callable_tool, foreign, Tool(), dict]
    with pytest.raises(ValidationError, match="madeUp"):
        GenerateContentConfig(tools=[{"madeUp": 1}])


def test_foreign_tools_become_ours() -> None:
    genai = pytest.importorskip("google.genai").types
    declaration = genai.FunctionDeclaration(name="f", parameters=genai.Schema(type="OBJECT"))
    config = GenerateContentConfig(tools=[genai.Tool(function_declarations=[declaration])])
    ours = FunctionDeclaration.model_validate({"name": "f", "parameters": {"type": "OBJECT"}})
    assert config.tools == [Tool(function_declarations=[ours])]


class Answer(Schema):
    """Any pydantic class would do."""


@pytest.mark.parametrize(
    "schema", [{"type": "object"}, Answer, list[Answer], dict[str, int], int | None, list[int] | str, Literal["a", "b"]]
)
def test_a_response_schema_stays_as_it_is(schema: Any) -> None:
    assert GenerateContentConfig(response_schema=schema).response_schema is schema


def test_a_response_schema_is_read_from_a_foreign_schema() -> None:
    genai = pytest.importorskip("google.genai").types
    theirs = genai.Schema(type="OBJECT", properties={"a": genai.Schema(type="STRING")})
    config = GenerateContentConfig(response_schema=theirs)
    assert config.response_schema == Schema(type="OBJECT", properties={"a": Schema(type="STRING")})


def test_copies_of_a_configuration() -> None:
    config = GenerateContentConfig(system_instruction=Content(role="x"), thinking_config=ThinkingConfig())
    assert config.model_copy() == config
    twin = config.model_copy(deep=True, update={"temperature": 0.1})
    twin.system_instruction.role = "y"
    assert (config.system_instruction.role, config.temperature) == ("x", None)


def test_the_older_name_of_citations_is_read() -> None:
    metadata = CitationMetadata.model_validate({"citationSources": [{"uri": "u"}]})
    assert wire(metadata) == {"citations": [{"uri": "u"}]}


# --- the package ----------------------------------------------------------------------------------


def test_exports() -> None:
    for name in types.__all__:
        assert getattr(types, name) is not None
    assert set(types.__all__) - {"GENAI_NAMES"} <= set(dir(types))
    with pytest.raises(AttributeError, match="NoSuchType"):
        types.NoSuchType  # noqa: B018


def test_the_stub_and_the_exports_agree() -> None:
    tree = ast.parse(Path(types.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imported = {
        alias.name: node.module.rpartition(".")[2]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("newel_types.")
        for alias in node.names
    }
    assert imported == {name: place.partition(":")[0].rpartition(".")[2] for name, place in types._PLACES.items()}
    assert sorted([*imported, "GENAI_NAMES"]) == types.__all__


def test_importing_the_package_loads_no_types() -> None:
    assert loaded_by("import newel_types") == {"deprecation", "exports"}  # no types among them


def test_an_ordinary_text_turn_loads_few_modules() -> None:
    code = (
        "from newel_types import Content, Part, GenerateContentConfig, Tool, FunctionDeclaration\n"
        "from newel_types import FinishReason, GenerateContentResponseUsageMetadata\n"
        "GenerateContentConfig(temperature=.5, system_instruction='x')\n"
        "Content.model_validate({'parts': [{'text': 'a'}]}).model_dump_json()"
    )
    few = {
        "config",
        "content",
        "deprecation",
        "exports",
        "field_errors",
        "places",
        "secret_names",
        "media",
        "model_plugins",
        "reasons",
        "records",
    }
    few |= {"schema", "sparse", "tools", "unions", "usage", "wire"}
    assert loaded_by(code) <= few


def test_the_kernel_s_types_do_not_import_google_genai() -> None:
    code = "import newel_types as types\nfor name in types.__all__: getattr(types, name)\n"
    code += "import sys; assert not any(m.startswith('google') for m in sys.modules)"
    assert "live" in loaded_by(code)
