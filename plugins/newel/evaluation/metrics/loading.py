"""The loader of an evaluator by its import path."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def evaluator(place: str) -> Callable[[], Any]:
    """A loader of ``module:Class`` in this package."""
    module, _, name = place.partition(":")
    return lambda: getattr(import_module(f"newel.evaluation.{module}"), name)
