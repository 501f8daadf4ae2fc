"""The kind `CodeExecutor`."""

from __future__ import annotations

from collections.abc import Sequence

from newel_compose import Factory
from newel_kernel import Settings, hookspec


class CodeExecutor(Factory):
    """`create` gives a BaseCodeExecutor."""


@hookspec
def register_code_executors(settings: Settings) -> Sequence[CodeExecutor]:
    """Code executors. Makes an executor of code that a model wrote.

    >>> def jail(**settings):
    ...     raise NotImplementedError
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_code_executors(self):
    ...         return [CodeExecutor(name="jail", create=jail)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(CodeExecutor, "jail").name
    'jail'
    """
    return ()
