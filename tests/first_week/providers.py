"""Two providers by base URL: a cheap model drafts, another one checks, each at the address of its environment."""

from __future__ import annotations

from pydantic import BaseModel

from newel import Agent, run


class Verdict(BaseModel):
    """Whether a draft will do."""

    fine: bool
    why: str


drafter = Agent(name="drafter", model="openai:gpt-5-mini", instruction="Write one sentence.")
checker = Agent(name="checker", model="anthropic:claude-sonnet-4-5", instruction="Judge it.", output_schema=Verdict)

draft: str = run(drafter, "Write about tea.")
verdict: Verdict = run(checker, draft)
print(draft, "|", verdict.fine, "|", verdict.why)
