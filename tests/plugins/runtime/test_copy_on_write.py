"""What a callback does to a request is for that request: the session, the agent and the tools stay as they are."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from newel.agents import LlmAgent, RunConfig
from newel.plugins import BasePlugin
from newel.testing import ScriptedModel
from newel_kernel import LlmRequest, LlmResponse
from newel_types import (
    Blob,
    CodeExecutionResult,
    Content,
    ExecutableCode,
    FileData,
    FunctionCall,
    FunctionDeclaration,
    FunctionResponse,
    GenerateContentConfig,
    Language,
    Outcome,
    Part,
    Record,
    Tool,
)


def brew(leaf: str, how: dict[str, Any] | None = None) -> dict[str, Any]:
    """Brews tea.

    Args:
        leaf: the kind.
    """
    return {"pot": {"leaf": leaf, "cups": [1, 2]}, "pair": ({"x": [1]}, "y")}


MESSAGE = [
    Part(text="tea", part_metadata={"k": [1]}),
    Part(text="plain"),
    Part(inline_data=Blob(data=b"\x00", mime_type="image/png", display_name="p")),
    Part(file_data=FileData(file_uri="gs://x", mime_type="a/b")),
    Part(executable_code=ExecutableCode(code="1", language=Language.PYTHON)),
    Part(code_execution_result=CodeExecutionResult(outcome=Outcome.OUTCOME_OK, output="1")),
]


def setting() -> tuple[LlmAgent, ScriptedModel]:
    """An agent whose next request holds every kind of part."""
    call = FunctionCall(name="brew", args={"leaf": "mint", "how": {"hot": [1, {"very": True}]}}, id="c1")
    first = Content(
        role="model", parts=[Part(text="hm", thought=True, thought_signature=b"s"), Part(function_call=call)]
    )
    model = ScriptedModel([LlmResponse(content=first), "done", "again", "and again"])
    config = GenerateContentConfig.model_validate(
        {
            "temperature": 0.5,
            "labels": {"a": "b"},
            "stop_sequences": ["x"],
            "thinking_config": {"thinking_budget": 1},
            "safety_settings": [{"category": "HARM_CATEGORY_HATE_SPEECH", "threshold": "BLOCK_NONE"}],
            "http_options": {"headers": {"h": "1"}},
        }
    )
    static = Content(role="user", parts=[Part(text="Rules."), Part(inline_data=Blob(data=b"\x01", mime_type="a/b"))])
    agent = LlmAgent(
        name="waiter",
        model=model,
        tools=[brew],
        instruction="Serve.",
        static_instruction=static,
        generate_content_config=config,
        sub_agents=[LlmAgent(name="cook", model=ScriptedModel([]))],
    )
    return agent, model


def spoil(value: Any, depth: int = 0) -> None:
    """Change everything that can be changed in `value` and below it."""
    if isinstance(value, dict):
        for inner in list(value.values()):
            spoil(inner, depth + 1)
        value["spoilt"] = True
    elif isinstance(value, (list, tuple)):
        for inner in value:
            spoil(inner, depth + 1)
        if isinstance(value, list):
            value.append("spoilt")
    elif isinstance(value, (Record, BaseModel)):
        names = value.field_names if isinstance(value, Record) else list(type(value).model_fields)
        for name in names:
            spoil(getattr(value, name), depth + 1)
        for name in names:
            old = getattr(value, name)
            if old is not None:
                setattr(value, name, "spoilt" if isinstance(old, str) else None)


def everything(request: LlmRequest) -> None:
    spoil(request.contents)
    config = request.config
    for name in type(config).model_fields:
        spoil(getattr(config, name))
    request.contents.clear()
    request.config.tools = None
    request.tools_dict = dict(request.tools_dict)
    request.model = "spoilt"


#: Ways to reach the contents, each giving some of them.
REACHES: dict[str, Callable[[list[Content]], Any]] = {
    "index": lambda c: [c[0], c[-1]],
    "slice": lambda c: c[:],
    "negative slice": lambda c: c[::-1],
    "iteration": lambda c: [x for x in c],  # noqa: C416
    "reversed": lambda c: list(reversed(c)),
    "list()": list,
    "tuple()": lambda c: [x for x in tuple(c)],  # noqa: C416
    "unpacking": lambda c: [*c],
    "starred": lambda c: (lambda *a: list(a))(*c),
    "add": lambda c: c + [],  # noqa: RUF005
    "radd": lambda c: [] + c,  # noqa: RUF005
    "mul": lambda c: c * 2,
    "rmul": lambda c: 2 * c,
    "extend": lambda c: (lambda a: (a.extend(c), a)[1])([]),
    "iadd": lambda c: (lambda a: (a.__iadd__(c), a)[1])([]),
    "slice assignment": lambda c: (lambda a: (a.__setitem__(slice(0, 0), c), a)[1])([]),
    "pop": lambda c: [c.pop(), c.pop(0)],
    "copy": lambda c: list(c.copy()),
    "copy.copy": lambda c: list(copy.copy(c)),
    "deepcopy": lambda c: list(copy.deepcopy(c)),
    "sorted": lambda c: sorted(c, key=id),
    "filter": lambda c: list(filter(None, c)),
    "enumerate": lambda c: [x for _, x in enumerate(c)],
    "max": lambda c: [max(c, key=id)],
    "match": lambda c: _matched(c),
    "zip": lambda c: [x for (x,) in zip(c)],
    "in place": lambda c: (c.reverse(), list(c))[1],
    "insert": lambda c: (c.insert(0, c[-1]), list(c))[1],
    "assign": lambda c: (c.__setitem__(0, c[-1]), list(c))[1],
    "imul": lambda c: (c.__imul__(2), list(c))[1],
}


def _matched(contents: list[Content]) -> list[Content]:
    match contents:
        case [first, *rest]:
            return [first, *rest]
    raise AssertionError("no sequence")


class Vandal(BasePlugin):
    def __init__(self, act: Callable[[LlmRequest], Any]) -> None:
        super().__init__(name="vandal")
        self.act = act
        self.count = 0

    async def before_model_callback(self, *, callback_context: Any, llm_request: LlmRequest) -> None:
        self.count += 1
        self.act(llm_request)


def shown(conversation: Any) -> list[str]:
    return [
        event.model_dump_json(exclude={"timestamp", "id", "invocation_id"}) for event in conversation.session.events
    ]


def last_request(model: ScriptedModel) -> dict[str, Any]:
    return model.requests[-1].model_dump(mode="json", exclude_none=True)


def undisturbed(talk: Any) -> tuple[list[str], dict[str, Any]]:
    agent, model = setting()
    conversation = talk(agent)
    conversation.say(MESSAGE, "more", "and more")
    return shown(conversation), last_request(model)


def held(request: LlmRequest, field: str) -> list[Any]:
    """The calls or the responses in a request that belong to our tool."""
    found = [getattr(part, field) for content in request.contents for part in content.parts or ()]
    return [one for one in found if one is not None]


def after_vandalism(talk: Any, act: Callable[[LlmRequest], Any]) -> None:
    """Vandalise all requests but the last: the session and the last request are as if nobody had."""
    agent, model = setting()
    vandal = Vandal(act)
    conversation = talk(agent, plugins=[vandal])
    conversation.say(MESSAGE, "more")
    vandal.act = lambda request: None
    conversation.say("and more")
    events, sent = undisturbed(talk)
    assert vandal.count == 4
    assert shown(conversation) == events
    assert last_request(model) == sent


def test_spoiling_everything_spoils_nothing_else(talk: Any) -> None:
    after_vandalism(talk, everything)


@pytest.mark.parametrize("reach", REACHES)
def test_however_the_contents_are_reached(talk: Any, reach: str) -> None:
    after_vandalism(talk, lambda request: spoil(list(REACHES[reach](request.contents))))


@pytest.mark.parametrize(
    "act",
    [
        lambda r: setattr(r.contents[0].parts[0], "text", "x"),
        lambda r: r.contents[0].parts.append(Part(text="x")),
        lambda r: r.contents[0].parts.clear(),
        lambda r: setattr(r.contents[0], "role", "model"),
        lambda r: [call.args["how"]["hot"].append(2) for call in held(r, "function_call")],
        lambda r: [call.args["how"]["hot"][1].clear() for call in held(r, "function_call")],
        lambda r: [answer.response["pot"]["cups"].clear() for answer in held(r, "function_response")],
        lambda r: [answer.response["pair"][0]["x"].append(2) for answer in held(r, "function_response")],
        lambda r: r.contents.extend([Content(role="user", parts=[Part(text="x")])]),
        lambda r: setattr(r, "contents", []),
        lambda r: r.contents.__delitem__(slice(None)),
        lambda r: r.config.labels.update(x="y"),
        lambda r: r.config.stop_sequences.append("y"),
        lambda r: setattr(r.config.thinking_config, "thinking_budget", 99),
        lambda r: setattr(r.config.safety_settings[0], "threshold", None),
        lambda r: r.config.http_options.headers.update(h="2"),
        lambda r: setattr(r.config, "temperature", 2.0),
        lambda r: setattr(r.config, "system_instruction", "x"),
        lambda r: r.append_instructions(["x"]),
        lambda r: r.config.tools[0].function_declarations.clear(),
        lambda r: setattr(r.config.tools[0].function_declarations[0], "description", "x"),
        lambda r: r.config.tools[0].function_declarations[0].parameters_json_schema["properties"].clear(),
        lambda r: [d.parameters_json_schema.clear() for d in r.config.tools[0].function_declarations],
        lambda r: r.config.tools.append(Tool(function_declarations=[FunctionDeclaration(name="x")])),
    ],
)
def test_one_edit_at_a_time(talk: Any, act: Callable[[LlmRequest], Any]) -> None:
    after_vandalism(talk, act)


def test_the_edits_of_one_callback_are_what_the_model_gets(talk: Any) -> None:
    agent, model = setting()

    def edit(request: LlmRequest) -> None:
        request.contents[0].parts[0].text = "edited"  # type: ignore[index]
        request.config.temperature = 0.1

    conversation = talk(agent, plugins=[Vandal(edit)])
    conversation.say(MESSAGE)
    for request in model.requests:
        assert request.contents[0].parts[0].text == "edited"  # type: ignore[index]
        assert request.config.temperature == 0.1
    assert conversation.session.events[0].content.parts[0].text == "tea"


def test_the_agents_own_callback_is_held_to_the_same(talk: Any) -> None:
    agent, _ = setting()
    agent.before_model_callback = lambda callback_context, llm_request: everything(llm_request)
    conversation = talk(agent)
    conversation.say(MESSAGE, "more", "and more")
    assert shown(conversation) == undisturbed(talk)[0]


def test_the_run_config_of_the_caller_stays_as_it_is(talk: Any) -> None:
    config = RunConfig.model_validate({"speech_config": {"language_code": "de-DE"}, "response_modalities": ["AUDIO"]})
    before = config.model_dump()

    def act(request: LlmRequest) -> None:
        request.live_connect_config.speech_config.language_code = "x"
        request.live_connect_config.response_modalities.append("TEXT")

    agent, _ = setting()
    talk(agent, plugins=[Vandal(act)]).say(MESSAGE, run_config=config)
    assert config.model_dump() == before


def test_a_tool_that_edits_its_arguments_edits_a_copy(talk: Any, call: Any) -> None:
    def greedy(how: dict[str, Any]) -> str:
        how["hot"].append("more")
        return "ok"

    model = ScriptedModel([call("greedy", how={"hot": [1]}), "ok"])
    conversation = talk(LlmAgent(name="waiter", model=model, tools=[greedy]))
    conversation.say("go")
    assert conversation.session.events[1].get_function_calls()[0].args == {"how": {"hot": [1]}}


def test_what_a_call_answers_is_a_function_response_of_its_own(talk: Any, call: Any) -> None:
    """A processor further down the chain shares nothing with the log either."""
    seen: list[FunctionResponse] = []

    def keep(request: LlmRequest) -> None:
        seen.extend(p.function_response for c in request.contents for p in c.parts or () if p.function_response)

    agent, _ = setting()
    conversation = talk(agent, plugins=[Vandal(keep)])
    conversation.say(MESSAGE)
    stored = conversation.session.events[2].get_function_responses()[0]
    assert stored.response == seen[0].response
    assert stored.response is not seen[0].response
