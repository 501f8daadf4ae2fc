"""How plugins provide what this room declares in `kinds`."""

from __future__ import annotations

from collections.abc import Sequence

from newel.evaluation.kinds import ArgumentMatcher, CaseSource, Metric, PriceTable, ReportFormat, SimulatedUser
from newel_kernel import Settings, hookspec


@hookspec
def register_metrics(settings: Settings) -> Sequence[Metric]:
    """Metrics: a name, and what imports the Evaluator class that computes it.

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
    """What models cost; the first table that knows a model counts.

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
