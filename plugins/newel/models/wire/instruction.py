"""Instructions: the parts of a system instruction, whatever form it has."""

from __future__ import annotations

from collections.abc import Iterator

from newel_types import Part


def parts_of(instruction: object) -> Iterator[object]:
    """The parts of a text, a part, a content, a dict of one of them, or a list of these; a text as a Part."""
    if isinstance(instruction, str):
        if instruction:
            yield Part(text=instruction)
    elif isinstance(instruction, list | tuple):
        for one in instruction:
            yield from parts_of(one)
    elif isinstance(instruction, dict):
        yield from parts_of(instruction["parts"] if "parts" in instruction else Part.model_validate(instruction))
    elif hasattr(instruction, "parts"):
        yield from parts_of(instruction.parts)
    elif instruction is not None:
        yield instruction


def texts_of(instruction: object) -> Iterator[str]:
    """The texts of its parts."""
    for part in parts_of(instruction):
        if isinstance(text := getattr(part, "text", None), str) and text:
            yield text
