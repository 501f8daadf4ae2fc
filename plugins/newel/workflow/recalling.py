"""Recalling: what the journal knows of a run, so that a resumed graph does not do again what is done."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from newel.workflow.answers import answer_value

if TYPE_CHECKING:
    from newel.workflow.journal import Journal, Record
    from newel.workflow.node_run import NodeRun


def recall(run: NodeRun) -> bool:
    """Give `run` the outcome that the journal has for it; whether that is so, or else it is to be run.

    A run whose output is in the journal is over, also where nothing says that it ended (but for one that might still
    have chosen a route). One that asked goes on by its node's `rerun_on_resume`; with questions that are still open, it
    waits. So does one that has spoken to the user, until the user says something to it.
    """
    journal = run.tree.journal
    if journal is None:
        return False
    record = journal.records.get(run.path)
    if journal.has_ended(run.path):
        run.recorded = True
        if record is not None:
            run.recall(record)
            if record.output_event is None and record.questions and not run.node.rerun_on_resume:
                run.set_output(_output({q: _first_fitting(q, journal, s) for q, s in record.questions.items()}))
        return True
    if record is None:
        return False
    if record.output_event is not None and not (run.chooses and record.route is None):
        run.recall(record)
        return True
    run.since = record.first
    return (bool(record.questions) or run.node.converses) and _answered(run, journal, record)


def _answered(run: NodeRun, journal: Journal, record: Record) -> bool:
    """Whether nothing is to be run: the answers are the output, or some are missing."""
    answers: dict[str, Any] = {}
    news = False
    for question, schema in record.questions.items():
        if question in journal.answers:
            response, index = journal.answers[question][-1]
            answers[question] = answer_value(question, response, schema)
            news = news or index > record.last
    if run.node.converses:
        news = news or journal.hears(record)
    missing = [question for question in record.questions if question not in answers]
    spoken = not news and run.node.converses and _has_spoken(run, record)
    if spoken:
        missing = missing or [run.path]
    if run.node.rerun_on_resume and (news or not missing):
        run.answers = answers
        return False
    if missing:
        run.interrupts = missing
        return True
    run.set_output(_output(answers))
    run.route = record.route
    if run.parent is not None:
        run.branch = run.parent.branch  # what follows an answer is on the branch of the graph
    return True


def _has_spoken(run: NodeRun, record: Record) -> bool:
    """Whether the last that was said in the run was said to the user; what is on another branch was said to it."""
    said = record.said
    if said is None or said.branch != run.branch or said.long_running_tool_ids:
        return False
    return said.is_final_response()


def _output(answers: dict[str, Any]) -> Any:
    """The answers as an output: the one there is, or all by their questions' ids."""
    return answers if len(answers) > 1 else next(iter(answers.values()))


def _first_fitting(question: str, journal: Journal, schema: dict[str, Any] | None) -> Any:
    """The answer with which a node that is over went on; what came later did not count."""
    for response, _ in journal.answers.get(question, ()):
        with suppress(ValueError):
            return answer_value(question, response, schema)
    return None
