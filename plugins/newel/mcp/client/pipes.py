"""Pipes: the messages of a process's server, one a line, as the streams that the SDK reads and writes."""

from __future__ import annotations

import asyncio
import json
import logging
from asyncio.subprocess import Process
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, jsonrpc_message_adapter

from newel.mcp.client.nesting import pruned
from newel.mcp.parameters import StdioServerParameters

_log = logging.getLogger("newel.mcp")
#: A server that sends without end must not keep the loop from its other work.
_AT_ONCE = 32


class Tokens:
    """The tokens of the requests whose progress somebody wants to know."""

    def __init__(self) -> None:
        self._wanted: set[object] = set()

    def note(self, request: JSONRPCRequest) -> None:
        """Note a request's token."""
        token = ((request.params or {}).get("_meta") or {}).get("progressToken")
        if token is not None:
            self._wanted.add(token)

    def forget(self, token: object) -> None:
        """Forget the token of a request that is answered, which is its id."""
        self._wanted.discard(token)

    def wants(self, notification: JSONRPCNotification) -> bool:
        """Whether a notification is read: a log message is not, nor is progress that nobody waits for."""
        if notification.method == "notifications/message":
            return False
        if notification.method != "notifications/progress":
            return True
        token = (notification.params or {}).get("progressToken")
        return isinstance(token, (str, int)) and token in self._wanted


class Reader:
    """The messages of a server; what is none is left out. It ends with the process's output."""

    def __init__(
        self, process: Process, server: StdioServerParameters, tokens: Tokens, at_end: Callable[[], None]
    ) -> None:
        assert process.stdout is not None
        self._stream = process.stdout
        self._server = server
        self._tokens = tokens
        self._at_end = at_end
        self._read = 0
        self._odd = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        while True:
            self._read += 1
            if self._read % _AT_ONCE == 0:
                await asyncio.sleep(0)
            try:
                line = await self._stream.readline()
            except (ValueError, OSError):  # a longer line than the limit
                line = b""
            if not line:
                self._at_end()
                raise StopAsyncIteration
            message = self._parsed(line)
            if message is not None:
                return message

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    def _parsed(self, line: bytes) -> SessionMessage | None:
        try:
            text = line.decode(self._server.encoding, self._server.encoding_error_handler)
            message = _message(text)
        except (ValueError, RecursionError):
            self._odd += 1
            if self._odd == 1 and line.strip():
                _log.warning("newel: an MCP server writes lines to its output that are not messages; they are left out")
            return None
        if isinstance(message, JSONRPCNotification):
            if not self._tokens.wants(message):
                return None
        elif not isinstance(message, JSONRPCRequest):
            self._tokens.forget(message.id)
        return SessionMessage(message)

    async def aclose(self) -> None:
        """Nothing: the process closes its pipes."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _message(text: str) -> JSONRPCMessage:
    """The message in a line; one that is nested more deeply than the SDK reads may be bad in one part only."""
    try:
        return jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        return jsonrpc_message_adapter.validate_python(_loaded(text), by_name=False)


def _loaded(text: str) -> object:
    """JSON; of a list of tools what can be read of it."""
    try:
        return json.loads(text)
    except RecursionError:
        message = json.loads(pruned(text.encode()))
        if not isinstance(message, dict) or "tools" not in (message.get("result") or {}):
            raise  # the parts of a result must not get lost
        return message


class Writer:
    """Messages to a server."""

    def __init__(self, process: Process, server: StdioServerParameters, tokens: Tokens) -> None:
        assert process.stdin is not None
        self._stream = process.stdin
        self._server = server
        self._tokens = tokens

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message; raises BrokenResourceError if the process does not read any more."""
        if isinstance(item.message, JSONRPCRequest):
            self._tokens.note(item.message)
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True) + "\n"
        try:
            self._stream.write(text.encode(self._server.encoding, self._server.encoding_error_handler))
            await self._stream.drain()
        except (OSError, RuntimeError) as error:
            raise anyio.BrokenResourceError from error

    async def aclose(self) -> None:
        """End the server's input."""
        with suppress(OSError, RuntimeError):
            self._stream.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
