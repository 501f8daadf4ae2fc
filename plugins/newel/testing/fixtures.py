"""A pytest plugin: fixtures for tests of agents and plugins. pytest loads it in every run, so it imports little."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from newel.models.scripted import ScriptedModel
    from newel.testing.gemini_server import GeminiServer
    from newel_compose import Composition, Distribution

#: Variables that would lead the SDK elsewhere.
_ELSEWHERE = (
    "GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_GENAI_API_VERSION", "GOOGLE_GENAI_USE_ENTERPRISE",
    "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_VERTEX_BASE_URL",
)  # fmt: skip


class Compose(Protocol):
    """`newel_compose.compose`."""

    def __call__(
        self,
        distribution: str | Path | Distribution | None = None,
        *,
        plugins: Sequence[object] = (),
        lock: Path | None = None,
    ) -> Composition: ...


@pytest.fixture
def gemini_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[GeminiServer]:
    """A running `GeminiServer` that the environment points to; its script must be used up when the test ends."""
    from newel.testing.gemini_server import GeminiServer  # noqa: PLC0415 - only the tests that use it pay for it

    for name in _ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, ",".join(filter(None, (os.environ.get(name), "127.0.0.1"))))
    with GeminiServer() as server:
        monkeypatch.setenv("GOOGLE_API_KEY", "test-key-0123456789")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        yield server


@pytest.fixture
def composed() -> Compose:
    """Composes a distribution anew: ``composed("adk", plugins=[...])``."""
    from newel_compose import compose  # noqa: PLC0415 - as above

    return compose


@pytest.fixture
def scripted_model() -> Iterator[Callable[..., ScriptedModel]]:
    """Makes models that follow a script: ``scripted_model(["hello"])``; each must be played out when the test ends."""
    from newel.models.scripted import ScriptedModel  # noqa: PLC0415 - as above

    models: list[ScriptedModel] = []

    def make(*args: Any, **fields: Any) -> ScriptedModel:
        models.append(ScriptedModel(*args, **fields))
        return models[-1]

    yield make
    for model in models:
        model.assert_done()
