"""Agents that answer by what the user said, judges that follow a script, cases in a line."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.evaluation.eval_case import EvalCase, IntermediateData, Invocation
from newel.evaluation.eval_set import EvalSet
from newel.evaluation.metrics.criteria import JudgeModelOptions
from newel.models import BaseLlm, LLMRegistry
from newel_kernel import LlmRequest, LlmResponse
from newel_types import Content, FunctionCall, FunctionResponse, Part

Step = Any
TABLE: dict[str, list[Step]] = {
    "hello": ["hi there"],
    "look up x": [[("find", {"q": "x"})], "x is a letter"],
    "boom": [RuntimeError("the model is down")],
}


def content(text: str, role: str = "model") -> Content:
    return Content(role=role, parts=[Part(text=text)])


def turn(
    user: str, answer: str | None = None, calls: Sequence[tuple[str, Any]] = (), responses: Sequence[Any] = ()
) -> Invocation:
    """A turn with the older form of intermediate data; the responses go with the calls."""
    ids = [f"c{n}" for n in range(len(calls))]
    data = IntermediateData(
        tool_uses=[FunctionCall(id=i, name=n, args=a) for i, (n, a) in zip(ids, calls, strict=True)],
        tool_responses=[
            FunctionResponse(id=i, name=calls[n][0], response=r)
            for n, (i, r) in enumerate(zip(ids, responses, strict=False))
        ],
    )
    return Invocation(
        user_content=content(user, "user"),
        final_response=content(answer) if answer is not None else None,
        intermediate_data=data,
    )


def case(eval_id: str, *turns: Invocation, **fields: Any) -> EvalCase:
    return EvalCase(eval_id=eval_id, conversation=list(turns), **fields)


def eval_set(*cases: EvalCase, set_id: str = "set1", **fields: Any) -> EvalSet:
    return EvalSet(eval_set_id=set_id, eval_cases=list(cases), **fields)


class Answering(BaseLlm):
    """Answers the user's last message by a table; its n-th step follows n results of tools."""

    model: str = "answering"
    table: dict[str, list[Any]] = TABLE
    requests: list[str]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        said, done = "", 0
        for one in llm_request.contents:
            for part in one.parts or ():
                if part.function_response is not None:
                    done += 1
                elif one.role == "user" and part.text:
                    said, done = part.text, 0
        self.requests.append(said)
        steps = self.table.get(said, ["?"])
        step = steps[min(done, len(steps) - 1)]
        if isinstance(step, BaseException):
            raise step
        if isinstance(step, LlmResponse):
            yield step.model_copy(deep=True)
            return
        parts = (
            [Part(text=step)]
            if isinstance(step, str)
            else [Part(function_call=FunctionCall(name=name, args=args)) for name, args in step]
        )
        yield LlmResponse(content=Content(role="model", parts=parts))


def find(q: str) -> dict[str, str]:
    """Find something."""
    return {"hits": q}


def agent(table: dict[str, list[Any]] | None = None, **fields: Any) -> LlmAgent:
    fields.setdefault("tools", [find])
    model = Answering(table=TABLE if table is None else table, requests=[])
    return LlmAgent(name="helper", model=model, instruction="Help.", **fields)


class _Judge(BaseLlm):
    """What the judges of the fixture are made of."""

    @classmethod
    def supported_models(cls) -> list[str]:
        return ["test-judge/.*"]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        answer = _scripts[self.model]("\n".join(p.text or "" for c in llm_request.contents for p in c.parts or ()))
        if isinstance(answer, BaseException):
            raise answer
        yield answer if isinstance(answer, LlmResponse) else LlmResponse(content=content(str(answer)))


_scripts: dict[str, Callable[[str], Any]] = {}
_numbers = itertools.count()
LLMRegistry.register(_Judge)


class Judge:
    """A scripted judge: its address, its options, the prompts it was given."""

    def __init__(self, *answers: Any) -> None:
        self.address = f"test-judge/{next(_numbers)}"
        self.prompts: list[str] = []
        queue = list(answers)

        def answer(prompt: str) -> Any:
            self.prompts.append(prompt)
            one = queue.pop(0) if len(queue) > 1 else queue[0]
            return one(prompt) if callable(one) else one

        _scripts[self.address] = answer

    def options(self, samples: int = 1, **more: Any) -> JudgeModelOptions:
        return JudgeModelOptions(judge_model=self.address, num_samples=samples, **more)


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that stands still."""
    from newel_kernel import seam

    monkeypatch.setattr(seam, "clock", lambda: 1_700_000_000.0)
    monkeypatch.setattr(seam, "monotonic", lambda: 5.0)


@pytest.fixture
def kit() -> Any:
    """The builders of this file."""
    return SimpleNamespace(
        Answering=Answering,
        Judge=Judge,
        TABLE=TABLE,
        agent=agent,
        case=case,
        content=content,
        eval_set=eval_set,
        find=find,
        turn=turn,
    )
