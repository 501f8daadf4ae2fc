"""The hooks that composing itself calls: what a plugin's settings are, and which kinds it declares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from newel_kernel import Kind, hookspec


@hookspec
def register_settings() -> type[BaseModel] | None:
    """The pydantic model of the plugin's settings; a distribution sets them under `settings: {plugin: ...}`.

    >>> class Settings(BaseModel, extra="forbid"):
    ...     volume: int = 3
    >>> class Plugin:
    ...     name = "loud"
    ...     @hookimpl
    ...     def register_settings(self):
    ...         return Settings
    >>> "register_settings" in compose("minimal", plugins=[Plugin()]).plugins[0].hooks
    True
    """
    return None


@hookspec
def register_kinds() -> Sequence[Kind[Any]]:
    """The kinds that the plugin consumes: what other plugins may provide for it, each with the hook for that.

    >>> @dataclass(frozen=True, slots=True, kw_only=True)
    ... class Greeting(Descriptor):
    ...     text: str
    >>> @hookspec
    ... def register_greetings(settings):
    ...     return ()
    >>> class Hall:
    ...     @hookimpl
    ...     def register_kinds(self):
    ...         return [Kind(Greeting, register_greetings)]
    >>> class English:
    ...     @hookimpl
    ...     def register_greetings(self):
    ...         return [Greeting(name="english", text="Good morning")]
    >>> composed = compose("minimal", plugins=[Hall(), English()])
    >>> composed.registry.find(Greeting, "english").text
    'Good morning'
    """
    return ()
