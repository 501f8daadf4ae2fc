"""A tool asks for a credential: what the user is asked, what an answer does, and what the session keeps of both."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel.auth import (
    ApiKey,
    ApiKeyScheme,
    AuthConfig,
    AuthCredential,
    AuthToolArguments,
    HttpAuth,
    HttpCredentials,
)
from newel.auth.auth_schemes import APIKey, APIKeyIn, HTTPBearer
from newel.auth.errors import AuthConfigError
from newel.sessions import SqliteSessionService
from newel.tools import AuthenticatedFunctionTool, BaseAuthenticatedTool, FunctionTool, ToolContext
from newel.types import Content, FunctionCall, FunctionDeclaration, FunctionResponse, Part
from newel_kernel import BaseToolset, ConfigurationError

KEY = "k-secret-123"
CONFIG = AuthConfig(auth_scheme=APIKey(in_=APIKeyIn.header, name="X-Key"), credential_key="weather")
ANSWER = {
    "authScheme": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "exchangedAuthCredential": {"authType": "apiKey", "apiKey": KEY},
}


def act(tool_context: ToolContext) -> dict[str, Any]:
    """Act."""
    credential = tool_context.get_auth_response(CONFIG)
    if credential is None:
        tool_context.request_credential(CONFIG)
        return {"status": "asked"}
    return {"status": "called", "length": len(credential.api_key or "")}


def test_the_user_is_asked_and_the_call_runs_again(converse: Any, kit: Any) -> None:
    talk = converse("standard", [act])
    events = talk.say()
    call = kit.asked(events)[0]
    arguments = AuthToolArguments.model_validate(call.args)
    waiting = next(c for e in events for c in e.get_function_calls() if c.name == "act")
    assert arguments.function_call_id == waiting.id
    assert arguments.auth_config.credential_key == "weather"
    ask = next(e for e in events if kit.asked([e]))
    assert (ask.author, ask.content.role, ask.long_running_tool_ids) == ("root", "user", {call.id})
    assert kit.results(events) == [{"status": "asked"}]

    answered = talk.answer(call, ANSWER)
    assert kit.results(answered) == [{"status": "called", "length": len(KEY)}]
    assert answered[0].get_function_responses()[0].id == waiting.id
    assert answered[-1].content.parts[0].text == "done"


def test_the_stored_answer_tells_only_what_kind_it_was(converse: Any, kit: Any) -> None:
    talk = converse("standard", [act])
    talk.answer(kit.asked(talk.say())[0], ANSWER)
    kept = [r for e in talk.session.events if e.author == "user" for r in e.get_function_responses()]
    assert [r.response for r in kept] == [
        {"credentialKey": "weather", "exchangedAuthCredential": {"authType": "apiKey"}}
    ]
    assert KEY not in "".join(e.model_dump_json() for e in talk.session.events)
    assert KEY not in repr(talk.session)


def test_a_tool_that_tells_its_secret_and_does_nothing_else_tells_it_to_nobody(converse: Any, kit: Any) -> None:
    def tell(tool_context: ToolContext) -> dict[str, Any]:
        """Tell."""
        credential = tool_context.get_auth_response(CONFIG)
        if credential is None:
            tool_context.request_credential(CONFIG)
        return {"key": credential.api_key if credential else None}

    tool = FunctionTool(tell)
    tool.name = "act"
    talk = converse("standard", [tool])
    events = talk.answer(kit.asked(talk.say())[0], ANSWER)
    assert kit.results(events) == [{"key": "<secret>"}]
    assert KEY not in "".join(event.model_dump_json() for event in [*events, *talk.session.events])


def test_adk_stores_the_answer_as_the_recorded_releases_do(converse: Any, kit: Any) -> None:
    talk = converse("adk", [act])
    talk.answer(kit.asked(talk.say())[0], ANSWER)
    kept = [r for e in talk.session.events if e.author == "user" for r in e.get_function_responses()]
    assert kept[0].response == ANSWER
    assert talk.session.state == {}


def test_adk_hands_on_a_credential_that_holds_nothing(converse: Any, kit: Any) -> None:
    empty = {**ANSWER, "exchangedAuthCredential": {"authType": "apiKey"}}
    for distribution, wanted in (("adk", [{"status": "called", "length": 0}]), ("standard", [{"status": "asked"}])):
        talk = converse(distribution, [act])
        assert kit.results(talk.answer(kit.asked(talk.say())[0], empty)) == wanted


@pytest.mark.parametrize(
    "answer", [ANSWER, {"authType": "apiKey", "apiKey": KEY}, {"result": KEY}], ids=["config", "credential", "text"]
)
def test_an_answer_may_be_a_config_a_credential_or_a_text(converse: Any, kit: Any, answer: dict[str, Any]) -> None:
    talk = converse("standard", [act])
    events = talk.answer(kit.asked(talk.say())[0], answer)
    assert kit.results(events) == [{"status": "called", "length": len(KEY)}]


def test_an_answer_that_is_none_is_refused_and_nothing_of_it_is_stored(converse: Any, kit: Any) -> None:
    talk = converse("standard", [act])
    call = kit.asked(talk.say())[0]
    before = len(talk.session.events)
    with pytest.raises(AuthConfigError, match="is not an AuthConfig: wrong or missing: authScheme") as caught:
        talk.answer(call, {"apiKey": KEY})
    assert KEY not in str(caught.value)
    assert caught.value.__context__ is None
    assert len(talk.session.events) == before


def test_an_answer_without_a_credential_asks_again(converse: Any, kit: Any) -> None:
    talk = converse("standard", [act])
    events = talk.answer(kit.asked(talk.say())[0], {"authScheme": ANSWER["authScheme"]})
    assert kit.results(events) == [{"status": "asked"}]
    assert len(kit.asked(events)) == 1
    assert kit.results(talk.answer(kit.asked(events)[0], ANSWER)) == [{"status": "called", "length": len(KEY)}]


def test_the_answer_is_for_the_key_that_was_asked_for(converse: Any, kit: Any) -> None:
    talk = converse("standard", [act])
    events = talk.answer(kit.asked(talk.say())[0], {**ANSWER, "credentialKey": "bank"})
    assert kit.results(events) == [{"status": "called", "length": len(KEY)}]


def test_an_answer_under_another_name_is_one_all_the_same(converse: Any, kit: Any) -> None:
    talk = converse("standard", [act])
    call = kit.asked(talk.say())[0]
    part = Part(function_response=FunctionResponse(id=call.id, name="act", response=ANSWER))
    events = asyncio.run(talk.send(Content(role="user", parts=[part])))
    assert kit.results(events) == [{"status": "called", "length": len(KEY)}]
    assert KEY not in "".join(e.model_dump_json() for e in talk.session.events)


def test_an_answer_to_a_call_that_asked_for_nothing_is_refused(converse: Any, kit: Any) -> None:
    talk = converse("standard", [act])
    events = talk.say()
    call = next(c for e in events for c in e.get_function_calls() if c.name == "act")
    stored = talk.session.events
    with pytest.raises(ConfigurationError, match="does not wait for an answer") as refused:
        talk.answer(call, ANSWER)
    assert KEY not in str(refused.value)
    assert talk.session.events == stored


def test_each_call_of_two_is_asked_for_and_run_by_itself(converse: Any, kit: Any) -> None:
    other = CONFIG.model_copy(update={"credential_key": "bank"})

    def transfer(tool_context: ToolContext) -> dict[str, Any]:
        """Transfer."""
        if tool_context.get_auth_response(other) is None:
            tool_context.request_credential(other)
            return {"transfer": "asked"}
        return {"transfer": "made"}

    both = [FunctionCall(name="act", args={}), FunctionCall(name="transfer", args={})]
    talk = converse("standard", [act, transfer], script=[both, "wait", "one", "the other"])
    calls = kit.asked(talk.say())
    assert len(calls) == 2
    assert kit.results(talk.answer(calls[1], ANSWER)) == [{"transfer": "made"}]
    assert kit.results(talk.answer(calls[0], ANSWER)) == [{"status": "called", "length": len(KEY)}]


def test_a_request_reads_as_a_config_from_every_store(converse: Any, kit: Any, tmp_path: Any) -> None:
    for sessions in (None, SqliteSessionService(f"sqlite:///{tmp_path}/s.db")):
        talk = converse("standard", [act], sessions=sessions)
        talk.say()
        found = [c for e in talk.session.events for c in e.actions.requested_auth_configs.values()]
        assert [(type(c), c.credential_key, c.auth_scheme) for c in found] == [
            (AuthConfig, "weather", CONFIG.auth_scheme)
        ]


def test_only_a_tool_call_can_ask(converse: Any) -> None:
    seen: list[str] = []

    def check(callback_context: Any) -> None:
        try:
            callback_context.request_credential(CONFIG)
        except ValueError as error:
            seen.append(str(error))

    talk = converse("adk", [act])
    talk.agent.before_agent_callback = check
    talk.say()
    assert seen == [
        "only a tool call can ask for a confirmation, a credential or an input: function_call_id is not set"
    ]


# --- tools that get their credential with the call --------------------------------------------------------------------


class Ask(BaseAuthenticatedTool):
    def _get_declaration(self) -> FunctionDeclaration:
        return FunctionDeclaration(name=self.name, description=self.description)

    async def _run_async_impl(self, *, args: Any, tool_context: Any, credential: Any) -> Any:
        return {"kind": credential.auth_type.value if credential else None}


def test_an_authenticated_tool_asks_and_then_runs(converse: Any, kit: Any) -> None:
    talk = converse("standard", [Ask(name="act", description="Act.", auth_config=CONFIG)])
    events = talk.say()
    assert kit.results(events) == [{"result": "Pending User Authorization."}]
    assert kit.results(talk.answer(kit.asked(events)[0], ANSWER)) == [{"kind": "apiKey"}]
    # The distribution's credential store has it from now on.
    assert kit.results(talk.say()) == [{"kind": "apiKey"}]


def test_without_a_credential_service_every_invocation_asks(converse: Any, kit: Any) -> None:
    talk = converse("adk", [Ask(name="act", description="Act.", auth_config=CONFIG)])
    events = talk.say()
    assert kit.results(talk.answer(kit.asked(events)[0], ANSWER)) == [{"kind": "apiKey"}]
    assert len(kit.asked(talk.say())) == 1


def test_an_authenticated_tool_without_a_config_runs_without_a_credential(converse: Any, kit: Any) -> None:
    assert kit.results(converse("standard", [Ask(name="act", description="Act.")]).say()) == [{"kind": None}]


def test_an_authenticated_function_gets_its_credential_and_the_model_does_not_see_it(converse: Any, kit: Any) -> None:
    raw = AuthCredential(
        auth_type="http", http=HttpAuth(scheme="bearer", credentials=HttpCredentials(token="t-secret"))
    )
    config = AuthConfig(auth_scheme=HTTPBearer(), raw_auth_credential=raw)

    async def act(credential: AuthCredential, tool_context: ToolContext, city: str = "Rome") -> dict[str, Any]:
        """Act."""
        assert credential.http is not None
        return {"token": credential.http.credentials.token == "t-secret", "city": city}

    tool = AuthenticatedFunctionTool(func=act, auth_config=config)
    declared = tool._get_declaration()
    assert list(declared.parameters_json_schema["properties"]) == ["city"]
    assert kit.results(converse("standard", [tool]).say()) == [{"token": True, "city": "Rome"}]


def test_while_the_user_is_asked_the_model_is_told_what_the_tool_says(converse: Any, kit: Any) -> None:
    def act(credential: AuthCredential) -> dict[str, Any]:
        """Act."""
        return {"key": credential.api_key == KEY}

    tool = AuthenticatedFunctionTool(act, auth_config=CONFIG, response_for_auth_required={"wait": True})
    talk = converse("standard", [tool])
    events = talk.say()
    assert kit.results(events) == [{"wait": True}]
    assert kit.results(talk.answer(kit.asked(events)[0], ANSWER)) == [{"key": True}]


# --- toolsets ---------------------------------------------------------------------------------------------------------


class Files(BaseToolset):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def get_auth_config(self) -> AuthConfig:
        return CONFIG

    async def get_tools(self, readonly_context: Any = None) -> Any:
        self.seen.append(readonly_context.get_credential("weather").api_key)

        def act() -> dict[str, Any]:
            """Act."""
            return {"listed": True}

        return [FunctionTool(act)]


def test_a_toolset_gets_its_credential_before_it_lists_its_tools(converse: Any, kit: Any) -> None:
    files = Files()
    talk = converse("standard", [files])
    events = talk.say()
    assert [c.args["functionCallId"] for c in kit.asked(events)] == ["_adk_toolset_auth_Files"]
    assert (len(events), files.seen, len(talk.agent.model.requests)) == (1, [], 0)
    talk.answer(kit.asked(events)[0], ANSWER)
    assert kit.results(talk.say()) == [{"listed": True}]
    assert set(files.seen) == {KEY}


def test_the_classes_that_specification_examples_use() -> None:
    assert ApiKeyScheme is APIKey
    assert AuthCredential(auth_type="apiKey", api_key=ApiKey(api_key=KEY)).api_key == KEY
