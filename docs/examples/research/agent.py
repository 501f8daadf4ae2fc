"""A research graph: a question becomes topics, workers read about each side by side, an editor writes the report.

newel run docs/examples/research "rivers, lakes and glaciers"
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from newel import Context, Event, Workflow
from newel.workflow import DEFAULT_ROUTE, START, RetryConfig, node

#: The library: what a search would find. Your own tool would ask a real one.
LIBRARY = {
    "rivers": ["Rivers carry water to the sea.", "The Nile is 6,650 km long."],
    "lakes": ["Lakes hold most of the fresh water that is not ice."],
    "glaciers": ["Glaciers hold two thirds of the fresh water."],
}
ENOUGH = 1


class Notes(BaseModel):
    """What a worker found about a topic."""

    topic: str
    facts: list[str] = []


def split(ctx: Context, node_input: str) -> list[str]:
    """The topics of the question; a question without any goes another way."""
    topics = [word for word in re.split(r"\W+|\band\b", node_input.lower()) if word]
    ctx.state["question"] = node_input
    ctx.route = "topics" if topics else "nothing"
    return topics


@node(timeout=30, retry_config=RetryConfig(max_attempts=3, initial_delay=0.05))
async def read(node_input: str) -> dict[str, Any]:
    """Read about one topic; where its source is away it is tried again."""
    return Notes(topic=node_input, facts=await search(node_input)).model_dump()


#: Reads about each topic of a list, three at a time.
read_all = node(read, parallel_worker=True, max_concurrency=3)


async def search(topic: str) -> list[str]:
    """Search the library."""
    return LIBRARY.get(topic, [])


def check(ctx: Context, node_input: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Whether there is enough for a report: topics without a fact are left out."""
    topics = [notes for notes in node_input if len(notes["facts"]) >= ENOUGH]
    ctx.state["left_out"] = [notes["topic"] for notes in node_input if notes not in topics]
    ctx.route = "enough" if topics else "too_little"
    return topics


def write(ctx: Context, node_input: list[dict[str, Any]]) -> Iterator[Event]:
    """The report, as a message to the user."""
    parts = [f"{notes['topic'].capitalize()}: {' '.join(notes['facts'])}" for notes in node_input]
    left_out = ctx.state.get("left_out")
    if left_out:
        parts.append(f"Nothing was found about {', '.join(left_out)}.")
    yield Event(message="\n".join(parts))


def give_up(ctx: Context) -> Iterator[Event]:
    """The answer where there is nothing to report."""
    yield Event(message=f"The library has nothing about {ctx.state['question']!r}.")


root_agent = Workflow(
    name="research",
    description="Writes a report about topics.",
    edges=[
        (START, split, {"topics": read_all, DEFAULT_ROUTE: give_up}),
        (read_all, check, {"enough": write, DEFAULT_ROUTE: give_up}),
    ],
)
