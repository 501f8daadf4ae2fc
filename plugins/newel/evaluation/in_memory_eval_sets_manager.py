"""InMemoryEvalSetsManager, by the released name."""

from newel.evaluation.storage.in_memory_eval_sets_manager import InMemoryEvalSetsManager

__all__ = ["InMemoryEvalSetsManager"]
