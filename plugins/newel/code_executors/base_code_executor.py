"""The public name of the contract of code executors."""

from __future__ import annotations

