"""redact: e-mail addresses and keys are masked in what a model sees and in exported pages; the session keeps them."""

from __future__ import annotations

from functools import lru_cache
from typing import get_args

from pydantic import BaseModel, ConfigDict, field_validator

from newel.web.kinds import Redaction
from newel_kernel import (
    Context,
    Event,
    InvocationContext,
    Json,
    Key,
    LlmRequest,
    RequestProcessor,
    hookimpl,
)
from newel_kernel import Settings as AllSettings
from newel_redact.masking import Masker, Tally
from newel_redact.patterns import Kind
from newel_types import Content, FrozenContent

#: The plugin's name also if the module is given directly, as in ``compose(plugins=[plugin])``.
name = "redact"
_TALLY = Key[Tally]("what was masked", Tally)
_CLEAN = Key[dict[Masker, dict[int, Content]]]("clean contents", dict)


class Settings(BaseModel):
    """Settings of redact."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kinds: tuple[Kind, ...] = ("email", "api_key", "token", "private_key", "secret")
    #: The text that replaces a value; ``{kind}`` is replaced by its kind.
    replacement: str = "[{kind} masked]"
    #: Templates and instruction functions bring state into the instruction, so it is masked too.
    system_instruction: bool = True

    @field_validator("replacement")
    @classmethod
    def _is_no_value(cls, replacement: str) -> str:
        every = get_args(Kind)
        tally = Tally()
        for kind in every:
            Masker(every, "").value({"password": replacement.replace("{kind}", kind)}, tally)
        if tally.counts:
            raise ValueError("the replacement looks like a value that is masked; use words, as in '[{kind} masked]'")
        return replacement


@lru_cache(maxsize=64)
def _masker(settings: Settings) -> Masker:
    return Masker(settings.kinds, settings.replacement)


def masked(ctx: InvocationContext) -> dict[str, int]:
    """How many different values were masked so far in this invocation, by kind."""
    tally = ctx.stash.get(_TALLY, None)
    return tally.counts if tally is not None else {}


async def run(ctx: InvocationContext, request: LlmRequest) -> None:
    """Mask the contents and the system instruction of `request`."""
    settings = ctx.composition.settings_of(name, Settings)
    masker, tally = _masker(settings), ctx.stash[_TALLY]
    if settings.system_instruction and request.config.system_instruction is not None:
        config = request.config
        config.system_instruction = masker.instruction(config.system_instruction, tally)
    clean = _clean(ctx, masker)
    # Read through `list.copy`: an element that is read through the list itself becomes a copy.
    for index, content in enumerate(list.copy(request.contents)):
        if id(content) in clean:
            continue
        own = masker.content(content, tally)
        if own is not None:
            request.contents[index] = own
        elif content.__class__ is FrozenContent:
            clean[id(content)] = content


def _clean(ctx: InvocationContext, masker: Masker) -> dict[int, Content]:
    """By identity, the session's contents in which nothing was found; they are frozen and need no second look."""
    return ctx.session.stash[_CLEAN].setdefault(masker, {})


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The processor `redact`, right after `contents`: what follows (such as a context cache) sees masked contents."""
    return [RequestProcessor(name=name, run=run, after=("contents",))]


@hookimpl
def register_redactions(settings: AllSettings) -> list[Redaction]:
    """Masks pages that are exported, as requests are."""
    own = settings[name]
    assert isinstance(own, Settings)
    masker = _masker(own)

    def redact(data: Json) -> Json:
        masked: Json = masker.value(data, Tally())
        return masked

    return [Redaction(name=name, redact=redact)]


@hookimpl(trylast=True)
async def before_model_callback(callback_context: Context, llm_request: LlmRequest) -> None:
    """Mask what tools, later processors and callbacks have added since; it runs last before the model is called."""
    await run(callback_context.get_invocation_context(), llm_request)


@hookimpl
async def on_event_callback(invocation_context: InvocationContext, event: Event) -> None:
    """Note the invocation's counts in the event's `custom_metadata`; the last event then has the total."""
    counts = masked(invocation_context)
    if counts and not event.partial:
        # Set, not returned: an answer would end the round, and other plugins would not see the event.
        event.custom_metadata = {**(event.custom_metadata or {}), name: counts}
