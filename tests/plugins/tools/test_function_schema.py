"""The schema of a function tool: every parameter that Python and pydantic accept is described, with its default."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from newel.tools.function_schema import parameters_schema
from newel.tools.function_signature import EMPTY, Parameter, Shape
from newel.tools.function_tool import FunctionTool

TYPES: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=5),
    int: st.integers(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
}
HINTS = TYPES | {list[kind]: st.lists(values, max_size=3) for kind, values in TYPES.items()}


@st.composite
def parameters(draw: st.DrawFn) -> tuple[Any, Any]:
    """An annotation, and a default that may also be of another type; or none."""
    hint = draw(st.sampled_from(list(HINTS)))
    anything = st.one_of(st.none(), *HINTS.values())
    return hint, draw(st.one_of(st.just(EMPTY), HINTS[hint], anything))


@settings(deadline=None)
@given(st.lists(parameters(), min_size=1, max_size=4))
def test_every_parameter_is_described(drawn: list[tuple[Any, Any]]) -> None:
    names = [f"p{index}" for index in range(len(drawn))]
    own = {n: Parameter(hint, default, default is EMPTY) for n, (hint, default) in zip(names, drawn, strict=True)}
    schema = parameters_schema("tool", Shape(own, None, False, None, frozenset(), None), {}, whole=False)
    assert schema is not None
    assert list(schema["properties"]) == names
    for name, parameter in own.items():
        described = schema["properties"][name]
        assert described["type"] in ("string", "integer", "number", "boolean", "array")
        assert (name in schema.get("required", ())) is (parameter.default is EMPTY)
        if parameter.default is not EMPTY:
            assert described["default"] == parameter.default


class Point(BaseModel):
    x: int = 0


@pytest.mark.parametrize("default", [[], ["a"], None])
def test_a_list_may_have_a_default(default: list[str] | None) -> None:
    def search(query: str, tags: list[str] = default, at: Point | None = None) -> None:  # type: ignore[assignment]
        """Search."""

    schema = FunctionTool(search)._get_declaration().parameters_json_schema
    assert schema["properties"]["tags"] == {"type": "array", "items": {"type": "string"}, "default": default}
    assert schema["required"] == ["query"]
