"""Coercion: values as a schema or an annotation asks for them, and as an event can carry them."""

from __future__ import annotations

from functools import lru_cache
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import ValidationError

from newel.contexts.model_data import Annotation, ModelData, carried
from newel.events.text import text_of
from newel_types import Content


def fit(value: object, hint: object) -> object:
    """`value` as `hint` asks, or pydantic's ValidationError. Of a message, its text is taken, and parsed as JSON."""
    if hint is None or hint is Any or value.__class__ is hint:
        return value
    if value.__class__ is ModelData and isinstance(hint, type) and (own := value.own(hint)) is not None:
        return own
    if (
        annotation := _annotation(hint)
    ) is None:  # a JSON schema, or an annotation that pydantic does not know: it says nothing about the value
        return value
    if isinstance(value, Content) and Content not in _options(hint):
        return _fit_text(value, hint, annotation)
    return annotation.validate(value)


def fit_stored(value: object, hint: object) -> object:
    """`value` of the state as `hint` asks: there models are under the names of their fields, or under aliases."""
    try:
        return fit(value, hint)
    except ValidationError as error:
        failure, annotation = error, _annotation(hint)
    try:
        return annotation.validate(value, any_name=True) if annotation is not None else value
    except ValidationError:
        raise failure from None


def _fit_text(message: Content, hint: object, annotation: Annotation) -> object:
    text = text_of(message)
    if str in _options(hint):
        return text
    try:
        return annotation.validate_json(text)
    except ValidationError:
        return annotation.validate(text)  # the better error, for a text that is not JSON


def _options(hint: object) -> tuple[object, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _annotation(hint: object) -> Annotation | None:
    if isinstance(hint, (dict, str)) or not (isinstance(hint, type) or get_origin(hint) is not None):
        return None  # a JSON schema, for one
    try:
        return _known(hint)
    except TypeError:  # not hashable
        return None


_known = lru_cache(maxsize=1024)(Annotation.of)


def fit_plain(value: object, schema: object) -> object:
    """`value` validated by `schema` and as plain data; unchanged if there is no schema."""
    return value if schema is None else carried(fit(value, schema))
