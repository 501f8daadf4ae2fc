"""EvalSetsManager: where eval sets are kept."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from newel.errors.not_found_error import NotFoundError
from newel.evaluation.cases.eval_case import EvalCase
from newel.evaluation.cases.eval_set import EvalSet
from newel_kernel import did_you_mean, seam

#: What the id of a set is.
ID_PATTERN = "[a-zA-Z0-9_]+"
_ID = re.compile(ID_PATTERN)


class EvalSetsManager(ABC):
    """Keeps eval sets by app and id. A store implements `get_eval_set`, `store` and `list_eval_sets`."""

    @abstractmethod
    def get_eval_set(self, app_name: str, eval_set_id: str) -> EvalSet | None:
        """The set, or None."""

    @abstractmethod
    def list_eval_sets(self, app_name: str) -> list[str]:
        """The ids of an app's sets, sorted."""

    @abstractmethod
    def store(self, app_name: str, eval_set: EvalSet) -> None:
        """Write a set, whole or not at all."""

    def create_eval_set(self, app_name: str, eval_set_id: str) -> EvalSet:
        """Create an empty set; ValueError for a bad id or a taken one."""
        check_id(eval_set_id)
        check_app(app_name)
        if self.get_eval_set(app_name, eval_set_id) is not None:
            raise ValueError(f"the eval set {eval_set_id!r} of the app {app_name!r} already exists; choose another id")
        created = EvalSet(eval_set_id=eval_set_id, name=eval_set_id, eval_cases=[], creation_timestamp=seam.clock())
        self.store(app_name, created)
        return created

    def get_eval_case(self, app_name: str, eval_set_id: str, eval_case_id: str) -> EvalCase | None:
        """The case, or None."""
        eval_set = self.get_eval_set(app_name, eval_set_id)
        return _find(eval_set, eval_case_id) if eval_set is not None else None

    def add_eval_case(self, app_name: str, eval_set_id: str, eval_case: EvalCase) -> None:
        """Append a case; ValueError if its id is taken, NotFoundError if there is no such set."""
        eval_set = self._existing(app_name, eval_set_id)
        if _find(eval_set, eval_case.eval_id) is not None:
            raise ValueError(f"the eval set {eval_set_id!r} already has a case {eval_case.eval_id!r}")
        self._write(app_name, eval_set, [*eval_set.eval_cases, eval_case])

    def update_eval_case(self, app_name: str, eval_set_id: str, updated_eval_case: EvalCase) -> None:
        """Replace the case of the same id; NotFoundError if there is none."""
        eval_set = self._existing(app_name, eval_set_id)
        self._case(eval_set, updated_eval_case.eval_id)
        cases = [updated_eval_case if c.eval_id == updated_eval_case.eval_id else c for c in eval_set.eval_cases]
        self._write(app_name, eval_set, cases)

    def delete_eval_case(self, app_name: str, eval_set_id: str, eval_case_id: str) -> None:
        """Remove a case; NotFoundError if there is none."""
        eval_set = self._existing(app_name, eval_set_id)
        self._case(eval_set, eval_case_id)
        self._write(app_name, eval_set, [c for c in eval_set.eval_cases if c.eval_id != eval_case_id])

    def _write(self, app_name: str, eval_set: EvalSet, cases: list[EvalCase]) -> None:
        self.store(app_name, eval_set.model_copy(update={"eval_cases": cases}))

    def _existing(self, app_name: str, eval_set_id: str) -> EvalSet:
        eval_set = self.get_eval_set(app_name, eval_set_id)
        if eval_set is None:
            raise NotFoundError(f"the app {app_name!r} has no eval set {eval_set_id!r}")
        return eval_set

    def _case(self, eval_set: EvalSet, eval_case_id: str) -> EvalCase:
        case = _find(eval_set, eval_case_id)
        if case is None:
            ids = [c.eval_id for c in eval_set.eval_cases]
            raise NotFoundError(
                f"the eval set {eval_set.eval_set_id!r} has no case {eval_case_id!r}{did_you_mean(eval_case_id, ids)}"
            )
        return case


def _find(eval_set: EvalSet, eval_case_id: str) -> EvalCase | None:
    return next((c for c in eval_set.eval_cases if c.eval_id == eval_case_id), None)


def check_id(eval_set_id: str) -> None:
    """Refuse an id that is not a valid file name on every system."""
    if not _ID.fullmatch(eval_set_id):
        raise ValueError(f"invalid eval set id {eval_set_id!r}: use letters, digits and '_' only")


def check_app(app_name: str) -> None:
    """Refuse an app name that leads out of the apps' folder."""
    if not app_name or app_name in (".", "..") or any(mark in app_name for mark in ("/", "\\", "\0")):
        raise ValueError(f"invalid app name {app_name!r}: it must be the name of a folder, without separators")
