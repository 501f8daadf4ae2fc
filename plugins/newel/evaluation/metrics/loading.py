"""The loader of an evaluator by its place."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def evaluator(place: str) -> Callable[[], Any]:
    """What imports ``module:Class`` of this room."""
    module, _, name = place.partition(":")
    return lambda: getattr(import_module(f"newel.evaluation.{module}"), name)
