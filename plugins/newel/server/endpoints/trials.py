"""Trials: whether a change of the distribution would compose, before somebody is told to make it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from pydantic import BaseModel, ConfigDict, Field

from newel.server.calls import Call, endpoint
from newel_compose import compose, describe_error
from newel_kernel import NewelError


class Trial(BaseModel):
    """A change of the server's distribution: plugins left out, and the order of the request chain."""

    model_config = ConfigDict(extra="forbid")

    disable: list[str] = Field(default_factory=list)
    request_chain: list[str] = Field(default_factory=list)


class TrialAnswer(BaseModel):
    """Whether it composes; the YAML of the distribution, or what is wrong with it."""

    accepted: bool
    yaml: str
    problem: str


@endpoint(body=Trial, answer=TrialAnswer)
async def try_composition(call: Call) -> object:
    """Compose the server's distribution with a change, without using the result."""
    changes = {name: value for name, value in call.body.model_dump().items() if value}
    text = yaml.safe_dump(
        {"extends": call.server.composition.distribution.name, **changes}, sort_keys=False, default_flow_style=None
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "newel.yaml"
        path.write_text(text, encoding="utf-8")
        try:
            compose(path)
        except NewelError as error:
            return TrialAnswer(accepted=False, yaml=text, problem=describe_error(error))
    return TrialAnswer(accepted=True, yaml=text, problem="")
