"""The kinds that evaluation consumes: metrics, and everything around them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from newel_compose import Loader
from newel_kernel import Descriptor, Settings, Stage, hookspec

if TYPE_CHECKING:
    from newel.evaluation.cases.eval_case import EvalCase
    from newel.evaluation.runs.report import Report
    from newel.evaluation.storage.eval_set_results_manager import EvalSetResultsManager
    from newel.evaluation.storage.eval_sets_manager import EvalSetsManager


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric(Loader):
    """The metric `name`. `load` imports and returns its Evaluator class, which is called with `eval_metric=`."""

    description: str = ""
    #: The lowest and the highest score; None: any number.
    interval: tuple[float, float] | None = (0.0, 1.0)
    #: Whether it compares with an expectation.
    needs_reference: bool = False
    #: Whether it asks a model.
    needs_judge: bool = False
    #: Whether it only reports, and neither passes nor fails; it takes no threshold.
    informational: bool = False
    #: Whether it is a cost: its score passes up to the threshold, and less is better.
    less_is_better: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeBackend(Loader):
    """Computes metrics without a judge model, if `backend` in their criterion names it.

    `load` imports and returns its Evaluator class, which is called with `eval_metric=`.
    """

    #: The metrics that it computes.
    metrics: tuple[str, ...]
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalStorage(Descriptor):
    """Keeps eval sets and results; `name` is the scheme of its URIs, as in ``--eval_storage_uri gs://bucket``."""

    #: Opens the managers of a URI.
    open: Callable[[str], tuple[EvalSetsManager, EvalSetResultsManager]]
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentMatcher(Descriptor):
    """Says whether the arguments of a call (second) match the expected ones (first)."""

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
class PriceTable(Stage):
    """Prices of models. `price` returns the price for a model's name, or None if the table has none."""

    price: Callable[[str], Price | None]
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSource(Stage):
    """Reads cases of another format; `reads` says by name and content whether it can read a file."""

    reads: Callable[[str, str], bool]
    #: Makes the cases from the file's name and text.
    cases: Callable[[str, str], Iterable[EvalCase]]
    description: str = ""


@hookspec
def register_metrics(settings: Settings) -> Sequence[Metric]:
    """Metrics: a name, and a function that imports the Evaluator class that computes it.

    >>> from newel.evaluation import plugin
    >>> def load_brevity():
    ...     raise NotImplementedError
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_metrics(self):
    ...         return [Metric(name="brevity", load=load_brevity, description="Short answers.")]
    >>> composed = compose("adk", plugins=[plugin, Plugin()])
    >>> composed.registry.find(Metric, "brevity").interval
    (0.0, 1.0)
    """
    return ()


@hookspec
def register_judge_backends(settings: Settings) -> Sequence[JudgeBackend]:
    """Services that compute metrics instead of a judge model, for `backend` of a criterion.

    >>> from newel.evaluation import plugin
    >>> def load_service():
    ...     raise NotImplementedError
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_judge_backends(self):
    ...         return [JudgeBackend(name="house", load=load_service, metrics=("safety_v1",))]
    >>> composed = compose("adk", plugins=[plugin, Plugin()])
    >>> composed.registry.find(JudgeBackend, "house").metrics
    ('safety_v1',)
    """
    return ()


@hookspec
def register_eval_storages(settings: Settings) -> Sequence[EvalStorage]:
    """Storages of eval sets and results other than files, by the scheme of a URI.

    >>> from newel.evaluation import plugin
    >>> from newel.evaluation.storage.in_memory_eval_set_results_manager import InMemoryEvalSetResultsManager
    >>> from newel.evaluation.storage.in_memory_eval_sets_manager import InMemoryEvalSetsManager
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_eval_storages(self):
    ...         def open_memory(uri):
    ...             return InMemoryEvalSetsManager(), InMemoryEvalSetResultsManager()
    ...         return [EvalStorage(name="memory", open=open_memory)]
    >>> composed = compose("adk", plugins=[plugin, Plugin()])
    >>> composed.registry.find(EvalStorage, "memory").open("memory:")[0].list_eval_sets("app")
    []
    """
    return ()


@hookspec
def register_argument_matchers(settings: Settings) -> Sequence[ArgumentMatcher]:
    """Ways to compare the arguments of tool calls, for `tools.NAME.matcher` of a trajectory criterion.

    >>> from newel.evaluation import plugin
    >>> def same_city(expected, actual):
    ...     return expected["city"].lower() == actual.get("city", "").lower()
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_argument_matchers(self):
    ...         return [ArgumentMatcher(name="city", matches=same_city)]
    >>> composed = compose("adk", plugins=[plugin, Plugin()])
    >>> composed.registry.find(ArgumentMatcher, "city").matches({"city": "Oslo"}, {"city": "OSLO"})
    True
    """
    return ()


@hookspec
def register_user_simulators(settings: Settings) -> Sequence[SimulatedUser]:
    """User simulators, by the `type` that `user_simulator_config` names.

    >>> from newel.evaluation import plugin
    >>> def load_parrot():
    ...     raise NotImplementedError
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_user_simulators(self):
    ...         return [SimulatedUser(name="parrot", load=load_parrot)]
    >>> composed = compose("adk", plugins=[plugin, Plugin()])
    >>> composed.registry.find(SimulatedUser, "parrot").name
    'parrot'
    """
    return ()


@hookspec
def register_report_formats(settings: Settings) -> Sequence[ReportFormat]:
    """Formats of `newel eval report`: each writes a stored run as text.

    >>> from newel.evaluation import plugin
    >>> def count(report):
    ...     return f"{len(report.cases)} cases"
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_report_formats(self):
    ...         return [ReportFormat(name="count", write=count, suffix=".txt")]
    >>> composed = compose("adk", plugins=[plugin, Plugin()])
    >>> composed.registry.find(ReportFormat, "count").suffix
    '.txt'
    """
    return ()


@hookspec
def register_price_tables(settings: Settings) -> Sequence[PriceTable]:
    """Prices of models; the first table that knows a model counts.

    >>> from newel.evaluation import plugin
    >>> from newel.evaluation.kinds import Price
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_price_tables(self):
    ...         return [PriceTable(name="mine", price=lambda model: Price(1.0, 2.0) if model == "mine" else None)]
    >>> composed = compose("adk", plugins=[plugin, Plugin()])
    >>> composed.registry.find(PriceTable, "mine").price("mine")
    Price(input=1.0, output=2.0, cached=None)
    """
    return ()


@hookspec
def register_case_sources(settings: Settings) -> Sequence[CaseSource]:
    """Readers of other tools' files of cases.

    >>> from newel.evaluation import plugin
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_case_sources(self):
    ...         return [CaseSource(name="lines", reads=lambda name, text: name.endswith(".txt"), cases=lambda n, t: [])]
    >>> composed = compose("adk", plugins=[plugin, Plugin()])
    >>> composed.registry.find(CaseSource, "lines").reads("a.txt", "")
    True
    """
    return ()
