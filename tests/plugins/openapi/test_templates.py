"""Styles against RFC 6570, which OpenAPI refers to for them: the same values by a template, expanded by other code."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newel.openapi.operation import Parameter
from newel.openapi.styles import path_text, query_texts

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
SOME = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8)
VALUES = st.one_of(TEXT, st.lists(TEXT, min_size=1, max_size=4), st.dictionaries(SOME, TEXT, min_size=1, max_size=3))
#: Style -> the operator of a template; and of it: what comes first, what separates, whether names stand there, and what
#: follows a name without a value (RFC 6570, appendix A).
OPERATORS = {"simple": "", "label": ".", "matrix": ";", "form": "?"}
RULES = {"": ("", ",", False, ""), ".": (".", ".", False, ""), ";": (";", ";", True, ""), "?": ("?", "&", True, "=")}


def expanded(operator: str, name: str, value: Any, explode: bool) -> str:
    """The expansion of ``{operator name *}``, after section 3.2.1."""
    first, separator, named, empty = RULES[operator]

    def plain(text: str) -> str:
        return quote(text, safe="")

    def pair(key: str, text: str) -> str:
        return f"{plain(key)}={plain(text)}" if text else plain(key) + empty

    if isinstance(value, str):
        pieces = [pair(name, value) if named else plain(value)]
    elif explode and isinstance(value, dict):
        pieces = [pair(key, text) if named else f"{plain(key)}={plain(text)}" for key, text in value.items()]
    elif explode:
        pieces = [pair(name, text) if named else plain(text) for text in value]
    else:
        texts = [text for item in value.items() for text in item] if isinstance(value, dict) else value
        joined = ",".join(map(plain, texts))
        pieces = [(f"{name}={joined}" if joined else name + empty) if named else joined]
    return first + separator.join(pieces)


def parameter(style: str, explode: bool) -> Parameter:
    return Parameter("v", "query" if style == "form" else "path", style, explode, True, {})


@pytest.mark.parametrize("explode", [False, True], ids=["joined", "exploded"])
@pytest.mark.parametrize("style", list(OPERATORS))
@given(value=VALUES)
def test_a_style_is_a_template(style: str, explode: bool, value: Any) -> None:
    wanted = expanded(OPERATORS[style], "v", value, explode)
    if style == "form":
        sent = "?" + "&".join(f"{name}={text}" for name, text in query_texts(parameter(style, explode), value))
    else:
        sent = path_text(parameter(style, explode), value)
    if style == "label" and not explode:  # the table of OpenAPI before 3.1 and RFC 6570 agree on commas
        assert sent.replace("%2E", ".") == wanted
    elif style == "label" and not isinstance(value, str):  # a dot in an item is encoded: it would be another item
        assert sent.replace("%2E", ".") == wanted
        assert sent.count(".") == len(value)
    else:
        assert sent == wanted


@pytest.mark.parametrize("explode", [False, True])
@pytest.mark.parametrize("style", ["simple", "label", "matrix"])
@given(value=VALUES)
def test_no_value_leaves_its_segment(style: str, explode: bool, value: Any) -> None:
    assert not set(path_text(parameter(style, explode), value)) & set("/?#\\ \r\n")
