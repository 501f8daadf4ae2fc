"""What the room of models promises of a model class and of a live connection."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel.models import BaseLlm, BaseLlmConnection
from newel_kernel import ConfigurationError, FeatureUnavailableError, LlmRequest
from newel_types import Content, Part


class Plain(BaseLlmConnection):
    """A connection that knows whole turns only."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    async def send_history(self, history: list[Content]) -> None: ...
    async def send_content(self, content: Content) -> None:
        self.sent.append(content)

    async def send_realtime(self, blob: Any) -> None: ...
    async def close(self) -> None: ...
    def receive(self) -> Any: ...


class Partial(Plain):
    """One that overrides the released name."""

    async def _send_content(self, content: Content, *, partial: bool = False) -> None:
        self.sent.append((content, partial))


@pytest.mark.parametrize(("kind", "expected"), [(Plain, lambda one: one), (Partial, lambda one: (one, True))])
def test_a_part_of_a_turn_is_a_turn_unless_the_connection_knows_better(kind: Any, expected: Any) -> None:
    content = Content(role="user", parts=[Part(text="tea")])
    connection = kind()
    asyncio.run(connection.send_partial(content))
    assert connection.sent == [expected(content)]


def test_a_model_without_a_live_connection_says_so() -> None:
    class Texts(BaseLlm):
        def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any: ...

    with pytest.raises(FeatureUnavailableError, match="the model 'texts' offers no live connection: choose"):
        Texts(model="texts").connect(LlmRequest("m"))


@pytest.mark.parametrize(
    ("annotations", "values", "found"),
    [
        ({"networked": "list[str]"}, {"networked": []}, r"a field of type list\[str\] named 'networked'"),
        ({"capabilities": "str"}, {"capabilities": "all"}, "a field of type <class 'str'> named 'capabilities'"),
        ({}, {"provider_name": lambda self: "mine"}, "a method named 'provider_name'"),
    ],
)
@pytest.mark.filterwarnings("ignore:Field name:UserWarning")
def test_a_model_class_that_uses_a_name_of_newel_otherwise_is_told(
    annotations: dict[str, str], values: dict[str, Any], found: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"Own has {found}, which newel reads as a .*: give it that type"):
        type("Own", (BaseLlm,), {"__annotations__": annotations, "__module__": __name__, **values})
