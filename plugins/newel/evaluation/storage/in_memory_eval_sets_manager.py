"""InMemoryEvalSetsManager: eval sets of this process."""

from __future__ import annotations

from newel.evaluation.cases.eval_set import EvalSet
from newel.evaluation.storage.eval_sets_manager import EvalSetsManager


class InMemoryEvalSetsManager(EvalSetsManager):
    """Eval sets that end with the process; for tests and for sets made in code."""

    def __init__(self) -> None:
        self._sets: dict[str, dict[str, EvalSet]] = {}

    def get_eval_set(self, app_name: str, eval_set_id: str) -> EvalSet | None:
        """The set, or None."""
        return self._sets.get(app_name, {}).get(eval_set_id)

    def list_eval_sets(self, app_name: str) -> list[str]:
        """The ids, sorted; none for an unknown app."""
        return sorted(self._sets.get(app_name, {}))

    def store(self, app_name: str, eval_set: EvalSet) -> None:
        """Keep the set."""
        self._sets.setdefault(app_name, {})[eval_set.eval_set_id] = eval_set
