"""Agenda: which runs of a graph's nodes are ready, which wait for another run of their node, and what runs next."""

from __future__ import annotations

from collections import deque

from newel.turns.steps import StepLimitError
from newel.workflow._base_node import START_NAME
from newel.workflow._graph import Graph
from newel.workflow.joins import Joins
from newel.workflow.meeting import Meeting
from newel.workflow.node_run import NodeRun
from newel.workflow.outputs import Outputs
from newel.workflow.place import sub_branch_of
from newel.workflow.step import Step
from newel.workflow.unmatched import unmatched
from newel_kernel import Event


class Agenda:
    """The runs of `graph`'s nodes within the run `around`, in the order in which they were triggered."""

    __slots__ = (
        "_around",
        "_counts",
        "_joins",
        "_later",
        "_meeting",
        "_outputs",
        "busy",
        "notices",
        "open_questions",
        "ready",
        "steps",
    )

    def __init__(self, around: NodeRun, graph: Graph, meeting: Meeting, outputs: Outputs) -> None:
        self._around = around
        self._meeting = meeting
        self._outputs = outputs
        self._joins = Joins()
        self._counts: dict[str, int] = {}
        #: The runs that wait for another run of their node, which does one thing at a time.
        self._later: dict[str, deque[NodeRun]] = {}
        self.steps = graph.steps
        self.ready: deque[NodeRun] = deque()
        #: The names of the nodes that run or wait for an answer.
        self.busy: set[str] = set()
        #: The ids of the questions of the nodes that wait.
        self.open_questions: list[str] = []
        #: What is to be told before the graph goes on: of routes that no edge has, or that it must not turn again.
        self.notices: list[Event | StepLimitError] = []

    def start(self, node_input: object) -> None:
        """Trigger the first nodes; then replay the journal."""
        around = self._around
        self._follow(self.steps[START_NAME], node_input, None, around.place.branch)
        if around.tree.journal is not None:
            self._replay(around.tree.journal.ended.get(around.place.path, {}))

    def _replay(self, ended: dict[str, None]) -> None:
        """Let the runs of the journal end again, in their former order."""
        waiting: dict[str, NodeRun] = {}
        for path in ended:
            while self.ready:
                run = self.ready.popleft()
                waiting[run.place.path] = run
            ended_run = waiting.pop(path, None)
            if ended_run is not None and self.recall(ended_run):
                self.complete(ended_run, recalled=True)
        self.ready.extendleft(reversed(waiting.values()))
        left: list[NodeRun] = []
        while self.ready:
            run = self.ready.popleft()
            if self.recall(run):
                self.complete(run, recalled=True)
            else:
                left.append(run)
        self.ready.extend(left)

    def recall(self, run: NodeRun) -> bool:
        """Whether the journal has the outcome of `run`. If so, the run takes it over."""
        return run.recall(chooses=not run.place.terminal and self.steps[run.node.name].chooses)

    def hold_up(self, run: NodeRun) -> None:
        """Let `run` wait for another run of its node, after which it is ready again."""
        self._later.setdefault(run.node.name, deque()).append(run)

    def complete(self, run: NodeRun, *, recalled: bool = False) -> None:
        """Note the end of a run, and trigger what follows; `recalled`: it ran before, and its steps do not count."""
        name, outcome = run.node.name, run.outcome
        if outcome.interrupts:
            self.busy.add(name)
            self.open_questions.extend(outcome.interrupts)
            return
        run.settle()
        self.busy.discard(name)
        if self._later and (later := self._later.get(name)):
            self.ready.append(later.popleft())
        if outcome.output is None and run.node.wait_for_output:
            return
        if not run.place.terminal:
            self._follow(self.steps[name], outcome.output, outcome.route, run.place.branch, recalled=recalled)
        elif outcome.produced:
            self._outputs.add(name, outcome.output)

    def _follow(self, step: Step, output: object, route: object, branch: str | None, *, recalled: bool = False) -> None:
        """Trigger what follows a node; several get a sub-branch each."""
        targets = step.following(route)
        if not recalled and (not targets or not self._may_turn(step, targets)):
            if not targets and (notice := unmatched(step, route, self._around)) is not None:
                self.notices.append(notice)
            return
        several = len(targets) > 1
        for target in targets:
            if not target.node._requires_all_predecessors:
                self._trigger(target, output, branch, several)
                continue
            joined = self._joins.arrive(target, step.name, output, branch)
            if joined is not None:
                self._trigger(target, *joined, False)

    def tell(self) -> list[Event]:
        """The notices; raises StepLimitError if the graph must not go on."""
        notices = self.notices
        self.notices = []
        events = [one for one in notices if isinstance(one, Event)]
        for one in notices:
            if isinstance(one, StepLimitError):
                raise one
        return events

    def _may_turn(self, step: Step, targets: list[Step]) -> bool:
        """Count the steps; False, and it is to be told, if one of them would run again although all steps are spent."""
        taken = self._around.tree.steps
        again = next((one.name for one in targets if self._counts.get(one.name)), None) if taken.spent() else None
        if again is not None:
            what = f"the edge {step.name} -> {again} of the graph {self._around.node.name!r} was about to turn again"
            self.notices.append(taken.error(f"{what}: {again!r} has run {self._counts[again]} times"))
            return False
        taken.taken += len(targets)
        return True

    def _trigger(self, step: Step, node_input: object, branch: str | None, sub_branch: bool) -> None:
        around = self._around
        count = self._counts[step.name] = self._counts.get(step.name, 0) + 1
        if sub_branch:
            branch = sub_branch_of(branch, f"{step.name}@{count}")
        run = NodeRun(step.node, str(count), around.tree, self._meeting, node_input, branch, around)
        if step.terminal:
            run.place.share_output_with(around.place)
        self.ready.append(run)
