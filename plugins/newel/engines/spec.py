"""InvocationSpec: an invocation that is to run, as plain data that an engine can keep and hand to any worker."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import to_json

from newel.engines.engine import SpecRefusedError
from newel.events.reserved import unreserved
from newel_kernel import brief, seam
from newel_types import well_formed

#: The most bytes of a spec's JSON. A message above that is kept as an artifact, and the spec names it.
MOST_BYTES = 64 * 1024
#: No limit is longer, in seconds: ten years. Engines add it to the time of day.
_LONGEST_SECONDS = 3650 * 86400.0


def _as_json(value: Any) -> Any:
    """The value as an engine gives it back; ValueError if JSON cannot hold it."""
    try:
        plain = json.loads(json.dumps(well_formed(value), allow_nan=False))
        to_json(plain)  # it is less deep than that allows
    except (TypeError, ValueError, RecursionError) as error:
        kinds = "texts, finite numbers, true, false, null, lists and objects of them"
        raise ValueError(f"must be JSON ({kinds}): {type(error).__name__}: {brief(str(error))}") from None
    return plain


#: An object of JSON.
_Object = Annotated[dict[str, Any], AfterValidator(_as_json)]


class InvocationSpec(BaseModel):
    """An invocation that is to run. It says what comes in and who may run it, never what happened.

    What may be submitted is checked at its submission: see `check_spec`. One that is stored can always be read, also by
    an older release: fields that this one does not know are in `model_extra`, and are stored again as they were.
    """

    model_config = ConfigDict(frozen=True, extra="allow", str_max_length=MOST_BYTES, defer_build=True)

    app_name: str = Field(min_length=1, max_length=200)
    user_id: str = Field(min_length=1, max_length=400)
    session_id: str = Field(min_length=1, max_length=400)
    #: The id that the invocation gets, or has; the same id again is the same run.
    invocation_id: str = Field(default_factory=lambda: f"e-{seam.new_id()}", min_length=1, max_length=200)
    #: What the user says, as the JSON of a Content; None with `message_artifact`, or if the log has it already.
    message: _Object | None = None
    #: The name of the session's artifact that holds the message, if it is too large.
    message_artifact: str | None = Field(default=None, max_length=400)
    state_delta: _Object | None = None
    custom_metadata: _Object | None = None
    streaming: bool = False
    #: The app's version and the digest of the lock of its distribution: only a worker that has both runs it.
    version: str = Field(default="", max_length=100)
    lock: str = Field(default="", max_length=200)
    #: How long the run may take from its submission to its end, in seconds by the engine's clock; None: no limit.
    seconds: float | None = Field(default=None, gt=0, le=_LONGEST_SECONDS, allow_inf_nan=False)
    #: From 1, first, to 5, last.
    priority: int = Field(default=3, ge=1, le=5)
    #: Whose share of the workers it takes; empty: nobody's in particular.
    tenant: str = Field(default="", max_length=200)
    #: Counts up when a run that has ended is run again by `retry`.
    attempt: int = Field(default=1, ge=1)

    @property
    def key(self) -> str:
        """What an engine knows the run by: a second submission with the same key is the same run."""
        return f"{self.app_name}:{self.invocation_id}"

    @property
    def queue(self) -> str:
        """The name of what its workers listen to: the same app, version and lock."""
        return queue_name(self.app_name, self.version, self.lock)


def spec_json(spec: InvocationSpec) -> str:
    """The spec's JSON for an engine to keep, without default values: an older worker need not know those fields."""
    return spec.model_dump_json(exclude_defaults=True)


def size_of(spec: InvocationSpec) -> int:
    """The bytes of the spec's fields as JSON."""
    return sum(_sizes(spec).values())


def _sizes(spec: InvocationSpec) -> dict[str, int]:
    fields = spec.model_dump(mode="json", exclude_defaults=True)
    return {name: len(to_json(value)) for name, value in fields.items()}


def new_spec(**fields: Any) -> InvocationSpec:
    """The spec with these fields; SpecRefusedError names those that are wrong."""
    if unknown := sorted(fields.keys() - InvocationSpec.model_fields.keys()):
        raise SpecRefusedError(f"{brief(unknown[0])}: a run has no such field")
    try:
        spec = InvocationSpec(**fields)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        texts = [f"{brief('.'.join(map(str, one['loc']))) or 'spec'}: {one['msg']}" for one in problems]
        raise SpecRefusedError("; ".join(texts)) from None
    try:
        unreserved(spec.custom_metadata)
    except ValueError as error:
        raise SpecRefusedError(f"custom_metadata: {error}") from None
    for name, value in spec:
        if isinstance(value, str) and "\0" in value:  # PostgreSQL has no such texts, and a key is a text there
            raise SpecRefusedError(f"{name}: must not contain the character NUL")
    sizes = _sizes(spec)
    if (size := sum(sizes.values())) > MOST_BYTES:
        name = max(sizes, key=sizes.__getitem__)
        raise SpecRefusedError(f"{name}: its {sizes[name]} bytes make {size}; a run may carry {MOST_BYTES}")
    return spec


def check_spec(spec: InvocationSpec) -> None:
    """Raise SpecRefusedError, which names the field, if this may not be submitted. Each engine's `submit` does so."""
    new_spec(**dict(spec))


#: What a second submission may say otherwise: how soon and how long it runs, and what only a worker reads.
_MAY_DIFFER = {"priority", "seconds", "attempt", "version", "lock", "streaming"}


def check_same(known: InvocationSpec, spec: InvocationSpec) -> None:
    """Raise SpecRefusedError, which names the field, if `spec` is not the submission `known` of that key again."""
    for name in InvocationSpec.model_fields:
        if name not in _MAY_DIFFER and getattr(known, name) != getattr(spec, name):
            raise SpecRefusedError(f"{name}: the run {brief(spec.key)!r} was submitted with another {name}")


def queue_name(app_name: str, version: str = "", lock: str = "") -> str:
    """The queue of the runs of an app that fit a version and a lock."""
    return "/".join(("newel", app_name, version, lock[:16])).rstrip("/")
