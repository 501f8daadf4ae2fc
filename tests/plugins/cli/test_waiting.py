"""What an invocation waits for, told by `newel run` and `newel chat`, and answered there."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from newel.sessions import SqliteSessionService
from newel_testkit import OAuthServer

SECRET = "k-very-secret-1"

CODE = """
from newel import App
from newel.agents import LlmAgent
from newel.apps import ResumabilityConfig
from newel.auth import AuthConfig, AuthCredential
from newel.auth.auth_schemes import APIKey, HTTPBase
from newel.tools import AuthenticatedFunctionTool, FunctionTool
from newel.tools.get_user_choice_tool import get_user_choice_tool

KEY = AuthConfig(auth_scheme=APIKey(in_="header", name="X-Key"), credential_key="weather")
BASIC = AuthConfig(auth_scheme=HTTPBase(scheme="basic"), credential_key="door")


def delete(path: str, depth: int = 1) -> str:
    '''Delete a folder.'''
    return f"deleted {path} {depth}"


def ask(tool_context) -> str:
    '''Ask by itself.'''
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Is it safe?", payload={"lines": 3})
    return f"safe: {tool_context.tool_confirmation}"


def get_weather(city: str, credential: AuthCredential) -> str:
    '''Get the weather.'''
    return f"rain, {len(credential.api_key)}"


def open_door(credential: AuthCredential) -> str:
    '''Open the door.'''
    given = credential.http.credentials
    return f"{given.username} {len(given.password)}"


tools = [
    FunctionTool(delete, require_confirmation=True), ask, get_user_choice_tool,
    AuthenticatedFunctionTool(get_weather, auth_config=KEY), AuthenticatedFunctionTool(open_door, auth_config=BASIC),
]
root_agent = LlmAgent(name="janitor", tools=tools)
app = App(name="house", root_agent=root_agent, resumability_config=ResumabilityConfig(is_resumable=True))
"""

SHOP = """
from newel import Workflow
from newel.events import RequestInput


def ask(node_input):
    yield RequestInput(interrupt_id="size", message="Which size?", response_schema=int)


def order(node_input: int) -> str:
    return f"one of size {node_input}"


