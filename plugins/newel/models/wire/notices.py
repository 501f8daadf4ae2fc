"""Notices: what a protocol or a model cannot take, reported once for each model and setting."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

logger = logging.getLogger("newel.models")


@dataclass(frozen=True, slots=True)
class Notice:
    """Something of a request that was not sent, or was sent differently."""

    provider: str
    model: str
    #: The setting or the kind of part: ``top_k``, ``seed``, ``audio``.
    setting: str
    text: str

    def __str__(self) -> str:
        return f"{self.provider} ({self.model}): {self.text}"


_listeners: list[Callable[[Notice], None]] = []


@contextmanager
def listening(listener: Callable[[Notice], None]) -> Iterator[None]:
    """Call `listener` with each notice of this process meanwhile."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


class Notices:
    """The notices of one model object: logged at WARNING, and passed to listeners."""

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self._notices: set[tuple[str, str]] = set()

    def __deepcopy__(self, memo: object) -> Notices:
        return Notices(self.provider)

    def say(self, model: str, setting: str, text: str) -> None:
        """Log that something of `setting` is left out or changed. `text` is a sentence: what, why, and what instead."""
        if (model, setting) in self._notices:
            return
        self._notices.add((model, setting))
        notice = Notice(self.provider, model, setting, text)
        logger.warning("%s", notice)
        for listener in tuple(_listeners):
            listener(notice)
