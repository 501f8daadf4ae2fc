"""``demo:`` picks tools by their words, fills in their arguments and words the results."""

from __future__ import annotations

import json
import time
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from newel.agents import LlmAgent
from newel.models.demo.model import DemoModel, create
from newel.models.demo.plugin import register_model_providers
from newel.models.demo.wording import sentence
from newel.models.demo.words import stem, stems
from newel.models.offline.conversation import Exchange
from newel_kernel import ModelError
from newel_types import Content, FunctionCallingConfig, Part, ToolConfig

STRING = {"type": "string"}


def get_weather(city: str) -> dict[str, Any]:
    """Returns the current weather of a city.

    Args:
        city: The name of the city.
    """
    return {"status": "success", "report": f"It is sunny in {city}."}


def get_current_time(city: str) -> dict[str, Any]:
    """Returns the current time in a city."""
    return {"status": "error", "error_message": f"I know no time zone for {city}"}


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def agent(**fields: Any) -> LlmAgent:
    return LlmAgent(name="root", model="demo:", **{"tools": [get_weather, get_current_time, add], **fields})


def declared(name_: str, description: str, /, optional: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    """The fields of a declaration."""
    required = [name for name in properties if name not in optional]
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name_, "description": description, "parameters_json_schema": schema}


def test_calls_a_tool_and_words_the_result(kit: Any) -> None:
    events = kit.Talk(agent()).say("What's the weather in Paris?")
    assert kit.calls_of(events) == [("get_weather", {"city": "Paris"})]
    assert kit.text_of(events[-1]) == "(offline demo model) It is sunny in Paris."


@pytest.mark.parametrize(
    ("message", "calls"),
    [
        ("weather in Paris and Rome", [("get_weather", "Paris"), ("get_weather", "Rome")]),
        ("Weather in New York, Oslo and Rome?", [("get_weather", c) for c in ("New York", "Oslo", "Rome")]),
        ("how is the weather in new york and tokyo", [("get_weather", "new york"), ("get_weather", "tokyo")]),
        ("weather in Paris and the time in Rome", [("get_weather", "Paris"), ("get_current_time", "Rome")]),
        ("weather berlin", [("get_weather", "berlin")]),
        ("Will it rain in Oslo tomorrow?", [("get_weather", "Oslo")]),
        ("What time is it in Tokyo?", [("get_current_time", "Tokyo")]),
        ("how's the weather?", [("get_weather", "example")]),
        ("Tell me a joke", []),
        ("hello there", []),
        ("my name is Ada", []),
    ],
)
def test_which_calls(kit: Any, message: str, calls: list[tuple[str, str]]) -> None:
    events = kit.Talk(agent()).say(message)
    assert kit.calls_of(events) == [(name, {"city": city}) for name, city in calls]


def test_failures_are_told(kit: Any) -> None:
    assert "failed: I know no time zone for Oslo." in kit.Talk(agent()).answer("what time is it in Oslo")


def test_follows_up(kit: Any) -> None:
    talk = kit.Talk(agent())
    talk.say("weather in Paris")
    assert kit.calls_of(talk.say("and in Lisbon?")) == [("get_weather", {"city": "Lisbon"})]


def test_says_what_it_is_and_once_how_to_use_a_real_model(kit: Any) -> None:
    talk = kit.Talk(agent(description="Helps travellers."))
    first = talk.answer("Hello!")
    assert first.startswith("(offline demo model) Hello! I am the agent 'root': Helps travellers.")
    assert "`get_weather` (Returns the current weather of a city)" in first
    assert "GOOGLE_API_KEY" in first
    assert "pip install 'newel[gemini]'" in first
    second = talk.answer("What is the meaning of life?")
    assert second.startswith("(offline demo model) ")
    assert "GOOGLE_API_KEY" not in second


def test_remembers(kit: Any) -> None:
    talk = kit.Talk(agent())
    talk.say("Hi. My name is Ada. I live in Berlin.")
    assert 'You said earlier: "My name is Ada."' in talk.answer("What is my name?")
    assert '"I live in Berlin."' in talk.answer("where do I live?")
    talk.say("weather in Oslo")
    events = talk.say("What did you say earlier about the weather in Oslo?")
    assert kit.calls_of(events) == []
    assert "It is sunny in Oslo." in kit.text_of(events[-1])
    assert "You said" not in talk.answer("What is my shoe size?")


