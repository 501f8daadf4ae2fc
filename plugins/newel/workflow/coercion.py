"""Coercion: values as a schema or an annotation asks for them, and as an event can carry them."""

from __future__ import annotations

from functools import lru_cache
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from newel.events.text import text_of
from newel_types import ATOMS, Content, Record


def fit(value: object, hint: object) -> object:
    """`value` as `hint` asks, or pydantic's ValidationError. Of a message, its text is taken, and parsed as JSON."""
    if hint is None or hint is Any or value.__class__ is hint:
        return value
    if value.__class__ is ModelData and isinstance(hint, type) and (own := value.own(hint)) is not None:
        return own
    adapter = _adapter(hint)
    if adapter is None:  # a JSON schema, or an annotation that pydantic does not know: it says nothing about the value
        return value
    if isinstance(value, Content) and Content not in _options(hint):
        return _fit_text(value, hint, adapter)
    return adapter.validate_python(value)


def _fit_text(message: Content, hint: object, adapter: TypeAdapter[object]) -> object:
    text = text_of(message)
    if str in _options(hint):
        return text
    try:
        return adapter.validate_json(text)
    except ValidationError:
        return adapter.validate_python(text)  # the better error, for a text that is not JSON


def _options(hint: object) -> tuple[object, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _adapter(hint: object) -> TypeAdapter[object] | None:
    try:
        return _hashed_adapter(hint)
    except TypeError:  # not hashable: a JSON schema
        return None


@lru_cache(maxsize=1024)
def _hashed_adapter(hint: Any) -> TypeAdapter[object] | None:
    if isinstance(hint, (dict, str)) or not (isinstance(hint, type) or get_origin(hint) is not None):
        return None
    try:
        return TypeAdapter(hint)
    except (PydanticSchemaGenerationError, PydanticUserError, NameError):
        return None


class ModelData(dict[str, Any]):
    """A pydantic model as plain data, under the names that it is validated by, with the model that it was made of.

    Who asks for the model's class gets the model: it was validated when it was made.
    """

    __slots__ = ("_with_none", "model")

    def __init__(self, model: BaseModel, *, with_none: bool = True) -> None:
        super().__init__(model.model_dump(by_alias=True, exclude_none=not with_none))
        self.model = model
        self._with_none = with_none

    def own(self, kind: type) -> BaseModel | None:
        """A copy of the model, if it is a `kind` and the data has not been changed since."""
        if isinstance(self.model, kind) and self == ModelData(self.model, with_none=self._with_none):
            return self.model.model_copy(deep=True)
        return None


def carried(value: Any) -> Any:
    """`value` as it goes from node to node: plain data, which keeps the model that it was made of."""
    return ModelData(value) if isinstance(value, BaseModel) else plain(value)


def plain(value: Any) -> Any:
    """`value` with pydantic models dumped, its containers copied: what is committed must not change later."""
    kind = value.__class__
    if kind in ATOMS:
        return value
    if kind is dict:
        return {key: plain(entry) for key, entry in value.items()}
    if kind is list:
        return [plain(entry) for entry in value]
    if kind is tuple:
        return tuple(plain(entry) for entry in value)
    if isinstance(value, BaseModel):
        return value.model_dump(by_alias=True)
    if kind is ModelData:
        return plain(dict(value))
    if isinstance(value, Record):
        return value.model_dump(mode="json", exclude_none=True)
    return value


def fit_plain(value: object, schema: object) -> object:
    """`value` validated by `schema` and as plain data; unchanged if there is no schema."""
    return value if schema is None else carried(fit(value, schema))
