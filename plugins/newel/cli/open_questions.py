"""Open questions: the requests of a session that wait for an answer, and how they are shown."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Any

from newel.cli.conversation import Conversation
from newel.questions.question import Kind, Question, open_questions
from newel_kernel import Log
from newel_types import deferred

#: Part of the default hint of a tool: it says how a program answers, which does not help a person.
_FOR_PROGRAMS = "by responding with a FunctionResponse"
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
    """The question in lines for a person. It shows all that is to be approved, even invisible characters."""
    if question.kind is Kind.APPROVAL:
        more = {"hint": "" if _FOR_PROGRAMS in question.hint else question.hint, "payload": question.payload}
        return [f"approve {_call(question.original)}?", *_more(more)]
    if question.kind is Kind.INPUT:
        more = {"payload": question.payload, "as JSON schema": question.schema}
        return [_text(question.hint or "input is asked for"), *_more(more)]
    if question.kind is Kind.CREDENTIAL:
        lines: list[str] = _credential_lines()(question)
        return [_visible(line) for line in lines]
    if question.options:
        return [f"{question.name}:", *(f"{n}) {_text(option)}" for n, option in enumerate(question.options, 1))]
    return [f"{_call({'name': question.name, 'args': question.args})} waits for its result"]


def waiting_line(question: Question, conversation: Conversation) -> str:
    """The question on one line, with its id and the command that answers it."""
    what = "; ".join(description_of(question))
    if question.kind is Kind.CREDENTIAL:
        variable = _credential_variable()(question, conversation)
        command = f"{conversation.command('chat')} (or set {variable} and send the message again)"
    else:
        command = f"{conversation.command('run', '--answer', f'{question.id}={_example(question)}')}{_or(question)}"
    return f"waiting: {what} [{question.id}] - {command}"


def _example(question: Question) -> str:
    if question.kind is Kind.APPROVAL:
        return "yes"
    return "JSON" if question.schema and question.schema.get("type") != "string" else "TEXT"


def _or(question: Question) -> str:
    return """ (or =no, or ='{"confirmed": true, "editedArgs": {...}}')""" if question.kind is Kind.APPROVAL else ""


def _call(call: Mapping[str, Any]) -> str:
    args = ", ".join(f"{name}={_text(value, quote=True)}" for name, value in (call.get("args") or {}).items())
    return f"{_text(call.get('name'))}({args})"


def _more(entries: Mapping[str, object]) -> list[str]:
    return [f"{name}: {_text(value)}" for name, value in entries.items() if value not in (None, "")]


def _text(value: object, *, quote: bool = False) -> str:
    if isinstance(value, str) and not quote:
        return _visible(" ".join(value.split()))
    return _visible(json.dumps(value, ensure_ascii=False, default=str))


def _visible(text: str) -> str:
    """`text` with invisible characters (controls, marks that change the writing direction) written out."""
    return "".join(f"\\u{ord(c):04x}" if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") else c for c in text)
