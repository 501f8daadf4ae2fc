"""The library: litellm, imported once, in a thread, silently and without network access."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

from newel_kernel import Json, ModelError

#: Read by the import and at requests: prices and headers from the package, and no search for a file ``.env``.
_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_MODE": "PRODUCTION",
}


class Answer(Protocol):
    """A response or a chunk."""

    def model_dump(self, **options: object) -> Json:
        """Like pydantic's."""


class Stream(Protocol):
    """A streamed answer."""

    def __aiter__(self) -> AsyncIterator[Answer]: ...


class Library(Protocol):
    """The module `litellm`."""

    suppress_debug_info: bool

    async def acompletion(self, **arguments: object) -> Answer:
        """One request; with ``stream=True`` its answer is a `Stream`."""


def check(model: str) -> None:
    """Raise a ModelError that names the remedy if the package is missing."""
    if find_spec("litellm") is None:
        raise ModelError(
            f"the model {model!r} needs the litellm package, which is not installed:\npip install 'newel[litellm]'"
        )


async def load() -> Library:
    """The module; its import takes seconds, during which the event loop continues."""
    return await asyncio.to_thread(_load)


def _load() -> Library:
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    litellm: Library = import_module("litellm")
    litellm.suppress_debug_info = True
    return litellm
