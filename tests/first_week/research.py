"""A research graph: questions are looked up side by side, a source that is away is tried again, a model sums up."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel

from newel import Agent, Runner, Workflow
from newel.testing import ScriptedModel
from newel.workflow import RetryConfig, node

away = 1


class Report(BaseModel):
    """What is found."""

    title: str
    facts: list[str]


def split(node_input: str) -> list[str]:
    """The topics of a question."""
    return [topic.strip() for topic in node_input.split("and")]


async def look_up(node_input: str) -> str:
    """What the library has about a topic."""
    global away
    if away:
        away -= 1
        raise ConnectionError("the library is closed")
    return f"{node_input} are wet"


patient = node(look_up, retry_config=RetryConfig(max_attempts=3, initial_delay=0.01, exceptions=[ConnectionError]))
workers = node(patient, parallel_worker=True, max_concurrency=2)
answer = Report(title="Water", facts=["rivers are wet", "lakes are wet"])
writer = Agent(
    name="writer",
    model=ScriptedModel([answer.model_dump_json()]),
    instruction="Sum up what was found.",
    output_schema=Report,
)
graph = Workflow(name="research", edges=[("START", split, workers, writer)])


async def main() -> None:
    runner = Runner(agent=graph, app_name="research", auto_create_session=True)
    failures: list[str] = []
    answers: list[str] = []
    async for event in runner.run_async(user_id="ann", session_id="1", new_message="rivers and lakes"):
        if event.error_code:
            failures.append(event.error_code)
        if event.is_final_response() and event.text:
            answers.append(event.text)
    await runner.close()
    report = Report.model_validate_json(answers[-1])
    print(report.title, len(report.facts), failures)


asyncio.run(main())
