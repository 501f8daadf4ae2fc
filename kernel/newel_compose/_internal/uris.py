"""URIs of services, as messages show them."""

from __future__ import annotations

import re

#: A password between the user and the host: it may itself hold any sign, an @ or a slash, say.
_PASSWORD = re.compile(r"(//[^:/@?#]*:).*@")
_PARAMETER = re.compile(r"([?&][^=&]*(?:passw|pwd|secret|token|key)[^=&]*=)[^&]*", re.IGNORECASE)


def without_password(uri: str) -> str:
    """`uri` with the passwords in it masked, those of parameters too: for an error or a log."""
    return _PARAMETER.sub(r"\1***", _PASSWORD.sub(r"\1***@", uri))
