"""Observers: what they learn of a model's call that no response says."""

from __future__ import annotations

from newel_kernel import current_operation


def tell_observers(**facts: object) -> None:
    """Note facts of the call that runs, if somebody observes it.

    ``server``: the host and the port that were asked; ``response_id``: the service's name for its answer.
    """
    operation = current_operation.get()
    if operation is not None:
        operation.facts.update((name, value) for name, value in facts.items() if value)
