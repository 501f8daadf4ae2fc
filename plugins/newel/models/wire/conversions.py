"""Conversions: histories in a protocol's form, kept from one request to the next.

A turn adds a few contents to a history that was sent before. Its earlier conversion is looked up, not made again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, Protocol, Self, TypeVar

from newel_types import Content, FrozenContent, SharedContents


class Conversion(Protocol):
    """A history in a protocol's form, which grows content by content."""

    def add(self, content: Content) -> None:
        """Convert one more content."""

    def copy(self) -> Self:
        """A copy that can grow without changing this one: the parts of the last message that may change are its own."""


C = TypeVar("C", bound=Conversion)


class Conversions(Generic[C]):
    """The latest conversions of a model. Only contents that can no longer change are kept."""

    def __init__(self, most: int = 32) -> None:
        self._most = most
        self._conversions: OrderedDict[Hashable, tuple[list[Content], C]] = OrderedDict()

    def __deepcopy__(self, memo: object) -> Conversions[C]:
        return Conversions(self._most)

    def __reduce__(self) -> tuple[type[Conversions[C]], tuple[int]]:
        return Conversions, (self._most,)

    def of(self, contents: Sequence[Content], make: Callable[[], C], key: Hashable = None) -> C:
        """The conversion of `contents`, the caller's own. `make` begins one; `key` is what else it depends on."""
        listed = contents.frozen() if isinstance(contents, SharedContents) else list(contents)
        if not listed:
            return make()
        place = (key, id(listed[0]))
        before, conversion = self._conversions.pop(place, ([], None))
        if conversion is None or listed[: len(before)] != before:
            before, conversion = [], make()
        end = len(before)
        while end < len(listed) and listed[end].__class__ is FrozenContent:
            conversion.add(listed[end])
            end += 1
        if end:
            self._conversions[place] = (listed[:end], conversion)
            if len(self._conversions) > self._most:
                self._conversions.popitem(last=False)
        grown = conversion.copy()
        for content in listed[end:]:
            grown.add(content)
        return grown
