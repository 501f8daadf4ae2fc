"""The kind `Greeting`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from newel_kernel import Descriptor, Settings, hookspec


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting(Descriptor):
    """How one greets in the language `name`."""

    text: str


@hookspec
def register_greetings(settings: Settings) -> Sequence[Greeting]:
    """The greetings of a plugin."""
    return ()
