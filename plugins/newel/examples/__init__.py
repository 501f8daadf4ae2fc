"""Examples that show a model how to answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.examples.base_example_provider import BaseExampleProvider as BaseExampleProvider
    from newel.examples.example import Example as Example

_WHERE = {
    "BaseExampleProvider": "newel.examples.base_example_provider",
    "Example": "newel.examples.example",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
