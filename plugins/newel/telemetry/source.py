"""Source: where a provider comes from, and a quick way to tell that there is none."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Generic, TypeVar

_loaded = sys.modules
_MISSING = object()
#: A provider of tracers or of meters.
P = TypeVar("P")


class Source(Generic[P]):
    """The provider `own`, else the one that the application has configured, if any.

    It is looked for at every invocation. The API's function takes microseconds to say that there is none, so the
    place where the API keeps it is looked at first; if a later API has no such place, the function is asked.
    """

    def __init__(self, signal: str, kind: str, own: P | None = None) -> None:
        self._own = own
        self._api = f"opentelemetry.{signal}"
        self._kept_in = f"opentelemetry.{signal}" if signal == "trace" else f"opentelemetry.{signal}._internal"
        self._kept_as = f"_{kind.upper()}_PROVIDER"
        self._function = f"get_{kind}_provider"
        #: Only the application can provide one: none is given, and the environment names none for the API to make.
        self.waits = own is None and not os.environ.get(f"OTEL_PYTHON_{kind.upper()}_PROVIDER")

    def find(self) -> P | None:
        """The provider, or None: an API never imported is not configured, and its own providers record nothing."""
        if self._own is not None:
            return self._own
        module = _loaded.get(self._kept_in)
        if self.waits and (module is None or getattr(module, self._kept_as, _MISSING) is None):
            return None
        provider: P = getattr(import_module(self._api), self._function)()
        return None if type(provider).__module__.startswith(self._api) else provider
