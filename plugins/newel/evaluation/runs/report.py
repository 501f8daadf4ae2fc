"""Report: a stored run, ready to be written in a format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from newel.evaluation.runs.units import UnitResult


@dataclass(frozen=True, slots=True)
class Report:
    """A run with its units in file order."""

    run_id: str
    units: list[UnitResult]
    header: dict[str, Any] = field(default_factory=dict)

    @property
    def cases(self) -> list[str]:
        """The ids of the cases, each once."""
        return list(dict.fromkeys(unit.key[1] for unit in self.units))
