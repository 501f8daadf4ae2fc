"""The settings of the plugin `openapi`, and how code in an invocation finds them."""

from __future__ import annotations

from pydantic import BaseModel, Field

from newel_kernel import ReadonlyContext


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of the tools of OpenAPI documents."""

    #: Servers allowed in addition to public ones: host names, host:port, addresses, networks.
    allow: list[str] = []
    #: Seconds that a request may take, redirects included.
    seconds: float = Field(default=30.0, gt=0)
    #: The most bytes of an answer that are read.
    max_bytes: int = Field(default=1_000_000, ge=1_000)
    #: The most characters of a tool's declaration, roughly; what a schema refers to beyond them is left open.
    declaration_characters: int = Field(default=32_000, ge=1_000)


DEFAULT = Settings.model_construct()  # skips validation, which would build a validator for no values


def settings_of(context: ReadonlyContext | None) -> Settings:
    """The settings in the distribution of a context; the defaults if the plugin is not enabled."""
    if context is None:
        return DEFAULT
    own = context._invocation_context.composition.settings.get("openapi")
    return own if isinstance(own, Settings) else DEFAULT
