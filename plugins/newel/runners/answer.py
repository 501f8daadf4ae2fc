"""A run for one answer, for scripts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import TypedDict, Unpack

from newel.events.text import text_of
from newel.questions.question import Kind, Question, open_questions
from newel.runners.arguments import check_message
from newel.runners.in_memory_runner import InMemoryRunner
from newel_kernel import BaseAgent, ConfigurationError, Event, Log, NewelError
from newel_types import Content, Part

_USER, _SESSION = "user", "run"
#: The stores that a continued run finds again: the conversation, and what its tools have stored.
_STORES = ("session_service", "artifact_service", "memory_service", "credential_service")


class RunnerOptions(TypedDict, total=False):
    """Options of `InMemoryRunner`."""

    app_name: str
    plugins: Sequence[object]
    distribution: str | None


class NoAnswerError(NewelError):
    """The run ended without a text, and its last error event says why."""


class Waiting(NewelError):
    """The run waits for an answer, such as an approval. `answer` gives it, and continues the run.

    `questions` are what it waits for, the oldest first, each with its `kind`, `name`, `args` and `hint`.
    """

    def __init__(
        self, questions: Sequence[Question], agent: BaseAgent, options: RunnerOptions, stores: Mapping[str, object]
    ) -> None:
        self.questions = tuple(questions)
        self._agent, self._options, self._stores = agent, options, stores
        text = " ".join(map(_described, questions))
        hint = "True or False" if questions[0].kind is Kind.APPROVAL else "the answer"
        super().__init__(
            f"the agent {agent.name!r} waits: {text} Answer with `except newel.Waiting as waiting: "
            f"waiting.answer({hint})`, which continues and returns the text; or run it in a session of a Runner"
        )

    def answer(self, *answers: object) -> str:
        """Answer the questions, in their order, and continue; the text of the agent's final answer.

        An approval takes True or False, or a mapping such as ``{"confirmed": True, "editedArgs": {...}}``; any other
        question a text or a mapping. Questions without an answer stay open, and are raised again.
        """
        if not 1 <= len(answers) <= len(self.questions):
            raise ConfigurationError(f"{len(answers)} answers, but the run waits for {len(self.questions)}")
        pairs = zip(self.questions, answers, strict=False)
        parts = [Part(function_response=question.response(_response(question, value))) for question, value in pairs]
        return _run(self._agent, Content(role="user", parts=parts), self._options, self._stores)


def run(agent: BaseAgent, message: object, **options: Unpack[RunnerOptions]) -> str:
    """The text of the agent's final answer to `message`, in a session of its own that is not kept.

    `options` go to `InMemoryRunner`. Raises Waiting if the agent asks for an approval, input or a credential. Not
    for use inside a running event loop: there, iterate over ``Runner.run_async``.
    """
    check_message(message)
    return _run(agent, message, options, {})


def _run(agent: BaseAgent, message: object, options: RunnerOptions, stores: Mapping[str, object]) -> str:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_answer(agent, message, options, stores))
    raise ConfigurationError("run() cannot be used inside a running event loop; iterate over Runner.run_async there")


async def _answer(agent: BaseAgent, message: object, options: RunnerOptions, stores: Mapping[str, object]) -> str:
    texts: list[str] = []
    failure: Event | None = None
    async with InMemoryRunner(agent, **options) as runner:
        for name, store in stores.items():
            setattr(runner, name, store)
        run_events = runner.run_async(user_id=_USER, session_id=_SESSION, new_message=message)
        async with aclosing(run_events) as events:
            async for event in events:
                failure = event if event.sparse_values and event.error_code else failure
                if event.is_final_response():
                    texts.append(text_of(event.content))
        session = await runner.session_service.get_session(app_name=runner.app_name, user_id=_USER, session_id=_SESSION)
    text = "\n".join(text for text in texts if text)
    questions = open_questions(Log(session.events)) if session is not None else []
    if any(question.kind is not Kind.RESULT or not text for question in questions):
        raise Waiting(questions, agent, options, {name: getattr(runner, name) for name in _STORES})
    if not text and failure is not None:  # silence would look like an answer
        raise NoAnswerError(f"{failure.author}: {failure.error_code}: {failure.error_message}")
    return text


def _described(question: Question) -> str:
    if question.kind is Kind.CREDENTIAL:  # its arguments may hold secrets
        return "a credential is asked for."
    original = question.original
    args = ", ".join(f"{name}={value!r}" for name, value in (original.get("args") or question.args).items())
    call = f"{original.get('name') or question.name}({args})"
    return f"approve {call}?" if question.kind is Kind.APPROVAL else f"{question.hint or call}."


def _response(question: Question, answer: object) -> dict[str, object]:
    if isinstance(answer, dict):
        return dict(answer)
    if question.kind is Kind.APPROVAL:
        if not isinstance(answer, bool):
            raise ConfigurationError(f"an approval is answered with True, False or a mapping, not {answer!r}")
        return {"confirmed": answer}
    return {"result": answer}
