"""Chunks: the events of a session as the cache has them, each run of `SIZE` events under a key of its own.

A full chunk never changes. It carries a digest of itself and of all before it, so that a chunk which is damaged, or
which belongs to another session or to another past than its neighbours, is rejected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

#: How many events a chunk has.
SIZE = 32
_DIGEST = 32
_LENGTH = 4


class Beginning(NamedTuple):
    """The first events of a session in their stored form, and their digest."""

    events: list[bytes]
    digest: bytes


def beginning(prefix: str, number: int) -> Beginning:
    """The empty beginning of the session that has this number in its store."""
    return Beginning([], _digest(f"newel chunks 1\n{prefix}\n{number}".encode()))


def key_of(prefix: str, number: int, chunk: int) -> str:
    """The cache's key of a chunk."""
    return f"{prefix}:{number}:{chunk}"


def written(start: Beginning, events: Sequence[bytes]) -> Iterator[tuple[int, bytes]]:
    """The number and the bytes of each further full chunk of `events`, which follow `start`."""
    digest = start.digest
    first = len(start.events) // SIZE
    for at in range(0, len(events) - SIZE + 1, SIZE):
        body = b"".join(len(one).to_bytes(_LENGTH, "big") + one for one in events[at : at + SIZE])
        digest = _digest(digest + body)
        yield first + at // SIZE, digest + body


def joined(start: Beginning, chunk: bytes) -> Beginning | None:
    """`start` with the next chunk added; None if `chunk` is not the next one."""
    body = chunk[_DIGEST:]
    digest = _digest(start.digest + body)
    if chunk[:_DIGEST] != digest:
        return None
    events, at = list(start.events), 0
    while at < len(body):
        end = at + _LENGTH + int.from_bytes(body[at : at + _LENGTH], "big")
        events.append(body[at + _LENGTH : end])
        at = end
    return Beginning(events, digest)


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST).digest()
