"""History: contents as Gemini reads them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

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


class _Call(NamedTuple):
    id: str | None
    name: str | None
    result: Json | None = None


@dataclass(slots=True)
class History:
    """A `Conversion`: contents as JSON, so that the turn right after calls begins with a result for each of them."""

    dialect: Dialect
    contents: list[Json] = field(default_factory=list)
    #: The calls of the latest turn of the model, each with its result, if that came.
    _calls: list[_Call] = field(default_factory=list)
    #: The position of the content that holds the results of these calls.
    _results_at: int | None = None

    def copy(self) -> Self:
        """See `Conversion`; a content is not changed once it is converted."""
        return type(self)(self.dialect, list(self.contents), list(self._calls), self._results_at)

    def add(self, content: Content) -> None:
        """Convert one more content; it is left out if none of it remains. Consecutive contents of the model are one."""
        if content.role != "model":
            self._add_user(content)
        elif own := [part for part in content.parts or () if not (part.thought and _is_foreign(part))]:
            if self.contents and self.contents[-1]["role"] != "model":
                self._calls, self._results_at = [], None
            self._calls = [
                *self._calls,
                *(_Call(p.function_call.id, p.function_call.name) for p in own if p.function_call),
            ]
            parts = list(self._model_parts(own))
            if self.contents and self.contents[-1]["role"] == "model":
                self.contents[-1] = {"role": "model", "parts": [*self.contents[-1]["parts"], *parts]}
            else:
                self.contents.append({"role": "model", "parts": parts})

    def close(self) -> None:
        """Give each call without a result an error result; the service refuses the call otherwise."""
        if self._calls and self._results_at is None:
            self._results_at = len(self.contents)
            self.contents.append({"role": "user", "parts": self._results()})

    def _add_user(self, content: Content) -> None:
        answered, media, rest = self._user_parts(content)
        for place, dumped in answered:
            self._calls[place] = self._calls[place]._replace(result=dumped)
        role, others = content.role or "user", media + rest
        if self._calls and self._results_at is None and (answered or others):
            if answered:
                self._results_at = len(self.contents)
                self.contents.append({"role": role, "parts": self._results() + others})
                return
            self.close()
        elif answered and self._results_at is not None:  # it came after the message that stands next to the others
            old = self.contents[self._results_at]
            parts = [*self._results(), *old["parts"][len(self._calls) :]]
            self.contents[self._results_at] = {**old, "parts": parts}
        if others:
            self.contents.append({"role": role, "parts": others})

    def _results(self) -> list[Json]:
        return [call.result or _error(call.id, call.name) for call in self._calls]

    def _model_parts(self, parts: Sequence[Part]) -> Iterator[Json]:
        signed = not self.dialect.signed_calls
        for part in parts:
            dumped = self._dump(part, foreign=_is_foreign(part))
            if part.function_call is not None:
                if not signed and "thoughtSignature" not in dumped:
                    dumped["thoughtSignature"] = STAND_IN
                signed = True
            yield dumped

    def _user_parts(self, content: Content) -> tuple[list[tuple[int, Json]], list[Json], list[Json]]:
        """The results, each with the position of its call, the media that results cannot hold, and the rest."""
        results: list[tuple[int, Json]] = []
        media: list[Json] = []
        rest: list[Json] = []
        for part in content.parts or ():
            response = part.function_response
            if response is None:
                rest.append(self._dump(part, foreign=_is_foreign(part)))
            elif (place := self._place(response, dict(results))) is not None:
                dumped = self._dump(part, foreign=False)
                if not self.dialect.media_in_results:
                    media += _labelled(response, dumped["functionResponse"].pop("parts", ()))
                dumped["functionResponse"].setdefault("response", {})
                results.append((place, dumped))
        return results, media, rest

    def _place(self, response: FunctionResponse, used: Container[int]) -> int | None:
        """The open call that a result answers; None if no call is open, as for a later result of a call."""
        fitting = (n for n, call in enumerate(self._calls) if call.result is None and _fits(response, call))
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


def _is_foreign(part: Part) -> bool:
    return owner_of(part) not in (None, PROVIDER)


def _fits(response: FunctionResponse, call: _Call) -> bool:
    return response.id == call.id if response.id and call.id else response.name == call.name


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
