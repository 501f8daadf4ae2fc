"""model_conformance finds what is wrong with a provider: losses, wrong answers, errors and connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, ClassVar

import pytest

from newel.models import BaseLlm
from newel.models.llm_request import LlmRequest
from newel.models.llm_response import LlmResponse
from newel.models.openai import OpenAILlm
from newel_testkit import WIRE_KEY, WireServer, model_checks, model_conformance
from newel_testkit.wire import Answer, fault
from newel_testkit.wire.caller import user
from newel_testkit.wire.conformance import run_checks
from newel_types import FinishReason


class Careless(OpenAILlm):
    """Does one thing wrong, which `wrong` names."""

    wrong: ClassVar[str] = ""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        request = llm_request.model_copy(update={"contents": list(llm_request.contents)})
        if self.wrong == "history":
            request.contents = request.contents[:1]
        if self.wrong == "seed":
            request.config = request.config.model_copy(update={"seed": None})
        try:
            async for response in super().generate_content_async(request, stream):
                yield self._spoilt(response)
        except Exception as error:
            if self.wrong == "errors":
                raise ConnectionError(f"with {WIRE_KEY}") from error
            raise

    def _spoilt(self, response: LlmResponse) -> LlmResponse:
        if self.wrong == "usage":
            response.usage_metadata = None
        if self.wrong == "reason":
            response.finish_reason = FinishReason.STOP
        if self.wrong == "chunks" and response.partial and response.content is not None:
            response.content = response.content.model_copy(update={"parts": []})
        return response


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def checks(wrong: str) -> Any:
    kind = type("Wrong", (Careless,), {"wrong": wrong, "__annotations__": {"wrong": ClassVar[str]}})
    return model_checks(lambda url, name: kind(model=name, base_url=url, api_key=WIRE_KEY), protocol="openai")


@pytest.mark.parametrize(
    ("wrong", "check", "words"),
    [
        ("history", "request text_turns", "lost: the text 'BETA'"),
        ("history", "request cycle_one", "lost: the call weather"),
        ("seed", "request params_penalties", "lost: seed=7"),
        ("usage", "answer text whole", "the usage is lost"),
        ("reason", "answer max_tokens streamed", "the finish reason STOP instead of MAX_TOKENS"),
        ("chunks", "answer long streamed", "the chunks add up to ''"),
        ("errors", "fault 400 whole", "instead of a ModelError"),
        ("errors", "fault stream_cut streamed", "the key is shown"),
    ],
)
def test_what_is_wrong_is_found(wrong: str, check: str, words: str) -> None:
    with pytest.raises(AssertionError) as caught:
        checks(wrong)[check]()
    assert words in str(caught.value)


def test_silence_about_what_is_left_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpenAILlm, "say_once", lambda *_: None)
    with pytest.raises(AssertionError, match="left out without a warning: top_k=20"):
        checks("")["request params_top"]()


def test_all_that_fails_is_told_together() -> None:
    some = {name: check for name, check in checks("history").items() if name.startswith("request text_")}
    with pytest.raises(AssertionError, match=r"fails [2-9] of \d+ checks") as caught:
        run_checks(some)
    assert "request text_turns" in str(caught.value)
    run_checks(some, "request text_one")


def test_an_unheard_protocol_is_refused() -> None:
    with pytest.raises((AssertionError, ValueError), match="there is no protocol 'opnai'; there are anthropic, comp"):
        model_conformance(lambda url, name: OpenAILlm(model=name, base_url=url), protocol="opnai")


def test_the_fixture_leads_each_sdk_to_the_server(wire_server: WireServer) -> None:
    wire_server.script(
        fault("503", retry_after=0),
        Answer(parts=({"text": "Hello."},)),
        lambda said: Answer(parts=({"text": f"You said {said.text('user')}."},)),
    )

    async def ask(model: BaseLlm) -> str:
        request = LlmRequest(model=model.model, contents=[user("tea")])
        return "".join([str(r.content.parts[0].text) async for r in model.generate_content_async(request) if r.content])

    assert asyncio.run(ask(OpenAILlm(model="gpt-4o"))) == "Hello."
    assert asyncio.run(ask(OpenAILlm(model="gpt-4o"))) == "You said tea."
