"""Masking: one walk through a value that masks secret texts in every form in which a store could keep it.

Containers that the walk knows keep their types. Anything else is masked as the stores encode it: if its JSON holds a
secret, the masked JSON stands for it. What cannot be encoded is never stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json

from newel_kernel import Event
from newel_types import SECRET, AuthCredential, Record, WireModel

#: A container that is nested more deeply is masked as JSON, which takes no stack.
_DEEPEST = 64
#: The types of values in which nothing can hide.
_EMPTY = (bool, type(None))
_UNENCODABLE = (PydanticSerializationError, ValueError, TypeError, RecursionError)


class Walk:
    """Masks one value; `mask_text` returns its argument if it holds no secret."""

    __slots__ = ("_alive", "_mask_text", "_results")

    def __init__(self, mask_text: Callable[[str], str]) -> None:
        self._mask_text = mask_text
        #: What each container became, by its id: parts may be shared, and a container may hold itself.
        self._results: dict[int, Any] = {}
        #: The containers, so that no id is used twice.
        self._alive: list[object] = []

    def mask(self, value: Any, depth: int = 0) -> Any:
        """`value` masked; the same object if it holds no secret."""
        if isinstance(value, Enum):
            masked = self.mask(value.value, depth)
            return value if masked is value.value else masked
        if isinstance(value, str):
            return self._mask_text(value)
        if isinstance(value, _EMPTY):
            return value
        if isinstance(value, (int, float)):
            return value if self._mask_text(text := repr(value)) is text else SECRET
        if isinstance(value, (bytes, bytearray)):
            return self._bytes(value)
        return self._once(value, depth)

    def _bytes(self, value: bytes | bytearray) -> Any:
        text = value.decode("latin-1")
        masked = self._mask_text(text)
        return value if masked is text else type(value)(masked.encode("latin-1"))

    def _once(self, value: Any, depth: int) -> Any:
        key = id(value)
        if key not in self._results:
            self._results[key] = value  # for a container that holds itself: no store takes it
            self._alive.append(value)
            known = self._container if depth < _DEEPEST else self._encoded
            self._results[key] = known(value, depth + 1)
        return self._results[key]

    def _container(self, value: Any, depth: int) -> Any:
        if isinstance(value, AuthCredential):
            return value.sealed()
        if isinstance(value, (Record, WireModel)):
            changed = {name: new for name, inner in _fields(value) if (new := self.mask(inner, depth)) is not inner}
            return value.model_copy(update=changed) if changed else value
        if isinstance(value, dict):
            return self._dict(value, depth)
        if isinstance(value, (list, tuple, set, frozenset)):
            return self._sequence(value, depth)
        return self._encoded(value, depth)

    def _dict(self, value: dict[Any, Any], depth: int) -> Any:
        same, masked = True, dict[Any, Any]()
        for key, inner in value.items():
            new_key, new = self.mask(key, depth), self.mask(inner, depth)
            same = same and new_key is key and new is inner
            masked[_free(new_key, masked, value) if new_key is not key else key] = new
        return value if same else masked

    def _sequence(self, value: Any, depth: int) -> Any:
        items = [self.mask(inner, depth) for inner in value]
        if all(a is b for a, b in zip(items, value, strict=True)):
            return value
        try:
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        except TypeError:  # a set of what is not hashable any more, or a subclass that is made in another way
            return items

    def _encoded(self, value: Any, depth: int) -> Any:
        """A value of any other type, or a deep one: its JSON masked, if that holds a secret."""
        if isinstance(value, Iterator):
            return self.mask(list(value), depth)  # encoding would use it up
        try:
            text = to_json(value, inf_nan_mode="constants", bytes_mode="base64").decode()
        except _UNENCODABLE:
            return value
        if (masked := self._mask_text(text)) is text:
            return value
        try:
            return from_json(masked)
        except ValueError:  # the secret is a part of a number
            return SECRET


_UNTOUCHED = {"actions": "touched_actions", "node_info": "touched_node_info"}


def _fields(value: Record | WireModel) -> Iterator[tuple[str, Any]]:
    """The fields of an object of newel's own types, unknown ones included."""
    if isinstance(value, WireModel):
        yield from value.__dict__.items()
        yield from (value.__pydantic_extra__ or {}).items()
        return
    for name in value.field_names:
        # An event makes its actions when they are read.
        yield name, getattr(value, _UNTOUCHED.get(name, name) if isinstance(value, Event) else name)
    if extra := getattr(value, "_extra", None):
        yield "_extra", extra


def _free(key: Any, *taken: dict[Any, Any]) -> Any:
    """`key`, or the first of its numbered forms that is free: two masked keys are still two."""
    number, free = 2, key
    while any(free in keys for keys in taken):
        free, number = f"{key} {number}", number + 1
    return free
