"""The client: a run of an agent whose tools are a server's, and what a bad, dead or forgetful server does to it."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.mcp.talks import Make, Talk, call, in_a_loop, responses, results

from newel.agents import RunConfig
from newel.events.progress import progress_of
from newel_kernel import StreamingMode
from newel_types import Content, Part


@in_a_loop
async def test_a_servers_tools_are_declared_and_called(stdio: Make) -> None:
    toolset = stdio("good")
    talk = Talk([toolset], call("echo", text="häl\n🎈"), call("weather", city="Bonn"))
    assert results(await talk.say()) == [{"result": "häl\n🎈"}, {"city": "Bonn", "celsius": 21.5}]
    await toolset.close()
    declared = talk.declared()["echo"]
    assert declared.parameters_json_schema["properties"]["text"]["type"] == "string"
    assert "Echoes the text." in declared.description
    assert "untrusted" in declared.description


@in_a_loop
async def test_it_works_over_http_and_the_session_is_ended(site: Make, http: Make) -> None:
    served = site()
    assert await responses(http(served), call("echo", text="x")) == [{"result": "x"}]
    methods = [request["method"] for request in served.seen]
    assert methods.count("DELETE") == 1


@in_a_loop
async def test_users_with_headers_of_their_own_have_sessions_of_their_own(site: Make, http: Make) -> None:
    served = site()

    async def headers(context: Any) -> dict[str, str]:
        return {"x-user": context.user_id}

    toolset = http(served, header_provider=headers)
    for user in ("ann", "bob"):
        found = results(await Talk([toolset], call("whoami"), user=user).say())
        assert found[0]["user"] == user
    await toolset.close()
    sessions: dict[str, set[str]] = {}
    for request in served.seen:
        if session := request["headers"].get("mcp-session-id"):
            sessions.setdefault(session, set()).add(request["headers"]["x-user"])
    assert sorted(map(sorted, sessions.values())) == [["ann"], ["bob"]]


@in_a_loop
async def test_the_list_is_asked_for_once(stdio: Make, tmp_path: Path) -> None:
    log = tmp_path / "log"
    toolset = stdio("raw", "plain", "--log", str(log))
    await Talk([toolset], call("echo", text="a"), call("echo", text="b")).say()
    await Talk([toolset], call("echo", text="c")).say()
    await toolset.close()
    assert log.read_text().count("tools/list") == 1
    assert log.read_text().count("begins") == 1


@in_a_loop
async def test_a_tool_that_appears_is_seen_at_the_next_request(stdio: Make) -> None:
    toolset = stdio("good")
    talk = Talk([toolset], call("grow"), call("grown", text="x"))
    assert results(await talk.say())[-1] == {"result": "x"}
    assert "grown" not in talk.declared(0)
    assert "grown" in talk.declared(1)
    await toolset.close()


@in_a_loop
async def test_a_cancelled_run_tells_the_server_and_the_next_one_works(stdio: Make, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    toolset = stdio("good", "--marks", str(marks))
    task = asyncio.create_task(Talk([toolset], call("slow", seconds=30, key="k")).say())
    while "begins k" not in (marks.read_text() if marks.exists() else ""):
        await asyncio.sleep(0.02)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 15
    while "cancelled k" not in marks.read_text():
        await asyncio.sleep(0.02)
    assert results(await Talk([toolset], call("echo", text="x")).say()) == [{"result": "x"}]
    await toolset.close()


@in_a_loop
async def test_a_call_is_not_repeated_when_the_server_dies(stdio: Make, tmp_path: Path) -> None:
    log = tmp_path / "log"
    toolset = stdio("raw", "crash_once", "--log", str(log))
    found = await responses(toolset, call("echo", text="a"), call("echo", text="b"))
    assert "ended with status 3" in found[0]["error"]
    assert "not known" in found[0]["error"]
    assert found[1] == {"content": [{"type": "text", "text": "b"}]}
    assert log.read_text().count("tools/call") == 2


@in_a_loop
async def test_a_trusted_servers_idempotent_tool_is_called_again(stdio: Make, tmp_path: Path) -> None:
    log = tmp_path / "log"
    found = await responses(stdio("raw", "hints", "--log", str(log), trusted=True), call("echo", text="a"))
    assert found == [{"content": [{"type": "text", "text": "a"}]}]
    assert log.read_text().count("tools/call") == 2


@in_a_loop
async def test_a_hint_alone_is_not_believed(stdio: Make, tmp_path: Path) -> None:
    log = tmp_path / "log"
    found = await responses(stdio("raw", "hints", "--log", str(log)), call("echo", text="a"))
    assert "error" in found[0]
    assert log.read_text().count("tools/call") == 1


@in_a_loop
async def test_a_forgotten_session_is_made_again(site: Make, http: Make) -> None:
    served = site()
    toolset = http(served)
    for text in ("a", "b", "c"):
        assert results(await Talk([toolset], call("echo", text=text)).say()) == [{"result": text}]
        served.forget()
    await toolset.close()


@in_a_loop
async def test_a_server_that_does_not_start_is_an_error_that_says_why(stdio: Make) -> None:
    toolset = stdio("raw", "dead", env={"MY_KEY": "TOPSECRET"})
    with pytest.raises(Exception, match=r"raw\.py dead") as told:
        await Talk([toolset]).say()
    await toolset.close()
    assert "ended with status 7" in str(told.value)
    assert "fatal: the key" in str(told.value)
    assert "TOPSECRET" not in str(told.value)


@in_a_loop
async def test_a_relative_path_gets_a_remedy(stdio: Make) -> None:
    from newel.mcp import McpToolset, StdioConnectionParams

    params = StdioConnectionParams(server_params={"command": "python", "args": ["server.py"]})  # type: ignore[arg-type]
    with pytest.raises(Exception, match="absolute paths, or a cwd"):
        await McpToolset(connection_params=params).get_tools()


@in_a_loop
async def test_a_missing_command_is_named(tidy: None) -> None:
    from newel.mcp import McpToolset, StdioConnectionParams

    params = StdioConnectionParams(server_params={"command": "no-such-command"})  # type: ignore[arg-type]
    with pytest.raises(Exception, match="there is no command 'no-such-command'"):
        await McpToolset(connection_params=params).get_tools()


@in_a_loop
async def test_a_refusal_says_401_and_no_token(site: Make, http: Make) -> None:
    toolset = http(site("--token", "RIGHT"), headers={"Authorization": "Bearer TOPSECRET"})
    with pytest.raises(Exception, match="answers 401") as told:
        await toolset.get_tools()
    await toolset.close()
    assert "TOPSECRET" not in str(told.value)


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("mute", "did not answer the tool 'echo' within 1 s"),
        ("odd", "gave no valid answer to the tool 'echo'"),
        ("error", "with the error -32000: no such luck"),
        ("crash", "was lost during the tool 'echo'"),
    ],
)
@in_a_loop
async def test_what_is_no_result_is_an_error_result(stdio: Make, mode: str, words: str) -> None:
    found = await responses(stdio("raw", mode, timeout=1), call("echo", text="x"))
    assert words in found[0]["error"]


@in_a_loop
async def test_a_time_out_counts_from_the_last_progress(stdio: Make) -> None:
    found = await responses(stdio("raw", "progress", timeout=0.9), call("echo", text="x"))  # it takes 1.2 s
    assert found == [{"content": [{"type": "text", "text": "x"}]}]


@in_a_loop
async def test_a_server_that_ignores_the_new_protocol_is_spoken_to_in_the_old_one(stdio: Make) -> None:
    found = await responses(stdio("raw", "ignores", timeout=1.5), call("echo", text="x"))
    assert found == [{"content": [{"type": "text", "text": "x"}]}]


@in_a_loop
async def test_the_process_sees_little(stdio: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "TOPSECRET")
    found = await responses(stdio("raw", "env", env={"NAMED": "yes"}), call("echo", text="x"))
    seen = json.loads(found[0]["content"][0]["text"])
    assert seen["env"]["NAMED"] == "yes"
    assert "MY_API_KEY" not in seen["env"]
    assert seen["files"] == []
    assert not Path(seen["cwd"]).exists()


@in_a_loop
async def test_a_server_that_ignores_sigterm_goes_with_its_children(stdio: Make) -> None:
    toolset = stdio("raw", "family")
    await Talk([toolset], call("echo", text="x")).say()
    began = time.monotonic()
    await toolset.close()
    assert time.monotonic() - began < 10


@in_a_loop
async def test_one_of_two_servers_dies_and_the_other_goes_on(stdio: Make) -> None:
    bad, good = stdio("raw", "crash", tool_name_prefix="bad"), stdio("good", tool_name_prefix="good")
    steps = [call("bad_echo", text="x"), call("good_echo", text="y")], call("good_echo", text="z")
    found = results(await Talk([bad, good], *steps).say())
    await bad.close()
    await good.close()
    assert "error" in found[0]
    assert found[1:] == [{"result": "y"}, {"result": "z"}]


@in_a_loop
async def test_names_are_made_fit_and_what_is_left_out_is_said(stdio: Make, caplog: pytest.LogCaptureFixture) -> None:
    toolset = stdio("raw", "names")
    talk = Talk([toolset])
    await talk.say()
    names = set(talk.declared())
    assert "echo" in names
    assert not names & {"transfer_to_agent", "adk_request_confirmation"}
    assert all(name.isascii() and name.replace("_", "a").isalnum() and len(name) <= 64 for name in names)
    assert len(names) == 5
    await toolset.close()
    assert "'transfer_to_agent': the name is reserved" in caplog.text
    assert "two tools of this name" in caplog.text


@in_a_loop
async def test_a_name_that_was_made_fit_is_called_by_its_own(stdio: Make, tmp_path: Path) -> None:
    log = tmp_path / "log"
    toolset = stdio("raw", "names", "--log", str(log))
    name = next(tool.name for tool in await toolset.get_tools() if tool.definition.name == "with space")
    assert results(await Talk([toolset], call(name, text="x")).say()) == [{"content": [{"type": "text", "text": "x"}]}]
    await toolset.close()
    assert "tools/call with space" in log.read_text()


@in_a_loop
async def test_one_bad_schema_drops_one_tool(stdio: Make, caplog: pytest.LogCaptureFixture) -> None:
    toolset = stdio("raw", "schemas")
    assert [tool.name for tool in await toolset.get_tools()] == ["good"]
    await toolset.close()
    for words in ("outside of itself", "which it does not have", "levels deep", "not a tool"):
        assert words in caplog.text


@in_a_loop
async def test_descriptions_are_cleaned_fenced_and_cut(stdio: Make) -> None:
    toolset = stdio("raw", "poison")
    (tool,) = await toolset.get_tools()
    await toolset.close()
    assert tool.description.isascii() or "…" in tool.description
    assert not set("\u200b\u202e\u2066\U000e0041") & set(tool.description)
    assert tool.description.count("</untrusted>") == 1
    assert tool.description.endswith("</untrusted>")
    assert len(tool.description) < 4_300


@in_a_loop
async def test_endless_pages_end(stdio: Make, caplog: pytest.LogCaptureFixture) -> None:
    toolset = stdio("raw", "pages")
    assert len(await toolset.get_tools()) == 100
    await toolset.close()
    assert "100 pages" in caplog.text


@in_a_loop
async def test_a_filter_and_a_prefix(stdio: Make) -> None:
    toolset = stdio("good", tool_filter=["echo", "effect"], tool_name_prefix="g")
    talk = Talk([toolset], call("g_echo", text="x"))
    assert results(await talk.say()) == [{"result": "x"}]
    await toolset.close()
    assert set(talk.declared()) == {"g_echo", "g_effect"}


@in_a_loop
async def test_progress_reaches_who_follows_a_streamed_run_and_is_not_stored(stdio: Make) -> None:
    toolset = stdio("good")
    slow = [call("slow", seconds=0.2, key=key) for key in ("k", "l")]
    talk = Talk([toolset], slow[:1], slow, "end")
    talk.session = await talk.runner.session_service.create_session(app_name="app", user_id="ada")
    message = Content(role="user", parts=[Part(text="go")])
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    events = [
        one
        async for one in talk.runner.run_async(
            user_id="ada", session_id=talk.session.id, new_message=message, run_config=config
        )
    ]
    await toolset.close()
    told = [found for event in events if (found := progress_of(event)) is not None]
    calls = [one for event in events for one in event.get_function_calls() if not event.partial]
    assert [one["progress"] for one in told if one["call_id"] == calls[0].id] == [1, 2, 3, 4]
    assert {one["call_id"] for one in told} == {one.id for one in calls}
    assert told[0] == {"call_id": calls[0].id, "tool": "slow", "progress": 1, "total": 4, "message": "step 1"}
    first = next(position for position, event in enumerate(events) if progress_of(event))
    assert first < next(position for position, event in enumerate(events) if event.get_function_responses())
    stored = await talk.runner.session_service.get_session(app_name="app", user_id="ada", session_id=talk.session.id)
    assert stored is not None
    assert not [event for event in stored.events if event.partial]
    assert events[-1].content.parts[0].text == "end"


@in_a_loop
async def test_progress_is_reported(stdio: Make) -> None:
    got: list[Any] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        got.append((done, total, message))

    await responses(stdio("good", progress_callback=note), call("slow", seconds=0.2, key="k"))
    assert got == [(step, 4, f"step {step}") for step in (1, 2, 3, 4)]


@in_a_loop
async def test_a_picture_becomes_an_artifact(stdio: Make) -> None:
    toolset = stdio("good")
    talk = Talk([toolset], call("picture"))
    (found,) = results(await talk.say())
    await toolset.close()
    assert "iVBOR" not in json.dumps(found)
    picture, text = found["content"]
    assert text == {"type": "text", "text": "and a text"}
    kept = await talk.runner.artifact_service.load_artifact(
        app_name="app", user_id="ada", session_id=talk.session.id, filename=picture["artifact"]
    )
    assert kept.inline_data.data.startswith(b"\x89PNG")


@in_a_loop
async def test_a_failure_of_a_tool_is_an_error_result(stdio: Make) -> None:
    (found,) = await responses(stdio("good"), call("fails"))
    assert set(found) == {"error"}


def test_each_loop_has_a_session_and_leaves_nothing(stdio: Make) -> None:
    toolset = stdio("good")
    for _ in range(2):
        assert results(asyncio.run(Talk([toolset], call("echo", text="x")).say())) == [{"result": "x"}]
    asyncio.run(toolset.close())
