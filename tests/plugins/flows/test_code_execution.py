"""Code execution in conversations: real runners, scripted models."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import PrivateAttr

from newel.agents import LlmAgent
from newel.artifacts.in_memory_artifact_service import InMemoryArtifactService
from newel.code_executors import (
    BaseCodeExecutor,
    BuiltInCodeExecutor,
    CodeExecutionFile,
    CodeExecutionInput,
    CodeExecutionResult,
    SandboxCodeExecutor,
)
from newel.models import ModelCapabilities
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import Conversation, ScriptedModel
from newel_kernel import (
    ConfigurationError,
    Event,
    FeatureUnavailableError,
    LlmRequest,
    LlmResponse,
    RunConfig,
    StreamingMode,
)
from newel_types import Blob, Content, FunctionCall, GenerateContentResponseUsageMetadata, Outcome, Part

BLOCK = "Let me see:\n```python\nprint(6 * 7)\n```\nand so on"
CSV = b"city,people\nRome,3\nOslo,1\n"

SSE = RunConfig(streaming_mode=StreamingMode.SSE)


class Recording(BaseCodeExecutor):
    """Gives the results it was made with, the last one over and over, and keeps what it was given."""

    _results: list[Any] = PrivateAttr(default_factory=list)
    _given: list[CodeExecutionInput] = PrivateAttr(default_factory=list)
    _threads: list[int] = PrivateAttr(default_factory=list)

    def __init__(self, *results: Any, **fields: Any) -> None:
        super().__init__(**fields)
        self._results = list(results)

    def execute_code(self, invocation_context: Any, code_execution_input: CodeExecutionInput) -> CodeExecutionResult:
        self._given.append(code_execution_input)
        self._threads.append(threading.get_ident())
        result = self._results[0] if len(self._results) == 1 else self._results.pop(0)
        if callable(result):
            result = result()
        if isinstance(result, BaseException):
            raise result
        return result  # type: ignore[no-any-return]


OK = CodeExecutionResult(stdout="42\n")
FAILED = CodeExecutionResult(stderr="ZeroDivisionError")


class Talk(Conversation):
    """One session with an agent whose model plays `steps`."""

    def __init__(
        self, executor: Any, *steps: Any, artifacts: bool = True, distribution: Any = "adk", **model: Any
    ) -> None:
        self.artifacts = InMemoryArtifactService() if artifacts else None
        self.agent = LlmAgent(name="root", model=ScriptedModel(steps, **model), code_executor=executor)
        super().__init__(
            self.agent,
            distribution=distribution,
            app_name="t",
            user_id="u",
            session_id="s",
            artifact_service=self.artifacts,
        )

    @property
    def state(self) -> dict[str, Any]:
        return dict(self.session.state)

    def artifact(self, name: str) -> bytes | None:
        assert self.artifacts is not None
        found = asyncio.run(self.artifacts.load_artifact(app_name="t", user_id="u", session_id="s", filename=name))
        return found.inline_data.data if found is not None and found.inline_data is not None else None


def shape(events: list[Event]) -> list[Any]:
    """Text, ('code', code) or (outcome, output) of each part, event by event."""
    return [[told(part) for part in (event.content.parts or ())] if event.content else None for event in events]


def told(part: Part) -> Any:
    if part.executable_code is not None:
        return "code", part.executable_code.code
    if part.code_execution_result is not None:
        result = part.code_execution_result
        return result.outcome.name.removeprefix("OUTCOME_") if result.outcome else None, result.output
    return part.text


def sent(request: LlmRequest) -> list[Any]:
    return [(content.role, [told(part) for part in content.parts or ()]) for content in request.contents]


class TestResponse:
    def test_code_runs_and_the_loop_goes_on_with_its_result(self) -> None:
        executor = Recording(OK)
        talk = Talk(executor, BLOCK, "It is 42.")
        events = talk.say("go")
        assert shape(events) == [
            ["Let me see:\n", ("code", "print(6 * 7)")],
            [("OK", "Output of the code:\n42\n\n")],
            ["It is 42."],
        ]
        assert [event.content.role for event in events if event.content] == ["model", "model", "model"]
        assert {event.author for event in events} == {"root"}
        assert executor._given == [CodeExecutionInput(code="print(6 * 7)")]
        assert sent(talk.model.requests[1]) == [
            ("user", ["go"]),
            ("model", ["Let me see:\n", "```tool_code\nprint(6 * 7)\n```"]),
            ("user", ["```tool_output\nOutput of the code:\n42\n\n\n```"]),
        ]

    def test_the_session_keeps_parts_not_the_text_that_the_model_was_sent(self) -> None:
        talk = Talk(Recording(OK), BLOCK, "It is 42.", "Yes.")
        talk.say("go")
        talk.say("sure?")
        assert len(sent(talk.model.requests[2])) == 5
        assert set(talk.state) <= {"_code_execution_context"}

    def test_text_without_code_is_final(self) -> None:
        executor = Recording(OK)
        assert shape(Talk(executor, "Just text.").say("go")) == [["Just text."]]
        assert executor._given == []

    def test_code_runs_off_the_event_loop(self) -> None:
        executor = Recording(OK)
        Talk(executor, BLOCK, "done").say("go")
        assert executor._threads != [threading.get_ident()]

    def test_chunks_are_left_alone(self) -> None:
        executor = Recording(OK)
        events = Talk(executor, ["```python\n", "print(1)\n```"], "done").say("go", run_config=SSE)
        assert [event.partial for event in events if event.partial] == [True, True]
        assert shape([event for event in events if not event.partial]) == [
            [("code", "print(1)")],
            [("OK", "Output of the code:\n42\n\n")],
            ["done"],
        ]
        assert len(executor._given) == 1

    def test_the_code_event_tells_the_tokens_of_the_answer(self) -> None:
        content = Content(role="model", parts=[Part(text=BLOCK)])
        usage = GenerateContentResponseUsageMetadata(total_token_count=9)
        events = Talk(Recording(OK), LlmResponse(content=content, usage_metadata=usage), "done").say("go")
        assert [e.usage_metadata.total_token_count for e in events if e.usage_metadata is not None] == [9]

    def test_delimiters_are_the_executors(self) -> None:
        executor = Recording(OK, code_block_delimiters=[("<run>", "</run>")], execution_result_delimiters=("<", ">"))
        talk = Talk(executor, "<run>1</run>", "done")
        talk.say("go")
        assert [texts for _, texts in sent(talk.model.requests[1])[1:]] == [
            ["<run>1</run>"],
            ["<Output of the code:\n42\n\n>"],
        ]

    @pytest.mark.parametrize(("distribution", "looked"), [("standard", 1), ("adk", 0)])
    @pytest.mark.parametrize("calls_first", [True, False])
    def test_calls_next_to_code_run_after_it(self, distribution: str, looked: int, calls_first: bool) -> None:
        seen: list[str] = []

        def look(place: str) -> str:
            """Look."""
            seen.append(place)
            return "found"

        call = Part(function_call=FunctionCall(name="look", args={"place": "Rome"}))
        parts = [call, Part(text=BLOCK)] if calls_first else [Part(text=BLOCK), call]
        answer = LlmResponse(
            content=Content(role="model", parts=parts),
            usage_metadata=GenerateContentResponseUsageMetadata(total_token_count=7),
        )
        talk = Talk(Recording(OK), answer, "done", distribution=distribution)
        talk.agent.tools = [look]
        turn = talk.say("go")
        assert len(seen) == looked
        assert shape(list(turn))[0] == ["Let me see:\n", ("code", "print(6 * 7)")]
        assert turn[1].content.parts[0].code_execution_result.outcome == Outcome.OUTCOME_OK
        assert [len(event.get_function_calls()) for event in turn][:3] == [0, 0, looked]
        assert sum(e.usage_metadata.total_token_count or 0 for e in turn if e.usage_metadata is not None) == 7
        assert turn[-1].content.parts[0].text == "done"


class TestFailures:
    def test_an_error_is_told_and_counted_until_no_more_code_is_run(self) -> None:
        executor = Recording(FAILED)
        talk = Talk(executor, BLOCK, BLOCK, BLOCK)
        events = talk.say("go")
        assert len(executor._given) == 2
        assert shape(events)[1] == [("FAILED", "ZeroDivisionError")]
        assert shape(events)[-1] == [BLOCK]

    def test_a_success_forgets_the_errors(self) -> None:
        executor = Recording(FAILED, OK, FAILED, OK)
        assert shape(Talk(executor, BLOCK, BLOCK, BLOCK, BLOCK, "done").say("go"))[-1] == ["done"]

    def test_the_next_turn_starts_anew(self) -> None:
        executor = Recording(FAILED)
        talk = Talk(executor, BLOCK, "gave up", BLOCK, BLOCK, "gave up")
        talk.say("go")
        talk.say("go")
        assert len(executor._given) == 3

    @pytest.mark.parametrize("error", [RuntimeError("broken"), SystemExit(3), KeyError("x"), StopIteration()])
    def test_an_executor_that_raises_gives_an_error_result(self, error: BaseException) -> None:
        talk = Talk(Recording(error), BLOCK, "sorry", "still here")
        events = talk.say("go")
        assert events[1].content is not None
        assert shape(events)[1][0][0] == "FAILED"
        assert type(error).__name__ in shape(events)[1][0][1]
        assert shape(talk.say("go"))[-1] == ["still here"]

    def test_an_executor_that_hangs_gives_an_error_result(self) -> None:
        release = threading.Event()
        talk = Talk(Recording(release.wait), BLOCK, "sorry", distribution=self.impatient())
        events = talk.say("go")  # it returns before the executor does
        release.set()
        assert "longer than 0.2 seconds" in shape(events)[1][0][1]
        assert shape(events)[-1] == ["sorry"]

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def impatient(self) -> Path:
        path = self.folder / "impatient.yaml"
        path.write_text("name: impatient\nextends: adk\nsettings:\n  code_execution:\n    timeout_seconds: 0.2\n")
        return path

    def test_an_executor_that_returns_something_else_is_named(self) -> None:
        events = Talk(Recording("text"), BLOCK, "sorry").say("go")
        assert shape(events)[1] == [("FAILED", "Recording.execute_code returned str, not a CodeExecutionResult.")]

    def test_an_executor_that_cannot_be_used_ends_the_run(self) -> None:
        with pytest.raises(FeatureUnavailableError, match="pip install"):
            Talk(Recording(FeatureUnavailableError("pip install x")), BLOCK).say("go")

    def test_something_else_in_its_place_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="'root' is str, not a BaseCodeExecutor"):
            Talk("sandbox", "hi").say("go")

    def test_output_is_bounded(self) -> None:
        events = Talk(Recording(CodeExecutionResult(stdout="x" * 1_000_000)), BLOCK, "done").say("go")
        output = shape(events)[1][0][1]
        assert len(output) < 66_000
        assert "characters left out" in output


class TestFiles:
    FILE = CodeExecutionFile(name="plot.png", content=b"png", mime_type="image/png")

    def test_output_files_become_artifacts(self) -> None:
        encoded = CodeExecutionFile(name="t.txt", content="aGk=")
        talk = Talk(Recording(CodeExecutionResult(stdout="x", output_files=[self.FILE, encoded])), BLOCK, "done")
        events = talk.say("go")
        assert events[1].actions.artifact_delta == {"plot.png": 0, "t.txt": 0}
        assert (talk.artifact("plot.png"), talk.artifact("t.txt")) == (b"png", b"hi")
        assert "`plot.png`, `t.txt`" in shape(events)[1][0][1]

    def test_without_a_service_the_model_is_told(self) -> None:
        talk = Talk(Recording(CodeExecutionResult(output_files=[self.FILE])), BLOCK, "done", artifacts=False)
        events = talk.say("go")
        assert "Not saved, for there is no artifact service: `plot.png`" in shape(events)[1][0][1]

    def test_without_files_no_service_is_needed(self) -> None:
        assert shape(Talk(Recording(OK), BLOCK, "done", artifacts=False).say("go"))[-1] == ["done"]


class TestState:
    def test_a_stateful_executor_gets_one_id_per_session(self) -> None:
        executor = Recording(OK, stateful=True)
        talk = Talk(executor, BLOCK, "done", BLOCK, "done")
        talk.say("go")
        talk.say("go")
        first, second = [given.execution_id for given in executor._given]
        assert first == second
        assert talk.state["_code_execution_context"] == {"execution_session_id": first}

    def test_environments_of_two_owners_and_of_a_fork_are_never_one(self) -> None:
        async def main() -> None:
            executor, store = Recording(OK, stateful=True), InMemorySessionService()
            model = ScriptedModel([BLOCK, "done"] * 5)
            agent = LlmAgent(name="coder", model=model, code_executor=executor)
            places = [("app", "ann", "s"), ("app", "bob", "s"), ("other", "ann", "s"), ("app", "ann", "fork")]
            for app, user, session in places:
                runner = Runner(app_name=app, agent=agent, session_service=store, auto_create_session=True)
                if session == "fork":
                    await runner.fork_session(user_id=user, session_id="s", new_session_id=session)
                async for _ in runner.run_async(user_id=user, session_id=session, new_message="go"):
                    pass
            assert len({given.execution_id for given in executor._given}) == len(places)
            again = Runner(app_name="app", agent=agent, session_service=store)
            async for _ in again.run_async(user_id="bob", session_id="s", new_message="go"):
                pass
            assert executor._given[-1].execution_id == executor._given[1].execution_id

        asyncio.run(main())

    def test_an_id_that_the_app_has_set_stays(self) -> None:
        executor = Recording(OK, stateful=True)
        talk = Talk(executor, BLOCK, "done")
        talk.say("go", state_delta={"_code_execution_context": {"execution_session_id": "mine"}})
        assert executor._given[0].execution_id == "mine"

    def test_the_sandbox_keeps_variables_apart_by_user(self) -> None:
        set_it, read_it = "```python\nx = 5\n```", "```python\nprint(x)\n```"
        talk = Talk(SandboxCodeExecutor(stateful=True), set_it, "ok", read_it, "ok", read_it, "ok")
        talk.say("go")
        assert "5\n" in shape(talk.say("go"))[1][0][1]
        assert "NameError" in shape(talk.say("go", user_id="v"))[1][0][1]


def data_message(*data: bytes) -> Content:
    blobs = [Part(inline_data=Blob(data=item, mime_type="text/csv")) for item in data]
    return Content(role="user", parts=[Part(text="look"), *blobs])


class TestDataFiles:
    def test_a_table_is_explored_in_the_sandbox_before_the_model_is_asked(self) -> None:
        code = "```python\nprint(sum(int(row['people']) for row in load_table('data_1_2.csv')))\n```"
        talk = Talk(SandboxCodeExecutor(optimize_data_file=True, stateful=True), code, "4 people.")
        events = talk.say(data_message(CSV))
        explored = shape(events)[1][0]
        assert explored[0] == "OK"
        assert "2 rows" in explored[1]
        assert "people: int, 2 filled, 2 distinct" in explored[1]
        first = sent(talk.model.requests[0])
        assert "`data_1_2.csv`" in first[0][1][1]
        assert [role for role, _ in first] == ["user", "model", "user"]
        assert shape(events)[3] == [("OK", "Output of the code:\n4\n\n")]
        assert talk.state["_code_execution_context"]["processed_input_files"] == ["data_1_2.csv"]

    def test_a_table_is_explored_once_and_stays_readable(self) -> None:
        executor = Recording(OK, optimize_data_file=True)
        talk = Talk(executor, "seen", BLOCK, "done")
        talk.say(data_message(CSV))
        talk.say("more")
        assert [[file.name for file in given.input_files] for given in executor._given] == [["data_1_2.csv"]] * 2
        assert executor._given[1].code == "print(6 * 7)"

    def test_the_same_data_twice_is_one_file(self) -> None:
        executor = Recording(OK, optimize_data_file=True)
        Talk(executor, "seen").say(data_message(CSV, CSV, b"a\n1\n"))
        assert [given.input_files[0].name for given in executor._given] == ["data_1_2.csv", "data_1_4.csv"]

    def test_the_session_keeps_the_data(self) -> None:
        talk = Talk(Recording(OK, optimize_data_file=True), "seen", "seen")
        talk.say(data_message(CSV))
        talk.say("again")
        assert "`data_1_2.csv`" in sent(talk.model.requests[1])[0][1][1]

    def test_other_executors_get_the_data_as_it_is(self) -> None:
        talk = Talk(Recording(OK), "seen")
        talk.say(data_message(CSV))
        part = (talk.model.requests[0].contents[0].parts or [])[1]
        assert part.inline_data is not None
        assert part.inline_data.data == CSV

    def test_what_cannot_be_explored_counts_as_an_error(self) -> None:
        talk = Talk(Recording(FAILED, optimize_data_file=True), "pity")
        events = talk.say(data_message(CSV))
        assert events[1].content is not None
        assert shape(events)[1] == [("FAILED", "ZeroDivisionError")]
        assert shape(events)[-1] == ["pity"]


class TestBuiltIn:
    def test_the_models_own_tool_is_declared(self) -> None:
        talk = Talk(BuiltInCodeExecutor(), "done", model="gemini-2.5-flash")
        events = talk.say("go")
        tools = talk.model.requests[0].config.tools or []
        assert [tool.model_dump(exclude_none=True) for tool in tools] == [{"code_execution": {}}]
        assert shape(events) == [None, ["done"]]

    def test_a_model_without_one_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match=r"'scripted' runs no code itself.*SandboxCodeExecutor"):
            Talk(BuiltInCodeExecutor(), "done").say("go")

    @pytest.mark.parametrize("distribution", ["adk", "standard"])
    @pytest.mark.parametrize("can", [True, False])
    def test_what_the_model_says_of_itself_goes_before_its_name(self, can: bool, distribution: str) -> None:
        class Own(ScriptedModel):
            networked: ClassVar[bool] = True
            capabilities: ClassVar[ModelCapabilities] = ModelCapabilities(code_execution=can)

        talk = Talk(BuiltInCodeExecutor(), distribution=distribution)
        talk.agent.model = own = Own(["done"], model="house-model" if can else "gemini-2.5-flash")
        if can:
            talk.say("go")
            assert own.requests[0].config.tools
        else:
            with pytest.raises(ConfigurationError, match="runs no code itself"):
                talk.say("go")

    def test_its_own_code_and_results_stay_parts(self) -> None:
        code = Part.from_executable_code(code="1", language="PYTHON")  # type: ignore[arg-type]
        result = Part.from_code_execution_result(outcome=Outcome.OUTCOME_OK, output="1")
        talk = Talk(BuiltInCodeExecutor(), [code, result, Part(text="one")], "yes", model="gemini-2.5-flash")
        talk.say("go")
        talk.say("sure?")
        assert sent(talk.model.requests[1])[1] == ("model", [("code", "1"), ("OK", "1"), "one"])

    def test_images_become_artifacts(self) -> None:
        image = Part(inline_data=Blob(data=b"png", mime_type="image/png", display_name="user:plot.png"))
        talk = Talk(BuiltInCodeExecutor(), [Part(text="Here:"), image], model="gemini-2.5-flash")
        events = talk.say("go")
        assert events[0].actions.artifact_delta == {"plot.png": 0}
        assert shape(events)[-1] == ["Here:", "Saved as artifact: plot.png. "]
        assert talk.artifact("plot.png") == b"png"


class TestSandboxInAConversation:
    def test_an_endless_loop_costs_its_time_and_no_more(self) -> None:
        executor = SandboxCodeExecutor(timeout_seconds=0.3)
        events = Talk(executor, "```python\nwhile True: pass\n```", BLOCK, "It is 42.").say("go")
        assert shape(events)[1][0][0] == "FAILED"
        assert shape(events)[3] == [("OK", "Output of the code:\n42\n\n")]
        assert shape(events)[-1] == ["It is 42."]

    def test_other_sessions_go_on_meanwhile(self) -> None:
        slow = Talk(SandboxCodeExecutor(timeout_seconds=1), "```python\nwhile True: pass\n```", "done")
        quick = Talk(Recording(OK), "hello")

        async def both() -> list[str]:
            done: list[str] = []

            async def drive(talk: Talk, name: str) -> None:
                async for _ in talk.runner.run_async(user_id="u", session_id=name, new_message="go"):
                    pass
                done.append(name)

            await asyncio.gather(drive(slow, "slow"), drive(quick, "quick"))
            return done

        assert asyncio.run(both()) == ["quick", "slow"]
