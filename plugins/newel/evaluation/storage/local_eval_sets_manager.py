"""LocalEvalSetsManager: eval sets as files next to their agents, and reading them in every known shape."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from newel.errors.not_found_error import NotFoundError
from newel.evaluation.cases.eval_set import EvalSet
from newel.evaluation.cases.loose_shapes import reshaped
from newel.evaluation.cases.older_shapes import MIGRATION, convert_eval_set_to_pydantic_schema, is_older
from newel.evaluation.storage.eval_sets_manager import EvalSetsManager, check_app, check_id
from newel.evaluation.storage.files import problems_of, read_text, write_whole
from newel_kernel import ConfigurationError

__all__ = ["LocalEvalSetsManager", "convert_eval_set_to_pydantic_schema", "load_eval_set_from_file"]
SUFFIX = ".evalset.json"


def dump_eval_set(eval_set: EvalSet) -> str:
    """The text of an eval set's file: snake_case, without what is unset, default or null."""
    return eval_set.model_dump_json(indent=2, exclude_unset=True, exclude_defaults=True, exclude_none=True)


def load_eval_set_from_file(eval_set_file_path: str | Path, eval_set_id: str) -> EvalSet:
    """The eval set in a file of any known shape; `eval_set_id` becomes the id of a set that has none."""
    text = read_text(eval_set_file_path)
    try:
        return EvalSet.model_validate_json(text)
    except ValidationError as error:
        problems = problems_of(error)
    try:
        data = json.loads(text)
    except ValueError as error:
        raise ConfigurationError(f"{eval_set_file_path} is not JSON: {error}") from None
    try:
        shape = reshaped(data, eval_set_id)
        if is_older(shape):
            return convert_eval_set_to_pydantic_schema(eval_set_id, shape)
        if shape is not data:
            return EvalSet.model_validate_json(json.dumps(shape))
    except ConfigurationError as error:
        raise ConfigurationError(f"{eval_set_file_path}: {error}") from None
    except ValidationError as error:
        problems = problems_of(error)
    remedy = "" if _is_set(data) else f". {MIGRATION}"
    raise ConfigurationError(f"{eval_set_file_path} is not an eval set: {problems}{remedy}")


def _is_set(data: object) -> bool:
    return isinstance(data, dict) and not data.keys().isdisjoint(("eval_cases", "evalCases"))


class LocalEvalSetsManager(EvalSetsManager):
    """Eval sets in ``<agents_dir>/<app>/<eval_set_id>.evalset.json``."""

    def __init__(self, agents_dir: str | Path) -> None:
        self._folder = Path(agents_dir)

    def get_eval_set(self, app_name: str, eval_set_id: str) -> EvalSet | None:
        """The set, or None."""
        path = self._path(app_name, eval_set_id)
        return load_eval_set_from_file(path, eval_set_id) if path.is_file() else None

    def list_eval_sets(self, app_name: str) -> list[str]:
        """The ids, sorted; NotFoundError if the app has no folder."""
        check_app(app_name)
        folder = self._folder / app_name
        if not folder.is_dir():
            raise NotFoundError(f"there is no folder {folder} of an app {app_name!r}")
        return sorted(path.name.removesuffix(SUFFIX) for path in folder.glob(f"*{SUFFIX}"))

    def store(self, app_name: str, eval_set: EvalSet) -> None:
        """Write the file."""
        write_whole(self._path(app_name, eval_set.eval_set_id), dump_eval_set(eval_set))

    def _path(self, app_name: str, eval_set_id: str) -> Path:
        check_app(app_name)
        check_id(eval_set_id)
        return self._folder / app_name / f"{eval_set_id}{SUFFIX}"
