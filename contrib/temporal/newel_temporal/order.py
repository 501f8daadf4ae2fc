"""What workflow, activities and records say to each other: plain data, ids and numbers.

The names and fields are in the histories of runs that are under way. A change that an older worker could not read needs
another `GENERATION`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

#: Workers of another generation have a queue of their own: no history is continued by code that it does not fit.
GENERATION = 1
#: The type of the workflow, and the queue of all workflows: any worker decides what is next, whichever apps it has.
WORKFLOW = "newel.run"
DECISIONS = f"newel/decisions/{GENERATION}"
#: The activities: a run or a part of it, the end of a run that no worker has, and whether anybody listens to a queue.
RUN = "newel.run"
#: In steps: the beginning of a run, or its resumption, up to its first call; then a call of a model, and of tools.
BEGIN = "newel.begin"
STEPS = {"model": "newel.model", "tool": "newel.tool"}
CLOSE = "newel.close"
LISTENERS = "newel.listeners"
#: Whether the worker that decides about a run takes it itself: it has the answer without asking Temporal.
ROOM = "newel.room"
#: The signal that an answer is stored.
ANSWERED = "newel.answered"
#: The signal that an answer may be stored in so many seconds.
EXPECTED = "newel.expected"
#: The keys of a workflow's memo: the spec without what a person or an agent says, and what is known of the run.
SPEC_MEMO = "newel.spec"
LEFT_MEMO = "newel.left"
#: Fields of a spec that have somebody's words.
WORDS = ("message", "state_delta", "custom_metadata")

#: A state of a run in addition to those of `RunState`: it is to be handed out again.
POSTPONED = "postponed"
#: The type of the error of an activity whose worker has released its run.
RELEASED = "Released"
#: The worker that it was handed to without its queue has no room for it, or not its app.
ELSEWHERE = "elsewhere"
#: In steps: it waits at its worker before its next call.
STEPPING = "stepping"
#: The errors of runs that were not ended by their agents.
DEADLINE = "TimeoutError"
NO_WORKER = "VersionMismatch"

#: How long after its deadline a run may take to have its calls closed, before Temporal ends it.
AFTER_DEADLINE = timedelta(minutes=5)


def closing_queue(queue: str) -> str:
    """The queue of the short work that must not wait behind runs."""
    return f"{queue}/close"


@dataclass(kw_only=True)
class Left:
    """How a run has been left. Times are seconds since 1970 by Temporal's clock."""

    #: A `RunState`, POSTPONED, ELSEWHERE or STEPPING.
    state: str
    events: int = 0
    waits_for: list[str] = field(default_factory=list)
    error: str = ""
    #: How often workers have begun it.
    attempts: int = 0
    #: Whether the log has its message for certain: it is handed out without words from then on.
    stored: bool = False
    worker: str = ""
    started: float | None = None
    #: Why it waits or how it ended, for people.
    reason: str = ""
    #: When it is to be handed out again, in seconds.
    seconds: float = 0.0
    #: Of a run that waits before its next call: its worker's own queue, empty if no worker has it any more,
    queue: str = ""
    #: and the kind and the names of the calls: a key of STEPS; of the tools, or of the agents that ask their models.
    kind: str = "model"
    names: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class Order:
    """What a workflow is told at its start."""

    spec: dict[str, Any]
    #: Where its workers listen.
    queue: str
    #: After how many seconds without a heartbeat another worker takes it.
    lease: float
    #: How many seconds it waits for a worker that fits.
    misfit: float
    #: How often it is begun at most without an outcome.
    attempts: int
    #: Whether each call of a model or tools is an activity of its own.
    steps: bool = False
    #: What is known from before: another run of this key, or the part of this one that is no longer in the history.
    left: Left = field(default_factory=lambda: Left(state="queued"))
    #: When it began to count its seconds; None: now.
    since: float | None = None
    #: When it is to be looked for an answer that nobody spoke of, in seconds since 1970; None: not at all.
    looks: float | None = None
