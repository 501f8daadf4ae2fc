"""Gemini: how its answers look. Its context caches and the Interactions API are here as well."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from newel_kernel import Json
from newel_testkit.wire import gemini_caches, gemini_interactions
from newel_testkit.wire.answers import Answer
from newel_testkit.wire.gemini_caches import Caches, tokens_of
from newel_testkit.wire.gemini_interactions import Interactions
from newel_testkit.wire.gemini_reading import reading
from newel_testkit.wire.gemini_rules import refusal
from newel_testkit.wire.gemini_turns import is_third, signature, signature_bytes
from newel_testkit.wire.http import Logged, Reply
from newel_testkit.wire.reading import Reading
from newel_testkit.wire.schemas import RefusedError

_PATH = re.compile(
    r"/v1(?:alpha|beta|beta1)?/(?P<owner>.*?)(?:models|endpoints|tunedModels)/(?P<model>[^/:]+):(?P<method>\w+)"
)
_STREAM = "streamGenerateContent"
_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_STOPS = {"end": "STOP", "max": "MAX_TOKENS", "stop": "STOP", "tool": "STOP", "safety": "SAFETY"}


class GeminiWire:
    """The Gemini API, and Vertex AI's. Of an answer, `more` may hold ``no_choices`` and ``no_ids``.

    Delete an entry of `caches.by_name` or `interactions.waiting` to have the service lose it.
    """

    name: ClassVar[str] = "gemini"
    path: ClassVar[str] = "/v1"
    request_id: ClassVar[str] = "x-request-id"
    end_events: ClassVar[int] = 1
    bad_event: ClassVar[bytes] = b"data: {oops}\r\n\r\n"

    def __init__(self, base: str = "/gemini") -> None:
        self.base = base
        self.caches = Caches()
        self.interactions = Interactions()
        #: Thought signatures that were given out.
        self.issued: set[bytes] = set()
        self._count = 0

    def unsayable(self, model: str) -> frozenset[str]:
        """See `Wire`."""
        return frozenset(("caching",) if is_third(model) else ("caching", "media in results"))

    def beside(self, request: Logged) -> Reply | None:
        """See `Wire`."""
        route, match = self._route(request), self._match(request)
        if request.method != "DELETE" and request.body is not None and isinstance(request.body, str):
            return self._refused("Invalid JSON payload received.")
        if match is None and not self._interacts(request) and not gemini_caches.PATH.fullmatch(route):
            return self._refused(f"no such method: {route}", 404)
        if not request.headers.get("x-goog-api-key") and not request.headers.get("authorization"):
            return self._refused("Method doesn't allow unregistered callers. Please use API Key.", 403)
        if gemini_caches.PATH.fullmatch(route):
            status, answer = self.caches.answer(request.method, route, request.body)
            return self._refused(answer, status) if isinstance(answer, str) else _body(answer)
        if match is not None and match["method"] == "countTokens":
            return _body({"totalTokens": tokens_of(request.body)})
        return None

    def check(self, request: Logged) -> None:
        """See `Wire`."""
        match = self._match(request)
        if match is None:
            reason = self.interactions.refusal(request.body)
        elif self.is_streamed(request) and "alt=sse" not in request.query:
            reason = "this server streams with alt=sse only"
        else:
            body, _, reason = self.caches.applied(request.body, match["model"])
            if reason is not None and "not found" in reason:
                raise RefusedError(reason, 403)
            vertex = match["owner"].startswith(("projects/", "publishers/"))
            reason = reason or refusal(body, model=match["model"], vertex=vertex, issued=self.issued)
        if reason is not None:
            raise RefusedError(reason)

    def reading(self, request: Logged) -> Reading:
        """See `Wire`."""
        body, tokens, _ = self.caches.applied(request.body, self.model(request))
        result = reading(body)  # type: ignore[arg-type]  # it was accepted
        result.cached = tokens > 0
        return result

    def is_streamed(self, request: Logged) -> bool:
        """See `Wire`."""
        match = self._match(request)
        return bool(request.body.get("stream")) if match is None else match["method"] == _STREAM

    def model(self, request: Logged) -> str:
        """The model of a request; empty if it is for none."""
        match = self._match(request)
        if match is not None:
            return match["model"]
        return str(request.body.get("model", "")) if isinstance(request.body, dict) else ""

    def whole(self, answer: Answer, request: Logged) -> Json:
        """See `Wire`."""
        return self.translated(list(_chunks(answer, 1 << 30)), request, streamed=False)[0]

    def streamed(self, answer: Answer, request: Logged) -> list[bytes]:
        """See `Wire`."""
        chunks = [*_chunks(answer, answer.piece), *answer.extra_events]
        return [event_of(chunk) for chunk in self.translated(chunks, request, streamed=True)]

    def translated(self, chunks: Sequence[Json], request: Logged, *, streamed: bool, whole: bool = True) -> list[Json]:
        """What `chunks` of generateContent say in the API that the request is for, in one piece unless `streamed`."""
        signatures = (part["thoughtSignature"] for part in _parts(chunks) if "thoughtSignature" in part)
        self.issued |= {signature_bytes(one) for one in signatures}
        model = self.model(request)
        if self._interacts(request):
            store = request.body.get("store") is not False
            return self.interactions.answered(chunks, model, streamed=streamed, whole=whole, store=store)
        self._count += 1
        origin = {"modelVersion": model, "responseId": f"response-{self._count}"}
        messages = [{**chunk, **origin} if "error" not in chunk else chunk for chunk in chunks]
        if cached := self.caches.applied(request.body, model)[1]:
            messages = [_with_cached_tokens(chunk, cached) for chunk in messages]
        return messages if streamed else [_merged(messages)]

    def error(self, status: int, message: str) -> Json:
        """See `Wire`."""
        return {"error": {"code": status, "message": message, "status": _STATUS.get(status, "UNKNOWN")}}

    def error_event(self, status: int, message: str) -> bytes:
        """See `Wire`."""
        return event_of(self.error(status, message))

    def text_event(self, words: str) -> bytes:
        """See `Wire`."""
        return event_of({"candidates": [{"content": {"role": "model", "parts": [{"text": words}]}}]})

    def _route(self, request: Logged) -> str:
        return request.path.removeprefix(self.base)

    def _match(self, request: Logged) -> re.Match[str] | None:
        return _PATH.fullmatch(self._route(request)) if request.method == "POST" else None

    def _interacts(self, request: Logged) -> bool:
        return request.method == "POST" and gemini_interactions.PATH.fullmatch(self._route(request)) is not None

    def _refused(self, reason: str, status: int = 400) -> Reply:
        return Reply(status=status, body=json.dumps(self.error(status, reason)).encode())


def event_of(chunk: Json) -> bytes:
    """An event of a stream."""
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\r\n\r\n"


def _body(value: Json) -> Reply:
    return Reply(body=json.dumps(value).encode())


def _chunks(answer: Answer, size: int) -> Iterator[Json]:
    """The chunks of an answer whose texts come in pieces of `size` letters."""
    stop, parts = _STOPS.get(answer.stop, answer.stop), list(_answer_parts(answer, size))
    last: Json = {"usageMetadata": _usage(answer)} if answer.usage else {}
    if answer.more.get("no_choices"):
        yield last
        return
    if answer.stop == "safety":
        rating = {"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": True}
        yield {"candidates": [{"finishReason": stop, "index": 0, "safetyRatings": [rating]}], **last}
        return
    for number, part in enumerate(parts or [None], 1):
        content = {"role": "model", **({"parts": [part]} if part is not None else {})}
        candidate: Json = {"content": content, "index": 0}
        if number < len(parts):
            yield {"candidates": [candidate]}
        else:
            yield {"candidates": [{**candidate, "finishReason": stop}], **last}


def _answer_parts(answer: Answer, size: int) -> Iterator[Json]:
    """The parts; a signature is on the first call, or if there is none, on the text after the thoughts."""
    thoughts = "".join(part["thought"] for part in answer.parts if "thought" in part)
    calls = [part for part in answer.parts if "call" in part]
    for part in answer.parts:
        if "call" in part:
            function_call = {name: part["call"][name] for name in ("name", "args")}
            if not answer.more.get("no_ids"):
                function_call["id"] = part["call"]["id"]
            signed = {"thoughtSignature": signature(thoughts or "call")} if part is calls[0] else {}
            yield {"functionCall": function_call, **signed}
            continue
        text: str = part["thought"] if "thought" in part else part["text"]
        thought = {"thought": True} if "thought" in part else {}
        pieces = [text[start : start + size] for start in range(0, len(text), size)] or [""]
        yield from ({"text": piece, **thought} for piece in pieces[:-1])
        signed = {"thoughtSignature": signature(thoughts)} if thoughts and not calls and not thought else {}
        yield {"text": pieces[-1], **thought, **signed}


def _usage(answer: Answer) -> Json:
    prompt, used, thoughts = (answer.usage.get(name, 0) for name in ("input", "output", "reasoning"))
    usage = {"promptTokenCount": prompt, "candidatesTokenCount": used - thoughts, "totalTokenCount": prompt + used}
    if thoughts:
        usage["thoughtsTokenCount"] = thoughts
    if "cached" in answer.usage:
        usage["cachedContentTokenCount"] = answer.usage["cached"]
    return usage


def _parts(chunks: Sequence[Json]) -> Iterator[Json]:
    for chunk in chunks:
        for candidate in chunk.get("candidates", ())[:1]:
            yield from candidate.get("content", {}).get("parts", ())


def _merged(chunks: list[Json]) -> Json:
    """The one answer that `chunks` make up; neighbouring texts of one kind become one part."""
    whole: Json = {}
    parts: list[Json] = []
    candidate: Json = {}
    for chunk in chunks:
        whole |= chunk
        for one in chunk.get("candidates", ())[:1]:
            candidate |= one
    for part in _parts(chunks):
        if parts and _is_text(part) and _is_text(parts[-1]) and part.get("thought") == parts[-1].get("thought"):
            parts[-1] = {**parts[-1], "text": parts[-1]["text"] + part["text"]}
        else:
            parts.append(part)
    if candidate:
        content = {"content": {"role": "model", "parts": parts}} if parts else {}
        whole["candidates"] = [{**candidate, **content}]
    return whole


def _is_text(part: Json) -> bool:
    return "text" in part and "thoughtSignature" not in part


def _with_cached_tokens(chunk: Json, tokens: int) -> Json:
    """`chunk`, whose token counts say how many came from a cache."""
    usage = chunk.get("usageMetadata")
    return chunk if usage is None else {**chunk, "usageMetadata": {"cachedContentTokenCount": tokens, **usage}}
