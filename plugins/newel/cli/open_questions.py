"""Open questions: the requests of a session that wait for an answer, and how they are shown."""

from __future__ import annotations

from newel.cli.conversation import Conversation
from newel.questions.descriptions import lines_of, visible
from newel.questions.question import Kind, Question, open_questions
from newel_kernel import Log
from newel_types import deferred

#: The room of credentials loads with the first question that asks for one.
_credential_lines = deferred("newel.cli.credential_answers", "description_of")
_credential_variable = deferred("newel.cli.credential_answers", "variable")


async def questions_of(conversation: Conversation) -> list[Question] | None:
    """The open questions of the conversation's session; None if the session does not exist."""
    runner = conversation.runner
    session = await runner.session_service.get_session(
        app_name=runner.app_name, user_id=conversation.user, session_id=conversation.session
    )
    return open_questions(Log(session.events)) if session is not None else None


def description_of(question: Question) -> list[str]:
    """The question in lines for a person."""
    if question.kind is Kind.CREDENTIAL:
        lines: list[str] = _credential_lines()(question)
        return [visible(line) for line in lines]
    return lines_of(question)


def variable_of(question: Question, conversation: Conversation) -> str:
    """The environment variable from which the credential of a question would be taken."""
    name: str = _credential_variable()(question, conversation)
    return name


def waiting_line(question: Question, conversation: Conversation) -> str:
    """The question on one line, with its id and the command that answers it."""
    what = "; ".join(description_of(question))
    if question.kind is Kind.CREDENTIAL:
        command = (
            f"{conversation.command('chat')} (or set {variable_of(question, conversation)} and send the message again)"
        )
    else:
        command = f"{conversation.command('run', '--answer', f'{question.id}={_example(question)}')}{_or(question)}"
    return f"waiting: {what} [{question.id}] - {command}"


def _example(question: Question) -> str:
    if question.kind is Kind.APPROVAL:
        return "yes"
    return "JSON" if question.schema and question.schema.get("type") != "string" else "TEXT"


def _or(question: Question) -> str:
    return """ (or =no, or ='{"confirmed": true, "editedArgs": {...}}')""" if question.kind is Kind.APPROVAL else ""
