"""Model calls through the Interactions API."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from importlib.metadata import version

from newel.models.google.client import Connection
from newel.models.google.interactions import requests
from newel.models.google.interactions.responses import response_of
from newel.models.google.interactions.streaming import StreamedInteraction
from newel.models.google.requests import ending_with_user
from newel.models.google.sdk import Answer, Json
from newel_kernel import FeatureUnavailableError, LlmRequest, LlmResponse

#: The first release of the SDK that takes everything that is sent here. Release 2.0 has today's API (interactions
#: that consist of steps), but retries cannot be turned off, and settings are missing.
_FIRST = (2, 30)


def check(model: str) -> None:
    """Raise a FeatureUnavailableError if the installed SDK is too old."""
    installed = version("google-genai")
    if tuple(int(number) for number in re.findall(r"\d+", installed)[:2]) < _FIRST:
        first = ".".join(map(str, _FIRST))
        raise FeatureUnavailableError(
            f"the model {model!r} uses the Interactions API, which needs google-genai {first} or newer (installed: "
            f"{installed}):\npip install -U 'google-genai>={first}'\nor unset use_interactions_api"
        )


async def responses(
    connection: Connection, request: LlmRequest, model: str, *, vertex: bool, stream: bool
) -> AsyncGenerator[LlmResponse, None]:
    """The responses to `request`, which is not changed."""
    arguments = requests.arguments(request, ending_with_user(request), model, vertex=vertex)
    create = connection.sdk.aio.interactions.create
    if not stream:
        yield response_of(_json(await create(**arguments, stream=False)))
        return
    interaction = StreamedInteraction()
    async with connection.stream(create, **arguments, stream=True) as events:
        async for event in events:
            response = interaction.add(_json(event))
            if response is not None:
                yield response
    yield interaction.close()


def _json(answer: Answer) -> Json:
    """An answer of the SDK as JSON, which stays the same while its classes change with each release."""
    return answer.model_dump(mode="json", exclude_none=True)
