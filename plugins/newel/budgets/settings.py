"""The settings of budgets."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from newel.contexts.limits import Limit


class ModelPrice(BaseModel, extra="forbid"):
    """The price of a model in US dollars for a million tokens."""

    #: Of the request.
    input: float = Field(ge=0)
    #: Of the answer.
    output: float = Field(ge=0)
    #: Of what the provider reads from its cache; None: as the rest of the request.
    cached: float | None = Field(default=None, ge=0)


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of budgets. Without a limit, here or in a `RunConfig`, nothing is counted."""

    #: The limits, all of which hold.
    limits: tuple[Limit, ...] = ()
    #: By a model's name or address: prices that are not those of genai-prices, such as of a server of one's own.
    prices: dict[str, ModelPrice] = Field(default_factory=dict)
    #: How many seconds a call is held for a process that gives no sign; then it counts as spent at its most.
    lease_seconds: float = Field(default=30.0, ge=0.5, le=3_600)
    #: How many seconds a call waits for others that may use up what is left, before it is refused.
    wait_seconds: float = Field(default=600.0, ge=0)
    #: The tokens of a model's window, for models whose window is not known.
    window: int = Field(default=128_000, ge=1_000)
    #: Live runs, which budgets cannot count: refuse them if a limit holds, or let them be, uncounted.
    live: Literal["refuse", "uncounted"] = "refuse"
