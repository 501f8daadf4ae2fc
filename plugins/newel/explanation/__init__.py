"""Explanations: what each step of the chain made of a model request, who it belongs to, and how long it took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.explanation.caches import CacheReport as CacheReport
    from newel.explanation.caches import cache_reports as cache_reports
    from newel.explanation.changes import Change as Change
    from newel.explanation.changes import applied as applied
    from newel.explanation.changes import changes_between as changes_between
    from newel.explanation.explanation import Explanation as Explanation
    from newel.explanation.explanation import Step as Step
    from newel.explanation.instruments import record as record
    from newel.explanation.prefixes import CacheWatch as CacheWatch
    from newel.explanation.prefixes import PrefixBreak as PrefixBreak
    from newel.explanation.prefixes import break_between as break_between
    from newel.explanation.recorder import Recorder as Recorder
    from newel.explanation.rehearsal import Rehearsal as Rehearsal
    from newel.explanation.rehearsal import copied as copied
    from newel.explanation.rehearsal import rehearse as rehearse

_WHERE = {
    "CacheReport": "newel.explanation.caches",
    "CacheWatch": "newel.explanation.prefixes",
    "PrefixBreak": "newel.explanation.prefixes",
    "break_between": "newel.explanation.prefixes",
    "cache_reports": "newel.explanation.caches",
    "Change": "newel.explanation.changes",
    "Explanation": "newel.explanation.explanation",
    "Recorder": "newel.explanation.recorder",
    "Step": "newel.explanation.explanation",
    "applied": "newel.explanation.changes",
    "changes_between": "newel.explanation.changes",
    "record": "newel.explanation.instruments",
    "Rehearsal": "newel.explanation.rehearsal",
    "copied": "newel.explanation.rehearsal",
    "rehearse": "newel.explanation.rehearsal",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
