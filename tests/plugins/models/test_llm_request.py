"""LlmRequest's helpers."""

from __future__ import annotations

from newel.models.llm_request import LlmRequest
from newel_types import Blob, Content, Part


def test_the_texts_of_an_instruction_stand_apart_as_paragraphs() -> None:
    request = LlmRequest(model="m")
    assert request.append_instructions(Content(parts=[Part(text="one"), Part(text="two")])) == []
    request.append_instructions(["three"])
    assert request.config.system_instruction == "one\n\ntwo\n\nthree"


def test_data_in_an_instruction_becomes_a_content_that_the_instruction_refers_to() -> None:
    request = LlmRequest(model="m")
    image = Part(inline_data=Blob(data=b"x", mime_type="image/png"))
    (reference,) = request.append_instructions(Content(parts=[Part(text="look"), image, Part(text="well")]))
    before, mark, after = str(request.config.system_instruction).split("\n\n")
    assert (before, after) == ("look", "well")
    assert "image/png" in mark
    assert request.contents == [reference]
    assert reference.parts is not None
    assert reference.parts[1].inline_data == image.inline_data