def test_forgets_nothing_that_was_corrected(kit: Any) -> None:
    talk = kit.Talk(agent())
    talk.say("My favourite colour is red.")
    talk.say("My favourite colour is blue.")
    assert "blue" in talk.answer("What is my favourite colour?")


@pytest.mark.parametrize(
    ("message", "tool", "args"),
    [
        ("What is 2 + 3?", declared("add", "Adds.", a={"type": "integer"}, b={"type": "integer"}), {"a": 2, "b": 3}),
        (
            "add 1,000 and -2.5",
            declared("add", "Adds.", a={"type": "number"}, b={"type": "number"}),
            {"a": 1000, "b": -2.5},
        ),
        ("add four and 5", declared("add", "Adds.", a={"type": "integer"}, b={"type": "integer"}), {"a": 4, "b": 5}),
        (
            "convert 100 usd to eur",
            declared("convert", "Converts money.", amount={"type": "number"}, from_unit=STRING, to_unit=STRING),
            {"amount": 100, "from_unit": "usd", "to_unit": "eur"},
        ),
        (
            'book a table at "Chez Pierre" for 4 guests tomorrow, not outdoor',
            declared(
                "book_table",
                "Books.",
                restaurant=STRING,
                guests={"type": "integer"},
                date=STRING,
                outdoor={"type": "boolean"},
            ),
            {"restaurant": "Chez Pierre", "guests": 4, "date": "tomorrow", "outdoor": False},
        ),
        (
            "book 3 nights for 2 guests",
            declared("book", "Books.", guests={"type": "integer"}, nights={"type": "integer"}),
            {"guests": 2, "nights": 3},
        ),
        (
            "translate 'good morning' to French",
            declared("translate", "Translates.", text=STRING, target_language=STRING),
            {"text": "good morning", "target_language": "French"},
        ),
        (
            "paint the wall in Dark Blue please",
            declared("paint", "Paints.", color={"type": "string", "enum": ["red", "dark_blue", "blue"]}),
            {"color": "dark_blue"},
        ),
        (
            "paint the wall",
            declared("paint", "Paints.", color={"type": "string", "enum": ["red", "blue"]}),
            {"color": "red"},
        ),
        (
            "paint the wall",
            declared("paint", "Paints.", color={"type": "string", "default": "green"}),
            {"color": "green"},
        ),
        ("paint the wall", declared("paint", "Paints.", color=STRING, optional=("color",)), {}),
        (
            "plot 1, 2, 3.5",
            declared("plot", "Plots.", values={"type": "array", "items": {"type": "number"}}),
            {"values": [1, 2, 3.5]},
        ),
        (
            "tag it as red and blue",
            declared("tag", "Tags.", tags={"type": "array", "items": {"enum": ["red", "blue"]}}),
            {"tags": ["red", "blue"]},
        ),
        (
            "ship to Main Street 5",
            declared(
                "ship",
                "Ships.",
                address={
                    "type": "object",
                    "required": ["street", "number"],
                    "properties": {"street": STRING, "number": {"type": "integer"}},
                },
            ),
            {"address": {"street": "Main Street", "number": 5}},
        ),
        (
            "list users named Bob over 30",
            declared(
                "list_users",
                "Lists users.",
                name={"anyOf": [STRING, {"type": "null"}]},
                age={"type": "integer"},
                optional=("name", "age"),
            ),
            {"name": "Bob", "age": 30},
        ),
        (
            "set volume=7 and title: Blue Note",
            declared("set_player", "Sets the player.", volume={"type": "integer"}, title=STRING),
            {"volume": 7, "title": "Blue Note"},
        ),
        (
            "mail bob@example.com on 2025-03-04",
            declared(
                "mail", "Mails.", email={"type": "string", "format": "email"}, on={"type": "string", "format": "date"}
            ),
            {"email": "bob@example.com", "on": "2025-03-04"},
        ),
        (
            "is sku AB-123 in stock?",
            declared("check_stock", "Checks stock.", sku={"type": "string", "pattern": r"^[A-Z]{2}-\d{3}$"}),
            {"sku": "AB-123"},
        ),
        (
            "what is 12 * (3 + 4)?",
            declared("calculator", "Evaluates.", expression=STRING),
            {"expression": "12 * (3 + 4)"},
        ),
        ('{"request": "find the cat"}', declared("find", "Finds things.", request=STRING), {"request": "find the cat"}),
        ("ping it", declared("ping", "Pings.", times={"type": "integer", "minimum": 3}, host=STRING), None),
    ],
)
def test_arguments(kit: Any, message: str, tool: dict[str, Any], args: dict[str, Any] | None) -> None:
    (response,) = kit.ask(DemoModel(), kit.request(message, tools=[tool]))
    ((name, found),) = kit.called(response)
    assert name == tool["name"]
    assert found == (args if args is not None else {"times": 3, "host": "example"})


