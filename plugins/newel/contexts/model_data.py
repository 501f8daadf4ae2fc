"""Model data: a pydantic model is validated where it comes in; what goes on is the model, or its JSON by alias."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError, WrapValidator
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic_core import PydanticSerializationError

from newel_kernel import Json
from newel_types import ATOMS, Record, deep_copy

_GENERICS = (list, dict, tuple, set, frozenset)


def model_json(model: BaseModel, *, with_none: bool = True) -> Json:
    """The model's JSON by alias. A value that JSON has no form for stays a Python object."""
    try:
        return model.model_dump(mode="json", by_alias=True, exclude_none=not with_none)
    except (PydanticSerializationError, UnicodeDecodeError):
        return model.model_dump(by_alias=True, exclude_none=not with_none)


class ModelData(dict[str, Any]):
    """A pydantic model as plain data by alias, with the model that it was made of. `options` are of `model_dump`.

    Who asks for the model's class gets the model: it was validated when it was made.
    """

    __slots__ = ("_options", "model")

    def __init__(self, model: BaseModel, **options: Any) -> None:
        super().__init__(model.model_dump(by_alias=True, **options))
        self.model = model
        self._options = options

    def own(self, kind: type) -> BaseModel | None:
        """A copy of the model, if it is a `kind` and the data has not been changed since."""
        if isinstance(self.model, kind) and self == self.model.model_dump(by_alias=True, **self._options):
            return self.model.model_copy(deep=True)
        return None

    def model_copy(self, *, deep: bool = False) -> ModelData:
        """A copy; with `deep`, also of what the data holds."""
        copy = ModelData(self.model, **self._options)
        copy.clear()
        copy.update({key: deep_copy(value) if deep else value for key, value in self.items()})
        return copy


def carried(value: Any) -> Any:
    """`value` as plain data that is its own; where a model was, the data keeps it."""
    kind = value.__class__
    if kind in ATOMS:
        return value
    if kind is dict:
        return {key: carried(entry) for key, entry in value.items()}
    if kind is list:
        return [carried(entry) for entry in value]
    if kind is tuple:
        return tuple(carried(entry) for entry in value)
    if kind is ModelData:
        return value.model_copy(deep=True)
    if isinstance(value, BaseModel):
        return ModelData(value)
    if isinstance(value, Record):
        return value.model_dump(mode="json", exclude_none=True)
    return value


def plain(value: Any) -> Any:
    """`value` as plain data that is its own: what is committed must not change later."""
    kind = value.__class__
    if kind in ATOMS:
        return value
    if kind is dict or kind is ModelData:
        return {key: plain(entry) for key, entry in value.items()}
    if kind is list:
        return [plain(entry) for entry in value]
    if kind is tuple:
        return tuple(plain(entry) for entry in value)
    if isinstance(value, BaseModel):
        return value.model_dump(by_alias=True)
    if isinstance(value, Record):
        return value.model_dump(mode="json", exclude_none=True)
    return value


def has_models(value: Any) -> bool:
    """Whether `value` is a model, keeps one, or has one in it."""
    kind = value.__class__
    if kind in ATOMS:
        return False
    if kind is dict:
        return any(has_models(entry) for entry in value.values())
    if kind is list or kind is tuple:
        return any(has_models(entry) for entry in value)
    return kind is ModelData or isinstance(value, BaseModel)


class Annotation:
    """What pydantic knows of an annotation. Raises pydantic's errors if it knows nothing."""

    __slots__ = ("_carrying", "_hint", "_plain")

    def __init__(self, hint: Any) -> None:
        self._hint = hint
        self._plain: TypeAdapter[object] = TypeAdapter(hint)
        self._carrying: TypeAdapter[object] | None = None

    @classmethod
    def of(cls, hint: Any) -> Annotation | None:
        """The annotation; None if pydantic knows nothing of it: then it says nothing about a value."""
        with suppress(PydanticSchemaGenerationError, PydanticUserError, NameError):
            return cls(hint)
        return None

    def validate(self, value: object, *, any_name: bool = False) -> object:
        """`value` as the annotation asks, or pydantic's ValidationError. Models in it are not validated again.

        With `any_name`, fields may be under their names or their aliases.
        """
        if has_models(value):
            if self._carrying is None:
                self._carrying = TypeAdapter(_carrying(self._hint))
            with suppress(ValidationError):
                return self._carrying.validate_python(value)
            value = plain(value)
        by_any = True if any_name else None
        return self._plain.validate_python(value, by_alias=by_any, by_name=by_any)

    def validate_json(self, text: str) -> object:
        """The value of a JSON text as the annotation asks, or pydantic's ValidationError."""
        return self._plain.validate_json(text)


def _carrying(hint: Any) -> Any:
    """The annotation with each model in it wrapped, so that it is not validated again."""
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return Annotated[hint, WrapValidator(_taking(hint))]
    origin, arguments = get_origin(hint), get_args(hint)
    if not arguments:
        return hint
    if origin is Annotated:
        return Annotated[(_carrying(arguments[0]), *arguments[1:])]
    if origin in (Union, UnionType):
        return Union[tuple(_carrying(option) for option in arguments)]  # noqa: UP007 - made of a tuple
    if origin in _GENERICS:
        return origin[tuple(entry if entry is ... else _carrying(entry) for entry in arguments)]
    return hint


def _taking(kind: type[BaseModel]) -> Callable[[Any, Callable[[Any], Any]], Any]:
    def take(value: Any, validate: Callable[[Any], Any]) -> Any:
        if value.__class__ is ModelData:
            own = value.own(kind)
            return validate(dict(value)) if own is None else own
        return value if isinstance(value, kind) and not _is_wary(kind) else validate(value)

    return take


def _is_wary(kind: type[BaseModel]) -> bool:
    """Whether the class wants its instances validated again."""
    return kind.model_config.get("revalidate_instances", "never") != "never"
