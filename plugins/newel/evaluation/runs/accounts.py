"""Accounts: the usage of a case's models, kept apart for the agent, the judges and the simulated user."""

from __future__ import annotations

from contextvars import ContextVar

from pydantic import Field

from newel.evaluation.cases.base_model import EvalBaseModel
from newel.evaluation.cases.eval_case import InvocationEvents
from newel.evaluation.inference.turn_recording import Span
from newel.evaluation.kinds import PriceTable
from newel.evaluation.plugins import plugin_registry
from newel.evaluation.service.base_eval_service import InferenceResult
from newel_types import GenerateContentResponseUsageMetadata

Used = GenerateContentResponseUsageMetadata


class Account(EvalBaseModel):
    """The usage of one kind of caller: calls, tokens, US dollars (None: no price is known), seconds of models."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """All tokens that count towards a token limit."""
        return self.input_tokens + self.output_tokens + self.reasoning_tokens

    def add(self, model: str, usage: Used | None, seconds: float) -> None:
        """Count one call."""
        self.calls += 1
        self.seconds += seconds
        if usage is None:
            return
        self.input_tokens += usage.prompt_token_count or 0
        self.output_tokens += usage.candidates_token_count or 0
        self.cached_tokens += usage.cached_content_token_count or 0
        self.reasoning_tokens += usage.thoughts_token_count or 0
        cost = cost_of(model, usage)
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost


class Accounts(EvalBaseModel):
    """The usage of a case, by the role of the caller: agent, judge, user."""

    roles: dict[str, Account] = Field(default_factory=dict)
    #: Seconds of the whole case, and of its tools.
    seconds: float = 0.0
    tool_seconds: float = 0.0
    #: The model and tool calls of each turn in which this run called the agent.
    spans: list[list[Span]] = Field(default_factory=list)

    def of(self, role: str) -> Account:
        """The account of a role."""
        return self.roles.setdefault(role, Account())

    @property
    def cost(self) -> float | None:
        """US dollars, None if no price is known."""
        costs = [one.cost for one in self.roles.values() if one.cost is not None]
        return sum(costs) if costs else None

    @property
    def tokens(self) -> int:
        """The number of all tokens."""
        return sum(one.tokens for one in self.roles.values())


def cost_of(model: str, usage: Used) -> float | None:
    """US dollars: as noted with the usage by the model's policy, else by the first table that knows the model."""
    noted = (usage.model_extra or {}).get("cost")
    if isinstance(noted, (int, float)):
        return float(noted)
    for table in plugin_registry().all(PriceTable):
        price = table.price(model)
        if price is not None:
            cached = usage.cached_content_token_count or 0
            fresh = (usage.prompt_token_count or 0) - cached
            output = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
            read = fresh * price.input + cached * (price.cached if price.cached is not None else price.input)
            return (read + output * price.output) / 1_000_000
    return None


#: The account of the case that this task runs.
accounts: ContextVar[Accounts | None] = ContextVar("evaluation_accounts", default=None)


def count_agent(inference: InferenceResult, usage: Accounts) -> None:
    """Count the agent's usage, as its events report it."""
    account = usage.of("agent")
    for turn in inference.inferences or ():
        account.seconds += turn.model_duration or 0.0
        usage.tool_seconds += turn.tool_duration or 0.0
        usage.seconds += turn.duration or 0.0
        data = turn.intermediate_data
        for event in data.invocation_events if isinstance(data, InvocationEvents) else ():
            if event.usage_metadata is not None or event.model_version:
                account.add(event.model_version or "", event.usage_metadata, 0.0)
