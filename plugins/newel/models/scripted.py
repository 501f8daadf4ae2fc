"""ScriptedModel: a model that answers exactly as its script says, for tests of agents and plugins."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from pydantic import PrivateAttr

from newel.models.offline.conversation import read_conversation
from newel.models.offline.declarations import instruction_text
from newel.models.offline.llm import OfflineLlm
from newel.models.script_steps import Expectation, Step, StepError, as_step
from newel_kernel import LlmRequest, LlmResponse, ModelError, did_you_mean
from newel_types import Content, Part, Record


class ScriptError(ModelError, AssertionError):
    """The run and the script differ."""


class ScriptExhaustedError(ScriptError):
    """A request came after the last step."""


class ScriptMismatchError(ScriptError):
    """A request is not what its step expects."""


class ScriptLeftoverError(ScriptError):
    """Steps remain that no request asked for."""


#: Types that are one step, although they can be iterated over.
_ONE = (str, Mapping, Record)


class ScriptedModel(OfflineLlm):
    """Plays `steps`, one per model call, and keeps a deep copy of each request in `requests`.

    A step is a text, an LlmResponse, a Part or FunctionCall, a list of parts and calls (one answer), a list of
    texts (chunks: sent as partial responses if the request streams, then whole) or of responses (sent as
    given), an exception, a number (seconds to wait before the next step), a mapping, or a callable of the
    request that returns (or awaits) any of these. A mapping has `text`, `call` with `args`, `calls`, `parts`,
    `chunks`, `response` or `error` with `message`; `delay`; `expect` (`user`, `system`, `tools`, `contents`);
    and may end in `raise`, `hang` or `malformed`, with chunks also `after` a number of them.

    One step may stand alone: ``ScriptedModel("Hello.")`` answers once.

    Used as a context manager it checks at the end that every step was played.
    """

    model: str = "scripted"

    _steps: list[Step] = PrivateAttr(default_factory=list)
    _played: int = PrivateAttr(default=0)
    _problems: list[ScriptError] = PrivateAttr(default_factory=list)
    _requests: list[LlmRequest] = PrivateAttr(default_factory=list)

    def __init__(self, steps: Iterable[Any] | object = (), **fields: Any) -> None:
        super().__init__(**fields)
        if isinstance(steps, _ONE) or callable(steps) or not isinstance(steps, Iterable):
            steps = (steps,)
        for number, step in enumerate(steps, 1):
            try:
                self._steps.append(as_step(step))
            except StepError as error:
                raise StepError(f"step {number} of the script of {self.model!r}: {error}", error.key) from error

    @property
    def requests(self) -> list[LlmRequest]:
        """Copies of the requests so far; the run no longer changes them."""
        return self._requests

    @property
    def remaining(self) -> int:
        """How many steps no request has asked for yet."""
        return len(self._steps) - self._played

    def assert_done(self) -> None:
        """Raise unless every step was played and every request was as expected."""
        if self._problems:
            raise self._problems[0]
        if self.remaining:
            raise ScriptLeftoverError(
                f"the script of {self.model!r} has {len(self._steps)} steps, and {self.remaining} of them were not "
                f"asked for; the next is step {self._played + 1}: {_short(self._steps[self._played])}"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.assert_done()

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Play the next step."""
        self._requests.append(llm_request.model_copy(deep=True))
        step = await self._next_step(llm_request)
        if step.delay:
            await asyncio.sleep(step.delay)
        broken = step.fault is not None or step.hang
        if stream or broken:
            for chunk in step.chunks:
                yield _response(chunk, partial=True)
        if step.chunks and not broken:
            yield _response("".join(step.chunks), partial=False if stream else None)
        for response in step.responses:
            yield response.model_copy(deep=True) if isinstance(response, LlmResponse) else response
        if step.hang:
            await asyncio.Event().wait()
        if step.fault is not None:
            raise step.fault

    async def _next_step(self, request: LlmRequest) -> Step:
        step = self._take()
        while step.is_pause:
            self._check(step, request)
            await asyncio.sleep(step.delay)
            step = self._take()
        self._check(step, request)
        while step.ask is not None:
            answer = step.ask(request)
            step = as_step(await answer if inspect.isawaitable(answer) else answer)
        return step

    def _take(self) -> Step:
        if not self.remaining:
            count = len(self._steps)
            raise self._noted(
                ScriptExhaustedError(
                    f"the script of {self.model!r} has {count} step{'' if count == 1 else 's'}, and request "
                    f"{len(self._requests)} came after the last one; add a step, or find out why the agent asks again"
                )
            )
        self._played += 1
        return self._steps[self._played - 1]

    def _check(self, step: Step, request: LlmRequest) -> None:
        if step.expect is not None and (problem := _mismatch(step.expect, request)):
            raise self._noted(
                ScriptMismatchError(f"step {self._played} of the script of {self.model!r} expects {problem}")
            )

    def _noted(self, error: ScriptError) -> ScriptError:
        """`error`, kept for `assert_done`: a handler of model failures must not hide it."""
        self._problems.append(error)
        return error


def _mismatch(expected: Expectation, request: LlmRequest) -> str | None:
    """The first difference, in words."""
    if expected.user is not None and expected.user not in (message := read_conversation(request).message):
        return f"the user's last message to contain {expected.user!r}, and it is {message!r}"
    if expected.system is not None and expected.system not in (instruction := instruction_text(request)):
        return f"the system instruction to contain {expected.system!r}, and it is {instruction!r}"
    declared = [
        one.name
        for tool in request.config.tools or ()
        for one in getattr(tool, "function_declarations", None) or ()
        if one.name
    ]
    for name in expected.tools or ():
        if name not in declared:
            names = ", ".join(declared) or "none"
            return f"the tool {name!r} to be declared{did_you_mean(name, declared)} (declared: {names})"
    if expected.contents is not None and expected.contents != (count := len(request.contents)):
        return f"{expected.contents} contents, and there are {count}"
    return None


def _response(text: str, partial: bool | None) -> LlmResponse:
    return LlmResponse(content=Content(role="model", parts=[Part(text=text)]), partial=partial)


def _short(step: Step) -> str:
    text = repr(step)
    return text if len(text) <= 120 else f"{text[:119]}…"
