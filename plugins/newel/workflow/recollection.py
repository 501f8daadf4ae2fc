"""Recollection: how far a run came before, so that a resumed graph does not repeat it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from newel.questions.values import Schema, answer_value
from newel.workflow._base_node import BaseNode
from newel.workflow.journal import Journal, Record
from newel.workflow.place import Place
from newel_kernel import Event


@dataclass(frozen=True, slots=True)
class Recollection:
    """How far a run came before. A run that is not `over` runs again, perhaps with the answers to its questions."""

    over: bool
    #: Whether the checkpoint says that it is over.
    recorded: bool = False
    produced: bool = False
    output: object = None
    route: object = None
    #: The ids of the questions that are open.
    interrupts: Sequence[str] = ()
    #: The answers for a node that runs again with them.
    answers: Mapping[str, object] | None = None
    #: Whether the answers are its output.
    answered: bool = False
    #: The session's index of its first event.
    since: int | None = None


def recollect(journal: Journal, node: BaseNode, place: Place, chooses: bool) -> Recollection | None:
    """How far the run of `node` at `place` came; None: it did not begin. `chooses`: its route decides what follows.

    A run whose output is in the journal is over, even if nothing says that it ended, unless it might still have
    chosen a route. A run that asked goes on by its node's `rerun_on_resume`, and waits while questions are open. A run
    that has spoken to the user waits, too, until the user says something to it.
    """
    record = journal.records.get(place.path)
    if journal.has_ended(place.path):
        return _ended(journal, node, place, record)
    if record is None:
        return None
    if record.output_event is not None and not (chooses and record.route is None):
        return Recollection(
            over=True, produced=True, output=_output_of(record.output_event, node, place), route=record.route
        )
    if record.questions or node.__newel_converses__:
        return _paused(journal, node, place, record)
    return Recollection(over=False, since=record.first)


def _ended(journal: Journal, node: BaseNode, place: Place, record: Record | None) -> Recollection:
    """A run that the checkpoint says is over."""
    if record is None:
        return Recollection(over=True, recorded=True)
    if record.output_event is not None:
        output = _output_of(record.output_event, node, place)
    elif record.questions and not node.rerun_on_resume:
        answers = {q: _answer(q, journal, schema)[0] for q, schema in record.questions.items()}
        output = node._validate_output_data(_as_output(answers))
    else:
        return Recollection(over=True, recorded=True, route=record.route)
    return Recollection(over=True, recorded=True, produced=True, output=output, route=record.route)


def _paused(journal: Journal, node: BaseNode, place: Place, record: Record) -> Recollection:
    """A run that asked something, or talks with the user."""
    answers: dict[str, object] = {}
    has_news = node.__newel_converses__ and journal.has_message_for(record)
    for question, schema in record.questions.items():
        if question in journal.answers:
            answers[question], index = _answer(question, journal, schema)
            has_news = has_news or index > record.last
    missing = [question for question in record.questions if question not in answers]
    if not missing and not has_news and node.__newel_converses__ and _has_spoken(place, record):
        missing = [place.path]
    if node.rerun_on_resume and (has_news or not missing):
        return Recollection(over=False, answers=answers, since=record.first)
    if missing:
        return Recollection(over=True, interrupts=missing, since=record.first)
    output = node._validate_output_data(_as_output(answers))
    return Recollection(over=True, produced=True, output=output, route=record.route, answered=True, since=record.first)


def _output_of(event: Event, node: BaseNode, place: Place) -> object:
    return node._validate_output_data(node.__newel_recall__(event, place.path))


def _has_spoken(place: Place, record: Record) -> bool:
    """Whether the run's last message was for the user; one on another branch was for the run."""
    message = record.message
    if message is None or message.branch != place.branch or message.long_running_tool_ids:
        return False
    return message.is_final_response()


def _as_output(answers: Mapping[str, object]) -> object:
    """The answers as an output: a single one itself, several by the question's id."""
    return answers if len(answers) > 1 else next(iter(answers.values()))


def _answer(question: str, journal: Journal, schema: Schema | None) -> tuple[object, int]:
    """The first answer that fits, with the index of its event: later ones do not count. ValueError if none fits."""
    *others, (last, index) = journal.answers[question]
    for response, position in others:
        with suppress(ValueError):
            return answer_value(question, response, schema), position
    return answer_value(question, last, schema), index
