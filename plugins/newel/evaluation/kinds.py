"""The kinds that evaluation consumes: metrics, and what stands beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from newel_compose import Loader
from newel_kernel import Descriptor

if TYPE_CHECKING:
    from newel.evaluation.eval_case import EvalCase
    from newel.evaluation.runs.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric(Loader):
    """A metric of that name. `load` imports and returns its Evaluator class, which is called with `eval_metric=`."""

    description: str = ""
    #: The lowest and the highest score; None: any number.
    interval: tuple[float, float] | None = (0.0, 1.0)
    #: Compares with what is expected.
    needs_reference: bool = False
    #: Asks a model.
    needs_judge: bool = False
    #: Reports, and neither passes nor fails; it takes no threshold.
    informational: bool = False
    #: A cost: its score passes up to the threshold, and less of it is better.
    less_is_better: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentMatcher(Descriptor):
    """Says whether the arguments of a call (second) are what is expected (first)."""

    matches: Callable[[Mapping[str, Any], Mapping[str, Any]], bool]
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedUser(Loader):
    """A user simulator. `load` returns its class; `name` is the `type` in `user_simulator_config`."""

    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFormat(Descriptor):
    """Writes a stored run as text: ``newel eval report RUN --NAME``."""

    write: Callable[[Report], str]
    #: The ending of its files, with the dot.
    suffix: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float
    cached: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTable(Descriptor):
    """What models cost. `price` gives that of a model's name, or None where the table has none."""

    price: Callable[[str], Price | None]
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSource(Descriptor):
    """Reads cases of another format; `reads` says by name and content whether a file is one of its own."""

    reads: Callable[[str, str], bool]
    #: From the file's name and text.
    cases: Callable[[str, str], Iterable[EvalCase]]
    description: str = ""
