"""What a server asks the user: the run pauses where the era allows it, and goes on in another process."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.plugins.mcp.talks import Make, Talk, call, in_a_loop, questions, responses, results

from newel.mcp.questions import asks_for_secret
from newel.questions.names import CONFIRMATION_CALL, INPUT_CALL
from newel_kernel import ConfigurationError


def answers(found: Any) -> Any:
    """The rounds of answers that the server got."""
    return json.loads(found["content"][0]["text"])


@pytest.mark.parametrize(("server", "tool"), [(["good"], "order"), (["raw", "asks"], "echo")])
@in_a_loop
async def test_questions_go_to_the_callback_if_there_is_one(stdio: Make, server: list[str], tool: str) -> None:
    """In both eras: within the call, and as a result with which the call is made again."""
    from mcp.types import ElicitResult

    async def answer(context: Any, params: Any) -> Any:
        return ElicitResult(action="accept", content={"size": "large"})

    found = await responses(stdio(*server, elicitation_callback=answer), call(tool, item="tea", text="tea"))
    assert "large" in json.dumps(found[0])


@in_a_loop
async def test_a_form_pauses_the_run_and_another_process_takes_the_answer(stdio: Make) -> None:
    first = Talk([stdio("raw", "asks")], call("echo", text="tea"))
    events = await first.say()
    await first.runner.close()
    (asked,) = questions(events, INPUT_CALL)
    assert "Which size?" in asked.args["message"]
    assert asked.args["response_schema"]["properties"] == {"size": {"type": "string", "enum": ["small", "large"]}}
    assert set(results(events)[0]) == {"error"}
    assert len(first.model.requests) == 1

    second = Talk([stdio("raw", "asks")], runner=first.runner)
    second.session = first.session
    with pytest.raises(ConfigurationError, match="size"):
        await second.answer(asked, {"result": {"size": "huge"}})
    events = await second.answer(asked, {"result": {"size": "large"}})
    await second.runner.close()
    assert answers(results(events)[0]) == [{"q": {"action": "accept", "content": {"size": "large"}}}]


@in_a_loop
async def test_a_form_may_be_declined(stdio: Make) -> None:
    talk = Talk([stdio("raw", "asks")], call("echo", text="tea"))
    (asked,) = questions(await talk.say(), INPUT_CALL)
    events = await talk.answer(asked, {"result": None})
    await talk.runner.close()
    assert answers(results(events)[0]) == [{"q": {"action": "decline"}}]


@in_a_loop
async def test_several_forms_and_rounds_are_asked_one_by_one(stdio: Make) -> None:
    talk = Talk([stdio("raw", "asks-thrice")], call("echo", text="tea"))
    events = await talk.say()
    for value in ("large", "red", "sweet"):
        (asked,) = questions(events, INPUT_CALL)
        assert "\u202e" not in asked.args["message"]
        (field,) = asked.args["response_schema"]["properties"]
        events = await talk.answer(asked, {"result": {field: value}})
    await talk.runner.close()
    (first, second) = answers(results(events)[0])
    assert [one["content"] for one in first.values()] == [{"size": "large"}, {"colour": "red"}]
    assert second["c"]["content"] == {"taste": "sweet"}


@pytest.mark.parametrize("consents", [True, False])
@in_a_loop
async def test_a_page_is_opened_by_the_user_who_sees_its_host(stdio: Make, consents: bool) -> None:
    talk = Talk([stdio("raw", "asks-page", require_confirmation=True)], call("echo", text="tea"))
    (first,) = questions(await talk.say(), CONFIRMATION_CALL)
    (page,) = questions(await talk.answer(first, {"confirmed": True}), CONFIRMATION_CALL)
    assert "a page of xn--bcher-kva.example: Pay." in page.args["toolConfirmation"]["hint"]
    assert page.args["toolConfirmation"]["payload"]["url"] == "https://bücher.example/pay?id=1"
    events = await talk.answer(page, {"confirmed": consents})
    await talk.runner.close()
    assert answers(results(events)[0]) == [{"q": {"action": "accept" if consents else "decline"}}]


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("asks-secret", "a secret in a form (the field 'userPassword')"),
        ("asks-odd-page", "not the address of a page"),
        ("asks-sampling", "Sampling not supported"),
    ],
)
@in_a_loop
async def test_what_must_not_be_asked_is_an_error_result(stdio: Make, mode: str, why: str) -> None:
    (found,) = await responses(stdio("raw", mode), call("echo", text="tea"))
    assert why in found["error"]


@in_a_loop
async def test_a_server_that_asks_for_ever_is_refused(stdio: Make) -> None:
    talk = Talk([stdio("raw", "asks-ever")], call("echo", text="tea"))
    events = await talk.say()
    rounds = 0
    while asked := questions(events, INPUT_CALL):
        rounds += 1
        events = await talk.answer(asked[0], {"result": {"size": "large"}})
    await talk.runner.close()
    assert rounds == 10
    assert "more than 10 times" in results(events)[0]["error"]


@in_a_loop
async def test_a_server_that_only_needs_time_is_asked_again(stdio: Make) -> None:
    (found,) = await responses(stdio("raw", "asks-later"), call("echo", text="tea"))
    assert answers(found) == ["waited"] * 3


@in_a_loop
async def test_a_question_within_a_call_is_declined_with_the_reason(stdio: Make) -> None:
    """In the era of the handshake the server is not told of forms; one that asks nevertheless learns why not."""
    (found,) = await responses(stdio("good"), call("order", item="tea"))
    assert set(found) == {"error"}


@in_a_loop
async def test_the_answer_does_not_reach_a_tool_that_has_changed_meanwhile(stdio: Make) -> None:
    talk = Talk([stdio("raw", "asks", trusted=False)], call("echo", text="tea"))
    (asked,) = questions(await talk.say(), INPUT_CALL)
    for event in talk.runner.session_service.sessions["app"]["ada"][talk.session.id].events:
        for one in event.get_function_calls():
            if one.id == asked.id:
                one.args["kept"]["mcp"]["digest"] = "another"
    events = await talk.answer(asked, {"result": {"size": "large"}})
    await talk.runner.close()
    assert "has changed since the user was asked" in results(events)[0]["error"]


@pytest.mark.parametrize(
    ("name", "field", "is_secret"),
    [
        ("password", {}, True),
        ("userPassword", {}, True),
        ("API_KEY", {}, True),
        ("value", {"title": "Your PIN"}, True),
        ("value", {"format": "password"}, True),
        ("card_number", {"type": "integer"}, True),
        ("accessToken", {}, True),
        ("max_tokens", {"type": "integer"}, False),
        ("tokens", {"type": "integer"}, False),
        ("keyboard", {}, False),
        ("pinned", {}, False),
        ("has_password", {"type": "boolean"}, False),
        ("number", {"type": "integer"}, False),
    ],
)
def test_fields_that_take_secrets_are_known_by_name_title_and_format(
    name: str, field: dict[str, Any], is_secret: bool
) -> None:
    assert asks_for_secret(name, {"type": "string", **field}) is is_secret
