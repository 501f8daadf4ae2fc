"""SocketConnection: the base of live connections that read and write the frames of a socket."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol

from newel.models.contract import BaseLlmConnection
from newel.models.wire.sockets import LiveSocket
from newel_kernel import LlmResponse
from newel_types import Content

#: How long setting a session up may take, in seconds.
SETUP_PATIENCE = 20.0
#: How many characters of a message or an error are shown.
SHOWN = 200
#: The errors that reading a malformed message raises.
UNREADABLE = (ValueError, TypeError, AttributeError, LookupError, RecursionError)


class Frames(Protocol):
    """Makes the frames of inputs."""

    def content(self, content: Content, *, partial: bool) -> Sequence[str]:
        """The frames of a turn, of a part of one, or of results."""

    def realtime(self, value: object) -> Sequence[str]:
        """The frames of a realtime input: sound, an image or a signal."""


class SocketConnection(BaseLlmConnection):
    """A connection over `socket`; `frames` makes the frames to send."""

    def __init__(self, socket: LiveSocket, frames: Frames) -> None:
        self._socket = socket
        self._inputs = frames

    async def send_content(self, content: Content) -> None:
        """See `BaseLlmConnection`."""
        await self._send_content(content)

    async def _send_content(self, content: Content, *, partial: bool = False) -> None:
        await self._send(self._inputs.content(content, partial=partial))

    async def send_realtime(self, blob: object) -> None:
        """See `BaseLlmConnection`."""
        await self._send(self._inputs.realtime(blob))

    async def close(self) -> None:
        """See `BaseLlmConnection`."""
        await self._socket.close()

    @abstractmethod
    async def _send(self, frames: Sequence[str]) -> None:
        """Send the frames of one input."""

    def _unreadable(self, error: Exception) -> LlmResponse:
        """The response in place of a message that cannot be read."""
        what = f"sent a message that cannot be read ({' '.join(str(error).split())[:SHOWN]})"
        return self._socket.failure("MALFORMED_RESPONSE", what, "it was left out; the session continues")
