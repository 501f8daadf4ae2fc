"""A node with an `auth_config` runs once its credential is there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel.auth import AuthConfig, AuthCredential, AuthCredentialTypes
from newel.auth.auth_schemes import ApiKeyScheme
from newel.sessions import InMemorySessionService
from newel.testing import Conversation
from newel.tools import FunctionTool
from newel.types import Content, FunctionResponse, Part
from newel.workflow import FunctionNode, Workflow, node

SECRET = "s3cret-k3y"


def config(secret: str | None = None) -> AuthConfig:
    return AuthConfig(
        auth_scheme=ApiKeyScheme(**{"in": "header", "name": "X-Key"}),
        raw_auth_credential=AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=secret),
        credential_key="k1",
    )


def function(shape: str, ran: list[Any], auth_config: AuthConfig) -> Any:
    def take(ctx: Any) -> str:
        credential = ctx.get_auth_response(auth_config)
        ran.append(credential.api_key)
        return "done"

    def plain(ctx: Any) -> str:
        return take(ctx)

    async def waits(ctx: Any) -> str:
        return take(ctx)

    async def generates(ctx: Any) -> Any:
        yield take(ctx)

    def steps(ctx: Any) -> Any:
        yield take(ctx)

    shapes: dict[str, Any] = {"plain": plain, "waits": waits, "generates": generates, "steps": steps}
    return shapes[shape]


def graph(secret: Any, place: str) -> Workflow:
    first = node(lambda: "first", name="first")
    if place == "nested":
        return Workflow(name="o", edges=[("START", first, Workflow(name="w", edges=[("START", secret)]))])
    if place == "beside":
        return Workflow(name="w", edges=[("START", first, (secret, node(lambda: None, name="other")))])
    return Workflow(name="w", edges=[("START", secret) if place == "alone" else ("START", first, secret)])


def answer(question: Any, value: Any) -> Content:
    return Content(
        role="user",
        parts=[Part(function_response=FunctionResponse(id=question.id, name=question.name, response=value))],
    )


@pytest.mark.parametrize("distribution", ["standard", "adk"])
@pytest.mark.parametrize("place", ["alone", "after", "nested", "beside"])
@pytest.mark.parametrize("shape", ["plain", "waits", "generates", "steps"])
def test_it_asks_waits_and_runs_with_the_answer(shape: str, place: str, distribution: str) -> None:
    ran: list[Any] = []
    auth_config = config()
    secret = node(function(shape, ran, auth_config), name="secret", auth_config=auth_config)
    store = InMemorySessionService()
    chat = Conversation(graph(secret, place), distribution=distribution, session_service=store)
    asked = chat.say("go")
    (question,) = asked.questions
    assert (question.name, ran) == ("adk_request_credential", [])
    told = chat.say(answer(question, {"result": SECRET}))
    assert ran == [SECRET]
    assert "done" in [event.output for event in told]
    if distribution == "standard":
        stored = asyncio.run(chat.stored())
        assert SECRET not in "".join(event.model_dump_json() for event in stored.events)


def test_it_asks_again_after_an_answer_that_holds_nothing() -> None:
    ran: list[Any] = []
    auth_config = config()
    chat = Conversation(graph(node(function("plain", ran, auth_config), name="n", auth_config=auth_config), "after"))
    (question,) = chat.say("go").questions
    (second,) = chat.say(answer(question, config().model_dump(mode="json", by_alias=True))).questions
    assert ran == []
    chat.say(answer(second, {"result": SECRET}))
    assert ran == [SECRET]


def test_a_credential_that_the_app_has_is_not_asked_for() -> None:
    ran: list[Any] = []
    auth_config = config(SECRET)
    chat = Conversation(graph(node(function("plain", ran, auth_config), name="n", auth_config=auth_config), "alone"))
    assert not chat.say("go").questions
    assert ran == [SECRET]


def test_what_cannot_have_one_says_so() -> None:
    with pytest.raises(ValueError, match="auth_config is for a node of a function"):
        node(FunctionTool(lambda: 1), name="t", auth_config=config())
    with pytest.raises(ValueError, match="rerun_on_resume=True"):
        FunctionNode(lambda: 1, name="n", auth_config=config(), rerun_on_resume=False)
    with pytest.raises(ValueError, match="auth_config"):
        FunctionNode(lambda: 1, name="n", auth_config="k1")
