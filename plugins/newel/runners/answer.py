"""A run for one answer, for scripts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict, TypeVar, Unpack, overload

from newel.agents.base_agent import BaseAgent
from newel.questions.given_answers import usable
from newel.questions.question import Kind, Question
from newel.runners.arguments import check_message, check_options
from newel.runners.in_memory_runner import InMemoryRunner
from newel.runners.outcome import NoAnswerError, Outcome
from newel_kernel import BaseAgent as KernelAgent
from newel_kernel import ConfigurationError, NewelError

__all__ = ["NoAnswerError", "RunnerOptions", "Waiting", "arun", "run"]

Deps = TypeVar("Deps")
Out = TypeVar("Out")

_USER, _SESSION = "user", "run"
#: The stores that a continued run finds again: the conversation, and what its tools have stored.
_STORES = ("session_service", "artifact_service", "memory_service", "credential_service")


class RunnerOptions(TypedDict, total=False):
    """Options of `InMemoryRunner`."""

    app_name: str
    plugins: Sequence[object]
    distribution: str | None


@dataclass(frozen=True, slots=True)
class _Script:
    """What a run and its continuations share."""

    agent: KernelAgent
    options: RunnerOptions
    deps: object = None
    session: str = _SESSION
    stores: dict[str, Any] = field(default_factory=dict)

    async def outcome(self, message: object) -> Outcome:
        """The outcome of one message; Waiting if the run waits."""
        outcome = Outcome(self.agent)
        async with InMemoryRunner(node=self.agent, **self.options) as runner:
            for name in _STORES:
                setattr(runner, name, self.stores.setdefault(name, getattr(runner, name)))
            where: Any = {"user_id": _USER, "session_id": self.session}
            async with aclosing(runner.run_async(**where, new_message=message, deps=self.deps)) as events:
                async for event in events:
                    outcome.take(event)
            questions = await runner.questions(**where)
        if any(question.kind is not Kind.RESULT or not outcome.text for question in questions):
            raise Waiting(questions, self)
        return outcome


#: The stores of the sessions that have a name, by app.
_kept: dict[str, dict[str, Any]] = {}


class Waiting(NewelError):
    """The run waits for an answer, such as an approval. `answer` gives it, and continues the run.

    `questions` are what it waits for, the oldest first, each with its `kind`, `name`, `args` and `hint`.
    """

    def __init__(self, questions: Sequence[Question], script: _Script) -> None:
        self.questions = tuple(questions)
        self._script = script
        text = " ".join(map(_described, questions))
        hint = "True or False" if questions[0].kind is Kind.APPROVAL else "the answer"
        super().__init__(
            f"the agent {script.agent.name!r} waits: {text} Answer with `except newel.Waiting as waiting: "
            f"waiting.answer({hint})`, which continues and returns the text; or run it in a session of a Runner"
        )

    @overload
    def answer(self, *answers: object) -> str: ...
    @overload
    def answer(self, *answers: object, agent: BaseAgent[Any, Out]) -> Out: ...
    def answer(self, *answers: object, agent: BaseAgent[Any, Any] | None = None) -> Any:
        """Answer the questions, in their order, and continue; the text of the agent's final answer.

        An approval takes True or False, or a mapping such as ``{"confirmed": True, "editedArgs": {...}}``; any other
        question a text or a mapping. Questions without an answer stay open, and are raised again. With `agent`, which
        must be the one that ran, what `run` returns for it: the value of its output schema.
        """
        return _wait(self._continued(answers, agent))

    @overload
    async def aanswer(self, *answers: object) -> str: ...
    @overload
    async def aanswer(self, *answers: object, agent: BaseAgent[Any, Out]) -> Out: ...
    async def aanswer(self, *answers: object, agent: BaseAgent[Any, Any] | None = None) -> Any:
        """`answer`, to be awaited."""
        return await self._continued(answers, agent)

    async def _continued(self, answers: Sequence[object], agent: KernelAgent | None) -> Any:
        if agent is not None and agent is not self._script.agent:
            raise ConfigurationError(f"answer(agent={agent.name!r}): the agent that waits is another one")
        if not 1 <= len(answers) <= len(self.questions):
            raise ConfigurationError(f"{len(answers)} answers, but the run waits for {len(self.questions)}")
        outcome = await self._script.outcome(usable([*zip(self.questions, answers, strict=False)]))
        return outcome.text if agent is None else outcome.value()


def run(
    agent: BaseAgent[Deps, Out],
    message: object,
    *,
    deps: Deps | None = None,
    session: str | None = None,
    **options: Unpack[RunnerOptions],
) -> Out:
    """The agent's final answer to `message`: a value of its `output_schema`, or its text.

    The session is not kept; with a name as `session`, the next run with that name continues it, as long as the process
    lives. Tools, callbacks and instructions read `deps` as ``ctx.deps``; it is never stored. `options` go to
    `InMemoryRunner`. Raises Waiting if the agent asks for an approval, input or a credential. Where an event loop
    runs, as in a notebook, use ``await arun(...)``.
    """
    value: Out = _wait(arun(agent, message, deps=deps, session=session, **options))
    return value


async def arun(
    agent: BaseAgent[Deps, Out],
    message: object,
    *,
    deps: Deps | None = None,
    session: str | None = None,
    **options: Unpack[RunnerOptions],
) -> Out:
    """`run`, to be awaited where an event loop runs, as in a notebook or a server."""
    check_message(message)
    check_options(options, (*RunnerOptions.__annotations__, "plugin_close_timeout"))
    script = _Script(agent, options, deps)
    if session is not None:
        if not isinstance(session, str) or not session:
            raise ConfigurationError(f"session is the name of a session, not {session!r}")
        script = replace(script, session=session, stores=_kept.setdefault(options.get("app_name") or agent.name, {}))
    value: Out = (await script.outcome(message)).value()
    return value


def _wait(answer: Any) -> Any:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(answer)
    answer.close()
    raise ConfigurationError(
        "an event loop runs here, as in a notebook: use `await newel.arun(agent, ...)` instead of run(), "
        "`await waiting.aanswer(...)` instead of answer(), or Runner.run for the events"
    )


def _described(question: Question) -> str:
    if question.kind is Kind.CREDENTIAL:  # its arguments may hold secrets
        return "a credential is asked for."
    original = question.original
    args = ", ".join(f"{name}={value!r}" for name, value in (original.get("args") or question.args).items())
    call = f"{original.get('name') or question.name}({args})"
    return f"approve {call}?" if question.kind is Kind.APPROVAL else f"{question.hint or call}."
