"""Checks of what one model does with several requests, and when the chunks of a stream come."""

from __future__ import annotations

import asyncio
import time

from newel.models import BaseLlm
from newel_kernel import LlmRequest, LlmResponse
from newel_testkit.wire.answers import LONG, Answer, text
from newel_testkit.wire.bench import Place, closed, hello, problems
from newel_types import Content, Part

_REQUESTS = 6
_PAUSE = 0.02


def check_requests_at_once(place: Place) -> None:
    """Each request gets its own answer, streamed or whole, though one model sends them all."""
    place.server.script(lambda said: Answer(parts=(text(f"You said {said.text('user')}."),)))

    async def talk() -> list[str]:
        model = place.model()
        said = (_said(model, f"word{number}", number % 2 == 0) for number in range(_REQUESTS))
        try:
            return await asyncio.gather(*said)
        finally:
            await closed(model)

    answers = asyncio.run(talk())
    wrong = [f"word{n} was answered with {one!r}" for n, one in enumerate(answers) if f"word{n}." not in one]
    problems(wrong, "requests at once")


async def _said(model: BaseLlm, word: str, stream: bool) -> str:
    request = LlmRequest(model=model.model, contents=[Content(role="user", parts=[Part(text=word)])])
    finals = [one async for one in model.generate_content_async(request, stream=stream) if not one.partial]
    return "".join(part.text or "" for one in finals if one.content for part in one.content.parts or ())


def check_stream_comes_at_once(place: Place) -> None:
    """The first chunk is there long before the last: the answer is not collected first."""
    place.server.script(LONG.having(piece=1, pause=_PAUSE))

    async def times() -> tuple[float, float, list[LlmResponse]]:
        model = place.model()
        started, first, responses = time.monotonic(), 0.0, []
        async for response in model.generate_content_async(hello(model.model), stream=True):
            first = first or time.monotonic() - started
            responses.append(response)
        whole = time.monotonic() - started
        await closed(model)
        return first, whole, responses

    first, whole, responses = asyncio.run(times())
    late = [f"the first chunk came after {first:.2f} of {whole:.2f} s"] if first > whole * 0.8 else []
    few = [f"{len(responses)} responses for a long answer"] if len(responses) < 3 else []
    problems(late + few, "stream")
