"""Content and its parts: what a user says, a model answers and a tool returns.

JSON-compatible in both directions with the classes of the same name in ``google.genai.types``.
"""

from __future__ import annotations

from typing import Any, TypedDict, Unpack

from newel_types.media import (
    Blob,
    CodeExecutionResult,
    ExecutableCode,
    FileData,
    FunctionResponsePart,
    FunctionResponseScheduling,
    Language,
    Outcome,
    PartialArg,
    PartMediaResolution,
    VideoMetadata,
)
from newel_types.records import Json, Record, coerce, record
from newel_types.sparse import SparseValues, set_sparse


@record
class FunctionCall(Record):
    """A tool call that the model asks for: `name`, `args`, and the `id` its response must carry."""

    id: str | None = None
    args: Json | None = None
    name: str | None = None
    partial_args: list[PartialArg] | None = None
    will_continue: bool | None = None


@record
class FunctionResponse(Record):
    """The result of a tool call; `response` is a JSON object."""

    will_continue: bool | None = None
    scheduling: FunctionResponseScheduling | None = None
    parts: list[FunctionResponsePart] | None = None
    id: str | None = None
    name: str | None = None
    response: Json | None = None


class RarePart(TypedDict, total=False):
    """The arguments of a part that few parts have."""

    inline_data: Any
    file_data: Any
    executable_code: Any
    code_execution_result: Any
    video_metadata: Any
    media_resolution: Any
    part_metadata: Json | None


@record
class Part(Record):
    """One piece of a Content; exactly one of its data fields is set."""

    sparse = tuple(RarePart.__annotations__)

    media_resolution: PartMediaResolution | None = None
    code_execution_result: CodeExecutionResult | None = None
    executable_code: ExecutableCode | None = None
    file_data: FileData | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    inline_data: Blob | None = None
    text: str | None = None
    thought: bool | None = None
    thought_signature: bytes | None = None
    video_metadata: VideoMetadata | None = None
    part_metadata: Json | None = None

    def __init__(
        self,
        text: str | None = None,
        function_call: FunctionCall | None = None,
        function_response: FunctionResponse | None = None,
        thought: bool | None = None,
        thought_signature: bytes | None = None,
        **rare: Unpack[RarePart],
    ) -> None:
        self.text = text
        self.thought = thought
        self.thought_signature = thought_signature
        self.function_call = function_call
        self.function_response = function_response
        self.sparse_values = NO_RARE
        if rare:
            set_sparse(self, rare)
        if text is None and function_call.__class__ not in _CALLS and function_response.__class__ not in _RESPONSES:
            self._coerce()

    def _coerce(self) -> None:
        """Turn foreign objects and dicts into ours. A text part, the usual one, has none; one of sound has its blob."""
        if self.inline_data.__class__ is Blob and self.video_metadata is None and self.media_resolution is None:
            return
        for name, cls in _PART_FIELDS.items():
            value = getattr(self, name)
            if value is not None and not isinstance(value, cls):
                setattr(self, name, cls.model_validate(value))

    @classmethod
    def from_text(cls, text: str) -> Part:
        """A part that holds `text`."""
        return cls(text=text)

    @classmethod
    def from_function_call(cls, *, name: str, args: Json) -> Part:
        """A part that asks for the tool `name`."""
        return cls(function_call=FunctionCall(name=name, args=args))

    @classmethod
    def from_function_response(
        cls, *, name: str, response: Json, parts: list[FunctionResponsePart] | None = None
    ) -> Part:
        """A part that answers a call of the tool `name`."""
        return cls(function_response=FunctionResponse(name=name, response=response, parts=parts))

    @classmethod
    def from_bytes(cls, *, data: bytes, mime_type: str) -> Part:
        """A part that holds inline data."""
        return cls(inline_data=Blob(data=data, mime_type=mime_type))

    @classmethod
    def from_uri(cls, *, file_uri: str, mime_type: str | None = None) -> Part:
        """A part that refers to a file by its URI; a MIME type that is not given is guessed from the name."""
        if mime_type is None:
            import mimetypes  # noqa: PLC0415 - rarely needed, and 0.4 ms of every start

            mime_type = mimetypes.guess_type(file_uri)[0]
            if mime_type is None:
                raise ValueError(f"cannot tell the MIME type of {file_uri!r}; pass mime_type=")
        return cls(file_data=FileData(file_uri=file_uri, mime_type=mime_type))

    @classmethod
    def from_executable_code(cls, *, code: str, language: Language) -> Part:
        """A part that holds code which the model wrote."""
        return cls(executable_code=ExecutableCode(code=code, language=language))

    @classmethod
    def from_code_execution_result(cls, *, outcome: Outcome, output: str) -> Part:
        """A part that holds the output of a code execution."""
        return cls(code_execution_result=CodeExecutionResult(outcome=outcome, output=output))


@record
class Content(Record):
    """A message: its `role` ('user' or 'model') and its `parts`."""

    parts: list[Part] | None = None
    role: str | None = None
    wraps = ("Part", "parts")

    def __init__(self, parts: list[Any] | None = None, role: str | None = None) -> None:
        self.role = role
        self.parts = parts
        if parts:
            for part in parts:
                if not isinstance(part, Part):
                    self.parts = [coerce(Part, p) for p in parts]
                    break


#: The value that all parts without rare fields share.
NO_RARE: SparseValues = Part.no_sparse


class UserContent(Content):
    """A user's message from a string, a part or a list of them."""

    __slots__ = ()

    def __new__(cls, parts: object) -> Content:  # type: ignore[misc]
        return Content(role="user", parts=_parts(parts))


class ModelContent(Content):
    """A model's message from a string, a part or a list of them."""

    __slots__ = ()

    def __new__(cls, parts: object) -> Content:  # type: ignore[misc]
        return Content(role="model", parts=_parts(parts))


def _parts(value: object) -> list[Part]:
    items = value if isinstance(value, list) else [value]
    return [Part(text=item) if isinstance(item, str) else coerce(Part, item) for item in items]


_PART_FIELDS: Json = {
    "function_call": FunctionCall,
    "function_response": FunctionResponse,
    "inline_data": Blob,
    "file_data": FileData,
    "executable_code": ExecutableCode,
    "code_execution_result": CodeExecutionResult,
    "video_metadata": VideoMetadata,
    "media_resolution": PartMediaResolution,
}
_CALLS = frozenset((FunctionCall, FunctionCall._frozen))
_RESPONSES = frozenset((FunctionResponse, FunctionResponse._frozen))
