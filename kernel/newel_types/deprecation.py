"""The version of the API that plugins build on, what the next one no longer has, and which plugin still uses it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: The version of the API that plugins build on (docs/plugins/api.md): the first number changes with what breaks a
#: plugin, the second with what is new. It is not the version of a release.
API = "1.0"


class ApiDeprecationWarning(DeprecationWarning):
    """A name or a hook is used that the next major version of newel's API does not have."""


#: The deprecated names of packages, each with what its warning says, once the package is imported.
deprecated_names: dict[str, str] = {}
#: Collects what a plugin's code uses, so that the warning can name the plugin; None: nobody collects.
_uses: ContextVar[list[str] | None] = ContextVar("newel_deprecated_uses", default=None)


@contextmanager
def collected_uses() -> Iterator[list[str]]:
    """The deprecated names that the block uses, as sentences without a subject; no warning is given for them."""
    uses: list[str] = []
    token = _uses.set(uses)
    try:
        yield uses
    finally:
        _uses.reset(token)


def warn_deprecated(name: str, remedy: str, stacklevel: int = 2) -> None:
    """Warn that `name` is deprecated; `remedy` says since when, until when, and what to use instead."""
    text = f"uses {name}, which is deprecated: {remedy}"
    if (uses := _uses.get()) is None:
        warnings.warn(text, ApiDeprecationWarning, stacklevel + 1)
    elif text not in uses:
        uses.append(text)
