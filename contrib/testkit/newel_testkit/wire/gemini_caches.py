"""Gemini's context caches: what the service keeps of requests, and what it refuses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from newel_kernel import Json, seam
from newel_testkit.wire.gemini_rules import refusal

PATH = re.compile(
    r"/v1(?:alpha|beta|beta1)?/(?P<owner>(?:projects/[^/]+/locations/[^/]+/)?)cachedContents(?P<id>/\w+)?"
)
#: The least tokens of a cache, by the start of the model's name.
_LEAST = {"gemini-2.5-": 2048, "gemini-3": 4096}
_TOGETHER = ("systemInstruction", "tools", "toolConfig")
_EITHER = "CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config."

#: The status of an answer, and its body; of a refusal, its message.
Answer = tuple[int, Json | str]


@dataclass(frozen=True, slots=True)
class Cache:
    """A cache; `body` is the request that made it."""

    name: str
    model: str
    body: Json
    tokens: int
    #: Seconds since the epoch.
    expires: float

    def as_resource(self) -> Json:
        """The resource as the service shows it: without its contents."""
        return {
            "name": self.name,
            "model": self.body["model"],
            "expireTime": datetime.fromtimestamp(self.expires, UTC).isoformat(),
            "usageMetadata": {"totalTokenCount": self.tokens},
        }


class Caches:
    """The existing caches, by name. Delete one here to have the service lose it."""

    def __init__(self) -> None:
        self.by_name: dict[str, Cache] = {}
        self._count = 0

    def answer(self, method: str, path: str, body: object) -> Answer:
        """The answer to a request whose path `PATH` matches."""
        match = PATH.fullmatch(path)
        if match is None:
            return 404, f"no such method: {path}"
        name = f"{match['owner']}cachedContents{match['id'] or ''}"
        if method == "POST" and not match["id"]:
            return self._create(name, body, vertex=bool(match["owner"]))
        cache = self.by_name.get(name)
        if cache is None or method not in ("GET", "DELETE"):
            return 403, "CachedContent not found (or permission denied)"
        if method == "DELETE":
            del self.by_name[name]
            return 200, {}
        return 200, cache.as_resource()

    def applied(self, body: object, model: str) -> tuple[object, int, str | None]:
        """A request's body with the contents of its cache before its own, the cache's tokens, and why it is refused."""
        if not isinstance(body, dict) or not (name := body.get("cachedContent")):
            return body, 0, None
        cache = self.by_name.get(name)
        if cache is None or seam.clock() >= cache.expires:
            return body, 0, "CachedContent not found (or permission denied)"
        if cache.model != model:
            return body, 0, f"Model used by GenerateContent request ({model}) and CachedContent ({cache.model}) differ."
        if any(name in body for name in _TOGETHER):
            return body, 0, _EITHER
        cached = {key: cache.body[key] for key in _TOGETHER if key in cache.body}
        contents = [*cache.body.get("contents", ()), *body.get("contents", ())]
        return {**body, **cached, "contents": contents}, cache.tokens, None

    def _create(self, collection: str, body: object, *, vertex: bool) -> Answer:
        if not isinstance(body, dict) or not re.fullmatch(r"\d+(\.\d+)?s", str(body.get("ttl"))):
            return 400, "a CachedContent needs a ttl like '300s'"
        content = {key: value for key, value in body.items() if key not in ("ttl", "displayName", "model")}
        reason = refusal(content, vertex=vertex, whole=False)
        if reason is not None:
            return 400, reason
        model = str(body.get("model")).rpartition("/")[2]
        tokens = tokens_of(content)
        least = next((count for start, count in _LEAST.items() if model.startswith(start)), 1)
        if tokens < least:
            return 400, f"Cached content is too small. total_token_count={tokens}, min_total_token_count={least}"
        self._count += 1
        cache = Cache(f"{collection}/c{self._count}", model, body, tokens, seam.clock() + float(body["ttl"][:-1]))
        self.by_name[cache.name] = cache
        return 200, cache.as_resource()


def tokens_of(value: object) -> int:
    """About how many tokens the texts in `value` have."""
    if isinstance(value, dict):
        return sum(tokens_of(inner) for name, inner in value.items() if name != "role")
    if isinstance(value, list):
        return sum(map(tokens_of, value))
    return -(-len(value) // 4) if isinstance(value, str) else 0
