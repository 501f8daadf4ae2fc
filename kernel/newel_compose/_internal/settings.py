"""Settings: what a distribution says to each plugin, validated by the plugin's own model."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ValidationError

from newel_compose._internal.distribution import Distribution
from newel_compose._internal.faults import blamed
from newel_compose._internal.manager import Manager
from newel_kernel import ConfigurationError, HookSignatureError, did_you_mean


def validated_settings(chosen: Distribution, manager: Manager, sources: Mapping[str, str]) -> dict[str, BaseModel]:
    """Each plugin's settings, validated by the model it declares."""
    models = {name: model for name, model in manager.call("register_settings") if model is not None}
    settings: dict[str, BaseModel] = {}
    for name in chosen.settings:
        if name in sources and name not in models:
            raise ConfigurationError(f"{chosen.source}: the plugin {name!r} ({sources[name]}) has no settings")
    for name, model in models.items():
        if not isinstance(model, type) or not issubclass(model, BaseModel):
            what = f"register_settings returned {model!r}, which is no pydantic model class"
            raise blamed(HookSignatureError(f"the plugin {name!r}: {what}"), name, f"its {what}")
        try:
            settings[name] = model.model_validate(chosen.settings.get(name, {}))
        except ValidationError as error:
            details = _details(error, model)
            text = f"{chosen.source}: settings of {name!r} ({sources[name]}): {details}"
            raise blamed(ConfigurationError(text), name, f"its settings have to be given: {details}") from None
    return settings


def _details(error: ValidationError, model: type[BaseModel]) -> str:
    """What is wrong with settings; an unknown one with those that there are."""
    texts = []
    for problem in error.errors():
        where = ".".join(map(str, problem["loc"]))
        hint = ""
        if problem["type"] == "extra_forbidden" and len(problem["loc"]) == 1:
            names = sorted(model.model_fields)
            hint = did_you_mean(where, names) or f" (there are: {', '.join(names) or 'none'})"
        texts.append(f"{where}: {problem['msg']}{hint}")
    return "; ".join(texts)
