"""LocalEvalSetsManager, by the released name."""

from newel.evaluation.storage.local_eval_sets_manager import (
    LocalEvalSetsManager,
    convert_eval_set_to_pydantic_schema,
    load_eval_set_from_file,
)

__all__ = ["LocalEvalSetsManager", "convert_eval_set_to_pydantic_schema", "load_eval_set_from_file"]
