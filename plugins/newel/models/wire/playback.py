"""Playback: how much of the model's speech the user has heard, by our clock."""

from __future__ import annotations

_BYTES_PER_MS = 48


class Playback:
    """The model's speech as it is heard: from its first chunk on, without a pause."""

    def __init__(self) -> None:
        self._item: str | None = None
        self._index = 0
        self._ms = 0.0
        self._begun = 0.0

    def add(self, item: str, index: int, size: int, now: float) -> None:
        """Add `size` more bytes; times are in seconds, on one clock."""
        if item != self._item or now > self._begun + self._ms / 1_000:  # after a pause it continues from here
            begun = now if item != self._item else now - self._ms / 1_000
            self._ms = 0.0 if item != self._item else self._ms
            self._item, self._index, self._begun = item, index, begun
        self._ms += size / _BYTES_PER_MS

    @property
    def length(self) -> float:
        """The speech so far, in milliseconds."""
        return self._ms

    def is_on(self, now: float) -> bool:
        """Whether it can still be heard."""
        return self._item is not None and now < self._begun + self._ms / 1_000

    def stop(self, now: float) -> tuple[str, int, int] | None:
        """Item, content and milliseconds up to which it was heard; None if all of it was heard."""
        if self._item is None or not self.is_on(now):
            self._item = None
            return None
        item, self._item = self._item, None
        return item, self._index, max(0, int((now - self._begun) * 1_000))
