"""A conversation whose tools need credentials, an OAuth server, and a distribution that may reach it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.auth import AuthConfig, AuthCredential, OAuth2Auth
from newel.auth.auth_schemes import OAuth2, OAuthFlowAuthorizationCode, OAuthFlowClientCredentials, OAuthFlows
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel.types import Content, FunctionCall, FunctionResponse, Part
from newel_compose import compose_once
from newel_kernel import Event, Session
from newel_testkit import OAuthServer

ASK = "adk_request_credential"


class Conversation:
    """One session of an agent that calls its tool `act` on "go", and ends each turn with "done"."""

    def __init__(
        self, distribution: Any, tools: list[Any], sessions: Any = None, script: Any = None, **runner: Any
    ) -> None:
        self.sessions = sessions or InMemorySessionService()
        self.agent = LlmAgent(name="root", model=ScriptedModel(script or [self._reply] * 40), tools=tools)
        app = runner.pop("app", None)
        given: dict[str, Any] = {"app": app(self.agent)} if app else {"agent": self.agent, "app_name": "app"}
        composition = compose_once(distribution)
        self.runner = Runner(
            **given, session_service=self.sessions, auto_create_session=True, composition=composition, **runner
        )

    @staticmethod
    def _reply(request: Any) -> Any:
        last = request.contents[-1].parts[-1]
        return FunctionCall(name="act", args={}) if last.text == "go" else "done"

    async def send(self, message: Any) -> list[Event]:
        run = self.runner.run_async(user_id="ann", session_id="s", new_message=message)
        return [event async for event in run]

    def say(self, text: str = "go") -> list[Event]:
        return asyncio.run(self.send(text))

    def answer(self, asked: FunctionCall, response: dict[str, Any]) -> list[Event]:
        part = Part(function_response=FunctionResponse(id=asked.id, name=ASK, response=response))
        return asyncio.run(self.send(Content(role="user", parts=[part])))

    @property
    def session(self) -> Session:
        found = asyncio.run(self.sessions.get_session(app_name=self.runner.app_name, user_id="ann", session_id="s"))
        assert found is not None
        return found


def asked(events: list[Event]) -> list[FunctionCall]:
    return [call for event in events for call in event.get_function_calls() if call.name == ASK]


def results(events: list[Event]) -> list[Any]:
    return [r.response for event in events for r in event.get_function_responses() if r.name != ASK]


@pytest.fixture
def server() -> Iterator[OAuthServer]:
    with OAuthServer() as running:
        yield running


@pytest.fixture
def house(tmp_path: Path) -> Callable[..., str]:
    """Writes a distribution with settings of `auth`: ``house("standard", recorded=False)``."""

    def write(extends: str = "standard", **settings: Any) -> str:
        path = tmp_path / f"house-{extends}.yaml"
        lines = [f"name: house\nextends: {extends}\nsettings:\n  auth:\n    allow_hosts: ['127.0.0.1']\n"]
        lines += [f"    {name}: {value}\n" for name, value in settings.items()]
        path.write_text("".join(lines), "utf-8")
        return str(path)

    return write


@pytest.fixture
def converse() -> type[Conversation]:
    return Conversation


def oauth_config(server: OAuthServer, key: str | None = "calendar", **fields: Any) -> AuthConfig:
    """A client of `server` with the authorization code flow."""
    flow = OAuthFlowAuthorizationCode(
        authorizationUrl=f"{server.url}/auth", tokenUrl=f"{server.url}/token", scopes={"read": "Read."}
    )
    client = {"client_id": "client", "client_secret": "client-secret", "redirect_uri": server.redirect_uri, **fields}
    return AuthConfig(
        auth_scheme=OAuth2(flows=OAuthFlows(authorizationCode=flow)),
        raw_auth_credential=AuthCredential(auth_type="oauth2", oauth2=OAuth2Auth(**client)),
        credential_key=key,
    )


def app_config(server: OAuthServer, key: str | None = "app") -> AuthConfig:
    """A client of `server` with the client credentials flow."""
    flow = OAuthFlowClientCredentials(tokenUrl=f"{server.url}/token")
    return AuthConfig(
        auth_scheme=OAuth2(flows=OAuthFlows(clientCredentials=flow)),
        raw_auth_credential=AuthCredential(
            auth_type="oauth2", oauth2=OAuth2Auth(client_id="client", client_secret="client-secret")
        ),
        credential_key=key,
    )


def consented(server: OAuthServer, asked: FunctionCall) -> dict[str, Any]:
    """The answer of a user's side that has sent the user to the URL of the request."""
    assert asked.args is not None
    config: dict[str, Any] = AuthConfig.model_validate(asked.args["authConfig"]).model_dump(
        mode="json", by_alias=True, exclude_none=True
    )
    oauth2 = config["exchangedAuthCredential"]["oauth2"]
    oauth2["authResponseUri"] = server.consent(oauth2["authUri"])
    return config


class Kit:
    """The helpers, for tests: a module of tests cannot import this one."""

    asked = staticmethod(asked)
    results = staticmethod(results)
    oauth_config = staticmethod(oauth_config)
    app_config = staticmethod(app_config)
    consented = staticmethod(consented)


@pytest.fixture
def kit() -> type[Kit]:
    return Kit
