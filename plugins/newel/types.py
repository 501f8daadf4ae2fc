"""The types of contents, requests and configurations; the names and the JSON of ``google.genai.types``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import newel_types

if TYPE_CHECKING:
    from newel_types import *  # noqa: F403

__all__ = list(newel_types.GENAI_NAMES)


def __getattr__(name: str) -> object:
    if name not in newel_types.GENAI_NAMES and name != "FrozenError":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(newel_types, "GenaiAuthConfig" if name == "AuthConfig" else name)
    globals()[name] = value  # found here directly from now on
    return value


def __dir__() -> list[str]:
    return [*__all__]
