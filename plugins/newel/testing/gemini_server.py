"""GeminiServer: Gemini's wire protocol on 127.0.0.1, for tests that run the real SDK without the service.

    with GeminiServer() as server:
        server.reply(call("add", {"a": 1, "b": 2}))
        server.stream("The sum ", "is 3.")
        ...  # with base_url=server.url, or GOOGLE_GEMINI_BASE_URL
        assert server.requests[0].body["contents"][0]["parts"] == [{"text": "add 1 and 2"}]

Each request takes the next step of the script, streamed or whole as the request asks, through the Interactions API
as well. A request that the service would refuse is refused (`gemini_rules`). A request without a step, or a step
without a request, is an error when the server closes. Context caches (`caches`) and interactions (`interactions`) are
kept as the service keeps them.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

from newel.testing import gemini_caches, gemini_interactions
from newel.testing.gemini_caches import Caches, tokens_of
from newel.testing.gemini_http import Listener, Step
from newel.testing.gemini_interactions import Interactions
from newel.testing.gemini_rules import refusal
from newel_kernel import Json

#: A part: text, or a part's JSON.
PartLike = str | Mapping[str, object]
#: A chunk of an answer: a part, several, or the JSON of the whole chunk.
ChunkLike = PartLike | list[PartLike]

_PATH = re.compile(
    r"/v1(?:alpha|beta|beta1)?/(?P<owner>.*?)(?:models|endpoints|tunedModels)/(?P<model>[^/:]+):(?P<method>\w+)"
)
_STREAM = "streamGenerateContent"
_WHOLE = ("candidates", "usageMetadata", "promptFeedback", "error")
_STATUS = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request as it came. `headers` (lower-case names) hold the key and are not shown."""

    path: str
    #: Empty where the request is not for a model.
    model: str
    streamed: bool
    body: Any
    headers: Mapping[str, str] = field(repr=False)
    method: str = "POST"

    @property
    def key(self) -> str | None:
        """The API key that the client sent."""
        return self.headers.get("x-goog-api-key")


class GeminiServer:
    """A scripted stand-in for the service. A context manager; `url` is its address."""

    def __init__(self) -> None:
        self.requests: list[RecordedRequest] = []
        self.caches = Caches()
        self.interactions = Interactions()
        #: Set when a client leaves before its answer is whole.
        self.abandoned = threading.Event()
        self._script: deque[Step] = deque()
        self._lock = threading.Lock()
        self._problems: list[str] = []
        self._listener: Listener | None = None

    # --- the script -------------------------------------------------------------------------------

    def reply(self, *parts: PartLike, finish: str | None = "STOP", usage: Mapping[str, int] | None = None) -> None:
        """Answer with `parts` in one piece."""
        self.stream(list(parts), finish=finish, usage=usage)

    def stream(
        self,
        *chunks: ChunkLike,
        finish: str | None = "STOP",
        usage: Mapping[str, int] | None = None,
        pause: float = 0.0,
        then: Literal["end", "drop", "hold"] = "end",
    ) -> None:
        """Answer with `chunks`; the last one says why the model stopped and what it cost."""
        answers = [_chunk(chunk) for chunk in chunks]
        if then == "end" and answers and answers[-1].get("candidates"):
            if finish is not None:
                answers[-1]["candidates"][0].setdefault("finishReason", finish)
            answers[-1].setdefault("usageMetadata", dict(usage) if usage is not None else _usage(answers))
        self._add(Step(tuple(answers), pause, then))

    def fail(self, code: int, message: str = "", *, times: int = 1) -> None:
        """Answer with an error of the HTTP status `code`."""
        for _ in range(times):
            self._add(Step(status=code, raw=_error(code, message or _STATUS.get(code, "").lower())))

    def raw(self, body: bytes | str, *, status: int = 200) -> None:
        """Answer with `body`, whatever it is; streamed, it is the data of one event."""
        self._add(Step(status=status, raw=body.encode() if isinstance(body, str) else body))

    def _add(self, step: Step) -> None:
        with self._lock:
            self._script.append(step)

    # --- running ----------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """The base URL, for `base_url` or GOOGLE_GEMINI_BASE_URL."""
        if self._listener is None:
            raise RuntimeError("the server is not running; use it in a `with` statement or call start()")
        return self._listener.url

    def start(self) -> None:
        """Listen on a free port of 127.0.0.1."""
        self._listener = Listener(self._answer, self.abandoned)

    def close(self) -> None:
        """Stop listening and close every connection; the script is not checked."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def check(self) -> None:
        """Raise an AssertionError where requests and script do not match."""
        left = len(self._script)
        problems = [*self._problems, *([f"{left} scripted answers were not asked for"] if left else [])]
        if problems:
            raise AssertionError("GeminiServer: " + "; ".join(problems))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if kind is None:
            self.check()

    def _answer(self, method: str, path: str, headers: Mapping[str, str], payload: bytes) -> tuple[Step, bool]:
        """The step for a request, and whether it is to be streamed."""
        route, _, query = path.partition("?")
        match = _PATH.fullmatch(route) if method == "POST" else None
        interacts = method == "POST" and gemini_interactions.PATH.fullmatch(route) is not None
        if match is None and not interacts and not gemini_caches.PATH.fullmatch(route):
            return _refused(404, f"no such method: {route}"), False
        try:
            body = json.loads(payload or b"{}")
        except ValueError:
            return _refused(400, "Invalid JSON payload received."), False
        fields: Json = body if isinstance(body, dict) else {}
        model = match["model"] if match is not None else str(fields.get("model", "")) if interacts else ""
        streamed = bool(fields.get("stream")) if interacts else bool(match and match["method"] == _STREAM)
        with self._lock:
            self.requests.append(RecordedRequest(route, model, streamed, body, headers, method))
        if not headers.get("x-goog-api-key") and not headers.get("authorization"):
            return _refused(403, "Method doesn't allow unregistered callers. Please use API Key."), False
        if interacts:
            return self._interact(fields, model, streamed)
        if match is None:
            status, answer = self.caches.answer(method, route, body)
            return (_refused(status, answer) if isinstance(answer, str) else _whole(answer)), False
        if match["method"] == "countTokens":
            return _whole({"totalTokens": tokens_of(body)}), False
        if streamed and "alt=sse" not in query:
            return _refused(400, "this server streams with alt=sse only"), False
        vertex = match["owner"].startswith(("projects/", "publishers/"))
        return self._generate(body, model, streamed, vertex)

    def _generate(self, body: object, model: str, streamed: bool, vertex: bool) -> tuple[Step, bool]:
        body, cached, reason = self.caches.applied(body, model)
        if reason is not None:
            return _refused(403 if "not found" in reason else 400, reason), False
        reason = refusal(body, vertex=vertex)
        if reason is not None:
            return _refused(400, reason), False
        step, number = self._take()
        if step.raw is not None:
            return step, streamed and step.status == 200
        origin = {"modelVersion": model, "responseId": f"response-{number}"}
        chunks = [{**chunk, **origin} if "error" not in chunk else chunk for chunk in step.chunks]
        if cached:
            chunks = [_with_cached_tokens(chunk, cached) for chunk in chunks]
        if not streamed:
            chunks = [_merged(chunks)]
        return Step(tuple(chunks), step.pause, step.then), streamed

    def _interact(self, body: Json, model: str, streamed: bool) -> tuple[Step, bool]:
        reason = self.interactions.refusal(body)
        if reason is not None:
            return _refused(400, reason), False
        step, _ = self._take()
        if step.raw is not None:
            return step, streamed and step.status == 200
        store = body.get("store") is not False
        return self.interactions.answered(step, model, streamed=streamed, store=store), streamed

    def _take(self) -> tuple[Step, int]:
        """The script's next step, and the number of the request."""
        with self._lock:
            number = len(self.requests)
            if self._script:
                return self._script.popleft(), number
            self._problems.append(f"request {number} has no scripted answer")
            return _refused(500, "the test's script has no answer for this request"), number


