"""Keys of services, as people paste them: blanks around a key are dropped, impossible characters are reported."""

from __future__ import annotations

import unicodedata

from pydantic import SecretStr

from newel_kernel import ModelError

_REMEDY = "copy the key again, without quotes, spaces and line breaks"


def plain_key(key: str, model: str, source: str) -> str:
    """`key` without blanks around it; a ModelError says which character cannot be sent, and nothing else of the key.

    `source` is where the key comes from: a variable of the environment, or a field of the model.
    """
    key = key.strip()
    for place, letter in enumerate(key, 1):
        if not "!" <= letter <= "~":
            name = unicodedata.name(letter, "a control character")
            raise ModelError(
                f"the API key of the model {model!r} (from {source}) cannot be sent: character {place} of {len(key)} "
                f"is U+{ord(letter):04X} ({name.lower()}); {_REMEDY}",
                model=model,
                remedy=_REMEDY,
            )
    return key


def given_key(key: SecretStr | None, model: str, field: str = "api_key") -> str | None:
    """The key in a field of a model, empty if it holds nothing but blanks; None if none was given."""
    return plain_key(key.get_secret_value(), model, f"the field {field}") if key is not None else None


def empty_key(model: str, variable: str | None) -> ModelError:
    """The error for a key that was given and is empty: to look elsewhere for another key would hide that."""
    remedy = f"leave it out, and set {variable}" if variable else "give the service's key"
    return ModelError(f"the api_key of the model {model!r} is empty; {remedy}", model=model, remedy=remedy)
