"""Signatures of pydantic models as their files write the fields, also before the models are built."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined


class Written:
    """An annotation as it is written."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class FieldSignature:
    """The `__signature__` of a model and of its subclasses: their fields, or what an `__init__` of their own takes."""

    def __get__(self, model: object, owner: type[BaseModel]) -> inspect.Signature:
        own = [*inspect.signature(owner.__init__).parameters.values()][1:]
        if any(parameter.kind is not parameter.VAR_KEYWORD for parameter in own):
            return inspect.Signature(own)
        texts = _annotations(owner)
        return inspect.Signature(
            [
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=_default(field.get_default(call_default_factory=True, validated_data={})),
                    annotation=Written(texts.get(name, "Any")),
                )
                for name, field in owner.model_fields.items()
                if field.init is not False
            ]
        )


def _default(value: Any) -> Any:
    return inspect.Parameter.empty if value is PydanticUndefined else value


def _annotations(owner: type) -> dict[str, str]:
    """The annotations of the fields, without what only pydantic reads."""
    texts: dict[str, str] = {}
    for kind in reversed(owner.__mro__):
        for name, annotation in vars(kind).get("__annotations__", {}).items():
            texts[name] = _plain(annotation) if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return texts


def _plain(text: str) -> str:
    node = ast.parse(text, mode="eval").body
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Annotated":
        return ast.unparse(node.slice.elts[0]) if isinstance(node.slice, ast.Tuple) else text
    return text
