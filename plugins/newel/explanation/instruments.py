"""Instruments: a runner whose composition reports to a recorder.

Other runners of the same agent keep their composition, so that recording costs them nothing.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from newel import models
from newel.explanation.explanation import Step
from newel.explanation.recorder import Recorder
from newel.models.contract import BaseLlm
from newel.models.kinds import ModelCall
from newel.runners import Runner
from newel_compose import Placed, restaged
from newel_kernel import (
    BaseAgent,
    Bound,
    Callbacks,
    Context,
    Event,
    InvocationContext,
    LlmRequest,
    LlmResponse,
    RequestProcessor,
    Stage,
    ToolPreparation,
)

_HOOK = "before_model_callback"
_OWNER = re.compile(r"plugin '(?P<plugin>.*)' \((?P<source>.*)\)")
_NONE: tuple[Callbacks, Callbacks] = ((), ())
Run = Callable[[InvocationContext, LlmRequest], Awaitable[Sequence[Event] | None] | None]


def record(runner: Runner, recorder: Recorder, ask: ModelCall | None = None) -> None:
    """Have `recorder` note the requests of the runner's next runs. `ask` is called in place of every model."""
    composition = restaged(runner.composition, partial(_stage, recorder))
    plugins, fallbacks = composition.hooks.get(_HOOK, _NONE)
    hook = (
        (*(_callback(recorder, one) for one in plugins), Bound(_HOOK, partial(_opened, recorder), "the recorder")),
        (Bound(_HOOK, partial(_closed, recorder), "the recorder"), *(_callback(recorder, one) for one in fallbacks)),
    )
    composition = replace(composition, hooks={**composition.hooks, _HOOK: hook})
    models.surround(composition, partial(_asking, recorder, ask))
    runner.composition = composition.for_app(runner.app)


def _stage(recorder: Recorder, placed: Placed) -> Stage:
    """A stage that reports to `recorder`, if it edits requests; else the stage unchanged."""
    stage: Stage = placed.stage
    if not isinstance(stage, RequestProcessor):
        return stage
    step = replace(
        _step(placed.plugin, placed.source),
        kind="preparation" if isinstance(stage, ToolPreparation) else "processor",
        name=stage.name,
    )
    make = stage.for_agent

    def for_agent(agent: BaseAgent) -> Run:
        assert make is not None
        return _reporting(recorder, step, make(agent))

    return replace(stage, run=_reporting(recorder, step, stage.run), for_agent=for_agent if make is not None else None)


def _step(plugin: str, source: str) -> Step:
    """The step of a plugin, whose package and version come as one text."""
    package, _, version = source.rpartition(" ") if " " in source else (source, "", "")
    return Step(kind="callback", name=plugin, plugin=plugin, package=package, version=version)


def _reporting(recorder: Recorder, step: Step, run: Run) -> Run:
    async def reporting(ctx: InvocationContext, request: LlmRequest) -> Sequence[Event] | None:
        recording = recorder.of(ctx, request)
        recording.begin(request)
        try:
            reported = run(ctx, request)
            events = await reported if reported is not None else None
        except BaseException as error:
            recording.end(request, replace(step, error=type(error).__name__))
            raise
        recording.end(request, replace(step, events=len(events or ())))
        return events

    return reporting


def _callback(recorder: Recorder, bound: Bound) -> Bound:
    """A plugin's callback that reports to `recorder`."""
    match = _OWNER.fullmatch(bound.owner)
    step = _step(match["plugin"], match["source"]) if match else Step(kind="callback", name=bound.owner)

    async def call(*, callback_context: Context, llm_request: LlmRequest) -> Any:
        recording = recorder.of(callback_context.get_invocation_context(), llm_request)
        recording.begin(llm_request)
        try:
            answer = bound.call(callback_context=callback_context, llm_request=llm_request)
            if isinstance(answer, Awaitable):
                answer = await answer
        except BaseException as error:
            recording.end(llm_request, replace(step, error=type(error).__name__))
            raise
        recording.end(llm_request, replace(step, answered=answer is not None))
        return answer

    return replace(bound, call=call)


def _opened(recorder: Recorder, *, callback_context: Context, llm_request: LlmRequest) -> None:
    """Runs after the plugins' callbacks: the agent's own come next."""
    recorder.of(callback_context.get_invocation_context(), llm_request).begin(llm_request)


def _closed(recorder: Recorder, *, callback_context: Context, llm_request: LlmRequest) -> None:
    """Runs after the agent's own callbacks, unless one of them answered."""
    ctx = callback_context.get_invocation_context()
    if getattr(ctx.agent, _HOOK, None):
        recorder.of(ctx, llm_request).end(llm_request, Step(kind="callback", name=ctx.agent.name))


def _asking(recorder: Recorder, ask: ModelCall | None, call: ModelCall) -> ModelCall:
    def asking(model: BaseLlm, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
        recording = recorder.call(request, model)
        answers = (ask or call)(model, request, stream)
        return answers if recording is None else recording.noted(answers)

    return asking
