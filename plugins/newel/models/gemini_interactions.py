"""Gemini through the Interactions API, which keeps the conversation at the service."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from typing import Any

from newel.models import gemini_request, interaction_request
from newel.models.google_client import Connection
from newel.models.interaction_answer import Growing, whole
from newel_kernel import LlmRequest
from newel_kernel import LlmResponse
from newel_kernel import FeatureUnavailableError

#: The release of the SDK from which on it takes all that is sent here: of 2.0, which has the API of today (interactions
#: that consist of steps), retries cannot be turned off, and settings are missing.
_FIRST = (2, 30)


def check(model: str) -> None:
    """Raise a FeatureUnavailableError where the installed SDK is too old."""
    installed = version("google-genai")
    if tuple(int(number) for number in re.findall(r"\d+", installed)[:2]) < _FIRST:
        first = ".".join(map(str, _FIRST))
        raise FeatureUnavailableError(
            f"the model {model!r} uses the Interactions API, which needs google-genai {first} or newer (installed: "
            f"{installed}):\npip install -U 'google-genai>={first}'\nor unset use_interactions_api"
        )


async def answers(
    connection: Connection, request: LlmRequest, model: str, *, vertex: bool, stream: bool
) -> AsyncGenerator[LlmResponse, None]:
    """The responses to `request`, which stays as it is."""
    contents = gemini_request.ending_with_user(request)
    given = interaction_request.arguments(request, contents, model, vertex=vertex)
    create = connection.sdk.aio.interactions.create
    with _errors_of_the_sdk():
        if not stream:
            yield whole(_plain(await create(**given, stream=False)))
            return
        growing = Growing()
        async with connection.stream(create, **given, stream=True) as events:
            async for event in events:
                response = growing.add(_plain(event))
                if response is not None:
                    yield response
        yield growing.close()


def _plain(answer: Any) -> dict[str, Any]:
    """An answer of the SDK as JSON, which stays the same while its classes change with each release."""
    return answer.model_dump(mode="json", exclude_none=True)  # type: ignore[no-any-return]


@contextmanager
def _errors_of_the_sdk() -> Iterator[None]:
    """Raise the errors of this part of the SDK as the other part does: as its ``APIError``."""
    try:
        yield
    except Exception as error:
        status = getattr(error, "status_code", None)
        if not isinstance(status, int):
            raise
        errors = import_module("google.genai.errors")
        kind = errors.ClientError if status < 500 else errors.ServerError
        body = getattr(error, "body", None)
        told = body if isinstance(body, dict) else {"message": str(error)}
        raise kind(status, told, getattr(error, "response", None)) from error