def test_transfers_to_the_agent_that_fits_and_never_in_circles(kit: Any) -> None:
    weather = agent(description="Knows the weather of every city.").model_copy(update={"name": "weather_agent"})
    billing = LlmAgent(name="billing_agent", model="demo:", description="Answers questions about invoices.")
    root = LlmAgent(name="root", model="demo:", description="Coordinates.", sub_agents=[billing, weather])
    talk = kit.Talk(root)
    events = talk.say("What's the weather in Paris?")
    assert kit.calls_of(events) == [
        ("transfer_to_agent", {"agent_name": "weather_agent"}),
        ("get_weather", {"city": "Paris"}),
    ]
    assert events[-1].author == "weather_agent"
    events = talk.say("I have a question about my invoice")
    assert kit.calls_of(events) == [("transfer_to_agent", {"agent_name": "billing_agent"})]
    assert events[-1].author == "billing_agent"


def test_two_agents_that_both_fit_better_do_not_play_ping_pong(kit: Any) -> None:
    one = LlmAgent(name="cats", model="demo:", description="Knows cats.")
    two = LlmAgent(name="cat_expert", model="demo:", description="Knows cats, all cats.", sub_agents=[one])
    events = kit.Talk(two).say("a cats expert for cats, please")
    assert len(kit.calls_of(events)) <= 2


def test_never_asks_twice(kit: Any) -> None:
    tools = [declared("get_weather", "The weather of a city.", city=STRING)]
    done = kit.exchange("get_weather", {"city": "Oslo"}, {"error": "try again"})
    (response,) = kit.ask(DemoModel(), kit.request("weather in Oslo", *done, tools=tools))
    assert kit.called(response) == []
    assert "`get_weather` failed: try again." in kit.text_of(response)


class Person(BaseModel):
    name: str
    age: int
    mood: Literal["happy", "sad"] = "happy"
    email: str | None = None
    tags: list[str] = Field(default_factory=list)


def test_answers_with_a_schema(kit: Any) -> None:
    root = LlmAgent(name="root", model="demo:", output_schema=Person)
    found = json.loads(kit.Talk(root).answer("Ada is 36 years old and sad; write to ada@example.com"))
    assert found == {"name": "Ada", "age": 36, "mood": "sad", "email": "ada@example.com"}
    Person.model_validate_json(kit.Talk(root).answer("somebody"))


class Report(BaseModel):
    city: str
    report: str


def test_answers_with_a_schema_after_a_tool(kit: Any) -> None:
    events = kit.Talk(agent(output_schema=Report)).say("weather in Oslo")
    assert ("get_weather", {"city": "Oslo"}) in kit.calls_of(events)
    assert json.loads(kit.text_of(events[-1])) == {"city": "Oslo", "report": "It is sunny in Oslo."}


@pytest.mark.parametrize("finisher", ["finish_task", "set_model_response"])
def test_hands_its_result_in(kit: Any, finisher: str) -> None:
    tools = [declared("get_weather", "The weather of a city.", city=STRING), declared(finisher, "Ends.", result=STRING)]
    model = DemoModel()
    (first,) = kit.ask(model, kit.request("weather in Oslo", tools=tools))
    assert kit.called(first) == [("get_weather", {"city": "Oslo"})]
    done = kit.exchange("get_weather", {"city": "Oslo"}, {"result": "sunny"})
    (second,) = kit.ask(model, kit.request("weather in Oslo", *done, tools=tools))
    assert kit.called(second) == [(finisher, {"result": "sunny"})]
    done += kit.exchange(finisher, {"result": "sunny"}, {"error": "not good enough"})
    (third,) = kit.ask(model, kit.request("weather in Oslo", *done, tools=tools))
    assert kit.called(third) == []


