"""Metrics: what a process has done so far, as Prometheus reads it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

from newel.server.operations.load import LOAD

#: The upper bounds of the buckets, in seconds.
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
#: Methods that are counted by name: a client may send any word.
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "WEBSOCKET"})


class Histogram:
    """How often something took how long."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self._sum += seconds

    def lines(self, name: str) -> Iterator[str]:
        """In Prometheus' text format."""
        total = 0
        for bound, count in zip((*BOUNDS, "+Inf"), self._counts, strict=True):
            total += count
            yield f'{name}_bucket{{le="{bound}"}} {total}'
        yield f"{name}_sum {self._sum:.6f}"
        yield f"{name}_count {total}"


class Metrics:
    """The counters of a process."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds = Histogram()
        self._first = Histogram()

    def count(self, method: str, status: int, seconds: float, first: float) -> None:
        """A request has ended; `first` is when the first piece of its answer went out."""
        self._requests[method if method in _METHODS else "OTHER", status] += 1
        self._seconds.add(seconds)
        self._first.add(first)

    def text(self) -> str:
        """All of them in Prometheus' text format."""
        lines = ["# TYPE newel_requests_total counter"]
        lines += [
            f'newel_requests_total{{method="{method}",status="{status}"}} {count}'
            for (method, status), count in sorted(self._requests.items())
        ]
        lines += ["# TYPE newel_request_seconds histogram", *self._seconds.lines("newel_request_seconds")]
        lines += ["# TYPE newel_first_piece_seconds histogram", *self._first.lines("newel_first_piece_seconds")]
        lines += ["# TYPE newel_runs_under_way gauge", f"newel_runs_under_way {LOAD.runs}"]
        lines += ["# TYPE newel_draining gauge", f"newel_draining {int(LOAD.draining)}"]
        return "\n".join(lines) + "\n"


METRICS = Metrics()
