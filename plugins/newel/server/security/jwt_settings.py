"""The settings of the tokens that say who calls."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class JwtSettings(BaseModel):
    """The identity provider whose tokens say who calls."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    issuer: str = Field(description="The `iss` of its tokens.")
    audience: str = Field(description="The `aud` of tokens for this server.")
    jwks_url: str = Field(description="Where its public keys are.", pattern="^https?://")
    claim: str = Field("sub", description="The claim that is the user's id.")
    leeway: float = Field(30.0, ge=0, description="Seconds by which clocks may differ.")
    allow: tuple[str, ...] = Field((), description="Hosts or networks that `jwks_url` may reach although not public.")
