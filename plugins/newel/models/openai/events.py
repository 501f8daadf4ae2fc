"""Events: the JSON objects in a body of server-sent events.

The SDK has a reader as well. Releases before 3 leave the end of the body unread, which loses the connection after every
answer. All releases make an object of each event, which would be thrown away here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import suppress

from newel.models.wire.service import Service
from newel_kernel import Json

_DONE = "[DONE]"
_EXCERPT = 200
#: How long the end of a body may take after its last event, in seconds.
_PATIENCE = 1.0


class EventReader:
    """Takes a body in pieces and gives the data of each event that is complete."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._data: list[bytes] = []
        #: The beginning of the lines that belong to no event, for an error.
        self.noise = b""

    def feed(self, piece: bytes) -> Iterator[str]:
        """The data of the events that `piece` completes."""
        if b"\n" not in piece and b"\r" not in piece:
            self._rest.append(piece)
            return
        lines = b"".join((*self._rest, piece)).splitlines(keepends=True)
        # A carriage return at the end may be half of a line's end.
        self._rest = [lines.pop()] if not lines[-1].endswith(b"\n") else []
        for line in lines:
            line = line.rstrip(b"\r\n")
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            elif not line:
                if self._data:
                    yield self._flush()
            elif not line.startswith((b":", b"event:", b"id:", b"retry:")) and len(self.noise) < _EXCERPT:
                self.noise += line[:_EXCERPT]

    def close(self) -> Iterator[str]:
        """The data of an event that the end of the body completes."""
        rest = b"".join(self._rest)
        yield from self.feed(b"\n\n") if rest or self._data else ()

    def _flush(self) -> str:
        data, self._data = b"\n".join(self._data), []
        return data.decode("utf-8", "replace")


async def events(body: AsyncIterator[bytes], service: Service) -> AsyncGenerator[Json, None]:
    """The events up to ``[DONE]`` or the end of the body.

    Raises ModelError for a body without events and for an event that is not a JSON object; comments are ignored.
    """
    reader = EventReader()
    count = 0
    async for piece in body:
        for data in reader.feed(piece):
            if data.startswith(_DONE):
                await _drain(body)
                return
            count += 1
            yield _object(data, service)
    for data in reader.close():
        if data.startswith(_DONE):
            return
        count += 1
        yield _object(data, service)
    if not count:
        noise = reader.noise.decode("utf-8", "replace").strip()
        raise service.malformed(f"no event in a stream: {noise[:_EXCERPT]!r}" if noise else "an empty stream")


async def _drain(body: AsyncIterator[bytes]) -> None:
    """Read the end of a body, so that its connection can serve another request; a service that lingers loses it."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            async for _ in body:
                pass


def _object(data: str, service: Service) -> Json:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise service.malformed(f"broken JSON in an event: {data[:_EXCERPT]!r}") from None
    if not isinstance(value, dict):
        raise service.malformed(f"an event that is not an object: {data[:_EXCERPT]!r}")
    return value
