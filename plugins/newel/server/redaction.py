"""Redaction: the secrets of credentials leave the process with no event."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from pydantic.alias_generators import to_camel

from newel.questions.names import CREDENTIAL_CALL
from newel_kernel import Event
from newel_types import AuthCredential, HttpAuth, HttpCredentials, OAuth2Auth, Part, ServiceAccountCredential

_MODELS = (AuthCredential, HttpAuth, HttpCredentials, OAuth2Auth, ServiceAccountCredential)


def without_secrets(event: Event) -> Event:
    """The event, or a copy without the secrets of the credentials that it asks for or brings."""
    actions = event.touched_actions
    parts = event.content.parts if event.content is not None else None
    configs = actions is not None and bool(actions.requested_auth_configs)
    if not configs and not _asks(parts or ()):
        return event
    copy = event.model_copy(deep=True)
    for config in copy.actions.requested_auth_configs.values() if configs else ():
        for name in ("raw_auth_credential", "exchanged_auth_credential"):
            if (credential := getattr(config, name)) is not None:
                setattr(config, name, credential.sealed())
    for part in (copy.content.parts or ()) if copy.content is not None else ():
        if not _names_credentials(part):
            continue
        if part.function_call is not None:
            part.function_call.args = _stripped(part.function_call.args)
        if part.function_response is not None:
            part.function_response.response = _stripped(part.function_response.response)
    return copy


def _asks(parts: Sequence[Part]) -> bool:
    for part in parts:  # noqa: SIM110 - each event passes here: a generator costs as much as the rest
        if part.text is None and _names_credentials(part):
            return True
    return False


def _names_credentials(part: Part) -> bool:
    call = part.function_call or part.function_response
    return call is not None and call.name == CREDENTIAL_CALL


def _stripped(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _stripped(one) for name, one in value.items() if name not in _secret_names()}
    return [_stripped(one) for one in value] if isinstance(value, list) else value


@cache
def _secret_names() -> frozenset[str]:
    names = {name for model in _MODELS for name in model.secret_fields}
    return frozenset(names | {to_camel(name) for name in names})
