"""Arguments of a model that errs or means harm: an error result that says what to do, and nothing is sent."""

from __future__ import annotations

from base64 import b64encode
from typing import Any
from urllib.parse import unquote

import pytest

from newel.openapi.schemas import is_quick
from newel_testkit import RestServer


def parameter(name: str, where: str, **schema: Any) -> dict[str, Any]:
    more = {key: schema.pop(key) for key in ("style", "explode", "required", "allowReserved") if key in schema}
    return {"name": name, "in": where, **more, "schema": schema or {"type": "string"}}


def body(schema: dict[str, Any], media: str = "application/json", **more: Any) -> dict[str, Any]:
    return {"requestBody": {"content": {media: {"schema": schema}}, **more}}


@pytest.mark.parametrize(
    ("described", "value", "message"),
    [
        (parameter("x", "query", type="integer"), "five", "x: 'five' is not of type 'integer'"),
        pytest.param(parameter("x", "query", type="integer"), 10**5000, "has no form in JSON", id="huge"),
        (parameter("x", "query", type="number"), float("inf"), "has no form in JSON"),
        (parameter("x", "query", type="number"), float("nan"), "has no form in JSON"),
        (parameter("x", "query", type="string", enum=["a"]), "b", r"x: 'b' is not one of \['a'\]"),
        (parameter("x", "query", type="string", pattern="^a+$"), "b", r"'b' does not match '\^a\+\$'"),
        (parameter("x", "query"), "\ud800", "half a character"),
        (parameter("x", "query", type="array"), [["nested"]], "x: an object or a list cannot stand here"),
        (parameter("x", "query", type="array"), [None], "x: null cannot stand here"),
        (parameter("x", "query", type="object", style="deepObject"), {"a][b": 1}, "holds a bracket"),
        (parameter("x", "query", type="array", style="pipeDelimited", explode=False), ["a|b"], "separates the items"),
        (parameter("x", "header"), "a\r\nEvil: 1", "the header x: a value has printable ASCII characters alone"),
        (parameter("x", "header"), "a\x00b", "the header x"),
        (parameter("x", "header"), "ü", "the header x"),
        (parameter("x", "header", type="array"), ["a,b"], "separates the items"),
    ],
)
def test_a_value_that_cannot_be_sent_is_an_error_result(
    rest: RestServer, of: Any, call: Any, context: Any, described: dict[str, Any], value: Any, message: str
) -> None:
    result = call(of(rest, {"parameters": [described]}), "op", {"x": value}, context)
    assert set(result) == {"error"}
    assert message.replace("\\", "") in result["error"]
    assert not rest.requests


@pytest.mark.parametrize(
    "value",
    ["..", ".", "../admin", "a/../../b", "%2e%2e", "%252e%252e%252f", "..\\admin", "a/./b", "..%2f", "x/..", ""],
)
@pytest.mark.parametrize("style", ["simple", "label", "matrix"])
def test_a_value_stays_within_its_segment(rest: RestServer, of: Any, call: Any, value: str, style: str) -> None:
    toolset = of(
        rest, {"parameters": [parameter("x", "path", type="string", required=True, style=style)]}, "/files/{x}"
    )
    result = call(toolset, "op", {"x": value})
    for one in rest.requests:  # ``.a`` and ``;x=a`` are no steps; what is sent has one segment below /files
        assert one.path.startswith("/files/")
        assert one.path.count("/") == 2
        assert style != "simple"
    assert rest.requests or "error" in result


@pytest.mark.parametrize(
    "value", ["a?admin=1", "a#b", "a&b=c", "a;b=c", "a\r\nHost: evil", "http://evil.example/", "@evil", "a%00"]
)
@pytest.mark.parametrize("where", ["path", "query", "cookie"])
def test_a_value_never_becomes_another_part_of_the_request(
    rest: RestServer, of: Any, call: Any, value: str, where: str
) -> None:
    path = "/x/{v}" if where == "path" else "/x"
    toolset = of(rest, {"parameters": [parameter("v", where, type="string", required=True)]}, path)
    assert call(toolset, "op", {"v": value}) == {"ok": True}
    (received,) = rest.requests
    raw = {"path": received.path[3:], "query": received.query[2:], "cookie": received.headers.get("cookie", "")[2:]}[
        where
    ]
    assert unquote(raw) == value
    assert not set(raw) & set("?#&; \r\n")
    assert where == "query" or not received.query
    assert received.headers["host"] == rest.url.removeprefix("http://")


