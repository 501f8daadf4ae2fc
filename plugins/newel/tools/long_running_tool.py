"""LongRunningFunctionTool: a function whose result comes later, as a function response of the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from newel.tools.function_tool import FunctionTool

_NOTE = (
    "NOTE: this operation takes a long time. If a call returned a status such as pending, its result is still to "
    "come: do not call the tool again for the same thing."
)


class LongRunningFunctionTool(FunctionTool):
    """A function that starts something. What it returns is a first status; None says that there is none yet."""

    def __init__(self, func: Callable[..., object] | None = None, **options: Any) -> None:
        super().__init__(func, **options)
        self.is_long_running = True
        self.description = "\n\n".join(filter(None, (self.description, _NOTE)))
