"""GeminiLiveServer: the Gemini Live API on 127.0.0.1 for the real google-genai SDK.

with GeminiLiveServer() as server:
    server.connection(Wait("clientContent"), text("Hel"), text("lo"), turn_complete())
    ...  # GOOGLE_GEMINI_BASE_URL=server.url SSL_CERT_FILE=server.ca_file
    assert server.problems == []
"""

from __future__ import annotations

from typing import ClassVar

from newel_kernel import Json
from newel_testkit.live import gemini_messages as messages
from newel_testkit.live.connection import Connection
from newel_testkit.live.gemini_rules import KINDS, check
from newel_testkit.live.server import LiveServer
from newel_testkit.wire.gemini_rules import camel


class GeminiLiveServer(LiveServer):
    """The SDK forces TLS if it has an API key; without a script the server answers each turn."""

    binary: ClassVar[bool] = True  # like the service

    def __init__(self, port: int = 0, *, api_key: str | None = None, tls: bool = True, chunks: int = 10) -> None:
        super().__init__(port, api_key=api_key, tls=tls)
        #: How many chunks of 20 ms make up an answer.
        self.chunks = chunks
        #: The handles that can be resumed.
        self.handles: set[str] = set()
        #: The calls of sessions that can be resumed.
        self._calls: list[str] = []

    @property
    def url(self) -> str:
        """For `base_url`, or GOOGLE_GEMINI_BASE_URL."""
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def authorised(self, connection: Connection) -> bool:
        """See `LiveServer`; Vertex AI has a bearer token in place of the key."""
        headers = connection.headers
        key = headers.get("x-goog-api-key") or headers.get("authorization", "")
        if "key=" in connection.path:  # if logs would keep it
            return False
        return bool(key) if self.api_key is None else self.api_key in key

    def normal(self, message: Json) -> Json:
        """See `LiveServer`."""
        normal: Json = camel(message)
        return normal

    def kind(self, message: Json) -> str:
        """See `LiveServer`."""
        return next((kind for kind in KINDS if kind in message), "?")

    def check(self, connection: Connection, message: Json) -> None:
        """See `LiveServer`."""
        check(connection, message, self.handles)
        if "setup" in message and connection.state["resumed"]:
            connection.state["calls"] += self._calls

    def prepare(self, connection: Connection, message: Json) -> Json:
        """See `LiveServer`."""
        for call in message.get("toolCall", {}).get("functionCalls", ()):
            connection.state["calls"].append(call["id"])
            self._calls.append(call["id"])
        if "sessionResumptionUpdate" in message:
            self.handles.add(message["sessionResumptionUpdate"].get("newHandle", ""))
        return message

    async def react(self, connection: Connection, kind: str, message: Json) -> None:
        """See `LiveServer`."""
        if kind == "setup":
            await connection.send({"setupComplete": {"sessionId": f"session-{connection.number + 1}"}})
            connection.counts["ready"] += 1
            connection.changed.set()

    async def ready(self, connection: Connection) -> None:
        """Nothing is sent before the setup is complete."""
        while not connection.counts["ready"]:
            connection.changed.clear()
            await connection.changed.wait()

    async def freely(self, connection: Connection) -> None:
        """See `LiveServer`. Sound is a turn once its stream or the activity ends."""
        done = 0
        while True:
            connection.changed.clear()
            await connection.changed.wait()
            for kind, message in connection.received[done:]:
                done += 1
                words = _turn(kind, message.get(kind) or {})
                if words is not None:
                    await self._answer(connection, words)

    async def _answer(self, connection: Connection, words: str) -> None:
        answer = f"You said: {words}"
        if connection.state["modality"] == "AUDIO":
            for _ in range(self.chunks):
                await connection.send(messages.audio())
            await connection.send(messages.output_text(answer))
        else:
            for word in answer.split(" "):
                await connection.send(messages.text(f"{word} "))
        await connection.send(messages.generation_complete())
        await connection.send({**messages.turn_complete(), **messages.usage(len(words), len(answer))})


def _turn(kind: str, value: Json) -> str | None:
    """The words of a finished turn; None if the message finishes none."""
    if kind == "clientContent" and value.get("turnComplete"):
        return " ".join(part.get("text", "") for turn in value.get("turns") or [] for part in turn.get("parts") or [])
    if kind == "realtimeInput" and (value.get("text") or "activityEnd" in value or value.get("audioStreamEnd")):
        return value.get("text") or "something"
    return None
