"""GeminiServer: Gemini's wire protocol on 127.0.0.1, for tests that run the real SDK without the service.

    with GeminiServer() as server:
        server.reply(call("add", {"a": 1, "b": 2}))
        server.stream("The sum ", "is 3.")
        ...  # with base_url=server.url, or GOOGLE_GEMINI_BASE_URL
        assert server.requests[0].body["contents"][0]["parts"] == [{"text": "add 1 and 2"}]

Each request takes the next step of the script, streamed or whole as the request asks, through the Interactions API
as well. A request that the service would refuse is refused (`newel_testkit.wire.gemini_rules`). A request without a
step, or a step without a request, is an error when the server closes. Context caches (`caches`) and interactions
(`interactions`) are kept as the service keeps them.
"""

from __future__ import annotations

import base64
import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

from newel_kernel import Json
from newel_testkit.wire.gemini import GeminiWire, event_of
from newel_testkit.wire.gemini_caches import Caches, tokens_of
from newel_testkit.wire.gemini_interactions import Interactions
from newel_testkit.wire.http import Logged, Reply, Then
from newel_testkit.wire.server import Wire, WireServer

#: A part: text, or a part's JSON.
PartLike = str | Mapping[str, object]
#: A chunk of an answer: a part, several, or the JSON of the whole chunk.
ChunkLike = PartLike | list[PartLike]

_WHOLE = ("candidates", "usageMetadata", "promptFeedback", "error")
_THENS: dict[str, Then] = {"end": "end", "drop": "close", "hold": "stall"}


@dataclass(frozen=True, slots=True)
class _Step:
    """What one request gets: an error, a raw body, or chunks and how they end."""

    chunks: tuple[Json, ...] = ()
    #: Seconds after each chunk.
    pause: float = 0.0
    then: Then = "end"
    status: int = 200
    raw: bytes | None = None


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request as it came. `headers` (lower-case names) hold the key and are not shown."""

    path: str
    #: Empty if the request is not for a model.
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
        #: Set when a client leaves before its answer is complete.
        self.abandoned = threading.Event()
        self._wire = GeminiWire("")
        self._script: deque[_Step] = deque()
        self._lock = threading.Lock()
        self._problems: list[str] = []
        self._server: _Scripted | None = None

    @property
    def caches(self) -> Caches:
        """The existing context caches."""
        return self._wire.caches

    @property
    def interactions(self) -> Interactions:
        """The interactions that are kept."""
        return self._wire.interactions

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
        self._add(_Step(tuple(answers), pause, _THENS[then]))

    def fail(self, code: int, message: str = "", *, times: int = 1) -> None:
        """Answer with an error of the HTTP status `code`."""
        for _ in range(times):
            error = self._wire.error(code, message)
            error["error"]["message"] = message or error["error"]["status"].lower()
            self._add(_Step(status=code, raw=json.dumps(error).encode()))

    def raw(self, body: bytes | str, *, status: int = 200) -> None:
        """Answer with `body`, whatever it is; streamed, it is the data of one event."""
        self._add(_Step(status=status, raw=body.encode() if isinstance(body, str) else body))

    def _add(self, step: _Step) -> None:
        with self._lock:
            self._script.append(step)

    # --- running ----------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """The base URL, for `base_url` or GOOGLE_GEMINI_BASE_URL."""
        if self._server is None:
            raise RuntimeError("the server is not running; use it in a `with` statement or call start()")
        return self._server.url

    def start(self) -> None:
        """Listen on a free port of 127.0.0.1."""
        self._server = _Scripted(self._wire, self._note, self._take, self.abandoned)
        self._server.__enter__()

    def close(self) -> None:
        """Stop listening and close every connection; the script is not checked."""
        if self._server is not None:
            self._server.__exit__(None, None, None)
            self._server = None

    def check(self) -> None:
        """Raise an AssertionError if requests and script do not match."""
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

    def _note(self, request: Logged) -> None:
        streamed = isinstance(request.body, dict) and self._wire.is_streamed(request)
        model = self._wire.model(request)
        recorded = RecordedRequest(request.path, model, streamed, request.body, request.headers, request.method)
        with self._lock:
            self.requests.append(recorded)

    def _take(self) -> _Step:
        """The script's next step."""
        with self._lock:
            if self._script:
                return self._script.popleft()
            self._problems.append(f"request {len(self.requests)} has no scripted answer")
        error = self._wire.error(500, "the test's script has no answer for this request")
        return _Step(status=500, raw=json.dumps(error).encode())


class _Scripted(WireServer):
    """The underlying server, whose steps are chunks."""

    def __init__(
        self, wire: GeminiWire, note: Callable[[Logged], None], take: Callable[[], _Step], left: threading.Event
    ) -> None:
        super().__init__([wire])
        self._gemini, self._note, self._take = wire, note, take
        self.left = left

    def _answer(self, request: Logged) -> Reply:
        self._note(request)
        return super()._answer(request)

    def _reply(self, wire: Wire, request: Logged, headers: Mapping[str, str]) -> Reply:
        step, streamed = self._take(), wire.is_streamed(request)
        if step.raw is not None:
            if streamed and step.status == 200:
                return Reply(events=[b"data: " + step.raw + b"\r\n\r\n"])
            return Reply(status=step.status, body=step.raw)
        chunks = self._gemini.translated(step.chunks, request, streamed=streamed, whole=step.then == "end")
        if streamed:
            return Reply(events=[event_of(chunk) for chunk in chunks], pause=step.pause, then=step.then)
        return Reply(body=json.dumps(chunks[0]).encode(), then=step.then)


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


def _usage(chunks: list[Json]) -> dict[str, int]:
    answer = tokens_of(chunks)
    return {"promptTokenCount": 10, "candidatesTokenCount": answer, "totalTokenCount": 10 + answer}