root_agent = Workflow(name="shop", edges=[("START", ask, order)])
"""

DELETE = "- calls: [{call: delete, args: {path: /a}}, {call: delete, args: {path: /b}}]\n- text: tidy\n"
CHOICE = "- call: get_user_choice\n  args: {options: [tea, coffee]}\n"
WEATHER = "- call: get_weather\n  args: {city: Paris}\n- text: it rains\n"


@pytest.fixture
def app(project: Any) -> str:
    project.write("app/agent.py", CODE)
    return "app"


@pytest.fixture
def begun(project: Any, app: str, scripted: Callable[[str], str]) -> Callable[..., tuple[Any, list[str], list[str]]]:
    """Runs one message in the session s: the result, the ids that wait, and how to answer."""

    def begin(steps: str, *options: str) -> tuple[Any, list[str], list[str]]:
        model = ("--model", scripted(steps))
        result = project.newel("run", app, "go", "--session", "s", *model, *options)
        scripted("- text: tidy\n")  # what the model says in every later run
        return result, re.findall(r"\[(\S+)\] - ", result.stderr), ["run", app, "--session", "s", *model, *options]

    return begin


def answers(result: Any) -> list[Any]:
    events = [json.loads(line) for line in result.stdout.splitlines()]
    parts = [part for event in events for part in event.get("content", {}).get("parts", ())]
    return [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]


def test_run_tells_what_waits_and_the_command_that_it_prints_answers_it(project: Any, begun: Any) -> None:
    result, ids, _ = begun(DELETE, "--user", "ann", "--json")
    assert result.exit_code == 3
    assert "adk_request_confirmation" in result.stdout
    first, second = result.stderr.splitlines()
    assert first.startswith(f'waiting: approve delete(path="/a")? [{ids[0]}] - newel run app --session s --answer ')
    command = shlex.split(second.split(" - ", 1)[1].split(" (or")[0])
    assert command[:6] == ["newel", "run", "app", "--session", "s", "--answer"]
    result = project.newel(*command[1:], "--json")
    assert (result.exit_code, answers(result)) == (3, [{"result": "deleted /b 1"}])
    assert result.stderr.count("\n") == 1  # the other one
    result = project.newel(*command[1:5], "--answer", f"{ids[0]}=no", *command[7:])
    assert (result.exit_code, result.stdout, result.stderr) == (0, "tidy\n", "")


def test_several_answers_are_one_message(project: Any, begun: Any) -> None:
    _, (one, two), command = begun(DELETE)
    edited = json.dumps({"confirmed": True, "editedArgs": {"path": "/c"}})
    result = project.newel(*command, "--answer", f"{one}=no", "--answer", f"{two}={edited}", "--json")
    assert result.exit_code == 0
    assert answers(result) == [{"error": "This tool call is rejected."}, {"result": "deleted /c 1"}]


def test_a_tool_s_own_hint_and_payload_are_told(begun: Any) -> None:
    result, _, _ = begun("- call: ask\n- text: ok\n")
    assert 'approve ask()?; hint: Is it safe?; payload: {"lines": 3} [' in result.stderr


def test_what_is_to_be_approved_is_told_whole_and_visible(begun: Any) -> None:
    result, _, _ = begun(f'- call: delete\n  args: {{path: "{"x" * 500}\\u202e\\nevil\\x9b"}}\n- text: ok\n')
    assert f'{"x" * 500}\\u202e\\nevil\\u009b"' in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(("answer", "value"), [("2", "coffee"), ("tea", "tea"), ("water", "water")])
def test_a_choice(project: Any, begun: Any, answer: str, value: str) -> None:
    result, (call_id,), command = begun(CHOICE)
    assert "get_user_choice:; 1) tea; 2) coffee [" in result.stderr
    assert result.exit_code == 3
    assert project.newel(*command, "--answer", f"{call_id}={answer}").stdout == "tidy\n"
    assert asyncio.run(_told(project)) == [{"result": value}]


async def _told(project: Any) -> list[Any]:
    """The responses of the user in the session s."""
    store = SqliteSessionService(str(project.path / ".newel" / "sessions.db"))
    session = await store.get_session(app_name="house", user_id="user", session_id="s")
    await store.close()
    assert session is not None
    return [r.response for event in session.events if event.author == "user" for r in event.get_function_responses()]


def test_a_question_of_a_workflow(project: Any) -> None:
    project.write("shop.py", SHOP)
    result = project.process("run", "shop:root_agent", "shoes", "--session", "s")
    assert result.returncode == 3
    assert 'waiting: Which size?; as JSON schema: {"type": "integer"} [size] - newel run' in result.stderr
    command = ("run", "shop:root_agent", "--session", "s", "--answer")
    wrong = project.process(*command, "size=large")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "the answer is 'large', not of type integer" in wrong.stderr
    right = project.process(*command, "size=38", "--json")
    assert (right.returncode, "one of size 38" in right.stdout) == (0, True)


def test_a_credential_is_refused_on_the_command_line(project: Any, begun: Any) -> None:
    result, (call_id,), command = begun(WEATHER)
    assert "newel chat app --session s --model" in result.stderr
    assert "(or set NEWEL_CREDENTIAL_WEATHER and send the message again)" in result.stderr
    error = _refused(project, *command, "--answer", f"{call_id}={SECRET}")
    assert "shell's history" in error
    assert "NEWEL_CREDENTIAL_WEATHER" in error
    assert SECRET not in error


WRONG = {
    "an unknown id": ("adk-nope=yes", "nothing waits for 'adk-nope'; open: adk-"),
    "no verdict": ("{id}=perhaps", "answer yes, no, or JSON"),
    "no JSON": ('{id}={{"confirmed"', "it is not JSON"),
    "an unknown field": ('{id}={{"allowed": true}}', "allowed: Extra inputs are not permitted"),
    "arguments that do not fit": ('{id}={{"confirmed": true, "editedArgs": {{"pth": 1}}}}', "there is no pth"),
    "another call": ('{id}={{"confirmed": true, "originalFunctionCall": {{"name": "x"}}}}', "name differs"),
    "no id": ("yes", "write it as CALL_ID=ANSWER"),
    "no answer": ("{id}=", "write it as CALL_ID=ANSWER"),
}


def test_wrong_answers_change_nothing(project: Any, begun: Any) -> None:
    _, (call_id, other), command = begun(DELETE)
    for answer, expected in WRONG.values():
        good = ("--answer", f"{other}=yes")
        assert expected in _refused(project, *command, *good, "--answer", answer.format(id=call_id))
    assert "answered twice" in _refused(project, *command, *("--answer", f"{call_id}=yes") * 2)
    assert "not both" in _refused(project, *command, "hello", "--answer", f"{call_id}=yes")
    assert "there is no session 't'" in _refused(project, "run", "app", "--session", "t", "--answer", "x=yes")
    assert "needs --session ID" in _refused(project, "run", "app", "--answer", "x=yes")
    assert project.newel(*command, "--answer", f"{call_id}=yes", "--answer", f"{other}=yes").stdout == "tidy\n"
    assert "nothing waits in this session" in _refused(project, *command, "--answer", f"{call_id}=yes")


def _refused(project: Any, *args: str) -> str:
    result = project.newel(*args)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.output
    return str(result.stderr)


def test_an_answered_session_does_not_count_as_waiting_for_ever(project: Any, begun: Any) -> None:
    _, _, command = begun(DELETE)
    later = project.newel(*command[:2], "else", *command[2:4], "--model", "echo:")
    assert (later.exit_code, later.stderr) == (0, "")


def test_a_piped_chat_says_what_waits(project: Any, app: str, scripted: Callable[[str], str]) -> None:
    model = scripted(DELETE + "- text: something else\n")
    result = project.newel("chat", app, "--session", "s", "--model", model, stdin="go\n\nelse\n")
    assert result.exit_code == 0
    assert result.stderr.count("waiting: approve delete(") == 2
    assert "yes /" not in result.stdout
    assert "adk_request_confirmation" not in result.stdout


def test_a_chat_asks_for_approval(app: str, scripted: Callable[[str], str], terminal_of: Any) -> None:
    terminal = terminal_of(app, "--session", "s", "--model", scripted(DELETE))
    terminal.prompted("you>")
    terminal.send("go\r")
    terminal.expect('? approve delete(path="/a")?')
    terminal.prompted("[e]dit>")
    terminal.send("perhaps\r")
    terminal.expect("answer yes, no")
    terminal.prompted("[e]dit>")
    terminal.send("e\r")
    terminal.expect('{"path": "/a"}')
    terminal.send('\x15{"pth": 1}\r')
    terminal.expect("there is no pth")
    terminal.prompted("arguments>")
    terminal.send('\x15{"path": "/c", "depth": 2}\r')
    terminal.expect('? approve delete(path="/b")?')
    terminal.prompted("[e]dit>")
    terminal.send("\r")
    terminal.expect("left open")
    terminal.expect("deleted /c 2")
    terminal.prompted("you>")
    terminal.send("\r")  # asks again
    terminal.expect('? approve delete(path="/b")?')
    terminal.prompted("[e]dit>")
    terminal.send("\x03")
    terminal.expect("left open")
    terminal.prompted("you>")
    terminal.send("\x04")
    terminal.expect("to continue")
    assert terminal.close() == 0
    again = terminal_of(app, "--session", "s", "--model", scripted("- text: tidy\n"))
    again.expect('? approve delete(path="/b")?')  # a session that is taken up
    again.prompted("[e]dit>")
    again.send("n\r")
    again.expect("is rejected")
    again.expect("tidy")
    again.prompted("you>")
    again.send("\x04")
    again.expect("to continue")
    assert again.close() == 0


def test_a_chat_asks_for_input_until_it_fits(project: Any, terminal_of: Any) -> None:
    project.write("shop.py", SHOP)
    terminal = terminal_of("shop:root_agent")
    terminal.prompted("you>")
    terminal.send("shoes\r")
    terminal.expect("? Which size?")
    terminal.prompted("answer>")
    terminal.send("large\r")
    terminal.expect("not of type integer")
    terminal.prompted("answer>")
    terminal.send("38\r")
    terminal.prompted("you>")
    terminal.send("\x04")
    terminal.expect("to continue")
    assert terminal.close() == 0


def test_a_chat_takes_credentials_that_nobody_sees(
    project: Any, app: str, scripted: Callable[[str], str], terminal_of: Any
) -> None:
    steps = "- calls: [{call: get_weather, args: {city: Paris}}, {call: open_door}]\n- text: all done\n"
    terminal = terminal_of(app, "--model", scripted(steps))
    terminal.prompted("you>")
    terminal.send("go\r")
    terminal.expect("the credential 'weather' is needed: API key")
    terminal.prompted("API key>")
    terminal.send(f"{SECRET}\r")
    terminal.prompted("user>")
    terminal.send("ada\r")
    terminal.prompted("password>")
    terminal.send(f"pw-{SECRET}\r")
    terminal.expect(f"rain, {len(SECRET)}")
    terminal.expect(f"ada {len(SECRET) + 3}")
    terminal.expect("all done")
    terminal.prompted("you>")
    terminal.send("\x04")
    terminal.expect("to continue")
    assert terminal.close() == 0
    assert SECRET not in terminal.seen
    for file in (project.path / ".newel").iterdir():
        assert SECRET.encode() not in file.read_bytes(), file


OAUTH = """
from newel.agents import LlmAgent
from newel.auth import AuthConfig, AuthCredential, OAuth2Auth
from newel.auth.auth_schemes import OAuth2, OAuthFlowAuthorizationCode, OAuthFlows
from newel.tools import AuthenticatedFunctionTool