def test_leaves_a_loop_after_one_round(kit: Any) -> None:
    tools = [declared("exit_loop", "Exits the loop.")]
    (first,) = kit.ask(DemoModel(), kit.request("improve it", tools=tools))
    assert kit.called(first) == []
    spoken = Content(role="model", parts=[Part(text="improved")])
    (second,) = kit.ask(DemoModel(), kit.request("improve it", spoken, tools=tools))
    assert kit.called(second) == [("exit_loop", {})]


def test_obeys_the_calling_mode(kit: Any) -> None:
    tools = [declared("jump", "Jumps."), declared("sing", "Sings.")]

    def called(message: str, **calling: Any) -> list[Any]:
        config = ToolConfig(function_calling_config=FunctionCallingConfig(**calling))
        (response,) = kit.ask(DemoModel(), kit.request(message, tools=tools, tool_config=config))
        return [name for name, _ in kit.called(response)]

    assert called("please jump", mode="NONE") == []
    assert called("what a day", mode="ANY") == ["jump"]
    assert called("what a day", mode="ANY", allowed_function_names=["sing"]) == ["sing"]
    assert called("please jump", mode="AUTO") == ["jump"]


def test_streams(kit: Any) -> None:
    *chunks, whole = kit.Talk(agent(), sse=True).say("Hello")
    assert len(chunks) > 2
    assert all(chunk.partial for chunk in chunks)
    assert "".join(map(kit.text_of, chunks)) == kit.text_of(whole)
    assert not whole.partial


@pytest.mark.parametrize(
    ("response", "words"),
    [
        ({"city": "Oslo", "wind_speed": 3.5, "dry": True}, "`f` says: city: Oslo, wind speed: 3.5, dry: yes."),
        ({"result": [1, 2]}, "`f` says: 1, 2."),
        ({"result": None}, "`f` is done; it returned nothing."),
        ({"result": {"status": "ok", "message": "All of it is done"}}, "All of it is done."),
        ({"result": {"a": {"b": 1, "c": 2}}}, "`f` says: a: (b: 1, c: 2)."),
        ({"result": {"error": "no"}}, "`f` failed: no."),
        ({"status": "error", "code": 3}, "`f` failed: code: 3."),
        (None, "`f` has started; there is no result yet."),
    ],
)
def test_wording(response: dict[str, Any] | None, words: str) -> None:
    assert sentence(Exchange("f", {}, response)) == words


@pytest.mark.parametrize(
    "forms",
    [("city", "cities"), ("add", "adding", "added", "adds"), ("convert", "converts"), ("translate", "translation")],
)
def test_forms_of_a_word_have_one_stem(forms: tuple[str, ...]) -> None:
    assert len(set(map(stem, forms))) == 1


def test_a_schema_that_contains_itself_is_filled(kit: Any) -> None:
    node = {"type": "object", "properties": {"label": STRING, "next": {"$ref": "#/$defs/N"}}, "required": ["next"]}
    tool = declared("build_tree", "Builds a tree.", tree={"$ref": "#/$defs/N"})
    tool["parameters_json_schema"]["$defs"] = {"N": node}
    (response,) = kit.ask(DemoModel(), kit.request("build a tree", tools=[tool]))
    assert kit.called(response)[0][0] == "build_tree"


@pytest.mark.parametrize(
    "text", ["(" * 50_000, "1" * 50_000, "1 2 " * 10_000, "weather in Paris and " * 2_000, "'a' " * 9_000]
)
def test_a_long_message_is_read_at_once(kit: Any, text: str) -> None:
    tool = declared("get_weather", "The weather of a city.", city=STRING, expression=STRING, days={"type": "number"})
    start = time.process_time()
    kit.ask(DemoModel(), kit.request(f"weather {text}", tools=[tool]))
    assert time.process_time() - start < 20


def test_stop_words_say_nothing() -> None:
    assert stems("What is it that you can do for me?") == []


def test_is_the_default_and_wants_no_more_in_its_address() -> None:
    (provider,) = register_model_providers()
    assert provider.default is not None
    assert provider.default() == "demo:"
    with pytest.raises(ModelError, match="use 'demo:'"):
        create("demo:gpt")
