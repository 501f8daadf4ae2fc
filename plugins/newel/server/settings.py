"""Settings of the API server."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from newel.server.security.jwt_settings import JwtSettings


class Settings(BaseModel):
    """What a distribution sets for the API server."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    user_of: str = Field("", description="The `UserOf` that says who calls; empty: the user whom the request names.")
    jwt: JwtSettings | None = Field(
        None, description="The identity provider whose tokens say who calls, with `user_of: jwt`."
    )
    on_disconnect: Literal["cancel", "detach"] = Field(
        "cancel", description="What becomes of a run whose client has left; a request may say otherwise."
    )
    agent_paths: bool = Field(
        False, description="Whether events say where in the tree their agent is (`nodeInfo.path`), as google-adk 2.x's."
    )
    heartbeat: float = Field(15.0, gt=0, description="Seconds of silence after which a stream sends a comment.")
