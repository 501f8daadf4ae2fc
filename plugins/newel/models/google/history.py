"""History: contents as Gemini reads them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

from newel.models.contract import ModelCapabilities
from newel.models.google.sdk import Json
from newel.models.wire.signatures import OWNER, owner_of
from newel_types import Content, FunctionResponse, Part

PROVIDER = "gemini"
#: The documented stand-in for the signature of a call that another model made.
STAND_IN = "skip_thought_signature_validator"
_UNANSWERED = "The tool call has no result; whether it took effect is not known."


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the backend and the model differ from others."""

    vertex: bool
    #: Tool results hold media; otherwise media follow the results.
    media_in_results: bool
    #: The first call of each step must come back signed.
    signed_calls: bool

    @classmethod
    def of(cls, capable: ModelCapabilities, *, vertex: bool) -> Dialect:
        """The dialect of a model."""
        return cls(vertex, bool(capable.result_media), capable.signed_calls)


@dataclass(slots=True)
class History:
    """A `Conversion`: contents as JSON, so that each call has its result in the turn after it."""

    dialect: Dialect
    contents: list[Json] = field(default_factory=list)
    #: The calls of the latest turn that have no result yet.
    _open: list[tuple[str | None, str | None]] = field(default_factory=list)

    def copy(self) -> Self:
        """See `Conversion`; a content is not changed once it is converted."""
        return type(self)(self.dialect, list(self.contents), list(self._open))

    def add(self, content: Content) -> None:
        """Convert one more content; it is left out if none of it remains."""
        if content.role == "model":
            if self.contents and self.contents[-1]["role"] == "user":
                self.close()
            parts = list(self._model_parts(content.parts or ()))
        else:
            parts = self._user_parts(content)
        if parts:
            self.contents.append({"role": content.role or "user", "parts": parts})

    def close(self) -> None:
        """Give each call without a result an error result; the service refuses the call otherwise."""
        if self._open:
            parts = [_error(call_id, name) for call_id, name in self._open]
            self._open.clear()
            self.contents.append({"role": "user", "parts": parts})

    def _model_parts(self, parts: Sequence[Part]) -> Iterator[Json]:
        signed = not self.dialect.signed_calls
        for part in parts:
            owner = owner_of(part)
            foreign = owner is not None and owner != PROVIDER
            if foreign and part.thought:
                continue
            dumped = self._dump(part, foreign=foreign)
            call = part.function_call
            if call is not None:
                self._open.append((call.id, call.name))
                if not signed and "thoughtSignature" not in dumped:
                    dumped["thoughtSignature"] = STAND_IN
                signed = True
            yield dumped

    def _user_parts(self, content: Content) -> list[Json]:
        """Results in the order of their calls, then media that results cannot hold, then the rest."""
        results: list[tuple[int, Json]] = []
        media: list[Json] = []
        rest: list[Json] = []
        for part in content.parts or ():
            response = part.function_response
            if response is None:
                rest.append(self._dump(part, foreign=owner_of(part) not in (None, PROVIDER)))
            elif (place := self._place(response, dict(results))) is not None:
                dumped = self._dump(part, foreign=False)
                if not self.dialect.media_in_results:
                    media += _labelled(response, dumped["functionResponse"].pop("parts", ()))
                dumped["functionResponse"].setdefault("response", {})
                results.append((place, dumped))
        self._open = [call for place, call in enumerate(self._open) if place not in dict(results)]
        return [dumped for _, dumped in sorted(results, key=lambda pair: pair[0])] + media + rest

    def _place(self, response: FunctionResponse, used: Container[int]) -> int | None:
        """The open call that a result answers; None if no call is open, as for a later result of a call."""
        fitting = (n for n, (call_id, name) in enumerate(self._open) if _fits(response, call_id, name))
        return next((n for n in fitting if n not in used), None)

    def _dump(self, part: Part, *, foreign: bool) -> Json:
        """A part without the fields that only the other backend or only newel knows, or that another provider gave."""
        dumped: Json = part.model_dump(mode="json", by_alias=True, exclude_none=True)
        if "text" in dumped and len(dumped) == 1:
            return dumped
        if foreign:
            dumped.pop("thoughtSignature", None)
        if self.dialect.vertex or OWNER in (part.part_metadata or {}):
            dumped.pop("partMetadata", None)
        if not self.dialect.vertex:
            for medium in ("inlineData", "fileData"):
                if medium in dumped:
                    dumped[medium].pop("displayName", None)
            for name in ("partialArgs", "willContinue"):
                dumped.get("functionCall", {}).pop(name, None)
        if not dumped.keys() - {"thought", "thoughtSignature", "partMetadata"}:
            dumped["text"] = ""
        return dumped


def _fits(response: FunctionResponse, call_id: str | None, name: str | None) -> bool:
    return response.id == call_id if response.id and call_id else response.name == name


def _labelled(response: FunctionResponse, media: Sequence[Json]) -> Iterator[Json]:
    """The media of a result as further parts, after a text that names the result."""
    if media:
        yield {"text": f"Media of the result of {response.name}:"}
    for one in media:
        for blob in one.values():
            if isinstance(blob, dict):
                blob.pop("displayName", None)
        yield one


def _error(call_id: str | None, name: str | None) -> Json:
    response: Json = {"name": name, "response": {"error": _UNANSWERED}}
    return {"functionResponse": {"id": call_id, **response} if call_id else response}
