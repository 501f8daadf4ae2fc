"""The plugin of LiteLLM: ``litellm:PROVIDER/MODEL``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel.models import litellm
from newel.models.kinds import ModelProvider
from newel_kernel import ModelError, hookimpl

if TYPE_CHECKING:
    from newel.models.contract import BaseLlm


@hookimpl
def register_model_providers() -> list[ModelProvider]:
    """The scheme ``litellm``; the package loads at the first call."""

    def create(address: str) -> BaseLlm:
        name = address.removeprefix("litellm:")
        if "/" not in name:
            raise ModelError(f"the model address {address!r} is wrong: write litellm:PROVIDER/MODEL")
        model = litellm.LiteLlm(model=name)
        model.check()
        return model

    return [ModelProvider(name="litellm", create=create, description="Any model of LiteLLM: litellm:PROVIDER/MODEL")]
