"""Settings: a distribution's settings for each plugin, validated by the plugin's own model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pydantic import BaseModel, ValidationError

from newel_compose._internal.distribution import Distribution
from newel_compose._internal.faults import blaming, faults_of, quoted, with_fault
from newel_compose._internal.manager import Manager
from newel_compose._internal.setting_sources import resolved, setting_source
from newel_kernel import CompositionError, ConfigurationError, HookSignatureError, Json, NewelError, did_you_mean


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
    errors: list[NewelError] = [
        ConfigurationError(f"{distribution.label}: the plugin {name!r} ({sources[name]}) has no settings")
        for name in distribution.settings
        if name in sources and name not in declared
    ]
    for name, model in declared.items():
        try:
            with blaming(name, "failed in register_settings"):  # its class, validators and defaults are its own
                models[name], values = _validated(distribution, name, model, sources[name], name in manager.strange)
        except NewelError as error:
            errors.append(error)
            continue
        if values is not None:
            settings[name] = values
    if len(errors) > 1:
        raise CompositionError([problem for one in errors for problem in (*faults_of(one),) or (str(one),)])
    if errors:
        raise errors[0]
    return _Settings(models, settings)


def _validated(
    distribution: Distribution, name: str, model: object, source: str, is_strange: bool
) -> tuple[type[BaseModel], BaseModel | None]:
    """A plugin's class of settings, and its settings: None if they are the defaults, which newel's own make later."""
    if not isinstance(model, type) or not issubclass(model, BaseModel):
        what = f"register_settings returned {quoted(model)}, which is not a pydantic model class"
        raise with_fault(HookSignatureError(f"the plugin {name!r}: {what}"), name, f"its {what}")
    is_needed = is_strange or any(field.is_required() for field in model.model_fields.values())
    if name not in distribution.settings and not is_needed:
        return model, None
    values, hidden = _resolved(distribution, name, model)
    try:
        return model, model.model_validate(values)
    except ValidationError as error:
        details = _details(error, model, lambda key: setting_source(distribution, name, key))
        for text in filter(None, hidden):
            details = details.replace(text, "***")
        text = f"{distribution.source}: settings of {name!r} ({source}): {details}"
        raise with_fault(ConfigurationError(text), name, f"it needs settings: {details}") from None


def _resolved(distribution: Distribution, name: str, model: type[BaseModel]) -> tuple[Json, list[str]]:
    try:
        return resolved(distribution, name, model)
    except ConfigurationError as error:
        text = f"{distribution.label}: settings of {name!r}: {error}"
        raise with_fault(ConfigurationError(text), name, f"its settings: {error}") from None


def _details(error: ValidationError, model: type[BaseModel], source: Callable[[str], tuple[str, bool]]) -> str:
    """The problems of settings; for an unknown one with a similar name or the known names.

    A value that stands elsewhere is named by its place.
    """
    texts = []
    for problem in error.errors():
        where = ".".join(map(str, problem["loc"]))
        hint = ""
        if problem["type"] == "extra_forbidden" and len(problem["loc"]) == 1:
            names = sorted(model.model_fields)
            hint = did_you_mean(where, names) or f" (there are: {', '.join(names) or 'none'})"
        place, is_elsewhere = source(str(problem["loc"][0])) if problem["loc"] else ("", False)
        texts.append(f"{where}{f' ({place})' if is_elsewhere else ''}: {problem['msg']}{hint}")
    return "; ".join(texts)