def test_a_spread_object_reaches_no_other_parameter_and_no_key(rest: RestServer, of: Any, call: Any) -> None:
    spread = parameter("filter", "query", type="object", additionalProperties=True)
    schemes = {"components": {"securitySchemes": {"k": {"type": "apiKey", "in": "query", "name": "token"}}}}
    toolset = of(rest, {"parameters": [spread, parameter("page", "query")]}, **schemes)
    for key in ("page", "Page", "token"):
        assert "a parameter of its own" in call(toolset, "op", {"filter": {key: "1"}})["error"]
    assert not rest.requests
    assert call(toolset, "op", {"filter": {"color": "red"}, "page": "2"}) == {"ok": True}
    assert rest.requests[0].query == "color=red&page=2"


def test_missing_and_unknown_arguments_are_named(rest: RestServer, of: Any, call: Any) -> None:
    toolset = of(
        rest, {"parameters": [parameter("limit", "query", type="integer", required=True), parameter("X-Tag", "header")]}
    )
    assert call(toolset, "op", {}) == {"error": "op: missing: limit"}
    result = call(toolset, "op", {"limit": 1, "limmit": 2})
    assert "there is no argument 'limmit'; did you mean 'limit'?" in result["error"].replace(" (did", "; did")
    assert "the arguments are: limit, x_tag" in result["error"]
    assert not rest.requests
    assert call(toolset, "op", {"limit": 1, "X-Tag": "t"}) == {"ok": True}  # the name in the document will do
    assert rest.requests[0].headers["x-tag"] == "t"


def test_headers_that_frame_a_request_or_hold_keys_are_no_arguments(rest: RestServer, of: Any, call: Any) -> None:
    names = [
        "Authorization",
        "Cookie",
        "Host",
        "Content-Length",
        "Transfer-Encoding",
        "Content-Type",
        "Accept",
        "X-Key",
    ]
    schemes = {"components": {"securitySchemes": {"k": {"type": "apiKey", "in": "header", "name": "x-key"}}}}
    toolset = of(
        rest, {"parameters": [parameter(name, "header", type="string", required=True) for name in names]}, **schemes
    )
    schema = toolset.get_tool("op")._get_declaration().parameters_json_schema
    assert schema["properties"] == {}
    forged = {name.lower().replace("-", "_"): "forged" for name in names}
    assert call(toolset, "op", forged) == {"ok": True}
    assert "forged" not in str(rest.requests[0].headers)


def test_null_leaves_a_parameter_out_and_stays_in_a_body(rest: RestServer, of: Any, call: Any) -> None:
    schema = {"type": "object", "properties": {"nick": {"type": ["string", "null"]}, "age": {"type": "integer"}}}
    toolset = of(rest, {"parameters": [parameter("q", "query")], **body(schema)}, method="patch")
    assert call(toolset, "op", {"q": None, "nick": None}) == {"ok": True}
    assert (rest.requests[0].query, rest.requests[0].body) == ("", b'{"nick":null}')
    assert "age: None is not of type 'integer'" in call(toolset, "op", {"age": None})["error"]
    assert call(toolset, "op", {}) == {"ok": True}
    assert rest.requests[-1].body == b""
    assert "content-type" not in rest.requests[-1].headers


def test_a_body_that_is_not_required_is_whole_or_not_there(rest: RestServer, of: Any, call: Any) -> None:
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    toolset = of(rest, body(schema), method="post")
    assert "missing: a: the body needs them" in call(toolset, "op", {"b": "x"})["error"]
    assert not rest.requests
    assert call(toolset, "op", {}) == {"ok": True}


