"""The parts of a system instruction, whatever form it has."""

from __future__ import annotations

import pytest

from newel.models.wire.instruction import parts_of, texts_of
from newel_types import Blob, Content, Part

PICTURE = Part(inline_data=Blob(mime_type="image/png", data=b"x"))


@pytest.mark.parametrize(
    ("instruction", "texts"),
    [
        (None, []),
        ("", []),
        ("Be brief.", ["Be brief."]),
        (Part(text="a"), ["a"]),
        ({"text": "a"}, ["a"]),
        (Content(parts=[Part(text="a"), PICTURE, Part(text="b")]), ["a", "b"]),
        (Content(), []),
        ({"parts": [{"text": "a"}, "b"]}, ["a", "b"]),
        (["a", Part(text="b"), Content(parts=[Part(text="c")]), ("d",)], ["a", "b", "c", "d"]),
    ],
    ids=repr,
)
def test_its_texts_in_order(instruction: object, texts: list[str]) -> None:
    assert list(texts_of(instruction)) == texts


def test_what_is_no_text_is_a_part_too() -> None:
    assert list(parts_of(["a", PICTURE])) == [Part(text="a"), PICTURE]
