"""budgets: what runs, sessions, users and apps may spend on models, exact across the processes that share a store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from newel.budgets import kinds
from newel.budgets.kinds import BudgetStore
from newel.budgets.settings import Settings
from newel.models.kinds import ModelPolicy
from newel_kernel import BaseSessionService, Descriptor, Kind, RequestProcessor, hookimpl
from newel_types import deferred

#: They load with the first limit.
_of_memory = deferred("newel.budgets.memory", "of_memory")
_of_database = deferred("newel.budgets.stored", "of_database")
_policy_of = deferred("newel.budgets.composing", "policy_of")
_processor = deferred("newel.budgets.composing", "processor")


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """The stores of budgets."""
    return [Kind(BudgetStore, kinds.register_budget_stores)]


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_budget_stores() -> list[BudgetStore]:
    """The stores `memory` and `database`."""

    def in_memory(service: BaseSessionService) -> Any:
        return _of_memory()(service)

    def in_database(service: BaseSessionService) -> Any:
        return _of_database()(service)

    return [BudgetStore(name="memory", open=in_memory), BudgetStore(name="database", open=in_database)]


@hookimpl
def register_model_call_policies(settings: Mapping[str, Settings]) -> list[ModelPolicy]:
    """The policy `budgets`, if there are limits."""
    own = settings["budgets"]
    return [_policy_of()(own)] if own.limits else []


@hookimpl
def register_request_processors(settings: Mapping[str, Settings]) -> list[RequestProcessor]:
    """The processor `budgets`, if there are limits."""
    return [_processor()()] if settings["budgets"].limits else []
