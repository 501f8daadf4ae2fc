"""Documents of a stranger: broken, hostile or of another kind. One error says what is wrong, and nothing is fetched."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newel.openapi import DocumentError, OpenAPIToolset, RestApiTool
from newel.tools.openapi_tool.openapi_spec_parser import OpenApiSpecParser, OperationParser, ParsedOperation

HEAD = "openapi: 3.0.0\ninfo: {title: T, version: '1'}\nservers: [{url: https://api.example}]\n"
ONE = HEAD + "paths: {/a: {get: {operationId: op, responses: {200: {description: ok}}}}}\n"


def of(text: str) -> OpenAPIToolset:
    return OpenAPIToolset(spec_str=text, spec_str_type="yaml")


def all_of(text: str) -> None:
    toolset = of(text)
    for name in toolset._tools:
        toolset.get_tool(name)


def with_schema(schema: Any, version: str = "3.1.0", **components: Any) -> OpenAPIToolset:
    body = {"content": {"application/json": {"schema": schema}}}
    return OpenAPIToolset(
        spec_dict={
            "openapi": version,
            "servers": [{"url": "https://api.example"}],
            "paths": {"/a": {"post": {"operationId": "op", "requestBody": body}}},
            "components": {"schemas": components},
        }
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("openapi: [", r"not valid YAML: line \d+, column \d+"),
        ("openapi: 3.0.0\nopenapi: 3.1.0", r"line 2, column 1: the key 'openapi' stands twice"),
        ("- a\n- b", "must be a mapping, not list"),
        ("", "must be a mapping, not NoneType"),
        ("swagger: '2.0'", "is Swagger 2.0; convert it to OpenAPI 3"),
        ("info: {}", "the field `openapi` is None"),
        ("openapi: 2.9.9", "must be a version of OpenAPI 3"),
        ("openapi: !!python/object/apply:os.system ['true']", "could not determine a constructor"),
        ("openapi: 3.0.0\npaths: []", "`paths` must be a mapping, not list"),
        ("openapi: 3.0.0\npaths: {/a: {get: {}}}", "the server '/' is relative; pass server="),
        (HEAD.replace("https://api.example", "ftp://api.example"), "neither http nor https"),
        (HEAD.replace("https://api.example", "https://u:p@api.example"), "holds a user name or a password"),
        (HEAD.replace("https://api.example", "'https://{host}'"), "nothing describes the variable 'host'"),
        ("openapi: &a {x: *a}", "aliases of the document"),
        ("a: " + "[" * 5000 + "]" * 5000, "nest"),
        ("openapi: 3.0.0\nx: " + "9" * 5000, "not valid YAML"),
    ],
)
def test_a_broken_document_is_one_error(text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        all_of(text)


def test_aliases_that_blow_up_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    began = time.monotonic()
    with pytest.raises(DocumentError, match="lead to too many values"):
        of("\n".join(lines))
    assert time.monotonic() - began < 20


def test_json_that_is_yaml_says_so() -> None:
    with pytest.raises(DocumentError, match="pass spec_str_type='yaml'"):
        OpenAPIToolset(spec_str=ONE)
    with pytest.raises(DocumentError, match="one of spec_dict, spec_str and spec_file"):
        OpenAPIToolset()


def test_words_of_yaml_1_1_are_texts() -> None:
    text = ONE.replace(
        "responses:",
        "parameters: [{name: x, in: query, schema: {type: string, enum: [no, 2020-01-01, 010, 1:30, on]}}], responses:",
    )
    tool = of(text).get_tool("op")
    assert tool is not None
    schema = tool._get_declaration().parameters_json_schema
    assert schema["properties"]["x"]["enum"] == ["no", "2020-01-01", "010", "1:30", "on"]


@pytest.mark.parametrize(
    "reference",
    [
        "file:///etc/passwd",
        "http://169.254.169.254/latest/meta-data",
        "https://api.example/schemas.json#/Pet",
        "other.yaml#/Pet",
        "../../secret.json",
        "//evil.example/x",
        "#/components/schemas/Nowhere",
        "#/components/schemas/Pet/0/x",
        "#anchor",
        "#/servers/99999999999999999999",
    ],
)
@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_a_reference_that_leads_out_or_nowhere_is_refused_and_not_followed(
    reference: str, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> Any:
        raise AssertionError("something was fetched")

    monkeypatch.setattr(socket, "getaddrinfo", never)
    inner = {"type": "object", "properties": {"deep": {"type": "array", "items": {"$ref": reference}}}}
    toolset = with_schema({"$ref": "#/components/schemas/Outer"}, version, Outer=inner, Pet=[])
    assert asyncio.run(toolset.get_tools()) == []
    with pytest.raises(DocumentError, match=r"POST /a: .*(leads out|leads nowhere|must begin with)"):
        toolset.get_tool("op")


def test_references_in_a_circle_without_a_value_are_refused() -> None:
    one, two = {"$ref": "#/components/schemas/B"}, {"$ref": "#/components/schemas/A"}
    with pytest.raises(DocumentError, match="lead in a circle"):
        with_schema({"$ref": "#/components/schemas/A"}, A=one, B=two).get_tool("op")


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ({"parameters": {"name": "x"}}, "`parameters` must be a list"),
        ({"parameters": [{"name": "x", "in": "body"}]}, "the parameter 'x' in 'body'"),
        ({"parameters": [{"name": "x\r\nEvil: 1", "in": "header"}]}, "cannot be the name of a header"),
        ({"parameters": [{"name": "x", "in": "path", "style": "form"}]}, "has the style 'form'"),
        ({"requestBody": {"content": {"application/json": {"schema": ["x"]}}}}, "expected a mapping, not list"),
        ({"security": {"key": []}}, "`security` must be a list"),
        ({"security": [{"key": []}]}, "asks for key; none of these can be used"),
        ({"servers": [{"url": "https://api.example/?x=1"}]}, r"must have neither \? nor #"),
    ],
)
def test_a_broken_operation_is_named(operation: dict[str, Any], message: str) -> None:
    paths = {"/a": {"get": {"operationId": "op", **operation}}}
    toolset = OpenAPIToolset(
        spec_dict={"openapi": "3.1.0", "servers": [{"url": "https://api.example"}], "paths": paths}
    )
    with pytest.raises(DocumentError, match=f"GET /a.*{message}"):
        toolset.get_tool("op")


def test_a_path_without_a_parameter_for_it_is_named() -> None:
    with pytest.raises(DocumentError, match=r"GET /a/\{x\}: no parameter describes x"):
        of(ONE.replace("/a:", "'/a/{x}':")).get_tool("op")


WORDS = ("$ref", "type", "properties", "items", "allOf", "anyOf", "required", "schema", "name", "in", "content", "url")
WORDS += (
    "parameters",
    "enum",
    "get",
    "post",
    "application/json",
    "/a/{x}",
    "requestBody",
    "security",
    "servers",
    "style",
)
WORDS += ("explode", "additionalProperties")
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "x", "path", "#/paths", "#/components/schemas/A"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=400, deadline=None)
@given(st.fixed_dictionaries({}, optional={"paths": PLAIN, "components": PLAIN, "security": PLAIN, "servers": PLAIN}))
def test_whatever_a_document_holds_is_read_or_refused(parts: dict[str, Any]) -> None:
    """Nothing but a DocumentError comes out of any document."""
    try:
        toolset = OpenAPIToolset(spec_dict={"openapi": "3.0.0", "servers": [{"url": "https://api.example"}], **parts})
        tools = asyncio.run(toolset.get_tools())
    except DocumentError:
        return
    for tool in tools:
        assert tool._get_declaration() is not None


@settings(max_examples=400, deadline=None)
@given(PLAIN, PLAIN)
def test_whatever_an_operation_holds_is_read_or_left_out(operation: Any, schema: Any) -> None:
    described = {"operationId": "op", **(operation if isinstance(operation, dict) else {})}
    toolset = OpenAPIToolset(
        spec_dict={
            "openapi": "3.0.0",
            "servers": [{"url": "https://api.example"}],
            "paths": {"/a/{x}": {"get": described}},
            "components": {"schemas": {"A": schema}},
        }
    )
    for tool in asyncio.run(toolset.get_tools()):
        assert tool._get_declaration() is not None


@settings(max_examples=400, deadline=None)
@given(PLAIN, PLAIN, PLAIN)
def test_whatever_an_operation_holds_is_parsed_by_itself_or_refused(operation: Any, shared: Any, schema: Any) -> None:
    """Nothing but a DocumentError comes out of the parsers, and what they parse is a tool."""
    path = {"parameters": shared, "get": {"operationId": "op", **(operation if isinstance(operation, dict) else {})}}
    document = {
        "openapi": "3.0.0",
        "servers": [{"url": "https://api.example"}],
        "paths": {"/a": path},
        "components": {"schemas": {"A": schema}},
    }
    try:
        for one in OpenApiSpecParser().parse(document):
            kept = ParsedOperation.model_validate_json(one.model_dump_json(by_alias=True))
            assert RestApiTool.from_parsed_operation(kept)._get_declaration() is not None
            assert OperationParser(kept.operation, document=kept.document).get_json_schema()["type"] == "object"
    except DocumentError:
        return