def test_deep_values_and_quick_patterns_end(rest: RestServer, of: Any, call: Any) -> None:
    deep: Any = "x"
    for _ in range(3000):
        deep = [deep]
    recursive = {"type": "array", "items": {"$ref": "#/components/schemas/Deep"}}
    toolset = of(
        rest, body({"$ref": "#/components/schemas/Deep"}), method="post", components={"schemas": {"Deep": recursive}}
    )
    assert "error" in call(toolset, "op", {"body": deep})
    slow = {"type": "string", "pattern": "^(a+)+$"}
    assert call(of(rest, body(slow), method="post"), "op", {"body": "a" * 40 + "!"}) == {
        "ok": True
    }  # the server's to judge


@pytest.mark.parametrize(
    ("pattern", "quick"),
    [
        ("^[A-Z]{3}-\\d+$", True),
        ("^a$", True),
        ("[*+?{]", True),
        ("\\(\\)+", True),
        ("(a+)+$", False),
        ("(a|a)*", False),
        ("a*a*a*a*b", False),
        ("(?:a{1,9}){9}", False),
        ("x" * 2000, False),
    ],
)
def test_patterns_that_may_take_long_are_known(pattern: str, quick: bool) -> None:
    assert is_quick(pattern) is quick


def test_alternatives_that_refer_to_each_other_end(rest: RestServer, of: Any, call: Any) -> None:
    """Each level would double the work."""
    listed = {"type": "array", "items": {"$ref": "#/components/schemas/A"}}
    schema = {"anyOf": [listed, dict(listed), {"const": 1}]}
    operation = body({"type": "object", "properties": {"a": {"$ref": "#/components/schemas/A"}}})
    toolset = of(rest, operation, method="post", components={"schemas": {"A": schema}})
    good: Any = 1
    bad: Any = 2
    for _ in range(40):
        good, bad = [good], [bad]
    assert "is not valid under any of the given schemas" in call(toolset, "op", {"a": bad})["error"]
    assert call(toolset, "op", {"a": good}) == {"ok": True}


def test_a_reference_that_was_followed_before_still_refuses(rest: RestServer, of: Any, call: Any) -> None:
    shared = {"type": "object", "properties": {"n": {"type": "integer"}}}
    properties = {name: {"$ref": "#/components/schemas/S"} for name in ("a", "b")}
    operation = body({"type": "object", "properties": properties})
    toolset = of(rest, operation, method="post", components={"schemas": {"S": shared}})
    wrong = {"n": "one"}
    error = call(toolset, "op", {"a": wrong, "b": wrong})["error"]
    assert "a.n: 'one' is not of type 'integer'" in error
    assert "b" in error
    assert not rest.requests


def test_files_come_as_texts_bytes_and_artifacts(rest: RestServer, of: Any, call: Any) -> None:
    properties = {
        "title": {"type": "string"},
        "file": {"type": "string", "format": "binary"},
        "more": {"type": "array", "items": {"type": "string", "format": "binary"}},
    }
    toolset = of(rest, body({"type": "object", "properties": properties}, "multipart/form-data"), method="post")
    evil = 'x"\r\nContent-Type: text/html\r\n\r\n'
    files = [{"base64": b64encode(b"\x00\xff").decode(), "filename": evil}, "text"]
    assert call(toolset, "op", {"title": "t", "file": {"base64": "AAE="}, "more": files}) == {"ok": True}
    received = rest.requests[0].body
    assert received.count(b"Content-Disposition") == 4
    assert b'name="more"; filename="x%22%0D%0AContent-Type: text/html%0D%0A%0D%0A"\r\n' in received
    assert b"\r\n\r\n\x00\xff\r\n" in received
    assert b"\r\n\r\n\x00\x01\r\n" in received
    for wrong in ({"base64": "%"}, {"artifact": "a", "base64": ""}, {}, {"artifact": "gone"}):
        assert "error" in call(toolset, "op", {"file": wrong})
    assert len(rest.requests) == 1
