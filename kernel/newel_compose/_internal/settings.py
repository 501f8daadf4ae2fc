"""Settings: a distribution's settings for each plugin, validated by the plugin's own model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import BaseModel, ValidationError

from newel_compose._internal.distribution import Distribution
from newel_compose._internal.faults import with_fault
from newel_compose._internal.manager import Manager
from newel_kernel import ConfigurationError, HookSignatureError, did_you_mean


class _Settings(Mapping[str, BaseModel]):
    """The settings of plugins. Settings that the distribution leaves at their defaults are made on first access."""

    def __init__(self, models: Mapping[str, type[BaseModel]], settings: dict[str, BaseModel]) -> None:
        self._models = models
        self._settings = settings

    def __getitem__(self, name: str) -> BaseModel:
        if name not in self._settings:
            self._settings[name] = self._models[name]()
        return self._settings[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._models)

    def __len__(self) -> int:
        return len(self._models)


def validated_settings(
    distribution: Distribution, manager: Manager, sources: Mapping[str, str]
) -> Mapping[str, BaseModel]:
    """Each plugin's settings, validated by the model it declares."""
    declared = {name: model for name, model in manager.call("register_settings") if model is not None}
    models: dict[str, type[BaseModel]] = {}
    settings: dict[str, BaseModel] = {}
    for name in distribution.settings:
        if name in sources and name not in declared:
            raise ConfigurationError(f"{distribution.source}: the plugin {name!r} ({sources[name]}) has no settings")
    for name, model in declared.items():
        if not isinstance(model, type) or not issubclass(model, BaseModel):
            what = f"register_settings returned {model!r}, which is not a pydantic model class"
            raise with_fault(HookSignatureError(f"the plugin {name!r}: {what}"), name, f"its {what}")
        models[name] = model
        if name not in distribution.settings and not any(field.is_required() for field in model.model_fields.values()):
            continue
        try:
            settings[name] = model.model_validate(distribution.settings.get(name, {}))
        except ValidationError as error:
            details = _details(error, model)
            text = f"{distribution.source}: settings of {name!r} ({sources[name]}): {details}"
            raise with_fault(ConfigurationError(text), name, f"it needs settings: {details}") from None
    return _Settings(models, settings)


def _details(error: ValidationError, model: type[BaseModel]) -> str:
    """The problems of settings; for an unknown one with a similar name or the known names."""
    texts = []
    for problem in error.errors():
        where = ".".join(map(str, problem["loc"]))
        hint = ""
        if problem["type"] == "extra_forbidden" and len(problem["loc"]) == 1:
            names = sorted(model.model_fields)
            hint = did_you_mean(where, names) or f" (there are: {', '.join(names) or 'none'})"
        texts.append(f"{where}: {problem['msg']}{hint}")
    return "; ".join(texts)
