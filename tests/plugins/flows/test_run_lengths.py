"""Which steps of an isolated run are the last ones, as far as earlier runs tell."""

from __future__ import annotations

import pytest

from newel.agents import LlmAgent
from newel.models.wire.cache_marks import CONTINUES
from newel.testing import Conversation, ScriptedModel
from newel.workflow import START, Workflow
from newel_kernel import LlmRequest
from newel_types import FunctionCall, Part


def look(page: int) -> str:
    """Looks something up."""
    return f"page {page}"


class Watched:
    """A graph of one agent that looks up as many pages as it is told."""

    def __init__(self) -> None:
        self.continued: list[bool] = []
        self.left = 0
        agent = LlmAgent(name="reader", model=ScriptedModel([self._answer] * 30), tools=[look])
        self.talk = Conversation(Workflow(name="desk", edges=[(START, agent)]))

    def run(self, pages: int) -> list[bool]:
        """For each request of a run, whether it is taken to be continued."""
        self.left, self.continued = pages, []
        self.talk.say("Read.")
        return self.continued

    def _answer(self, request: LlmRequest) -> Part | str:
        self.continued.append(request.stash.get(CONTINUES, True))
        if self.left == 0:
            return "Done."
        self.left -= 1
        return Part(function_call=FunctionCall(name="look", args={"page": self.left}))


@pytest.mark.parametrize("pages", [1, 2, 4])
def test_a_run_is_taken_to_end_where_the_one_before_it_did(pages: int) -> None:
    watched = Watched()
    assert watched.run(pages) == [True] * (pages + 1)  # nothing is known yet
    assert watched.run(pages) == [True] * pages + [False]
    assert watched.run(pages) == [True] * pages + [False]


def test_a_longer_and_a_shorter_run_are_learnt_from() -> None:
    watched = Watched()
    watched.run(1)
    assert watched.run(3) == [True, False, True, True]
    assert watched.run(0) == [True]
    assert watched.run(2) == [False, True, True]
