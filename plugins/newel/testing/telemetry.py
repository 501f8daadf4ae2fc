"""Telemetry: checks spans, metrics and events against the GenAI conventions of OpenTelemetry.

The facts are those of open-telemetry/semantic-conventions 1.37 and of open-telemetry/semantic-conventions-genai 0.1.0:
which attributes exist, of what type, with which values, and what a span, a metric or an event must have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricsData
    from opentelemetry.sdk.trace import ReadableSpan

Generation = Literal["1.37", "0.1.0"]

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "int": (int,),
    "double": (int, float),
    "boolean": (bool,),
}
_INFERENCE = frozenset(("chat", "generate_content", "text_completion"))
_INSTRUMENTS = {"histogram": "Histogram", "counter": "Sum"}


@dataclass(frozen=True, slots=True)
class Finding:
    """What breaks the conventions: in which span, metric or event, which attribute, and why."""

    where: str
    name: str
    problem: str

    def __str__(self) -> str:
        return f"{self.where}: {self.name}: {self.problem}"


def telemetry_findings(
    spans: Iterable[ReadableSpan] = (),
    metrics: MetricsData | None = None,
    events: Iterable[tuple[str, Mapping[str, Any]]] = (),
    *,
    generation: Generation = "1.37",
) -> list[Finding]:
    """The places where exported telemetry breaks a generation of the conventions; empty: it keeps them.

    `spans` are those of the SDK's in-memory exporter, `metrics` those of its in-memory reader, `events` names and
    attributes of log records. Names outside of ``gen_ai.`` may be any.
    """
    facts = _facts()[generation]
    found = [finding for span in spans for finding in _of_span(facts, span)]
    for resource in metrics.resource_metrics if metrics is not None else ():
        for scope in resource.scope_metrics:
            found += [finding for metric in scope.metrics for finding in _of_metric(facts, metric)]
    found += [finding for name, attributes in events for finding in _of_event(facts, name, attributes)]
    return found


@cache
def _facts() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("genai_conventions.json").read_text("utf-8")
    facts: dict[str, Any] = json.loads(text)
    return facts


def _of_span(facts: dict[str, Any], span: ReadableSpan) -> Iterator[Finding]:
    attributes = dict(span.attributes or {})
    yield from _of_attributes(facts, span.name, attributes)
    for event in span.events:
        yield from _of_event(facts, event.name, event.attributes or {})
    operation = attributes.get("gen_ai.operation.name")
    if operation is None:
        if any(name.startswith("gen_ai.") for name in attributes):
            yield Finding(span.name, "gen_ai.operation.name", "is missing")
        return
    rules = facts["spans"].get("inference" if operation in _INFERENCE else operation)
    if rules is None:
        yield Finding(span.name, "gen_ai.operation.name", f"there are no spans of {operation!r}")
        return
    expected = re.sub(r"{([\w.]+)}", lambda name: str(attributes.get(name[1], "")), rules["name"])
    if span.name != expected:
        yield Finding(span.name, "name", f"is not {expected!r}")
    if span.kind.name.lower() != rules["kind"] and operation != "invoke_agent":  # an agent may run here or elsewhere
        yield Finding(span.name, "kind", f"is not {rules['kind'].upper()}")
    required = [*rules["required"], *(["error.type"] if span.status.status_code.name == "ERROR" else [])]
    yield from _missing(span.name, required, attributes)


def _of_metric(facts: dict[str, Any], metric: Any) -> Iterator[Finding]:
    if not metric.name.startswith("gen_ai."):
        return
    rules = facts["metrics"].get(metric.name)
    if rules is None:
        yield Finding(metric.name, "name", "there is no such metric")
        return
    if rules["unit"] and metric.unit != rules["unit"]:
        yield Finding(metric.name, "unit", f"is {metric.unit!r} instead of {rules['unit']!r}")
    if type(metric.data).__name__ != _INSTRUMENTS[rules["instrument"]]:
        yield Finding(metric.name, "instrument", f"is not a {rules['instrument']}")
    for point in metric.data.data_points:
        yield from _of_attributes(facts, metric.name, point.attributes)
        yield from _missing(metric.name, rules["required"], point.attributes)


def _of_event(facts: dict[str, Any], name: str, attributes: Mapping[str, Any]) -> Iterator[Finding]:
    if not name.startswith("gen_ai."):
        return
    if name not in facts["events"]:
        yield Finding(name, "name", "there is no such event")
        return
    yield from _of_attributes(facts, name, attributes)
    yield from _missing(name, facts["events"][name], attributes)


def _missing(where: str, required: Iterable[str], attributes: Mapping[str, Any]) -> Iterator[Finding]:
    return (Finding(where, name, "is missing") for name in required if name not in attributes)


def _of_attributes(facts: dict[str, Any], where: str, attributes: Mapping[str, Any]) -> Iterator[Finding]:
    for name, value in attributes.items():
        if not name.startswith("gen_ai.") or name.startswith(tuple(facts["open_prefixes"])):
            continue
        if name in facts["deprecated"]:
            yield Finding(where, name, "is deprecated")
        elif (rule := facts["attributes"].get(name)) is None:
            yield Finding(where, name, "there is no such attribute")
        elif (problem := _problem(value, *rule)) is not None:
            yield Finding(where, name, problem)


def _problem(value: Any, kind: str, values: Collection[str] = ()) -> str | None:
    """Why a value is wrong; the lists of known providers and operations are open."""
    if kind == "any":
        return None
    several = kind.endswith("[]")
    if several is not isinstance(value, (list, tuple)):
        return f"is of type {type(value).__name__} instead of {kind}"
    allowed = _TYPES[kind.removesuffix("[]")]
    for one in value if several else (value,):
        if not isinstance(one, allowed) or (isinstance(one, bool) and bool not in allowed):
            return f"{one!r} is not of type {kind}"
        if several and values and one not in values:
            return f"{one!r} is none of {', '.join(values)}"
    return None
