"""Explanation: a model request, step by step from empty to what the model gets. Plain data, for any display."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from newel.explanation.changes import Change
from newel_kernel import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one step did to the request."""

    #: A processor of the request chain, a preparation of tools, the declarations of the agent's tools, a
    #: `before_model_callback`.
    kind: Literal["processor", "preparation", "tools", "callback"]
    #: The processor's name, or who the callback belongs to.
    name: str
    #: The plugin, and the package and version that it is from; empty for what belongs to the agent.
    plugin: str = ""
    package: str = ""
    version: str = ""
    seconds: float = 0.0
    #: The edits of the request.
    changes: Sequence[Change] = ()
    #: How many events it reported.
    events: int = 0
    #: The type of the error that it raised.
    error: str | None = None
    #: Whether it gave an answer in place of the model's.
    answered: bool = False

    def as_json(self) -> Json:
        """The step as JSON."""
        data: Json = {name: getattr(self, name) for name in ("kind", "name", "plugin", "package", "version", "seconds")}
        data["changes"] = [change.as_json() for change in self.changes]
        optional = {"events": self.events, "error": self.error, "answered": self.answered}
        return data | {name: value for name, value in optional.items() if value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How one model request came to be."""

    agent: str
    session_id: str
    invocation_id: str
    branch: str | None = None
    #: The request before the first step, and after the last.
    before: Json
    after: Json
    steps: Sequence[Step]
    #: Whether the request went to the model; else a step failed, answered, or ended the run.
    called: bool

    @property
    def seconds(self) -> float:
        """How long all steps took."""
        return sum(step.seconds for step in self.steps)

    def as_json(self) -> Json:
        """The explanation as JSON."""
        data: Json = {name: getattr(self, name) for name in ("agent", "session_id", "invocation_id", "branch")}
        steps = [step.as_json() for step in self.steps]
        return data | {
            "called": self.called,
            "seconds": self.seconds,
            "before": self.before,
            "steps": steps,
            "after": self.after,
        }
