"""OpenAIRealtimeServer: the OpenAI Realtime API on 127.0.0.1 for the real openai SDK.

with OpenAIRealtimeServer() as server:
    server.connection(Wait("response.create"), *say("Hello"))
    ...  # OPENAI_BASE_URL=server.url
    assert server.problems == []
"""

from __future__ import annotations

import itertools
from typing import Any

from newel_kernel import Json
from newel_testkit.live import openai_messages as messages
from newel_testkit.live.connection import Connection
from newel_testkit.live.gemini_messages import CHUNK
from newel_testkit.live.openai_rules import bad, check
from newel_testkit.live.server import LiveServer

_PCM = {"type": "audio/pcm", "rate": 24_000}


class OpenAIRealtimeServer(LiveServer):
    """A bad event gets an error event, and the socket stays open; without a script each response.create is answered."""

    def __init__(self, port: int = 0, *, api_key: str | None = None, tls: bool = False, chunks: int = 10) -> None:
        super().__init__(port, api_key=api_key, tls=tls)
        #: How many chunks of 20 ms make up an answer.
        self.chunks = chunks
        #: Kinds of events that are refused, with the message of the refusal.
        self.refuses: dict[str, str] = {}
        self._ids = itertools.count(1)

    @property
    def url(self) -> str:
        """For `base_url`, or OPENAI_BASE_URL."""
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/v1"

    def authorised(self, connection: Connection) -> bool:
        """See `LiveServer`."""
        header = connection.headers.get("authorization", "")
        return header.startswith("Bearer ") and (self.api_key is None or header == f"Bearer {self.api_key}")

    def kind(self, message: Json) -> str:
        """See `LiveServer`."""
        return str(message.get("type", "?"))

    def check(self, connection: Connection, message: Json) -> None:
        """See `LiveServer`."""
        if reason := self.refuses.get(self.kind(message)):
            raise bad(reason, message)
        check(connection.state, message)

    async def opened(self, connection: Connection) -> None:
        """See `LiveServer`."""
        connection.state.update(items={}, calls=[], active=None, buffered=0)
        await connection.send({"type": "session.created", "session": _session(connection)})

    def prepare(self, connection: Connection, message: Json) -> Json:
        """See `LiveServer`."""
        message, state = {**message}, connection.state
        message.setdefault("event_id", f"event_{next(self._ids)}")
        kind = message.get("type", "")
        if kind == "response.created":
            state["active"] = f"resp_{next(self._ids)}"
        if kind.startswith("response."):
            self._respond(state, message)
        item = message.get("item")
        if isinstance(item, dict) and "id" in item:
            state["items"][item["id"]] = item
            if item.get("type") == "function_call":
                state["calls"].append(item["call_id"])
        if kind == "response.done":
            state["active"] = None
        return message

    def _respond(self, state: Json, message: Json) -> None:
        if "response" in message:
            whole = {"object": "realtime.response", "id": state["active"], "conversation_id": "conv_1"}
            message["response"] = {**whole, **message["response"]}
        else:
            message.setdefault("response_id", state["active"])

    async def react(self, connection: Connection, kind: str, message: Json) -> None:
        """See `LiveServer`."""
        for event in self._reactions(connection, kind, message):
            await connection.send(event)

    def _reactions(self, connection: Connection, kind: str, message: Json) -> list[Json]:
        items = connection.state["items"]
        before = next(reversed(items), None)
        if kind == "session.update":
            return [{"type": "session.updated", "session": _session(connection)}]
        if kind == "conversation.item.create":
            fields = {"id": f"item_{next(self._ids)}", "object": "realtime.item", "status": "completed"}
            place = {"previous_item_id": before, "item": {**fields, **message["item"]}}
            return [{"type": f"conversation.item.{what}", **place} for what in ("added", "done")]
        if kind == "input_audio_buffer.commit":
            item = f"item_{next(self._ids)}"
            return [{"type": "input_audio_buffer.committed", "previous_item_id": before, "item_id": item}]
        if kind == "input_audio_buffer.clear":
            return [{"type": "input_audio_buffer.cleared"}]
        if kind == "conversation.item.truncate":
            place = {name: message[name] for name in ("item_id", "content_index", "audio_end_ms")}
            return [{"type": "conversation.item.truncated", **place}]
        if kind == "conversation.item.delete":
            items.pop(message["item_id"])
            return [{"type": "conversation.item.deleted", "item_id": message["item_id"]}]
        if kind == "response.cancel":
            connection.state["cancelled"] = True
            return [messages.cancelled(reason="client_cancelled")]
        return []

    async def freely(self, connection: Connection) -> None:
        """See `LiveServer`."""
        done = 0
        while True:
            connection.changed.clear()
            await connection.changed.wait()
            while done < connection.counts["response.create"]:
                done += 1
                connection.state["cancelled"] = False
                for event in self._answer(connection):
                    if connection.state["cancelled"]:
                        break
                    await connection.send(event)

    def _answer(self, connection: Connection) -> list[Json]:
        items = [event["item"] for event in connection.of("conversation.item.create")]
        texts = [part.get("text", "") for item in items if item["type"] == "message" for part in item["content"]]
        answer = f"You said: {texts[-1] if texts else 'something'}"
        if connection.state.get("session", {}).get("output_modalities") == ["text"]:
            return messages.say(*(f"{word} " for word in answer.split(" ")))
        return messages.speak(*[CHUNK] * self.chunks, transcript=answer)


def _session(connection: Connection) -> dict[str, Any]:
    sound = {"input": {"format": _PCM, "turn_detection": {"type": "server_vad"}}, "output": {"format": _PCM}}
    plain = {
        "type": "realtime",
        "object": "realtime.session",
        "id": f"sess_{connection.number + 1}",
        "output_modalities": ["audio"],
        "instructions": "",
        "tools": [],
        "tool_choice": "auto",
        "audio": sound,
    }
    return {**plain, **connection.state.get("session", {})}