def text(value: str, *, thought: bool = False, signature: bytes | None = None) -> Json:
    """A part of text."""
    return {"text": value, **({"thought": True} if thought else {}), **_signed(signature)}


def call(
    name: str, args: Mapping[str, object] | None = None, *, id: str | None = None, signature: bytes | None = None
) -> Json:
    """A part that calls a function. The Gemini API gives calls no id; Vertex AI may."""
    content = {"name": name, "args": dict(args or {}), **({"id": id} if id else {})}
    return {"functionCall": content, **_signed(signature)}


def _signed(signature: bytes | None) -> dict[str, str]:
    return {"thoughtSignature": base64.b64encode(signature).decode()} if signature is not None else {}


def _chunk(chunk: ChunkLike) -> Json:
    if isinstance(chunk, Mapping) and any(name in chunk for name in _WHOLE):
        return json.loads(json.dumps(chunk))  # type: ignore[no-any-return]
    items = chunk if isinstance(chunk, list) else [chunk]
    parts = [{"text": item} if isinstance(item, str) else dict(item) for item in items]
    content = {"role": "model", **({"parts": parts} if parts else {})}
    return {"candidates": [{"content": content, "index": 0}]}


def _merged(chunks: list[Json]) -> Json:
    """The one answer that `chunks` make up; neighbouring texts of one kind become one part."""
    whole: Json = {}
    parts: list[Json] = []
    candidate: Json = {}
    for chunk in chunks:
        whole |= chunk
        for one in chunk.get("candidates", ())[:1]:
            candidate |= one
            for part in one.get("content", {}).get("parts", ()):
                if parts and _is_text(part) and _is_text(parts[-1]) and part.get("thought") == parts[-1].get("thought"):
                    parts[-1] = {**parts[-1], "text": parts[-1]["text"] + part["text"]}
                else:
                    parts.append(part)
    if candidate:
        content = {"content": {"role": "model", "parts": parts}} if parts else {}
        whole["candidates"] = [{**candidate, **content}]
    return whole


def _is_text(part: Mapping[str, object]) -> bool:
    return "text" in part and "thoughtSignature" not in part


def _usage(chunks: list[Json]) -> dict[str, int]:
    answer = tokens_of(chunks)
    return {"promptTokenCount": 10, "candidatesTokenCount": answer, "totalTokenCount": 10 + answer}


def _with_cached_tokens(chunk: Json, tokens: int) -> Json:
    """`chunk`, whose token counts say how many came from a cache."""
    usage = chunk.get("usageMetadata")
    return chunk if usage is None else {**chunk, "usageMetadata": {"cachedContentTokenCount": tokens, **usage}}


def _error(code: int, message: str) -> bytes:
    error = {"code": code, "message": message, "status": _STATUS.get(code, "UNKNOWN")}
    return json.dumps({"error": error}).encode()


def _refused(code: int, message: str) -> Step:
    return Step(status=code, raw=_error(code, message))


def _whole(body: Mapping[str, object]) -> Step:
    return Step(raw=json.dumps(body).encode())
