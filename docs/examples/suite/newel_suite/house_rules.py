"""house_rules: every model gets the rules of the house, after the agent's own instruction."""

from __future__ import annotations

from pydantic import BaseModel

from newel_kernel import InvocationContext, LlmRequest, RequestProcessor, hookimpl


class Settings(BaseModel, extra="forbid"):
    """Settings of house_rules."""

    #: One sentence each.
    rules: list[str] = []


def run(ctx: InvocationContext, request: LlmRequest) -> None:
    """Append the rules. It has nothing to await, so it is a plain function."""
    if rules := ctx.composition.settings_of("house_rules", Settings).rules:
        request.append_instructions(["The rules of the house:", *(f"- {rule}" for rule in rules)])


@hookimpl
def register_settings() -> type[BaseModel]:
    """The settings."""
    return Settings


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The processor `house_rules`: after `identity` where that is enabled, and always before the conversation."""
    return [RequestProcessor(name="house_rules", run=run, after=("identity?",), before=("contents",))]
