"""Nesting: a list in which one schema is nested beyond what parsers read, cut to a depth that they do."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing

import httpx2

#: The most levels that are kept; more than any schema that is taken has.
_MOST = 100
_TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
_OPENS, _CLOSES = b"{[", b"}]"


def pruned(data: bytes) -> bytes:
    """JSON with null for what is nested too deeply; the same bytes if nothing is."""
    if data.count(b"{") + data.count(b"[") <= _MOST:
        return data
    kept: list[bytes] = []
    depth = since = 0
    for token in _TOKENS.finditer(data):
        sign = data[token.start()]
        if sign in _OPENS:
            depth += 1
            if depth == _MOST + 1:
                kept += [data[since : token.start()], b"null"]
        elif sign in _CLOSES:
            if depth == _MOST + 1:
                since = token.end()
            depth -= 1
    return b"".join([*kept, data[since:]]) if kept and depth == 0 else data


def prune_lists(response: httpx2.Response) -> None:
    """Let the reader of a list of tools see it pruned: then one schema costs one tool, and not the list.

    The SDK reads a response by `aiter_bytes`, whether it is one message or a stream of events.
    """
    if b'"tools/list"' not in response.request.content:
        return
    of_events = response.headers.get("content-type", "").startswith("text/event-stream")
    read = response.aiter_bytes

    async def aiter_bytes(chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        rest = b""
        async with aclosing(read(chunk_size)) as chunks:
            async for chunk in chunks:
                rest += chunk
                if of_events and b"\n" in chunk:
                    lines, _, rest = rest.rpartition(b"\n")
                    yield b"\n".join(map(pruned, lines.split(b"\n"))) + b"\n"
        if rest:
            yield pruned(rest)

    response.aiter_bytes = aiter_bytes  # type: ignore[method-assign]
