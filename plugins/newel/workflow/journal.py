"""Journal: an invocation's earlier runs of graph nodes, read from the session's events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from newel.questions.precedence import is_own
from newel.questions.question import questions_of
from newel.questions.values import Schema
from newel_kernel import Event, InvocationContext, Key, Log
from newel_types import Content

#: The error code of the event that tells of a route which no edge has; no node has failed.
UNMATCHED_ROUTE = "UNMATCHED_ROUTE"
_JOURNAL: Key[Journal | None] = Key("journal")


class Record:
    """One run, read from its events. Indices are those of the session's events."""

    __slots__ = ("first", "last", "message", "output_event", "questions", "route", "scopes")

    def __init__(self, first: int) -> None:
        self.first = first
        self.last = first
        self.output_event: Event | None = None
        self.route: object = None
        #: The ids of its questions, each with the schema of the answer.
        self.questions: dict[str, Schema | None] = {}
        #: The latest event with content, and the scopes that the run and those in it talk in.
        self.message: Event | None = None
        self.scopes: set[str | None] = set()


class Journal:
    """The records by path, the answers by the question's id, and the runs that ended, in order."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        #: The answers to each question, in order, each with the index of its event.
        self.answers: dict[str, list[tuple[Mapping[str, object], int]]] = {}
        #: The index of the user's latest message in each isolation scope.
        self.messages: dict[str | None, int] = {}
        #: The paths of the runs that ended, in order, by their parent's path.
        self.ended: dict[str, dict[str, None]] = {}
        #: The message that started the invocation.
        self.message: Content | None = None

    def read(self, index: int, event: Event) -> None:
        """Read the session's event at that index."""
        if event.author == "user":
            self._read_user(index, event)
            return
        info = event.node_info
        if not info.path:
            return
        record = self._record(info.path, index)
        record.last = index
        record.scopes.add(event.isolation_scope)
        if event.content is not None:
            record.message = event
        if event.error_code and event.content is None and event.error_code != UNMATCHED_ROUTE:
            record.output_event = None  # of a failed attempt
        if event.output is not None or info.message_as_output:
            for path in info.output_for or (info.path,):
                self._record(path, index).output_event = event
            if info.route is not None:
                record.route = info.route
        self._read_ended(info.nodes)
        self._read_actions(record, event)
        self._read_questions(record, event)

    def _read_actions(self, record: Record, event: Event) -> None:
        actions = event.touched_actions
        if actions is None:
            return
        if actions.route is not None:
            record.route = actions.route
        if actions.agent_state is not None:
            self._read_ended(actions.agent_state.get("nodes"))

    def _read_user(self, index: int, event: Event) -> None:
        responses = event.get_function_responses()
        for response in responses:
            if response.id:
                self.answers.setdefault(response.id, []).append((response.response or {}, index))
        if not responses:
            self.messages[event.isolation_scope] = index
            if self.message is None:
                self.message = event.content

    def _read_ended(self, nodes: Iterable[str] | None) -> None:
        for path in nodes or ():
            self.ended.setdefault(path.rpartition("/")[0], {})[path] = None

    @staticmethod
    def _read_questions(record: Record, event: Event) -> None:
        for question in questions_of(event):
            record.questions[question.id] = question.schema

    def _record(self, path: str, index: int) -> Record:
        record = self.records.get(path)
        if record is None:
            record = self.records[path] = Record(index)
        return record

    def root_run(self, name: str, since: int) -> int:
        """The number of the root run of `name` to continue: the latest, or the next if nothing of the latest is
        newer than `since`, the latest checkpoint of the agents around it.
        """
        latest: dict[int, int] = {}
        for path, record in self.records.items():
            step, _, number = path.partition("/")[0].rpartition("@")
            if step == name and number.isdigit():
                latest[int(number)] = max(latest.get(int(number), -1), record.last)
        run = max(latest, default=0)
        return run if run and latest[run] > since else run + 1

    def has_message_for(self, record: Record) -> bool:
        """Whether the user has said something to the run since its last event."""
        return any(self.messages.get(scope, -1) > record.last for scope in record.scopes)

    def has_ended(self, path: str) -> bool:
        """Whether the run of that path is over."""
        return path in self.ended.get(path.rpartition("/")[0], ())


def journal_of(ctx: InvocationContext) -> Journal | None:
    """The invocation's journal as it was when the first graph of it started in this process; None if it is new."""
    if _JOURNAL not in ctx.stash:
        ctx.stash[_JOURNAL] = _read(ctx)
    return ctx.stash[_JOURNAL]


def _read(ctx: InvocationContext) -> Journal | None:
    events: Sequence[Event] = ctx.session.events
    if not ctx.resumed:
        return None
    journal = Journal()
    for index in reversed(_indices(events, ctx.invocation_id)):
        journal.read(index, events[index])
    for answers in journal.answers.values():  # if an earlier answer failed, the one that came now counts
        answers.sort(key=lambda answer: not is_own(ctx, events[answer[1]]))
    return journal if journal.records else None


def _indices(events: Sequence[Event], invocation_id: str) -> list[int]:
    """The indices of the invocation's events, from the latest to the message that started it."""
    # A message of the user to a node, in a scope, looks like the message that starts an invocation.
    indices: list[int] = []
    for index, event in Log(events).backwards():
        if event.invocation_id != invocation_id:
            continue
        indices.append(index)
        opening = event.author == "user" and event.isolation_scope is None and not event.get_function_responses()
        if opening and (index == 0 or events[index - 1].invocation_id != invocation_id):
            break
    return indices
