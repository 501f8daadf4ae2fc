"""Prefixes: which step of the chain kept a request from continuing the one before it, so that no cache could serve it.

Providers cache a prompt from its start, in the order tools, instruction, contents. Two explained requests are played
step by step, side by side: the step after which they differ for the first time is the one that broke the prefix.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from newel.explanation.changes import applied
from newel.explanation.explanation import Explanation, Step
from newel.explanation.instruments import record
from newel.explanation.recorder import Recorder
from newel.runners import Runner
from newel_kernel import Json

#: The parts of a request that stand before its contents in the prompt.
_HEAD = {"tools": "the declared tools", "system_instruction": "the instruction"}


@dataclass(frozen=True, slots=True)
class PrefixBreak:
    """Where a request stopped continuing the one before it."""

    #: A JSON pointer in the explained request.
    path: str
    #: The step that made the difference; None: both requests had the same steps, and began differently.
    step: Step | None

    def __str__(self) -> str:
        place = self.path.removeprefix("/")
        number = place.removeprefix("contents/")
        what = _HEAD.get(place) or f"message {int(number) + 1}"
        return f"{_owner(self.step)}: {what} changed"


def _owner(step: Step | None) -> str:
    if step is None:
        return "the run"
    if step.kind == "tools":
        return f"the tools of {step.name}"
    name = f"a before_model_callback of {step.name}" if step.kind == "callback" else step.name
    return f"{name} of the plugin {step.plugin}" if step.plugin not in ("", step.name) else name


def break_between(before: Explanation, after: Explanation) -> PrefixBreak | None:
    """Where and by which step `after` stops continuing `before`; None: it continues it."""
    path = _difference(before.after, after.after)
    if path is None:
        return None
    earlier = {(step.kind, step.name): state for step, state in _states(before)}
    last = before.before
    for step, state in _states(after):
        last = earlier.get((step.kind, step.name), last)
        if _difference(last, state) == path:
            return PrefixBreak(path, step)
    return PrefixBreak(path, None)


def _states(explanation: Explanation) -> Iterator[tuple[Step, Json]]:
    """Each step, and the request after it."""
    state = explanation.before
    for step in explanation.steps:
        state = applied(state, step.changes) if step.changes else state
        yield step, state


def _difference(before: Json, after: Json) -> str | None:
    """The first place of the prompt in which `after` does not continue `before`."""
    for name in _HEAD:
        if before.get(name) != after.get(name):
            return f"/{name}"
    contents: list[Any] = before.get("contents", [])
    longer: list[Any] = after.get("contents", [])
    for place, content in enumerate(contents):
        if place >= len(longer) or longer[place] != content:
            return f"/contents/{place}"
    return None


class CacheWatch:
    """Watches the requests of a runner's next runs. Watching costs each request some time and is not for production.

    ``cache_reports(session.events, watch.explanations(session.id))`` then names the step that broke a prefix.
    """

    def __init__(self, runner: Runner, most: int = 200) -> None:
        self._recorder = Recorder(most)
        self._runner, self._composition = runner, runner.composition
        record(runner, self._recorder)

    def explanations(self, session_id: str) -> list[Explanation]:
        """The requests of a session that went to a model, the oldest first."""
        return [one for one in self._recorder.explanations(session_id) if one.called]

    def close(self) -> None:
        """Stop watching: the runner's next runs are those of its own composition."""
        self._runner.composition = self._composition
