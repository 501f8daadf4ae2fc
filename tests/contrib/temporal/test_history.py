"""What Temporal keeps of a run: ids and numbers, and decisions that are the same whenever its history is read again."""

from __future__ import annotations

import asyncio
import json

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions
from tests.contrib.temporal.servers import Scripted, Server, a_spec, ended, until, working

from newel.engines import OVER, InvocationSpec, Outcome, PostponedError, RunState
from newel_kernel import ConfigurationError
from newel_temporal import TemporalEngine
from newel_temporal.workflow import Run

WORDS = "what the user says"


async def _history(engine: TemporalEngine, key: str) -> WorkflowHistory:
    return await (await engine.client()).get_workflow_handle(key).fetch_history()


async def _text(engine: TemporalEngine, key: str) -> str:
    """All that Temporal has of a run; the bytes of payloads as a person would read them."""
    client = await engine.client()
    description = (await client.get_workflow_handle(key).describe()).raw_description
    history = await client.get_workflow_handle(key).fetch_history()
    raw = b"".join(event.SerializeToString() for event in history.events) + description.SerializeToString()
    return raw.decode("utf-8", "replace")


def test_no_words_but_the_users_are_in_temporal(server: Server) -> None:
    async def main() -> None:
        engine, spec = server.engine(attempts=2), a_spec(message={"parts": [{"text": WORDS}]})
        agent = "what the agent says"

        async def script(spec: InvocationSpec) -> Outcome:
            local = f"{agent} and does"  # in the frame of the error
            try:
                raise KeyError(local)
            except KeyError as error:
                raise ConnectionError(f"could not store {local!r}") from error

        async with working(engine, Scripted(script), spec):
            await engine.submit(spec)
            assert (await until(engine, spec.key, *OVER)).state == RunState.FAILED
        text = await _text(engine, spec.key)
        assert "ConnectionError" in text
        assert agent not in text
        assert text.count(WORDS) == 2  # its order, and the one time that it was handed out

    asyncio.run(main())


def test_with_a_key_nobody_else_reads_the_users_words(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from cryptography.fernet import Fernet

    async def main() -> None:
        monkeypatch.setenv("KEYS", old := Fernet.generate_key().decode())
        engine = server.engine(encryption="KEYS")
        spec = a_spec(message={"parts": [{"text": WORDS}]}, user_id="ann-of-the-users")

        async def script(spec: InvocationSpec) -> Outcome:
            return ended()

        async with working(engine, Scripted(script), spec):
            await engine.submit(spec)
            await until(engine, spec.key, *OVER)
        text = await _text(engine, spec.key)
        assert WORDS not in text
        assert spec.user_id not in text
        monkeypatch.setenv("KEYS", f"{Fernet.generate_key().decode()},{old}")
        record = await server.engine(encryption="KEYS").record(spec.key)
        assert record is not None
        assert (record.spec, record.state) == (spec, RunState.ENDED)
        monkeypatch.setenv("KEYS", Fernet.generate_key().decode())
        with pytest.raises(ConfigurationError, match="another key"):
            await server.engine(encryption="KEYS").record(spec.key)

    asyncio.run(main())


def test_the_workflow_decides_the_same_over_its_history_and_takes_nothing_from_elsewhere(server: Server) -> None:
    """Replayed in Temporal's sandbox, which refuses clocks, chance and input."""

    async def main() -> None:
        engine, spec = server.engine(attempts=1, misfit=3), a_spec()
        raised = {"broken": ConnectionError(), "postponed": PostponedError("busy", 0.1)}
        left = {
            "failed": Outcome(state=RunState.FAILED, error="ValueError"),
            "paused": Outcome(state=RunState.PAUSED, waits_for=("call-1",)),
        }
        kinds = ("ended", "failed", "broken", "paused", "postponed", "cancelled", "late", "misfit")
        specs = {
            kind: spec.model_copy(
                update={"invocation_id": kind, "seconds": 1.5 if kind == "late" else None}
                | ({"version": "other"} if kind == "misfit" else {})
            )
            for kind in kinds
        }

        async def script(spec: InvocationSpec) -> Outcome:
            kind, is_first = spec.invocation_id, sum(one.key == spec.key for one in work.begun) == 1
            if kind in ("cancelled", "late"):
                await asyncio.sleep(3600)
            if is_first and kind in raised:
                raise raised[kind]
            return left.get(kind, ended()) if is_first else ended()

        work = Scripted(script)
        async with working(engine, work, spec):
            for one in specs.values():
                await engine.submit(one)
            await until(engine, specs["paused"].key, RunState.PAUSED)
            await engine.signal(specs["paused"].key)
            await until(engine, specs["cancelled"].key, RunState.RUNNING)
            await engine.cancel(specs["cancelled"].key)
            for one in specs.values():
                await until(engine, one.key, *OVER)
        runner = SandboxedWorkflowRunner(
            restrictions=SandboxRestrictions.default.with_passthrough_modules("newel_types", "newel_temporal.order")
        )
        replayer = Replayer(workflows=[Run], workflow_runner=runner)
        for one in specs.values():
            history = await _history(engine, one.key)
            await replayer.replay_workflow(history)
            assert json.loads(history.to_json())["events"]

    asyncio.run(main())
