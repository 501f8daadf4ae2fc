"""Series: counters and histograms with labels, in Prometheus' text format; the number of their labels is bounded."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

#: The upper bounds of the buckets, in seconds.
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
#: The most sets of labels of a series.
MOST = 200
#: What stands for all labels beyond them.
OTHER = "(other)"
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
Labels = tuple[str, ...]


class Counter:
    """A number that grows, for each set of labels."""

    kind = "counter"

    def __init__(self, name: str, text: str, *labels: str) -> None:
        self.name = name
        self.text = text
        self._labels = labels
        self._values: dict[Labels, float] = {}

    def add(self, amount: float, *labels: str) -> None:
        """Add to the number of these labels."""
        key = bounded(self._values, labels)
        self._values[key] = self._values.get(key, 0) + amount

    def lines(self) -> Iterator[str]:
        """The samples."""
        for key, value in sorted(self._values.items()):
            yield sample(self.name, self._labels, key, value)


class Histogram:
    """How often something took how many seconds, for each set of labels."""

    kind = "histogram"

    def __init__(self, name: str, text: str, *labels: str) -> None:
        self.name = name
        self.text = text
        self._labels = labels
        #: The counts of the buckets, the last one without a bound, and the sum.
        self._values: dict[Labels, tuple[list[int], list[float]]] = {}

    def add(self, seconds: float, *labels: str) -> None:
        """Count one."""
        key = bounded(self._values, labels)
        counts, total = self._values.setdefault(key, ([0] * (len(SECONDS) + 1), [0.0]))
        counts[bisect_left(SECONDS, seconds)] += 1
        total[0] += seconds

    def lines(self) -> Iterator[str]:
        """The samples."""
        for key, (counts, total) in sorted(self._values.items()):
            sum_of_counts = 0
            for bound, count in zip((*SECONDS, "+Inf"), counts, strict=True):
                sum_of_counts += count
                yield sample(f"{self.name}_bucket", (*self._labels, "le"), (*key, str(bound)), sum_of_counts)
            yield sample(f"{self.name}_sum", self._labels, key, total[0])
            yield sample(f"{self.name}_count", self._labels, key, sum_of_counts)


def bounded(values: Mapping[Labels, object], labels: Labels) -> Labels:
    """`labels`, or those of all others if the series has enough."""
    return labels if labels in values or len(values) < MOST else (OTHER,) * len(labels)


def sample(name: str, labels: Sequence[str], values: Labels, value: float) -> str:
    """A line with a value."""
    pairs = ",".join(f'{key}="{one.translate(_ESCAPES)}"' for key, one in zip(labels, values, strict=True))
    return f"{name}{{{pairs}}} {value!r}" if pairs else f"{name} {value!r}"


def family(kind: str, name: str, text: str, lines: Iterator[str]) -> Iterator[str]:
    """The lines of a series, after those that say what it is."""
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    yield from lines
