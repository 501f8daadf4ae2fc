"""The types of contents, requests and configurations; the names and the JSON of ``google.genai.types``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import newel_types as _types

if TYPE_CHECKING:
    from newel_types import *  # noqa: F403

__dir__ = _types.__dir__


def __getattr__(name: str) -> object:
    value = getattr(_types, name)
    globals()[name] = value  # found here at once from now on
    return value
