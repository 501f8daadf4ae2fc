"""The plugin `english`: it fills a kind that another plugin declares."""

from __future__ import annotations

from hall import Greeting

from newel_kernel import hookimpl


@hookimpl
def register_greetings() -> list[Greeting]:
    """One for any hour."""
    return [Greeting(name="english", text="Good day")]
