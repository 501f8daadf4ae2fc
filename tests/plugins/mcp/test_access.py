"""Access: who may reach a server, what is asked of the user, and what is told when nobody can."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.plugins.mcp.talks import Make, Talk, call, in_a_loop, questions, results

from newel.auth import AuthCredential, HttpAuth, HttpCredentials
from newel.mcp.errors import McpUnreachableError
from newel_testkit import OAuthServer
from newel_types import APIKey, HTTPBearer, OAuth2Auth

ASKS = "adk_request_credential"


@pytest.fixture
def issuer() -> Iterator[OAuthServer]:
    with OAuthServer() as running:
        yield running


def client(issuer: OAuthServer) -> AuthCredential:
    oauth2 = OAuth2Auth(
        client_id=issuer.client_id, client_secret=issuer.client_secret, redirect_uri=issuer.redirect_uri
    )
    return AuthCredential(auth_type="oauth2", oauth2=oauth2)  # type: ignore[arg-type]


def allowing(issuer: OAuthServer, folder: Any) -> str:
    file = folder / "newel.yaml"
    hosts = json.dumps([urlsplit(issuer.url).netloc])
    file.write_text(f"name: mine\nextends: standard\nsettings:\n  auth:\n    allow_hosts: {hosts}\n")
    return str(file)


def consent_of(question: Any) -> str:
    config = question.args["authConfig"]
    uri: str = config["exchangedAuthCredential"]["oauth2"]["authUri"]
    return uri


def agreed(issuer: OAuthServer, question: Any, **more: str) -> dict[str, Any]:
    uri = issuer.consent(consent_of(question)) + "".join(f"&{name}={value}" for name, value in more.items())
    config = json.loads(json.dumps(question.args["authConfig"]))
    config["exchangedAuthCredential"]["oauth2"]["authResponseUri"] = uri
    return config  # type: ignore[no-any-return]


@in_a_loop
async def test_a_401_starts_the_flow_and_the_token_is_bound_to_the_server(
    site: Make, http: Make, issuer: OAuthServer, tmp_path: Any
) -> None:
    served = site("--issuer", issuer.url)
    toolset = http(served, auth_credential=client(issuer))
    talk = Talk([toolset], call("echo", text="x"), distribution=allowing(issuer, tmp_path))
    (asked,) = questions(await talk.say(), ASKS)
    sent = {name: values[0] for name, values in parse_qs(urlsplit(consent_of(asked)).query).items()}
    assert sent["resource"] == f"{served.url}/mcp"
    assert sent["code_challenge_method"] == "S256"
    assert sent["scope"] == "notes"
    found = results(await talk.answer(asked, agreed(issuer, asked, iss=issuer.url)))
    await toolset.close()
    assert found == [{"result": "x"}]
    assert issuer.requests[-1]["resource"] == f"{served.url}/mcp"
    stored = json.dumps([event.model_dump(mode="json") for event in talk.session.events])
    assert not [token for token in issuer.issued if token in stored]


@in_a_loop
async def test_an_answer_of_another_issuer_is_refused(
    site: Make, http: Make, issuer: OAuthServer, tmp_path: Any
) -> None:
    toolset = http(site("--issuer", issuer.url), auth_credential=client(issuer))
    talk = Talk([toolset], distribution=allowing(issuer, tmp_path))
    (asked,) = questions(await talk.say(), ASKS)
    events = await talk.answer(asked, agreed(issuer, asked, iss="https://evil.example"))
    await toolset.close()
    assert len(questions(events, ASKS)) == 1
    assert not issuer.requests


@in_a_loop
async def test_a_token_that_is_revoked_asks_again(site: Make, http: Make, issuer: OAuthServer, tmp_path: Any) -> None:
    served = site("--issuer", issuer.url)
    toolset = http(served, auth_credential=client(issuer))
    talk = Talk(
        [toolset], call("echo", text="x"), "done", call("echo", text="y"), distribution=allowing(issuer, tmp_path)
    )
    (asked,) = questions(await talk.say(), ASKS)
    await talk.answer(asked, agreed(issuer, asked))
    urllib.request.urlopen(urllib.request.Request(f"{served.url}/_revoke", method="POST")).close()
    events = await talk.say()
    (again,) = questions(events, ASKS)
    assert consent_of(again) != consent_of(asked)
    events = await talk.answer(again, agreed(issuer, again))
    await toolset.close()
    assert {"result": "y"} in results(events)


@in_a_loop
async def test_metadata_of_another_resource_is_refused(site: Make, http: Make, issuer: OAuthServer) -> None:
    """A server that names somebody else's resource gets no token for it."""
    toolset = http(site("--issuer", "http://169.254.169.254"), auth_credential=client(issuer))
    with pytest.raises(Exception, match=r"169\.254\.169\.254"):
        await Talk([toolset]).say()
    await toolset.close()


@in_a_loop
async def test_the_apps_own_credentials_are_sent(site: Make, http: Make) -> None:
    served = site("--token", "TOPSECRET")
    token = HttpAuth(scheme="bearer", credentials=HttpCredentials(token="TOPSECRET"))
    credential = AuthCredential(auth_type="http", http=token)  # type: ignore[arg-type]
    toolset = http(served, auth_scheme=HTTPBearer(), auth_credential=credential)
    talk = Talk([toolset], call("echo", text="x"))
    assert results(await talk.say()) == [{"result": "x"}]
    await toolset.close()


@in_a_loop
async def test_a_key_goes_into_its_header(site: Make, http: Make) -> None:
    served = site()
    credential = AuthCredential(auth_type="apiKey", api_key="KEY-123456")  # type: ignore[arg-type]
    scheme = APIKey(in_="header", name="x-key")  # type: ignore[arg-type]
    toolset = http(served, auth_scheme=scheme, auth_credential=credential)
    assert results(await Talk([toolset], call("echo", text="x")).say()) == [{"result": "x"}]
    await toolset.close()
    assert {one["headers"].get("x-key") for one in served.seen} == {"KEY-123456"}


@in_a_loop
async def test_without_an_optional_server_the_agent_goes_on_and_the_model_is_told(
    stdio: Make, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = stdio("raw", "dead", required=False), stdio("good", tool_name_prefix="g")
    talk = Talk([bad, good], call("g_echo", text="x"))
    assert results(await talk.say()) == [{"result": "x"}]
    for one in (bad, good):
        await one.close()
    assert "cannot be used at the moment" in str(talk.model.requests[0].config.system_instruction)
    assert caplog.text.count("goes on without an optional server") == 1


@in_a_loop
async def test_a_server_that_nobody_runs_is_named(http: Make) -> None:
    class Nowhere:
        url = "http://127.0.0.1:9"

    toolset = http(Nowhere())
    with pytest.raises(McpUnreachableError, match=r"127\.0\.0\.1:9/mcp cannot be reached: ConnectError"):
        await toolset.get_tools()
    await toolset.close()