flow = OAuthFlowAuthorizationCode(authorizationUrl="URL/auth", tokenUrl="URL/token", scopes={"read": "Read."})
client = OAuth2Auth(client_id="client", client_secret="client-secret", redirect_uri="REDIRECT")
config = AuthConfig(
    auth_scheme=OAuth2(flows=OAuthFlows(authorizationCode=flow)), credential_key="calendar",
    raw_auth_credential=AuthCredential(auth_type="oauth2", oauth2=client),
)


def look(credential: AuthCredential) -> str:
    '''Look.'''
    return "token of " + str(len(credential.oauth2.access_token))


root_agent = LlmAgent(name="x", tools=[AuthenticatedFunctionTool(look, auth_config=config)])
"""


def test_a_chat_shows_where_to_consent(
    project: Any, scripted: Callable[[str], str], terminal_of: Any, tmp_path: Path
) -> None:
    project.write("newel.yaml", "name: m\nextends: standard\nsettings: {auth: {allow_hosts: ['127.0.0.1']}}\n")
    with OAuthServer() as server:
        project.write("cal/agent.py", OAUTH.replace("URL", server.url).replace("REDIRECT", server.redirect_uri))
        terminal = terminal_of("cal", "--model", scripted("- call: look\n- text: I need it\n- text: seen\n"))
        terminal.prompted("you>")
        terminal.send("go\r")
        terminal.expect("consent at: ")
        terminal.prompted("sent back to>")
        shown = terminal.seen.partition("consent at: ")[2].split("\n")[0].strip()
        terminal.send("http://127.0.0.1/none\r")
        terminal.expect("has no code")
        terminal.prompted("sent back to>")
        terminal.send("http://127.0.0.1/none?code=a&state=b\r")
        terminal.expect("answers another request")
        terminal.prompted("sent back to>")
        terminal.send(f"{server.consent(shown)}\r")
        terminal.expect("token of ")
        terminal.prompted("you>")
        terminal.send("\x04")
        terminal.expect("to continue")
        assert terminal.close() == 0
        assert not [secret for secret in server.issued if secret in terminal.seen]
