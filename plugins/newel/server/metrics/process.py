"""The metrics of a process, whatever apps it serves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from newel.server.metrics.series import Counter, Histogram, Labels, family, sample
from newel.server.operations.load import LOAD

#: Methods that are counted by name: a client may send any word.
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "WEBSOCKET"})
#: app -> the runs that are under way, and those of them that wait for their session.
Running = Mapping[str, tuple[int, int]]


class Metrics:
    """The counters of a process."""

    def __init__(self) -> None:
        self._requests = Counter("newel_requests_total", "Requests by method and status.", "method", "status")
        self._seconds = Histogram("newel_request_seconds", "Time to the end of the answer.")
        self._pieces = Histogram("newel_first_piece_seconds", "Time to the first piece of the answer.")
        self.frames = Histogram(
            "newel_first_frame_seconds", "Time from a request to the first event of its stream.", "app"
        )
        self.runs = Counter("newel_runs_total", "Runs that have ended, by their outcome.", "app", "outcome")
        self.run_seconds = Histogram("newel_run_seconds", "How long runs took, once they had their session.", "app")
        self.answers = Counter("newel_model_answers_total", "Answers of models that count tokens.", "app", "model")
        self.tokens = Counter("newel_tokens_total", "Tokens; cached ones are also input.", "app", "model", "kind")
        self.dollars = Counter("newel_cost_dollars_total", "What answers of models cost.", "app", "model")
        self.unpriced = Counter(
            "newel_unpriced_answers_total",
            "Answers without a known price, which the cost leaves out.",
            "app",
            "model",
        )

    def count(self, method: str, status: int, seconds: float, first: float) -> None:
        """A request has ended; `first` is when the first piece of its answer went out."""
        self._requests.add(1, method if method in _METHODS else "OTHER", str(status))
        self._seconds.add(seconds)
        self._pieces.add(first)

    def text(self, running: Running) -> str:
        """All of them in Prometheus' text format."""
        own: list[Counter | Histogram] = [
            self._requests,
            self._seconds,
            self._pieces,
            self.frames,
            self.runs,
            self.run_seconds,
        ]
        own += [self.answers, self.tokens, self.dollars, self.unpriced]
        lines = [line for one in own for line in family(one.kind, one.name, one.text, one.lines())]
        lines += self._gauges(running)
        return "\n".join(lines) + "\n"

    @staticmethod
    def _gauges(running: Running) -> Iterator[str]:
        under_way = {app: count for app, (count, _) in running.items()}
        waiting = {app: count for app, (_, count) in running.items()}
        for name, text, values in (
            ("newel_runs_under_way", "Runs that are under way, followed or not, without live ones.", under_way),
            ("newel_runs_waiting", "Those of them that wait for another one of their session.", waiting),
        ):
            yield from family("gauge", name, text, _by_app(name, values))
        for name, text, value in (
            ("newel_live_runs", "Live runs that are under way.", LOAD.live),
            ("newel_draining", "1 once the server is about to end.", int(LOAD.draining)),
        ):
            yield from family("gauge", name, text, iter([sample(name, (), (), value)]))


def _by_app(name: str, values: Mapping[str, int]) -> Iterator[str]:
    for app, value in values.items():
        labels: Labels = (app,)
        yield sample(name, ("app",), labels, value)


METRICS = Metrics()
