"""The public name of the contract of code executors."""

from __future__ import annotations

from newel_kernel.contracts.executor import BaseCodeExecutor as BaseCodeExecutor
