"""Runners."""

from mortise_kernel.runner import Runner

__all__ = ["Runner"]
