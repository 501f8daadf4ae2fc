"""Contents that several holders share: frozen ones, and the list that copies one when it is touched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, SupportsIndex

from newel_types.content import NO_RARE, Content, FunctionCall, FunctionResponse, Part
from newel_types.records import Record, deep_copy

FrozenContent: type[Content] = Content._frozen
_FrozenPart: type[Part] = Part._frozen
_FrozenCall, _FrozenResponse = FunctionCall._frozen, FunctionResponse._frozen
#: The class of a frozen part that is known to be a text and nothing else: most parts are, and a copy of one is cheap.
_FrozenText: Any = type(Part.__name__, (_FrozenPart,), {"__slots__": (), "__module__": Part.__module__})
_new = object.__new__


def is_text(part: Part) -> bool:
    """Whether a part has a text, and no other data."""
    return (
        part.text is not None
        and part.sparse_values is NO_RARE
        and part.function_call is None
        and part.function_response is None
    )


def freeze(content: Content) -> Content:
    """Freeze `content` and all that it holds, in place; a content that is frozen already is left alone."""
    if content.__class__ is not Content:
        return content
    content.__class__ = FrozenContent
    for part in content.parts or ():
        if part.__class__ is not Part:
            continue
        call, response = part.function_call, part.function_response
        if call is None and response is None:
            plain = part.text is not None and part.sparse_values is NO_RARE
            part.__class__ = (
                _FrozenText if plain and not (Record._extras_exist and hasattr(part, "_extra")) else _FrozenPart
            )
            continue
        part.__class__ = _FrozenPart
        if call is not None and call.__class__ is FunctionCall:
            call.__class__ = _FrozenCall
        if response is not None and response.__class__ is FunctionResponse:
            response.__class__ = _FrozenResponse
    return content


def thaw(content: Content) -> Content:
    """An ordinary copy of a frozen content; its parts, arguments and responses are copies as well."""
    if Record._extras_exist:
        return content.model_copy(deep=True)
    parts = content.parts
    if parts is None:
        return Content(role=content.role)
    copy: Content = _new(Content)
    copy.role = content.role
    copy.parts = [_copied(parts[0])] if len(parts) == 1 else [_copied(part) for part in parts]
    return copy


def _copied(part: Part) -> Part:
    if part.__class__ is _FrozenText:
        return Part(part.text, None, None, part.thought, part.thought_signature)
    if part.sparse_values is not NO_RARE:
        return part.model_copy(deep=True)
    call, response = part.function_call, part.function_response
    if call is not None:
        call = (
            FunctionCall(id=call.id, name=call.name, args=deep_copy(call.args), will_continue=call.will_continue)
            if call.partial_args is None
            else call.model_copy(deep=True)
        )
    if response is not None:
        response = FunctionResponse(
            id=response.id,
            name=response.name,
            response=deep_copy(response.response),
            parts=deep_copy(response.parts),
            scheduling=response.scheduling,
            will_continue=response.will_continue,
        )
    return Part(part.text, call, response, part.thought, part.thought_signature)


def _owned(contents: list[Content]) -> list[Content]:
    """The contents, each frozen one as `thaw` copies it.

    A model that reads a long conversation pays for this loop, so texts are copied without calls.
    """
    owned: list[Content] = []
    new, extras_exist = _new, Record._extras_exist
    for content in contents:
        if content.__class__ is not FrozenContent:
            owned.append(content)
            continue
        parts = content.parts
        if (
            parts is None
            or len(parts) != 1
            or (part := parts[0]).__class__ is not _FrozenText
            or (extras_exist and hasattr(content, "_extra"))
        ):
            owned.append(thaw(content))
            continue
        text: Part = new(Part)
        text.text = part.text
        text.thought = part.thought
        text.thought_signature = part.thought_signature
        text.function_call = text.function_response = None
        text.sparse_values = NO_RARE
        copy: Content = new(Content)
        copy.role = content.role
        copy.parts = [text]
        owned.append(copy)
    return owned


class SharedContents(list[Content]):
    """A list of contents that shares frozen ones and copies one only when it is touched.

    A model request starts with the session's own, frozen contents. Code that reads or edits an element
    through the list gets a copy that belongs to the request, so an edit never changes the history.
    `frozen()` gives the elements unchanged, for code that only reads.
    """

    __slots__ = ()

    def frozen(self) -> list[Content]:
        """The elements without thawing any: for reading only."""
        return list.copy(self)

    def _own_all(self, index: slice) -> list[Content]:
        owned = _owned(list.__getitem__(self, index))
        list.__setitem__(self, index, owned)
        return owned

    def __getitem__(self, index: Any) -> Any:
        if index.__class__ is slice:
            return self._own_all(index)
        content = list.__getitem__(self, index)
        if content.__class__ is FrozenContent:
            (content,) = _owned([content])
            list.__setitem__(self, index, content)
        return content

    def __iter__(self) -> Iterator[Content]:
        ahead = 1
        for index, content in enumerate(list.__iter__(self)):
            if content.__class__ is FrozenContent:
                # Copied in blocks that double: a reader of all pays for few calls, one that stops early for few copies.
                content = self._own_all(slice(index, index + ahead))[0]
                ahead *= 2
            yield content

    def __reversed__(self) -> Iterator[Content]:
        for index in range(len(self) - 1, -1, -1):
            yield self[index]

    def pop(self, index: SupportsIndex = -1) -> Content:
        """Remove and return an element (a copy, if it was shared)."""
        self[index]
        return list.pop(self, index)

    def copy(self) -> SharedContents:
        """Another list over the same elements; those that were touched here are copied."""
        return SharedContents(deep_copy(c) if c.__class__ is Content else c for c in list.copy(self))

    def __add__(self, other: list[Content]) -> list[Content]:  # type: ignore[override] # contents only
        return [*self, *other]

    def __radd__(self, other: Any) -> Any:
        return [*other, *self]

    def __mul__(self, times: SupportsIndex) -> list[Content]:
        return [*self] * times

    __rmul__ = __mul__

    def __deepcopy__(self, memo: dict[int, object]) -> list[Content]:
        return [thaw(c) for c in list.copy(self)]
